//! When something is to be delivered.

use crate::api::ControllerConfig;
use crate::api::controller_config::ROTATION;
use crate::node::{ConfigRef, NodeView, keys};

/// What asks for the API server's new authority.
const ASKED: &str = "true";

/// A delivery that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// What it is for; the same again needs no delivery.
    pub done: Done,
    /// Whether the API server's new authority is part of it.
    pub rotates: bool,
}

/// A delivery by what it was for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Version of the object.
    pub version: String,
    /// What it said of the API server's authority.
    pub rotation: Option<String>,
    /// The configuration that the machine was in: another one may have brought older files.
    pub config: Option<ConfigRef>,
}

/// What is due, after what was done since the agent started; nothing where all is done.
pub fn errand(
    config: &ControllerConfig,
    node: &NodeView,
    current: Option<&ConfigRef>,
    last: Option<&Done>,
) -> Option<Errand> {
    let version = config.metadata.resource_version.clone().unwrap_or_default();
    let rotation = config.metadata.annotations.as_ref().and_then(|annotations| annotations.get(ROTATION)).cloned();
    let done = Done { version, rotation, config: current.cloned() };
    if last == Some(&done) {
        return None;
    }
    let observed = node.annotation(keys::OBSERVED_ROTATION) == done.rotation.as_deref();
    let synced = node.annotation(keys::SYNCED_CONTROLLER_CONFIG) == Some(done.version.as_str());
    let rotates = done.rotation.as_deref() == Some(ASKED) && !(observed && synced);
    Some(Errand { done, rotates })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn config(version: &str, rotation: Option<&str>) -> ControllerConfig {
        let annotations = rotation.map(|rotation| json!({ROTATION: rotation}));
        let object = json!({"metadata": {"resourceVersion": version, "annotations": annotations}, "spec": {}});
        serde_json::from_value(object).unwrap()
    }

    fn node(synced: &str, observed: &str) -> NodeView {
        let pairs = [(keys::SYNCED_CONTROLLER_CONFIG, synced), (keys::OBSERVED_ROTATION, observed)];
        let annotations: BTreeMap<String, String> =
            pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        NodeView::new("node", "1", false, &annotations)
    }

    #[test]
    fn the_authority_is_asked_for_when_a_rotation_is_new_or_the_object_is() {
        for (rotation, synced, observed, rotates) in [
            (None, "", "", false),
            (Some("false"), "", "", false),
            (Some("true"), "", "", true),
            (Some("true"), "7", "false", true),
            (Some("true"), "6", "true", true),
            (Some("true"), "7", "true", false),
            (Some("false"), "6", "true", false),
        ] {
            let errand = errand(&config("7", rotation), &node(synced, observed), None, None).unwrap();
            assert_eq!(errand.rotates, rotates, "{rotation:?} {synced} {observed}");
            assert_eq!(errand.done.rotation.as_deref(), rotation);
        }
    }

    #[test]
    fn what_was_done_is_not_due_again() {
        let node = node("7", "true");
        let (a, b) = (ConfigRef::new("a"), ConfigRef::new("b"));
        let done = |version, rotation, current| errand(&config(version, rotation), &node, current, None).unwrap().done;
        let last = done("7", Some("true"), Some(&a));
        for (version, rotation, current, due) in [
            ("7", Some("true"), &a, false),
            ("8", Some("true"), &a, true),
            ("7", Some("false"), &a, true),
            ("7", Some("true"), &b, true),
        ] {
            let errand = errand(&config(version, rotation), &node, Some(current), Some(&last));
            assert_eq!(errand.is_some(), due, "{version} {rotation:?} {current:?}");
        }
    }
}
