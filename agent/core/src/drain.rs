//! Whether the node's workloads have to leave before the update, and why.

use crate::diff::Diff;
use crate::disruption::Action;
use crate::first_boot;
use crate::ignition::{Config, Limits};
use crate::machine_config::MachineConfig;
use crate::refusal::{Refusal, RegistriesProblem};
use crate::registries::{self, Hazard, Registries};

/// The answer, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drain {
    /// Workloads go on running.
    NotNeeded,
    /// The machine is going to reboot.
    BeforeReboot,
    /// A policy asks for it.
    ByPolicy,
    /// A running workload could pull another image than before.
    UnsafeRegistries(Hazard),
}

impl Drain {
    /// Whether workloads have to leave.
    pub const fn is_needed(&self) -> bool {
        !matches!(self, Self::NotNeeded)
    }

    /// Why workloads have to leave.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::NotNeeded => None,
            Self::BeforeReboot => Some("the node reboots".to_owned()),
            Self::ByPolicy => Some("a policy asks for it".to_owned()),
            Self::UnsafeRegistries(hazard) => Some(format!("{hazard} in {}", registries::PATH)),
        }
    }
}

/// For a running node, by the actions of its policies.
pub fn by_policy(actions: &[Action], old: &MachineConfig, new: &MachineConfig) -> Result<Drain, Refusal> {
    if actions.contains(&Action::Reboot) {
        Ok(Drain::BeforeReboot)
    } else if actions.contains(&Action::Drain) {
        Ok(Drain::ByPolicy)
    } else if actions.contains(&Action::Special) {
        by_registries(old, new)
    } else {
        Ok(Drain::NotNeeded)
    }
}

/// For a node at first boot or in a hosted cluster, by the one action of the fixed table.
pub fn at_first_boot(
    action: first_boot::Action,
    diff: &Diff<'_>,
    old: &MachineConfig,
    new: &MachineConfig,
) -> Result<Drain, Refusal> {
    use first_boot::Action::{None, Reboot, ReloadCrio, RestartCrio};
    match action {
        Reboot => Ok(Drain::BeforeReboot),
        ReloadCrio | RestartCrio if diff.files.contains_key(registries::PATH) => by_registries(old, new),
        ReloadCrio | RestartCrio | None => Ok(Drain::NotNeeded),
    }
}

fn by_registries(old: &MachineConfig, new: &MachineConfig) -> Result<Drain, Refusal> {
    let read = |config: &MachineConfig| {
        registries_of(&config.ignition)
            .map_err(|problem| Refusal::Registries { name: config.name.clone(), source: Box::new(problem) })
    };
    let hazard = registries::hazard(&read(old)?, &read(new)?);
    Ok(hazard.map_or(Drain::NotNeeded, Drain::UnsafeRegistries))
}

/// The file as a config has it; one that it does not have is empty.
fn registries_of(config: &Config) -> Result<Registries, RegistriesProblem> {
    let Some(file) = config.files.iter().rev().find(|file| file.path == registries::PATH) else {
        return Ok(Registries::default());
    };
    let contents = file.contents.decode(Limits::default()).map_err(RegistriesProblem::Contents)?;
    let text = std::str::from_utf8(contents.expose()).map_err(|_| RegistriesProblem::NotText)?;
    Ok(Registries::parse(text)?)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;
    use crate::fixture::files;

    const SAFE: &str = "unqualified-search-registries = [\"a\", \"b\"]";
    const UNSAFE: &str = "unqualified-search-registries = [\"b\"]";

    fn registries(text: &str) -> MachineConfig {
        let source = format!("data:;base64,{}", STANDARD.encode(text));
        files(&json!([{"path": registries::PATH, "contents": {"source": source}}]))
    }

    #[test]
    fn the_strongest_action_decides_and_registries_only_where_it_is_special() {
        let reload = || Action::Reload("crio.service".to_owned());
        let old = registries("unqualified-search-registries = [\"a\"]");
        let unsafe_order = Drain::UnsafeRegistries(Hazard::SearchOrder);
        for (actions, text, expected) in [
            (vec![Action::None], UNSAFE, Drain::NotNeeded),
            (vec![reload()], UNSAFE, Drain::NotNeeded),
            (vec![Action::Special], SAFE, Drain::NotNeeded),
            (vec![Action::Special], UNSAFE, unsafe_order),
            (vec![Action::Special, Action::Drain], UNSAFE, Drain::ByPolicy),
            (vec![reload(), Action::Drain], SAFE, Drain::ByPolicy),
            (vec![Action::Reboot], SAFE, Drain::BeforeReboot),
        ] {
            assert_eq!(by_policy(&actions, &old, &registries(text)).unwrap(), expected, "{actions:?} {text}");
        }
    }

    #[test]
    fn at_first_boot_registries_count_whenever_crio_is_touched() {
        use first_boot::Action::{None, Reboot, ReloadCrio, RestartCrio};
        let old = registries("unqualified-search-registries = [\"a\"]");
        for (action, text, expected) in [
            (None, UNSAFE, false),
            (ReloadCrio, SAFE, false),
            (ReloadCrio, UNSAFE, true),
            (RestartCrio, UNSAFE, true),
            (Reboot, SAFE, true),
        ] {
            let new = registries(text);
            let diff = Diff::between(&old, &new);
            let drain = at_first_boot(action, &diff, &old, &new).unwrap();
            assert_eq!(drain.is_needed(), expected, "{action:?} {text}");
        }
        let unchanged = Diff::between(&old, &old);
        assert_eq!(at_first_boot(ReloadCrio, &unchanged, &old, &old).unwrap(), Drain::NotNeeded);
    }

    #[test]
    fn a_file_that_is_missing_is_empty_and_one_that_cannot_be_read_is_refused() {
        let special = [Action::Special];
        let none = files(&json!([]));
        assert_eq!(by_policy(&special, &none, &registries(UNSAFE)).unwrap(), Drain::NotNeeded);
        for source in ["data:;base64,/w==", "data:,registry%20=%201", "https://example.com/r"] {
            let new = files(&json!([{"path": registries::PATH, "contents": {"source": source}}]));
            assert!(matches!(by_policy(&special, &none, &new), Err(Refusal::Registries { .. })), "{source}");
        }
    }
}
