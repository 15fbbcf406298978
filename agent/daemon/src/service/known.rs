//! What was last heard from outside: the node's object, its status object, the settings, and whether the cluster answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_core::api::{ControllerConfig, MachineConfigNode, MachineConfiguration, PinnedImageSet};
use ostler_core::node::publication::Gates;
use ostler_core::node::{ConfigRef, DrainView, Duties, Input, NodeView};
use ostler_core::protocol::Rules;

use crate::cluster::Change;

/// What was last heard.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The node's object; none until it was heard of, or when it is gone.
    pub node: Option<NodeView>,
    /// The object that the node's status is in.
    pub object: Option<MachineConfigNode>,
    /// The settings, as far as they decide anything.
    pub settings: Option<serde_json::Value>,
    /// By which rules updates are planned: the settings, as far as the gates let them be.
    pub rules: Rules,
    /// Whether the operator has yet to work out the rules of the present settings.
    pub rules_pending: bool,
    /// Features that are on.
    pub gates: Gates,
    /// What the operator hands to nodes.
    pub controller_config: Option<Arc<ControllerConfig>>,
    /// The images to keep; none where that is not known yet.
    pub pinned_sets: Option<Arc<Vec<PinnedImageSet>>>,
    /// What the duties beside updates have to say.
    pub duties: Duties,
    /// How often what a hosted cluster mounts was replaced.
    pub mounted: u64,
    /// Objects that decide an update and were not read yet: an absence is read as well, a refusal is not.
    pub unread: BTreeSet<Input>,
    /// That the API server does not accept the credentials as those of this node, in its own words.
    pub denied: Option<String>,
    /// Whether the cluster answers.
    pub reachable: bool,
    /// Whether it was tried in vain.
    pub lost: bool,
    /// Whether it ever has since the agent started.
    pub reached: bool,
}

/// What a decision rests on of all that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Grounds {
    node: Option<(String, Option<ConfigRef>, DrainView, Option<String>)>,
    introduced: bool,
    rules: (Rules, bool),
    gates: Gates,
    duties: Duties,
    mounted: u64,
}

impl Known {
    /// What is known of a cluster before it has answered.
    pub fn of_cluster() -> Self {
        Self { unread: BTreeSet::from(Input::ALL), ..Self::default() }
    }

    /// What a decision would rest on now.
    pub fn grounds(&self) -> Grounds {
        let node = self.node.as_ref();
        Grounds {
            node: node.map(|node| (node.uid.clone(), node.desired(), node.drain(), node.hold().map(str::to_owned))),
            introduced: node.is_some_and(|node| node.current().is_some()),
            rules: (self.rules.clone(), self.rules_pending),
            gates: self.gates,
            duties: self.duties.clone(),
            mounted: self.mounted,
        }
    }

    /// Takes in a change; whether it concerns what the node does, and in which words.
    pub fn take(&mut self, change: Change) -> Option<String> {
        match change {
            Change::Node(node) => self.take_node(node.map(|node| *node)),
            Change::MachineConfigNode(object) => {
                let object = object.map(|object| *object);
                // What we have written ourselves comes back as an event, and is no news.
                let news = self.object != object;
                self.object = object;
                news.then(|| "the MachineConfigNode changed".to_owned())
            }
            Change::Settings(settings) => {
                let first = self.read(Input::MachineConfiguration);
                self.take_settings(settings.as_deref()).or(first)
            }
            Change::Gates(gates) => {
                let first = self.read(Input::FeatureGate);
                let news = self.gates != gates;
                self.gates = gates;
                self.rules = self.rules_in_force();
                news.then(|| "the feature gates changed".to_owned()).or(first)
            }
            // Its contents are for the duties, which look at them by themselves.
            Change::ControllerConfig(config) => {
                self.controller_config = config;
                self.read(Input::ControllerConfig)
            }
            Change::Denied(reason) => {
                self.denied = Some(reason);
                Some("the API server does not accept the credentials as those of this node".to_owned())
            }
            Change::PinnedSets(sets) => {
                self.pinned_sets = Some(sets);
                None
            }
            Change::Mounted => {
                self.mounted = self.mounted.saturating_add(1);
                Some("what is mounted for the node was replaced".to_owned())
            }
            Change::Lost(_) => {
                self.reachable = false;
                self.lost = true;
                None
            }
            Change::Back => {
                self.reachable = true;
                self.lost = false;
                self.reached = true;
                Some("the cluster answers".to_owned())
            }
        }
    }

    fn read(&mut self, input: Input) -> Option<String> {
        self.unread.remove(&input).then(|| format!("the {} was read", input.kind()))
    }

    fn take_node(&mut self, node: Option<NodeView>) -> Option<String> {
        self.reachable = true;
        self.reached = true;
        let accepted = self.denied.take().map(|_| "the API server accepts the credentials".to_owned());
        if self.node == node {
            return accepted;
        }
        let reason = match (&self.node, &node) {
            (_, None) => "the Node is gone",
            (None, Some(_)) => "the Node was heard of",
            (Some(old), Some(new)) if old.uid != new.uid => "the Node was made anew",
            (Some(old), Some(new)) if old.desired() != new.desired() => "another configuration is desired",
            (Some(old), Some(new)) if old.drain() != new.drain() => "the drain controller answered, or was asked",
            (Some(old), Some(new)) if old.hold() != new.hold() => "the hold was changed",
            _ => "the Node changed",
        };
        self.node = node;
        Some(reason.to_owned())
    }

    fn take_settings(&mut self, settings: Option<&MachineConfiguration>) -> Option<String> {
        let policy = settings.and_then(|settings| serde_json::to_value(settings).ok());
        let pending = settings.is_some_and(is_pending);
        let settings = policy.map(without_noise);
        if self.settings == settings && self.rules_pending == pending {
            return None;
        }
        self.settings = settings;
        self.rules = self.rules_in_force();
        self.rules_pending = pending;
        Some("the MachineConfiguration changed".to_owned())
    }

    /// Overrides belong to a feature, and go with it.
    fn rules_in_force(&self) -> Rules {
        let mut policy = self.settings.clone();
        let spec = policy.as_mut().and_then(|policy| policy.get_mut("spec")?.as_object_mut());
        if let Some(spec) = spec.filter(|_| !self.gates.irreconcilable) {
            spec.remove("irreconcilableValidationOverrides");
        }
        Rules { policy, ..Rules::default() }
    }
}

/// The operator merges the policies into the status; until it has, the status is that of older settings.
fn is_pending(settings: &MachineConfiguration) -> bool {
    let observed = settings.status.as_ref().and_then(|status| status.observed_generation);
    matches!((settings.metadata.generation, observed), (Some(generation), Some(observed)) if observed < generation)
}

/// What changes with every write of the object decides nothing, and would make every plan anew.
fn without_noise(mut policy: serde_json::Value) -> serde_json::Value {
    if let Some(metadata) = policy.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
        // Empty, not gone: an object without it is none.
        metadata.clear();
    }
    if let Some(status) = policy.get_mut("status").and_then(serde_json::Value::as_object_mut) {
        status.retain(|key, _| key == "nodeDisruptionPolicyStatus");
    }
    policy
}

#[cfg(test)]
pub mod tests {
    use ostler_core::api::MachineConfigNodeSpec;
    use ostler_core::machine_config::MachineConfig;
    use serde_json::json;

    use super::*;

    pub fn settings(version: &str, sections: &[&str]) -> Change {
        let object = json!({
            "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration",
            "metadata": {"name": "cluster", "resourceVersion": version, "generation": 1},
            "spec": {"irreconcilableValidationOverrides": {"storage": sections}},
        });
        Change::Settings(Some(Box::new(serde_json::from_value(object).unwrap())))
    }

    #[test]
    fn updates_are_planned_by_the_settings_and_those_change_only_with_what_they_say() {
        let mut known = Known::default();
        assert!(known.take(settings("1", &["Disks"])).is_some());
        let desired = known.rules.desired(MachineConfig::empty()).unwrap();
        assert!(desired.overrides.disks && !desired.overrides.raid);
        assert_eq!(known.take(settings("2", &["Disks"])), None);
        assert!(known.take(settings("3", &[])).is_some());
        assert!(!known.rules.desired(MachineConfig::empty()).unwrap().overrides.disks);
        assert!(known.take(Change::Settings(None)).is_some());
    }

    #[test]
    fn overrides_count_only_while_their_feature_is_on() {
        let mut known = Known::default();
        known.take(settings("1", &["Disks"]));
        let allows = |known: &Known| known.rules.desired(MachineConfig::empty()).unwrap().overrides.disks;
        for on in [true, false, true] {
            known.take(Change::Gates(Gates { irreconcilable: on, ..Gates::default() }));
            assert_eq!(allows(&known), on);
        }
    }

    #[test]
    fn what_is_mounted_anew_is_something_to_decide_on() {
        let mut known = Known::default();
        let before = known.grounds();
        assert!(known.take(Change::Mounted).is_some());
        assert_ne!(known.grounds(), before);
    }

    #[test]
    fn what_is_known_already_is_no_reason_to_turn() {
        let object = |name: &str| Some(Box::new(MachineConfigNode::new(name, MachineConfigNodeSpec::default())));
        let mut known = Known { object: object("a").map(|object| *object), ..Known::default() };
        assert_eq!(known.take(Change::MachineConfigNode(object("a"))), None);
        assert!(known.take(Change::MachineConfigNode(object("b"))).is_some());
        assert!(known.take(Change::MachineConfigNode(None)).is_some());
        assert_eq!(known.take(Change::MachineConfigNode(None)), None);
    }
}
