use std::io::{ErrorKind, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::*;

fn blob(bytes: &[u8]) -> Blob {
    Blob { digest: layer::name(bytes), size: u64::try_from(bytes.len()).unwrap() }
}

fn target() -> Target {
    Target::new("/a/b", 1 << 20, 100)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

fn archive(contents: &[u8]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(u64::try_from(contents.len()).unwrap());
    header.set_mode(0o644);
    builder.append_data(&mut header, "a/b", contents).unwrap();
    builder.into_inner().unwrap()
}

#[test]
fn every_packing_gives_the_same() {
    let text = b"some text that is long enough ".repeat(10_000);
    let tar = archive(&text);
    let (first, second) = tar.split_at(1000);
    let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    for layer in [
        tar.clone(),
        gzip(&tar),
        [gzip(first), gzip(second)].concat(),
        zstd(&tar),
        [skipped.clone(), zstd(first), skipped.clone(), zstd(second), skipped].concat(),
    ] {
        assert_eq!(find(&layer[..], &blob(&layer), 1 << 20, &target()).unwrap().unwrap(), text);
    }
}

#[test]
fn a_layer_is_verified_to_its_end_although_the_file_came_first() {
    let good = [archive(b"hello"), vec![0; 100_000]].concat();
    let (mut late, mut early) = (good.clone(), good.clone());
    late[90_000] = 1;
    early[512] ^= 1;
    let longer = [&good[..], b"x"].concat();
    for bytes in [&late[..], &early, &longer, &good[..good.len() - 1], b""] {
        let error = find(bytes, &blob(&good), 1 << 20, &target()).unwrap_err();
        assert!(matches!(error, LayerError::Bytes(layer::LayerError::Damaged { .. })), "{error}");
    }
}

#[test]
fn a_layer_that_unpacks_to_too_much_is_stopped_but_verified() {
    let zeros = [archive(b""), vec![0; 1 << 20]].concat();
    let other = Target::new("c", 1, 100);
    let large = archive(&vec![0; 1 << 20]);
    for bomb in [gzip(&large), zstd(&large), large.clone()] {
        let error = find(&bomb[..], &blob(&bomb), 10_000, &other).unwrap_err();
        let LayerError::Archive { source: ArchiveError::Malformed(source), .. } = error else { panic!("{error}") };
        assert_eq!(source.kind(), ErrorKind::FileTooLarge);
    }
    assert!(find(&zeros[..], &blob(&zeros), 1 << 21, &other).unwrap().is_none());
}

#[test]
fn only_archives_are_looked_into() {
    let blob = blob(b"");
    for kind in [
        "",
        "application/vnd.oci.image.layer.v1.tar",
        "application/vnd.oci.image.layer.v1.tar+gzip",
        "application/vnd.oci.image.layer.v1.tar+zstd",
        "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.docker.image.rootfs.diff.tar",
    ] {
        assert!(check_kind(&blob, kind).is_ok(), "{kind}");
    }
    for kind in
        ["application/vnd.oci.image.layer.v1.tar+gzip+encrypted", "application/json", "application/x-lzma.tar+xz"]
    {
        assert!(check_kind(&blob, kind).is_err(), "{kind}");
    }
}

proptest! {
    #[test]
    fn no_layer_brings_us_down(start in 0..4_usize, bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let starts = [&b""[..], &[0x1f, 0x8b], &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], &[0x28, 0xb5, 0x2f, 0xfd]];
        let layer = [starts[start], &bytes[..]].concat();
        let _ = find(&layer[..], &blob(&layer), 1 << 16, &target());
    }

    #[test]
    fn no_change_of_a_packed_layer_brings_us_down(at in any::<usize>(), to in any::<u8>(), packing in 0..3_usize) {
        let tar = archive(b"hello");
        let mut layer = match packing { 0 => gzip(&tar), 1 => zstd(&tar), _ => tar };
        let at = at % layer.len();
        layer[at] = to;
        let _ = find(&layer[..], &blob(&layer), 1 << 16, &target());
    }
}
