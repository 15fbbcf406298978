//! Images as files: an OCI image layout, or the directories of `dir:`, with layers of any bytes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub const PLAIN: &str = "application/vnd.oci.image.layer.v1.tar";
pub const GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
pub const ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A layout with one image or list.
pub struct Layout {
    directory: PathBuf,
}

impl Layout {
    pub fn new(directory: &Path) -> Self {
        fs::create_dir_all(directory.join("blobs/sha256")).unwrap();
        fs::write(directory.join("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}).to_string()).unwrap();
        Self { directory: directory.to_owned() }
    }

    /// Takes bytes in and describes them.
    pub fn blob(&self, kind: &str, bytes: &[u8]) -> Value {
        let hex = hex(bytes);
        fs::write(self.directory.join("blobs/sha256").join(&hex), bytes).unwrap();
        json!({"mediaType": kind, "digest": format!("sha256:{hex}"), "size": bytes.len()})
    }

    /// Where a file can be put that was made elsewhere.
    pub fn place(&self, hex: &str) -> PathBuf {
        self.directory.join("blobs/sha256").join(hex)
    }

    /// An image with these labels and layers.
    pub fn image(&self, architecture: &str, labels: &Value, layers: &[Value]) -> Value {
        let config = self.blob(CONFIG, config(architecture, labels, layers).to_string().as_bytes());
        let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
        let mut described = self.blob(MANIFEST, manifest.to_string().as_bytes());
        described["platform"] = json!({"architecture": architecture, "os": "linux"});
        described
    }

    /// A list of images.
    pub fn list(&self, images: &[Value]) -> Value {
        let list = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": images});
        self.blob(INDEX, list.to_string().as_bytes())
    }

    /// What the layout is of, as `skopeo` takes it.
    pub fn of(&self, top: &Value) -> String {
        let index = json!({"schemaVersion": 2, "manifests": [top]});
        fs::write(self.directory.join("index.json"), index.to_string()).unwrap();
        format!("oci:{}", self.directory.display())
    }
}

/// One image in the form of `dir:`.
pub fn directory(path: &Path, labels: &Value, layer: &[u8]) {
    fs::create_dir_all(path).unwrap();
    let described = |kind: &str, bytes: &[u8]| {
        let hex = hex(bytes);
        fs::write(path.join(&hex), bytes).unwrap();
        json!({"mediaType": kind, "digest": format!("sha256:{hex}"), "size": bytes.len()})
    };
    let layers = [described(GZIP, layer)];
    let config = described(CONFIG, config("amd64", labels, &layers).to_string().as_bytes());
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
    fs::write(path.join("manifest.json"), manifest.to_string()).unwrap();
    fs::write(path.join("version"), "Directory Transport Version: 1.1\n").unwrap();
}

fn config(architecture: &str, labels: &Value, layers: &[Value]) -> Value {
    let layers: Vec<&Value> = layers.iter().map(|layer| &layer["digest"]).collect();
    json!({
        "architecture": architecture, "os": "linux", "config": {"Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": layers},
    })
}

pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An archive of these files.
pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, contents) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(u64::try_from(contents.len()).unwrap());
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *contents).unwrap();
    }
    builder.into_inner().unwrap()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}
