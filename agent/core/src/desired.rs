//! What the machine is asked to become.

use std::sync::Arc;

use crate::disruption::Policies;
use crate::machine_config::MachineConfig;
use crate::reconcile::Overrides;

/// The target, and the cluster's rules for getting there.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// The configuration to reach.
    pub target: Arc<MachineConfig>,
    /// Sections that may differ without being applied.
    pub overrides: Overrides,
    /// Which rules say what a change causes.
    pub rules: Rules,
}

/// Which rules say what a change causes.
#[derive(Clone, Debug, PartialEq)]
pub enum Rules {
    /// A node of a running cluster.
    Policies(Policies),
    /// A node that has not joined yet, or a node of a hosted cluster.
    FirstBoot,
}
