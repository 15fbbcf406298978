//! A container image of one layer, as the files of an OCI image layout. Knows nothing of registries.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Makes an image of a tree's files, with these labels, in a directory that is not there yet: `oci:DIRECTORY` for `skopeo`.
pub fn oci_layout(directory: &Path, tree: &Path, labels: &Value) -> io::Result<()> {
    fs::create_dir_all(directory.join("blobs/sha256"))?;
    let tar =
        Command::new("tar").arg("-C").arg(tree).args(["--sort=name", "--numeric-owner", "-cf", "-", "."]).output()?;
    if !tar.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&tar.stderr).into_owned()));
    }
    let layer = blob(directory, "application/vnd.oci.image.layer.v1.tar", &tar.stdout)?;
    let config = json!({
        "architecture": architecture(), "os": "linux", "config": {"Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
    });
    let config = blob(directory, "application/vnd.oci.image.config.v1+json", config.to_string().as_bytes())?;
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": [layer]});
    let manifest = blob(directory, "application/vnd.oci.image.manifest.v1+json", manifest.to_string().as_bytes())?;
    let index = json!({"schemaVersion": 2, "manifests": [manifest]});
    fs::write(directory.join("index.json"), index.to_string())?;
    fs::write(directory.join("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}).to_string())
}

/// Writes a blob and describes it.
fn blob(directory: &Path, media_type: &str, contents: &[u8]) -> io::Result<Value> {
    let digest: String = Sha256::digest(contents).iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(directory.join("blobs/sha256").join(&digest), contents)?;
    Ok(json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": contents.len()}))
}

/// What images call this machine's architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
