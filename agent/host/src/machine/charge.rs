//! Whose work the machine's configuration is: ours, once it was taken over or brought about by us, or another agent's.
//!
//! Owns the record that says so. Refuses to look at anything else of the machine.

use ostler_core::machine_config::MachineConfig;
use ostler_core::os::behind::Behind;
use ostler_core::os::boot_mark::BootMark;
use ostler_core::os::state::OsState;
use ostler_core::transaction::{Ending, Finished, OwedRestart};
use serde::{Deserialize, Serialize};

/// A configuration that was taken over from another agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Charge {
    /// Its name.
    pub(super) config: String,
    /// When, in seconds since 1970.
    pub(super) since: u64,
    /// Whether that was begun and not ended.
    pub(super) settling: bool,
    /// The boot that has to end, where the other agent left a restart undone.
    pub(super) restart: Option<BootMark>,
    /// Whether the operating system was not the configuration's.
    pub(super) os: bool,
    /// Whether the configuration is to be applied once more as a whole, because nobody knew what the machine was in.
    #[serde(default)]
    pub(super) again: bool,
}

impl Charge {
    /// Whether it is about this configuration and ended.
    fn covers(&self, config: &str) -> bool {
        self.config == config && !self.settling
    }

    /// The restart that the other agent left undone, while the machine is in that configuration.
    pub(super) fn owed(&self, config: &str) -> Option<OwedRestart> {
        let boot = self.restart.clone().filter(|_| self.config == config)?;
        let reasons = vec!["the machine-config-daemon announced a restart".to_owned()];
        Some(OwedRestart { config: self.config.clone(), reasons, since: self.since, boot })
    }
}

impl Charge {
    /// What is still missing of the configuration by this operating system, as far as it was when it was taken over.
    pub(super) fn behind(&self, config: &MachineConfig, state: &OsState) -> Option<Behind> {
        if self.config != config.name {
            return None;
        }
        let found = Behind::of(config, state);
        if self.again {
            let lacking = found.map(|behind| behind.lacking).unwrap_or_default();
            return Some(Behind { lacking, words: "its record was lost, so it is applied once more".to_owned() });
        }
        found.filter(|_| self.os)
    }
}

/// Whether a machine in this configuration is ours to know. Another agent may have been at work since we were.
pub(super) fn is_ours(config: &str, charge: Option<&Charge>, last: Option<&Finished>) -> bool {
    let brought = |last: &Finished| match last.ending {
        Ending::Applied => last.to == config,
        Ending::Undone { .. } => last.from == config,
        Ending::AwaitsReboot { .. } | Ending::Abandoned { .. } => last.to == config || last.from == config,
    };
    match charge {
        Some(charge) if charge.covers(config) => true,
        // A repair may be a part of taking over.
        Some(charge) if charge.config == config => false,
        _ => last.is_some_and(brought),
    }
}

#[cfg(test)]
mod tests {
    use ostler_core::transaction::Purpose;

    use super::*;

    fn last(from: &str, to: &str, ending: Ending) -> Finished {
        Finished {
            purpose: Purpose::Update,
            from: from.to_owned(),
            to: to.to_owned(),
            ending,
            began: 1,
            ended: 2,
            boot: BootMark::default(),
            reboot: false,
            left_out: Vec::new(),
            changed: 0,
            boot_loader: None,
            service_failures: Vec::new(),
            leftovers: Vec::new(),
        }
    }

    #[test]
    fn a_configuration_is_ours_when_we_brought_it_or_took_it_over() {
        let charge = |config: &str, settling| Charge { config: config.to_owned(), settling, ..Charge::default() };
        let undone = || Ending::Undone { reason: String::new() };
        for (charge, last, expected) in [
            (None, None, false),
            (None, Some(last("a", "b", Ending::Applied)), true),
            (None, Some(last("b", "c", Ending::Applied)), false),
            (None, Some(last("b", "c", undone())), true),
            (None, Some(last("a", "b", undone())), false),
            (Some(charge("b", false)), None, true),
            (Some(charge("b", true)), Some(last("b", "b", Ending::Applied)), false),
            (Some(charge("a", false)), None, false),
            (Some(charge("a", true)), Some(last("a", "b", Ending::Applied)), true),
        ] {
            assert_eq!(is_ours("b", charge.as_ref(), last.as_ref()), expected, "{charge:?} {last:?}");
        }
    }
}
