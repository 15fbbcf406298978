//! A registry on the loopback network, without TLS, that serves a release: its manifests, and OS images with their labels.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// Answers until the process ends.
pub struct Registry {
    port: u16,
}

/// Bytes by path, with their kind.
type Shelf = HashMap<String, (&'static str, Vec<u8>)>;

impl Registry {
    /// One with a release `release:1` of one stream and these boot images.
    pub fn start(boot_images: &Value) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let registry = Self { port: listener.local_addr().unwrap().port() };
        let mut shelf = Shelf::new();
        let mut tags = Vec::new();
        for (name, part) in [("os", "containers.bootc"), ("ext", "io.openshift.os.extensions")] {
            let labels = json!({"io.openshift.os.streamclass": "rhel-9", part: "true"});
            let digest = image(&mut shelf, name, &labels, &[]);
            let from = json!({"kind": "DockerImage", "name": format!("{}/{name}@{digest}", registry.host())});
            tags.push(json!({"name": format!("rhel-coreos-{name}"), "from": from}));
        }
        let references = json!({"apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "spec": {"tags": tags}});
        let files = [
            ("release-manifests/image-references", references.to_string()),
            ("release-manifests/0000_50_installer_coreos-bootimages.yaml", boot_images.to_string()),
        ];
        image(&mut shelf, "release", &json!({}), &files);
        let shelf = Arc::new(shelf);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shelf = Arc::clone(&shelf);
                thread::spawn(move || serve(&stream, &shelf));
            }
        });
        registry
    }

    /// What clients call it.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

/// Puts an image on the shelf, by its digest and as `NAME:1`.
fn image(shelf: &mut Shelf, name: &str, labels: &Value, files: &[(&str, String)]) -> String {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    let mut blob = |kind: &'static str, bytes: Vec<u8>| {
        let described = json!({"mediaType": kind, "digest": digest(&bytes), "size": bytes.len()});
        shelf.insert(format!("/v2/{name}/blobs/{}", digest(&bytes)), (kind, bytes));
        described
    };
    let layers: Vec<Value> = if files.is_empty() { vec![] } else { vec![blob(LAYER, archive.into_inner().unwrap())] };
    let config = json!({"architecture": "amd64", "os": "linux", "config": {"Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": layers.iter().map(|layer| layer["digest"].clone()).collect::<Vec<_>>()}});
    let config = blob(CONFIG, config.to_string().into_bytes());
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
    let bytes = manifest.to_string().into_bytes();
    let digest = digest(&bytes);
    for reference in ["1", &digest] {
        shelf.insert(format!("/v2/{name}/manifests/{reference}"), (MANIFEST, bytes.clone()));
    }
    digest
}

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// One answer to a connection; what does not speak HTTP is hung up on, as by any server without TLS.
fn serve(stream: &TcpStream, shelf: &Shelf) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    while !lines.next()?.ok()?.is_empty() {}
    let path = first.split_whitespace().nth(1)?;
    let (status, kind, bytes) = match shelf.get(path) {
        Some((kind, bytes)) => ("200 OK", *kind, bytes.as_slice()),
        None if path == "/v2/" => ("200 OK", "application/json", &b"{}"[..]),
        None => ("404 Not Found", "application/json", &b"{}"[..]),
    };
    let mut answer = stream;
    let length = bytes.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Docker-Content-Digest: {}\r\nConnection: close\r\n\r\n",
        digest(bytes)
    );
    answer.write_all(head.as_bytes()).ok()?;
    answer.write_all(bytes).ok()
}
