//! A large layer does not make a large process. Alone in its program, because the peak is the whole process's.

mod served;

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use ostler_registry::{Options, Platform, Registry};
use serde_json::json;
use served::Served;
use served::layout::{GZIP, Layout};
use sha2::{Digest, Sha256};

const LAYER: u64 = 160 << 20;
const MOST_GROWTH_KIB: u64 = 32 << 10;

/// Bytes that nothing packs, without end.
struct Noise(u64);

impl Read for Noise {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        for chunk in buffer.chunks_mut(8) {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            chunk.copy_from_slice(&self.0.to_le_bytes()[..chunk.len()]);
        }
        Ok(buffer.len())
    }
}

struct Hashing<W> {
    inner: W,
    hash: Sha256,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hash.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn header(size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header
}

fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_layer_is_never_whole_in_memory() {
    let Some(served) = Served::start() else { return };
    let layout = Layout::new(&served.path("layout"));
    let file = served.path("layer");
    let hashing = Hashing { inner: BufWriter::new(File::create(&file).unwrap()), hash: Sha256::new() };
    let mut builder = tar::Builder::new(GzEncoder::new(hashing, Compression::none()));
    builder.append_data(&mut header(LAYER), "large", Noise(1).take(LAYER)).unwrap();
    builder.append_data(&mut header(5), "small", &b"small"[..]).unwrap();
    let mut hashing = builder.into_inner().unwrap().finish().unwrap();
    hashing.flush().unwrap();
    let hex: String = hashing.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let size = fs::metadata(&file).unwrap().len();
    fs::rename(&file, layout.place(&hex)).unwrap();
    let layer = json!({"mediaType": GZIP, "digest": format!("sha256:{hex}"), "size": size});
    served.push(&layout.of(&layout.image("amd64", &json!({}), &[layer])), "os:1");

    let platform = Platform { os: "linux".to_owned(), architecture: "amd64".to_owned() };
    let registry = Registry::new(Options { platform, ..served.options(&[]) }).unwrap();
    let image = format!("{}/os:1", served.host());
    registry.labels(&image).await.unwrap();
    let before = peak();
    let found = registry.file(&image, "small", 100).await.unwrap();
    let growth = peak() - before;
    eprintln!("{size} bytes of a layer took {growth} KiB more");
    assert_eq!(found.unwrap(), b"small");
    assert!(growth < MOST_GROWTH_KIB, "{growth} KiB");
}
