//! Policies as a set: the defaults, the user's merged over them, and which one a path or a unit falls under.

use super::{Action, defaults};
use crate::api::{MachineConfiguration, NodeDisruptionPolicyConfig, PolicyAction, PolicyActionType};
use crate::path;

/// Who wrote a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Part of every cluster.
    Default,
    /// From the cluster's MachineConfiguration.
    User,
}

/// What a change of a file, or of anything below a directory, causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePolicy {
    /// The file or directory.
    pub path: String,
    /// In order.
    pub actions: Vec<Action>,
    /// Who wrote it.
    pub origin: Origin,
}

/// What a change of a unit or of its drop-ins causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitPolicy {
    /// The unit's exact name.
    pub name: String,
    /// In order.
    pub actions: Vec<Action>,
    /// Who wrote it.
    pub origin: Origin,
}

/// All policies in force on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies {
    /// By path, in order of precedence among paths of equal length.
    pub files: Vec<FilePolicy>,
    /// By unit.
    pub units: Vec<UnitPolicy>,
    /// What a change of users' keys or passwords causes.
    pub ssh_keys: Vec<Action>,
    /// Who wrote that.
    pub ssh_keys_origin: Origin,
}

/// Why a policy cannot be used. The API server refuses most of these; a file can hold anything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// `Reload` or `Restart` without its service.
    #[error("the policy for {subject} has a {action} action without a serviceName")]
    NoService {
        /// Path, unit name or `sshkey`.
        subject: String,
        /// The action's type.
        action: &'static str,
    },
    /// An action that excludes all others stands beside others.
    #[error("the policy for {subject} has {action} beside other actions; it must stand alone")]
    NotAlone {
        /// Path, unit name or `sshkey`.
        subject: String,
        /// The action's type.
        action: &'static str,
    },
    /// More entries than the API allows.
    #[error("the policy has {count} {what}; at most {most} are allowed")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many the API allows.
        most: usize,
    },
}

const MAX_POLICIES: usize = 50;
const MAX_ACTIONS: usize = 10;

impl Default for Policies {
    fn default() -> Self {
        defaults::policies()
    }
}

impl Policies {
    /// The defaults with a user's policies merged over them: an equal path or name is replaced where it stands, others
    /// are appended, and actions for keys replace the default when there are any.
    pub fn with_user(user: &NodeDisruptionPolicyConfig) -> Result<Self, PolicyError> {
        at_most("file policies", user.files.len(), MAX_POLICIES)?;
        at_most("unit policies", user.units.len(), MAX_POLICIES)?;
        let user = Self::read(user, Origin::User)?;
        let mut policies = Self::default();
        for policy in user.files {
            match policies.files.iter_mut().find(|known| known.path == policy.path) {
                Some(known) => *known = policy,
                None => policies.files.push(policy),
            }
        }
        for policy in user.units {
            match policies.units.iter_mut().find(|known| known.name == policy.name) {
                Some(known) => *known = policy,
                None => policies.units.push(policy),
            }
        }
        if !user.ssh_keys.is_empty() {
            policies.ssh_keys = user.ssh_keys;
            policies.ssh_keys_origin = Origin::User;
        }
        Ok(policies)
    }

    /// The policies that a cluster's nodes follow: the operator's merged list as long as it is up to date, else the
    /// user's own over the built-in defaults.
    pub fn in_force(object: &MachineConfiguration) -> Result<Self, PolicyError> {
        let merged = object.status.as_ref().filter(|status| status.observed_generation == object.metadata.generation);
        match merged.and_then(|status| status.node_disruption_policy_status.as_ref()) {
            Some(merged) => Self::from_cluster(&merged.cluster_policies),
            None => Self::with_user(&object.spec.node_disruption_policy.clone().unwrap_or_default()),
        }
    }

    /// The policies exactly as the cluster's operator merged them (`status.nodeDisruptionPolicyStatus`). Those that
    /// equal a default count as the default.
    pub fn from_cluster(merged: &NodeDisruptionPolicyConfig) -> Result<Self, PolicyError> {
        let defaults = Self::default();
        let mut policies = Self::read(merged, Origin::User)?;
        for policy in &mut policies.files {
            if defaults.files.iter().any(|known| known.path == policy.path && known.actions == policy.actions) {
                policy.origin = Origin::Default;
            }
        }
        for policy in &mut policies.units {
            if defaults.units.iter().any(|known| known.name == policy.name && known.actions == policy.actions) {
                policy.origin = Origin::Default;
            }
        }
        if policies.ssh_keys == defaults.ssh_keys {
            policies.ssh_keys_origin = Origin::Default;
        }
        Ok(policies)
    }

    fn read(config: &NodeDisruptionPolicyConfig, origin: Origin) -> Result<Self, PolicyError> {
        let file = |policy: &crate::api::FilePolicy| {
            let actions = actions(&policy.path, &policy.actions)?;
            Ok(FilePolicy { path: policy.path.clone(), actions, origin })
        };
        let unit = |policy: &crate::api::UnitPolicy| {
            let actions = actions(&policy.name, &policy.actions)?;
            Ok(UnitPolicy { name: policy.name.clone(), actions, origin })
        };
        Ok(Self {
            files: config.files.iter().map(file).collect::<Result<_, _>>()?,
            units: config.units.iter().map(unit).collect::<Result<_, _>>()?,
            ssh_keys: actions("sshkey", &config.sshkey.actions)?,
            ssh_keys_origin: origin,
        })
    }

    /// The policy with the longest path that is the changed path or a directory above it.
    pub fn for_file(&self, changed: &str) -> Option<&FilePolicy> {
        let cleaned = path::clean(changed);
        let covers = |policy: &&FilePolicy| policy.path == changed || is_below(&cleaned, &path::clean(&policy.path));
        // max_by_key keeps the last of equals, the first is wanted.
        self.files.iter().rev().filter(covers).max_by_key(|policy| policy.path.len())
    }

    /// The policy of exactly this unit.
    pub fn for_unit(&self, name: &str) -> Option<&UnitPolicy> {
        self.units.iter().find(|policy| policy.name == name)
    }
}

/// A policy for `/` covers nothing below it: so it is in the machine-config-daemon, and a policy for everything is
/// hardly meant.
fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

fn at_most(what: &'static str, count: usize, most: usize) -> Result<(), PolicyError> {
    if count > most { Err(PolicyError::TooMany { what, count, most }) } else { Ok(()) }
}

fn actions(subject: &str, actions: &[PolicyAction]) -> Result<Vec<Action>, PolicyError> {
    at_most("actions for one subject", actions.len(), MAX_ACTIONS)?;
    let read: Vec<Action> = actions.iter().map(|action| read(subject, action)).collect::<Result<_, _>>()?;
    let alone = [(Action::Reboot, "Reboot"), (Action::None, "None")];
    match alone.into_iter().find(|(action, _)| read.len() > 1 && read.contains(action)) {
        Some((_, action)) => Err(PolicyError::NotAlone { subject: subject.to_owned(), action }),
        None => Ok(read),
    }
}

pub(super) fn read(subject: &str, action: &PolicyAction) -> Result<Action, PolicyError> {
    let service = |named: &Option<crate::api::ServiceRef>, action| {
        let named = named.as_ref().filter(|service| !service.service_name.is_empty());
        let missing = || PolicyError::NoService { subject: subject.to_owned(), action };
        named.map(|service| service.service_name.clone()).ok_or_else(missing)
    };
    Ok(match action.type_ {
        PolicyActionType::None => Action::None,
        PolicyActionType::Drain => Action::Drain,
        PolicyActionType::DaemonReload => Action::DaemonReload,
        PolicyActionType::Special => Action::Special,
        PolicyActionType::Reboot => Action::Reboot,
        PolicyActionType::Reload => Action::Reload(service(&action.reload, "Reload")?),
        PolicyActionType::Restart => Action::Restart(service(&action.restart, "Restart")?),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn user(policy: Value) -> NodeDisruptionPolicyConfig {
        serde_json::from_value(policy).unwrap()
    }

    fn file(path: &str, kind: &str) -> Value {
        json!({"path": path, "actions": [{"type": kind}]})
    }

    #[test]
    fn the_longest_path_wins_and_the_first_of_equals() {
        let policies = Policies::with_user(&user(json!({"files": [
            file("/etc", "DaemonReload"),
            file("/etc/foo", "Drain"),
            file("/etc/foo/", "None"),
        ]})))
        .unwrap();
        for (changed, expected) in [
            ("/etc/foo", Some("/etc/foo")),
            ("/etc/foobar", Some("/etc")),
            ("/etc/foo/bar/baz", Some("/etc/foo/")),
            ("/etc//foo/../foo/bar", Some("/etc/foo/")),
            ("/etc/containers/registries.d/a.yaml", Some("/etc/containers/registries.d")),
            ("/var/lib/kubelet/config.json", Some("/var/lib/kubelet/config.json")),
            ("/var/x", None),
            ("/etc", Some("/etc")),
        ] {
            let found = policies.for_file(changed).map(|policy| policy.path.as_str());
            assert_eq!(found, expected, "{changed}");
        }
    }

    #[test]
    fn a_policy_for_the_root_covers_nothing_below_it() {
        let policies = Policies::with_user(&user(json!({"files": [file("/", "None")]}))).unwrap();
        assert_eq!(policies.for_file("/var/x"), None);
    }

    #[test]
    fn a_user_policy_replaces_the_default_of_the_same_path_in_place() {
        let path = "/etc/containers/policy.json";
        let at = |policies: &Policies| policies.files.iter().position(|policy| policy.path == path);
        let merged = Policies::with_user(&user(json!({"files": [file(path, "Reboot")]}))).unwrap();
        assert_eq!(at(&merged), at(&Policies::default()));
        let policy = merged.for_file(path).unwrap();
        assert_eq!((policy.actions.as_slice(), policy.origin), (&[Action::Reboot][..], Origin::User));
    }

    #[test]
    fn keys_keep_their_default_unless_the_user_names_actions() {
        let empty = Policies::with_user(&user(json!({"sshkey": {"actions": []}}))).unwrap();
        assert_eq!((empty.ssh_keys, empty.ssh_keys_origin), (vec![Action::None], Origin::Default));
        let drain = Policies::with_user(&user(json!({"sshkey": {"actions": [{"type": "Drain"}]}}))).unwrap();
        assert_eq!((drain.ssh_keys, drain.ssh_keys_origin), (vec![Action::Drain], Origin::User));
    }

    #[test]
    fn units_match_by_exact_name() {
        let policy = json!({"units": [{"name": "b@1.service", "actions": [{"type": "None"}]}]});
        let policies = Policies::with_user(&user(policy)).unwrap();
        assert!(policies.for_unit("b@1.service").is_some());
        assert!(policies.for_unit("b@.service").is_none());
    }

    #[test]
    fn the_clusters_own_list_is_taken_as_it_is() {
        let merged = user(json!({
            "files": [file("/etc/a", "None"), file(crate::registries::PATH, "Special")],
            "sshkey": {"actions": [{"type": "None"}]},
        }));
        let policies = Policies::from_cluster(&merged).unwrap();
        let origins: Vec<Origin> = policies.files.iter().map(|policy| policy.origin).collect();
        assert_eq!(origins, [Origin::User, Origin::Default]);
        assert_eq!((policies.units.len(), policies.ssh_keys_origin), (0, Origin::Default));
    }

    #[test]
    fn the_operators_list_counts_only_while_it_is_up_to_date() {
        let object = |observed: u64| -> MachineConfiguration {
            serde_json::from_value(json!({
                "metadata": {"name": "cluster", "generation": 3},
                "spec": {"nodeDisruptionPolicy": {"files": [file("/etc/new", "None")]}},
                "status": {
                    "observedGeneration": observed,
                    "nodeDisruptionPolicyStatus": {"clusterPolicies": {"files": [file("/etc/old", "None")]}},
                },
            }))
            .unwrap()
        };
        for (observed, expected) in [(3, "/etc/old"), (2, "/etc/new")] {
            let policies = Policies::in_force(&object(observed)).unwrap();
            assert!(policies.for_file(expected).is_some(), "{observed}");
        }
    }

    #[test]
    fn what_the_api_server_would_refuse_is_refused() {
        let actions = |actions: Value| user(json!({"files": [{"path": "/a", "actions": actions}]}));
        let many: Vec<Value> = (0..51).map(|n| file(&format!("/{n}"), "None")).collect();
        for (policy, expected) in [
            (actions(json!([{"type": "Reload"}])), "the policy for /a has a Reload action without a serviceName"),
            (
                actions(json!([{"type": "Restart", "restart": {"serviceName": ""}}])),
                "the policy for /a has a Restart action without a serviceName",
            ),
            (
                actions(json!([{"type": "Drain"}, {"type": "Reboot"}])),
                "the policy for /a has Reboot beside other actions; it must stand alone",
            ),
            (
                actions(json!(vec![json!({"type": "Drain"}); 11])),
                "the policy has 11 actions for one subject; at most 10 are allowed",
            ),
            (user(json!({"files": many})), "the policy has 51 file policies; at most 50 are allowed"),
        ] {
            assert_eq!(Policies::with_user(&policy).unwrap_err().to_string(), expected);
        }
    }
}
