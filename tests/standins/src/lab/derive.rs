//! Derived images: one more layer on an image in an OCI directory.
//!
//! The layers below are shared with the base, so that an update of even a large OS fetches only what is new.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use ostree_ext::glib;
use serde_json::{Value, json};

use super::run;

const TAG_KEY: &str = "org.opencontainers.image.ref.name";
const CREATED: &str = "1970-01-01T00:00:00Z";

/// An image in an OCI directory, by its tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged {
    /// The OCI directory.
    pub directory: PathBuf,
    /// The tag.
    pub tag: String,
}

impl Tagged {
    /// Parses `oci:DIRECTORY:TAG`.
    pub fn parse(reference: &str) -> Result<Self> {
        let parts = reference.strip_prefix("oci:").and_then(|rest| rest.rsplit_once(':'));
        let (directory, tag) = parts.with_context(|| format!("{reference:?} is not oci:DIRECTORY:TAG"))?;
        Ok(Self { directory: directory.into(), tag: tag.to_owned() })
    }

    fn blob(&self, digest: &str) -> Result<PathBuf> {
        let hash = digest.strip_prefix("sha256:").with_context(|| format!("{digest:?} is no digest"))?;
        Ok(self.directory.join("blobs/sha256").join(hash))
    }

    fn put(&self, bytes: &[u8]) -> Result<(String, usize)> {
        let digest = digest(bytes)?;
        std::fs::write(self.blob(&digest)?, bytes)?;
        Ok((digest, bytes.len()))
    }
}

/// Puts the files under `overlay` as one layer on `base`, tags the result `tag` in the same directory, adds `labels`, and
/// gives the digest of the manifest.
pub fn derive(base: &Tagged, tag: &str, overlay: &Path, labels: &BTreeMap<String, String>) -> Result<String> {
    let index_path = base.directory.join("index.json");
    let mut index = read(&index_path)?;
    let mut manifest = read(&base.blob(&manifest_of(&index, &base.tag)?)?)?;
    let config_digest = manifest.pointer("/config/digest").and_then(Value::as_str).context("no config")?.to_owned();
    let mut config = read(&base.blob(&config_digest)?)?;

    let (layer, layer_size, diff_id) = add_layer(base, overlay)?;
    push(&mut config, "/rootfs/diff_ids", json!(diff_id))?;
    push(&mut config, "/history", json!({"created": CREATED, "created_by": "lab derive"}))?;
    for (key, value) in labels {
        let all = config.pointer_mut("/config/Labels").and_then(Value::as_object_mut).context("no labels")?;
        all.insert(key.clone(), json!(value));
    }
    let (digest, size) = base.put(&serde_json::to_vec(&config)?)?;
    let described = manifest.get_mut("config").and_then(Value::as_object_mut).context("no config")?;
    described.insert("digest".to_owned(), json!(digest));
    described.insert("size".to_owned(), json!(size));
    let media_type = "application/vnd.oci.image.layer.v1.tar+gzip";
    push(&mut manifest, "/layers", json!({"mediaType": media_type, "digest": layer, "size": layer_size}))?;

    let (digest, size) = base.put(&serde_json::to_vec(&manifest)?)?;
    let entries = index.get_mut("manifests").and_then(Value::as_array_mut).context("no manifests")?;
    entries.retain(|entry| tag_of(entry) != Some(tag));
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    entries.push(json!({"mediaType": media_type, "digest": digest, "size": size, "annotations": {TAG_KEY: tag},
        "platform": {"architecture": config.get("architecture"), "os": config.get("os")}}));
    std::fs::write(&index_path, serde_json::to_vec(&index)?)?;
    Ok(digest)
}

/// The digest and size of the packed layer, and the digest of what is in it.
fn add_layer(base: &Tagged, overlay: &Path) -> Result<(String, usize, String)> {
    let scratch = tempfile::tempdir()?;
    let (plain, packed) = (scratch.path().join("layer.tar"), scratch.path().join("layer.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-cf"]).arg(&plain);
    run(tar.arg("-C").arg(overlay).arg("."))?;
    run(Command::new("gzip").args(["-n", "-1", "-k"]).arg(&plain))?;
    let diff_id = digest(&std::fs::read(&plain)?)?;
    let (layer, size) = base.put(&std::fs::read(&packed)?)?;
    Ok((layer, size, diff_id))
}

fn manifest_of(index: &Value, tag: &str) -> Result<String> {
    let entries = index.get("manifests").and_then(Value::as_array).context("no manifests")?;
    let entry = entries.iter().find(|entry| tag_of(entry) == Some(tag));
    let digest = entry.and_then(|entry| entry.get("digest")).and_then(Value::as_str);
    Ok(digest.with_context(|| format!("no image is tagged {tag}"))?.to_owned())
}

fn tag_of(entry: &Value) -> Option<&str> {
    entry.get("annotations")?.get(TAG_KEY)?.as_str()
}

fn push(document: &mut Value, pointer: &str, value: Value) -> Result<()> {
    match document.pointer_mut(pointer).and_then(Value::as_array_mut) {
        Some(list) => list.push(value),
        None => bail!("the image has no {pointer}"),
    }
    Ok(())
}

fn read(path: &Path) -> Result<Value> {
    let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_slice(&bytes).with_context(|| format!("parsing {}", path.display()))
}

fn digest(bytes: &[u8]) -> Result<String> {
    let hash = glib::compute_checksum_for_data(glib::ChecksumType::Sha256, bytes).context("hashing")?;
    Ok(format!("sha256:{hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_is_what_follows_the_last_colon() {
        let tagged = Tagged::parse("oci:/a/b:v1").unwrap();
        assert_eq!(tagged, Tagged { directory: "/a/b".into(), tag: "v1".to_owned() });
        assert!(Tagged::parse("oci:/a/b").is_err());
        assert!(Tagged::parse("docker://a/b:v1").is_err());
    }
}
