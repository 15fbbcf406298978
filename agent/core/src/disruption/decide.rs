//! Actions for a difference, each with the change and the policy that caused it.

use std::fmt;

use super::{Action, Origin, Policies};
use crate::diff::{Diff, Kind};

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// An update that was forced by hand.
    Forced,
    /// The image the node runs.
    OsImage,
    /// Kernel arguments.
    KernelArguments,
    /// The FIPS flag.
    Fips,
    /// The kernel.
    KernelType,
    /// Extensions.
    Extensions,
    /// A file.
    File(String, Kind),
    /// A unit or its drop-ins.
    Unit(String, Kind),
    /// Keys or passwords.
    Users,
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Forced => "forced by hand",
            Self::OsImage => "OS image",
            Self::KernelArguments => "kernel arguments",
            Self::Fips => "FIPS",
            Self::KernelType => "kernel type",
            Self::Extensions => "extensions",
            Self::File(path, _) => path,
            Self::Unit(name, _) => return write!(formatter, "unit {name}"),
            Self::Users => "SSH keys or password of core",
        })
    }
}

/// Why an action is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What changed.
    pub subject: Subject,
    /// The policy it falls under, by its path or name; `None` when there is none or it has no say.
    pub policy: Option<(String, Origin)>,
    /// What the change causes.
    pub actions: Vec<Action>,
}

/// The actions of a whole update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// What is done, each once: exactly `[Reboot]`, exactly `[None]`, or others in the order of their causes.
    pub actions: Vec<Action>,
    /// One cause for every change.
    pub causes: Vec<Cause>,
}

/// Decides what a difference causes on a node that runs.
pub fn decide(diff: &Diff<'_>, policies: &Policies, forced: bool) -> Decision {
    let causes: Vec<Cause> = os_causes(diff, forced)
        .into_iter()
        .chain(diff.files.iter().map(|(path, pair)| file_cause(path, pair.kind(), policies)))
        .chain(diff.units.iter().map(|(name, pair)| unit_cause(name, pair.kind(), policies)))
        .chain(diff.parts.passwd.then(|| users_cause(policies)))
        .collect();
    Decision { actions: combine(&causes), causes }
}

/// Changes that no policy has a say in.
pub(crate) fn os_causes(diff: &Diff<'_>, forced: bool) -> Vec<Cause> {
    let parts = diff.parts;
    [
        (forced, Subject::Forced),
        (parts.os_update, Subject::OsImage),
        (parts.kargs, Subject::KernelArguments),
        (parts.fips, Subject::Fips),
        (parts.kernel_type, Subject::KernelType),
        (parts.extensions, Subject::Extensions),
    ]
    .into_iter()
    .filter(|(differs, _)| *differs)
    .map(|(_, subject)| Cause { subject, policy: None, actions: vec![Action::Reboot] })
    .collect()
}

fn file_cause(path: &str, kind: Kind, policies: &Policies) -> Cause {
    let policy = policies.for_file(path);
    Cause {
        subject: Subject::File(path.to_owned(), kind),
        policy: policy.map(|policy| (policy.path.clone(), policy.origin)),
        actions: policy.map_or_else(|| vec![Action::Reboot], |policy| policy.actions.clone()),
    }
}

fn unit_cause(name: &str, kind: Kind, policies: &Policies) -> Cause {
    let policy = policies.for_unit(name);
    Cause {
        subject: Subject::Unit(name.to_owned(), kind),
        policy: policy.map(|policy| (policy.name.clone(), policy.origin)),
        actions: policy.map_or_else(|| vec![Action::Reboot], |policy| policy.actions.clone()),
    }
}

fn users_cause(policies: &Policies) -> Cause {
    let policy = Some(("sshkey".to_owned(), policies.ssh_keys_origin));
    Cause { subject: Subject::Users, policy, actions: policies.ssh_keys.clone() }
}

fn combine(causes: &[Cause]) -> Vec<Action> {
    let mut actions: Vec<Action> = Vec::new();
    for action in causes.iter().flat_map(|cause| &cause.actions) {
        if !actions.contains(action) {
            actions.push(action.clone());
        }
    }
    if actions.contains(&Action::Reboot) {
        return vec![Action::Reboot];
    }
    actions.retain(|action| *action != Action::None);
    if actions.is_empty() { vec![Action::None] } else { actions }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(actions: &[Action]) -> Cause {
        Cause { subject: Subject::Users, policy: None, actions: actions.to_vec() }
    }

    #[test]
    fn actions_are_combined_once_each_in_the_order_of_their_causes() {
        use Action::{DaemonReload, Drain, None, Reboot, Special};
        let restart = || Action::Restart("a.service".to_owned());
        for (causes, expected) in [
            (vec![], vec![None]),
            (vec![vec![]], vec![None]),
            (vec![vec![None], vec![None]], vec![None]),
            (vec![vec![None], vec![restart()], vec![None]], vec![restart()]),
            (vec![vec![restart(), Drain], vec![DaemonReload, restart()]], vec![restart(), Drain, DaemonReload]),
            (vec![vec![Special], vec![Special]], vec![Special]),
            (vec![vec![restart(), Drain], vec![Reboot]], vec![Reboot]),
        ] {
            let causes: Vec<Cause> = causes.iter().map(|actions| cause(actions)).collect();
            assert_eq!(combine(&causes), expected, "{causes:?}");
        }
    }

    #[test]
    fn what_no_policy_covers_reboots_and_is_told_apart_from_what_one_covers() {
        let policies = Policies::default();
        for (path, policy) in [
            ("/etc/motd", None),
            ("/etc/kubernetes/kubelet-ca.crt", None),
            ("/etc/containers/registries.d/a/b.yaml", Some("/etc/containers/registries.d")),
            ("/etc/containers/registries.d.bak", None),
        ] {
            let cause = file_cause(path, Kind::Updated, &policies);
            assert_eq!(cause.actions == [Action::Reboot], policy.is_none(), "{path}");
            assert_eq!(cause.policy, policy.map(|key| (key.to_owned(), Origin::Default)), "{path}");
        }
        assert_eq!(unit_cause("kubelet.service", Kind::Added, &policies).actions, [Action::Reboot]);
        let iri = unit_cause("iri-registry.service", Kind::Removed, &policies);
        assert_eq!(iri.actions.first(), Some(&Action::DaemonReload));
    }
}
