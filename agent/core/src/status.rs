//! What a node can say about itself without being changed.

use serde::{Deserialize, Serialize};

use crate::bootstrap::Bootstrap;
use crate::machine_config::MachineConfig;
use crate::os::behind::Behind;
use crate::os::boot_mark::BootMark;
use crate::os::state::OsState;
use crate::rival::Rival;
use crate::rollback::RollbackHold;
use crate::transaction::{Finished, Open, OrderedRestart, OwedRestart, Phase, Rejected, Trial};

/// The state of one machine, or of one root directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The configuration the machine is in, by its own record.
    pub config: Option<String>,
    /// Whether that is the hash by which a hosted cluster knows it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hosted: bool,
    /// The OS image that was built for it, where there is one.
    pub image: Option<String>,
    /// The configuration a rollback leads to.
    pub previous: Option<String>,
    /// The transaction that is open, if one is.
    pub open: Option<Open>,
    /// Which of its phases are done.
    pub done: Vec<Phase>,
    /// The last transaction that ended.
    pub last: Option<Finished>,
    /// Whether another process is at work on it right now.
    pub busy: bool,
    /// Whether a person has asked for the next update to be forced.
    pub forced: bool,
    /// Whether the machine has yet to restart for the configuration to take effect.
    pub awaits_reboot: bool,
    /// What it has to restart for, the earliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owed_restarts: Vec<OwedRestart>,
    /// The restart that was ordered in this boot, and has not happened yet.
    pub restart: Option<OrderedRestart>,
    /// The boot that all this was found in.
    pub boot: BootMark,
    /// The configuration that the machine has yet to prove itself in, if there is one.
    pub trial: Option<Trial>,
    /// Configurations that were given up here, the latest first.
    pub rejected: Vec<Rejected>,
    /// The rollback that a person asked for and that is not released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_hold: Option<RollbackHold>,
    /// Records that were found damaged, with what is wrong.
    pub damaged: Vec<String>,
    /// The deployments of its operating system.
    pub os: OsState,
    /// Why those cannot be told.
    pub os_unknown: Option<String>,
    /// The kernel arguments that its configuration put on the line.
    pub own_kargs: Vec<String>,
    /// Another agent that runs on it: nothing is changed while it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rival: Option<Rival>,
    /// What it is to be introduced to its cluster with, while that has not happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<Bootstrap>,
    /// The version of the image that it was installed from, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_image: Option<String>,
    /// That its configuration is somebody else's work, which has yet to be looked at as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited: Option<Inherited>,
    /// How its operating system is not the one of its configuration, where somebody left it so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Behind>,
    /// The configuration whose operating system was staged before its update began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged_for: Option<String>,
}

impl Status {
    /// Whether its configuration takes effect only with a restart. Files alone do not tell, but have a trial.
    pub fn awaits_restart(&self) -> bool {
        let tried = |trial: &Trial| trial.before.lasts(&self.boot);
        self.awaits_reboot || self.trial.as_ref().is_some_and(tried)
    }

    /// Whether the configuration on record is in effect: the record changes in the middle of an update.
    pub fn is_in_effect(&self) -> bool {
        self.open.is_none() && !self.awaits_restart()
    }

    /// The configuration in effect while the one on record is not, where a transaction tells.
    pub fn configuration_before(&self) -> Option<&str> {
        let from = match (&self.open, &self.last) {
            (Some(open), _) => Some(open.from.as_str()),
            (None, Some(last)) if last.reboot && last.boot.lasts(&self.boot) => Some(last.from.as_str()),
            (None, _) => None,
        };
        from.filter(|from| *from != MachineConfig::EMPTY)
    }
}

/// A configuration that another agent has brought the machine into.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inherited {
    /// Why its record cannot be read, where it cannot.
    pub unreadable: Option<String>,
}
