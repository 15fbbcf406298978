//! A node that has not joined yet: what it is to be, and what a change causes where no policy can be read, by a fixed
//! table.
//!
//! That table serves hosted clusters, whose nodes have no MachineConfiguration.

mod target;

use serde::{Serialize, Serializer};

pub use target::{Left, Target, target};

use crate::diff::Diff;
use crate::disruption::{self, Cause, Subject};
use crate::{path, registries};

/// The one action of a first boot, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Nothing needs doing.
    None,
    /// Reload CRI-O.
    ReloadCrio,
    /// Update the certificate store and restart CRI-O.
    RestartCrio,
    /// Restart the machine.
    Reboot,
}

impl Action {
    /// The daemon's name for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ReloadCrio => "reload crio",
            Self::RestartCrio => "restart crio",
            Self::Reboot => "reboot",
        }
    }

    /// The same in the words of the node disruption policies.
    pub fn as_actions(self) -> Vec<disruption::Action> {
        let restart = |service: &str| disruption::Action::Restart(service.to_owned());
        match self {
            Self::None => vec![disruption::Action::None],
            Self::ReloadCrio => vec![disruption::Action::Reload("crio.service".to_owned())],
            Self::RestartCrio => vec![restart("coreos-update-ca-trust.service"), restart("crio.service")],
            Self::Reboot => vec![disruption::Action::Reboot],
        }
    }

    fn for_file(changed: &str) -> Self {
        const DIRECTLY_INSIDE: &[(&str, Action)] =
            &[("/etc/nmstate/openshift", Action::None), ("/etc/containers/registries.d", Action::ReloadCrio)];
        match changed {
            "/etc/kubernetes/kubelet-ca.crt" | "/var/lib/kubelet/config.json" => Self::None,
            registries::PATH
            | "/etc/containers/policy.json"
            | "/etc/machine-config-daemon/no-reboot/containers-gpg.pub" => Self::ReloadCrio,
            "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt" => Self::RestartCrio,
            _ => {
                let parent = path::parent(changed);
                let known = DIRECTLY_INSIDE.iter().find(|(directory, _)| Some(*directory) == parent);
                known.map_or(Self::Reboot, |(_, action)| *action)
            }
        }
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Decides what a difference causes at first boot: the strongest action of all changes.
pub fn decide(diff: &Diff<'_>, forced: bool) -> (Action, Vec<Cause>) {
    let mut action = Action::None;
    let mut causes = disruption::os_causes(diff, forced);
    if !causes.is_empty() {
        action = Action::Reboot;
    }
    let mut add = |subject, caused: Action| {
        action = action.max(caused);
        causes.push(Cause { subject, policy: None, actions: caused.as_actions() });
    };
    for (path, pair) in &diff.files {
        add(Subject::File((*path).to_owned(), pair.kind()), Action::for_file(path));
    }
    for (name, pair) in &diff.units {
        add(Subject::Unit((*name).to_owned(), pair.kind()), Action::Reboot);
    }
    if diff.parts.passwd {
        add(Subject::Users, Action::None);
    }
    (action, causes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_decides_by_path() {
        for (path, expected) in [
            ("/etc/kubernetes/kubelet-ca.crt", Action::None),
            ("/var/lib/kubelet/config.json", Action::None),
            ("/etc/nmstate/openshift/cluster.yml", Action::None),
            ("/etc/nmstate/openshift/a/b.yml", Action::Reboot),
            ("/etc/containers/registries.conf", Action::ReloadCrio),
            ("/etc/containers/policy.json", Action::ReloadCrio),
            ("/etc/machine-config-daemon/no-reboot/containers-gpg.pub", Action::ReloadCrio),
            ("/etc/containers/registries.d/a.yaml", Action::ReloadCrio),
            ("/etc/containers/registries.d", Action::Reboot),
            ("/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt", Action::RestartCrio),
            ("/etc/motd", Action::Reboot),
        ] {
            assert_eq!(Action::for_file(path), expected, "{path}");
        }
    }

    #[test]
    fn a_stronger_action_outranks_a_weaker_one() {
        assert!(Action::Reboot > Action::RestartCrio);
        assert!(Action::RestartCrio > Action::ReloadCrio);
        assert!(Action::ReloadCrio > Action::None);
    }
}
