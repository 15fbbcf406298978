//! Files given on the command line, read with a bound and parsed.

use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use ostler_core::api;
use ostler_core::disruption::Policies;
use ostler_core::document;
use ostler_core::machine_config::{ConfigError, MachineConfig};
use ostler_core::reconcile::Overrides;
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

/// What a `--policy` file says.
#[derive(Debug, Default)]
pub struct PolicyFile {
    /// The policies in force.
    pub policies: Policies,
    /// Overrides, where the file is a whole MachineConfiguration.
    pub overrides: Overrides,
}

/// Reads a MachineConfiguration or its `nodeDisruptionPolicy`.
pub fn policy(path: &Path) -> Result<PolicyFile> {
    read_policy(document(path)?).with_context(|| format!("cannot use the policy in {}", path.display()))
}

fn read_policy(document: Value) -> Result<PolicyFile> {
    if let Some(unknown) = unknown_action(&document) {
        bail!("{unknown:?} is no type of action; the types are {}", ACTION_TYPES.join(", "));
    }
    let fields = document.as_object().ok_or_else(|| anyhow!("the document is not an object"))?;
    match fields.get("kind").and_then(Value::as_str) {
        Some("MachineConfiguration") => {
            let object: api::MachineConfiguration = parse(document)?;
            let overrides = Overrides::from(&object.spec.irreconcilable_validation_overrides);
            return Ok(PolicyFile { policies: Policies::in_force(&object)?, overrides });
        }
        Some(kind) => bail!("the document is a {kind}, not a MachineConfiguration"),
        None => {}
    }
    let policy = match fields.get("nodeDisruptionPolicy") {
        Some(policy) => policy.clone(),
        None if fields.keys().all(|key| ["files", "units", "sshkey"].contains(&key.as_str())) => document,
        None => bail!("the document is neither a MachineConfiguration nor a nodeDisruptionPolicy"),
    };
    Ok(PolicyFile { policies: Policies::with_user(&parse(policy)?)?, overrides: Overrides::default() })
}

const ACTION_TYPES: [&str; 7] = ["Reboot", "Drain", "Reload", "Restart", "DaemonReload", "None", "Special"];

/// An action type that nobody knows. From a cluster it may be one of a later release and is taken for a reboot; in a
/// file it is a slip of the pen.
fn unknown_action(value: &Value) -> Option<&str> {
    match value {
        Value::Array(items) => items.iter().find_map(unknown_action),
        Value::Object(fields) => fields.iter().find_map(|(key, field)| match (key.as_str(), field) {
            ("actions", Value::Array(actions)) => {
                let types = actions.iter().filter_map(|action| action.get("type")?.as_str());
                types.into_iter().find(|name| !ACTION_TYPES.contains(name))
            }
            _ => unknown_action(field),
        }),
        _ => None,
    }
}

fn parse<T: serde::de::DeserializeOwned>(document: Value) -> Result<T> {
    serde_json::from_value(document).context("the policy is malformed")
}
