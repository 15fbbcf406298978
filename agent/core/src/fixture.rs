//! MachineConfigs for tests, from as little as a test has to say.

use serde_json::{Value, json};

use crate::machine_config::MachineConfig;

/// A MachineConfig of this spec, to which an Ignition config without anything in it is added.
pub(crate) fn spec(spec: &Value) -> MachineConfig {
    let mut spec = spec.clone();
    if spec.get("config").is_none() {
        spec["config"] = json!({"ignition": {"version": "3.5.0"}});
    }
    MachineConfig::from_document(json!({"metadata": {"name": "rendered"}, "spec": spec})).unwrap()
}

/// A MachineConfig of this Ignition config, whose version is added.
pub(crate) fn ignition(mut config: Value) -> MachineConfig {
    config["ignition"] = json!({"version": "3.5.0"});
    spec(&json!({"config": config}))
}

/// A MachineConfig of these files.
pub(crate) fn files(files: &Value) -> MachineConfig {
    ignition(json!({"storage": {"files": files}}))
}

/// A MachineConfig of these units.
pub(crate) fn units(units: &Value) -> MachineConfig {
    ignition(json!({"systemd": {"units": units}}))
}

/// A MachineConfig of these users.
pub(crate) fn users(users: &Value) -> MachineConfig {
    ignition(json!({"passwd": {"users": users}}))
}
