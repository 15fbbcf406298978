//! Files given on the command line, read with a bound and parsed.

use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;

use anyhow::{Context, Result};
use ostler_core::api::StorageOverride;
use ostler_core::disruption::PolicyFile;
use ostler_core::document;
use ostler_core::machine_config::{ConfigError, MachineConfig};
use ostler_core::protocol::Rules;
use ostler_core::warning::Provenance;
use serde_json::Value;

use crate::cli::{Override, RuleOptions};

/// Reads a JSON or YAML document from a file, or from standard input when it is called `-`.
pub fn document(path: &Path) -> Result<Value> {
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
    usable(document(path)?, path)
}

fn usable(document: Value, path: &Path) -> Result<std::result::Result<MachineConfig, ConfigError>> {
    match MachineConfig::from_document(document) {
        Err(error @ ConfigError::Ignition { .. }) => Ok(Err(error)),
        result => Ok(Ok(result.with_context(|| format!("cannot use {}", path.display()))?)),
    }
}

/// Reads a MachineConfig that a node is to be brought into, with what its document tells beyond it.
pub fn target(path: &Path) -> Result<std::result::Result<(MachineConfig, Provenance), ConfigError>> {
    let document = document(path)?;
    let provenance = Provenance::of(&document);
    Ok(usable(document, path)?.map(|config| (config, provenance)))
}

/// Reads the rules of a change. A policy that cannot be used is found here, before anything else is looked at.
pub fn rules(options: &RuleOptions) -> Result<Rules> {
    let policy = options.policy.as_deref().map(policy).transpose()?;
    let overrides = options.overrides.iter().map(|section| match section {
        Override::Disks => StorageOverride::Disks,
        Override::FileSystems => StorageOverride::FileSystems,
        Override::Raid => StorageOverride::Raid,
    });
    Ok(Rules { policy, first_boot: options.first_boot, overrides: overrides.collect() })
}

/// Reads a MachineConfiguration or its `nodeDisruptionPolicy`.
fn policy(path: &Path) -> Result<Value> {
    let policy = document(path)?;
    let usable = PolicyFile::from_document(policy.clone());
    usable.with_context(|| format!("cannot use the policy in {}", path.display()))?;
    Ok(policy)
}
