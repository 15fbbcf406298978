//! Objects of the cluster that decide how an update is made. Until each was read once, no update is evaluated.

use serde::{Deserialize, Serialize};

/// An object of the cluster, by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Input {
    /// Disruption policies, and the refusals that an administrator overrides.
    MachineConfiguration,
    FeatureGate,
    /// Files that the operator gives to nodes beside their configuration.
    ControllerConfig,
}

impl Input {
    pub const ALL: [Self; 3] = [Self::MachineConfiguration, Self::FeatureGate, Self::ControllerConfig];

    /// The kind.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::MachineConfiguration => "MachineConfiguration",
            Self::FeatureGate => "FeatureGate",
            Self::ControllerConfig => "ControllerConfig",
        }
    }

    /// Kinds as a list in words.
    pub fn list(inputs: &[Self]) -> String {
        inputs.iter().map(|input| input.kind()).collect::<Vec<_>>().join(", ")
    }
}
