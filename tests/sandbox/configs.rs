//! MachineConfigs, put together.

use std::io::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

/// A MachineConfig with this Ignition config, whose version is added.
pub fn machine_config(name: &str, ignition: &Value) -> Value {
    let mut config = ignition.clone();
    config["ignition"] = json!({"version": "3.5.0"});
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": name}, "spec": {"config": config},
    })
}

/// Bytes in base64.
pub fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// A data URL of some bytes.
pub fn data(bytes: impl AsRef<[u8]>) -> String {
    format!("data:;base64,{}", base64(bytes))
}

/// A file with these contents, as Ignition wants it.
pub fn file(path: &str, bytes: impl AsRef<[u8]>) -> Value {
    json!({"path": path, "mode": 0o644, "overwrite": true, "contents": {"source": data(bytes)}})
}

/// An Ignition config with one file.
pub fn text_file(path: &str, text: &str) -> Value {
    json!({"storage": {"files": [file(path, text)]}})
}

/// Bytes compressed.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
