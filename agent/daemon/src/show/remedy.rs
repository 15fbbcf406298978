//! What a person can do about input that could not be used.

use std::io;

use anyhow::Error;
use ostler_core::disruption::PolicyFileError;
use ostler_core::document::DocumentError;
use ostler_core::machine_config::ConfigError;

use crate::commands::Trouble;

/// The remedy for the innermost error that has one; trouble with the machine knows its own.
pub fn of(error: &Error) -> Option<&'static str> {
    if let Some(trouble) = error.downcast_ref::<Trouble>() {
        return trouble.remedy;
    }
    error.chain().rev().find_map(|cause| {
        let of_config = cause.downcast_ref().map(config);
        let of_document = cause.downcast_ref().map(document);
        let of_policy = cause.downcast_ref().map(|_: &PolicyFileError| POLICY);
        of_config.or(of_document).or(of_policy).or_else(|| cause.downcast_ref().and_then(file))
    })
}

const MACHINE_CONFIG: &str = "give one MachineConfig, as \"oc get machineconfig NAME -o yaml\" prints it";
const POLICY: &str =
    "correct the policy; \"oc explain machineconfiguration.spec.nodeDisruptionPolicy\" shows its shape";

const fn config(error: &ConfigError) -> &'static str {
    match error {
        ConfigError::Ignition { .. } => "correct spec.config in the MachineConfig that brings it in",
        _ => MACHINE_CONFIG,
    }
}

const fn document(error: &DocumentError) -> &'static str {
    match error {
        DocumentError::Json(_) | DocumentError::Yaml(_) => "correct the file, or fetch it again if it was cut short",
        _ => "give one document, JSON or YAML",
    }
}

fn file(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::NotFound => Some("check the path; - stands for standard input"),
        io::ErrorKind::IsADirectory => Some("give a file, not a directory"),
        io::ErrorKind::PermissionDenied => Some("run the command as a user who may read the file"),
        _ => None,
    }
}
