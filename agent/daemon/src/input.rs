//! Files given on the command line, read with a bound and parsed.

use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;

use anyhow::{Context, Result};
use ostler_core::disruption::PolicyFile;
use ostler_core::document;
use ostler_core::machine_config::{ConfigError, MachineConfig};
use serde_json::Value;

/// Reads a JSON or YAML document from a file, or from standard input when it is called `-`.
fn document(path: &Path) -> Result<Value> {
    let name = path.display();
    let mut bytes = Vec::new();
    let most = document::MAX_BYTES as u64 + 1;
    let read = if path == Path::new("-") {
        stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        file.take(most).read_to_end(&mut bytes)
    };
    read.with_context(|| format!("cannot read {name}"))?;
    document::parse(&bytes).with_context(|| format!("cannot read {name}"))
}

/// Reads a MachineConfig. The inner error is one that a node would refuse rather than one of the file.
pub fn machine_config(path: &Path) -> Result<std::result::Result<MachineConfig, ConfigError>> {
    match MachineConfig::from_document(document(path)?) {
        Err(error @ ConfigError::Ignition { .. }) => Ok(Err(error)),
        result => Ok(Ok(result.with_context(|| format!("cannot use {}", path.display()))?)),
    }
}

/// Reads a MachineConfiguration or its `nodeDisruptionPolicy`.
pub fn policy(path: &Path) -> Result<PolicyFile> {
    PolicyFile::from_document(document(path)?).with_context(|| format!("cannot use the policy in {}", path.display()))
}
