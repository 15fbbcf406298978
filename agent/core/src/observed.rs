//! What is known of the machine when a plan is made.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::machine_config::MachineConfig;
use crate::os::behind::Behind;

/// One snapshot of the machine. Configurations are shared: a large one is costly to copy.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// The configuration the machine is in.
    pub current: Arc<MachineConfig>,
    /// The configuration the machine was installed with, if it is still known.
    pub install_time: Option<Arc<MachineConfig>>,
    /// Whether a person has asked for the update to be forced on this machine.
    pub forced: bool,
    /// How its operating system is not the one of its configuration, where somebody left it so.
    pub behind: Option<Behind>,
    /// Units of its configuration that the operating system has too, so that they are still there when the configuration no
    /// longer brings them. Empty where that is not known.
    pub os_units: BTreeSet<String>,
}

impl Observed {
    /// A machine of which only its configuration is known.
    pub fn configured(current: impl Into<Arc<MachineConfig>>) -> Self {
        Self { current: current.into(), install_time: None, forced: false, behind: None, os_units: BTreeSet::new() }
    }
}
