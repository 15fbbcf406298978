//! Which stream a pool follows, and which one it reports when it has got there.

use std::fmt;

use crate::objects::{MachineConfig, MachineConfigPool, OSImageStreamStatus, condition};

/// Pools that the operator makes; all others inherit from `worker`.
const BUILT_IN: [&str; 3] = ["master", "worker", "arbiter"];
/// The pool that custom ones inherit from.
pub(super) const WORKER: &str = "worker";

/// How a pool came to its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Choice {
    /// It names the stream itself.
    Explicit,
    /// `worker` names it.
    Inherited,
    /// It is the cluster's default.
    Default,
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Explicit => "named by the pool",
            Self::Inherited => "inherited from worker",
            Self::Default => "default of the cluster",
        })
    }
}

/// The stream a pool follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// Its name.
    pub stream: String,
    /// Why it is this one.
    pub choice: Choice,
}

/// The stream a pool follows: its own, that of `worker` for a custom pool, or the default.
pub fn effective(pool: &MachineConfigPool, pools: &[MachineConfigPool], default: &str) -> Effective {
    let named = |pool: &MachineConfigPool| {
        let stream = pool.spec.os_image_stream.as_ref().map(|stream| stream.name.clone());
        stream.filter(|name| !name.is_empty())
    };
    if let Some(stream) = named(pool) {
        return Effective { stream, choice: Choice::Explicit };
    }
    let custom = !BUILT_IN.contains(&pool.metadata.name.as_str());
    let worker = pools.iter().find(|pool| custom && pool.metadata.name == WORKER);
    match worker.and_then(named) {
        Some(stream) => Effective { stream, choice: Choice::Inherited },
        None => Effective { stream: default.to_owned(), choice: Choice::Default },
    }
}

/// The pools that a pool takes along when it names a stream: where it is `worker`, custom ones that name none.
pub fn followers<'p>(pool: &MachineConfigPool, pools: &'p [MachineConfigPool]) -> Vec<&'p MachineConfigPool> {
    let leads = pool.metadata.name == WORKER;
    let follows = |other: &&MachineConfigPool| {
        let names = other.spec.os_image_stream.as_ref().is_some_and(|stream| !stream.name.is_empty());
        leads && !names && !BUILT_IN.contains(&other.metadata.name.as_str())
    };
    pools.iter().filter(follows).collect()
}

/// The stream that the operator reports for a pool: nothing before it is fully updated, or where somebody chose the image.
pub fn reported(
    pool: &MachineConfigPool,
    rendered: Option<&MachineConfig>,
    sources: &[&MachineConfig],
    offered: &OSImageStreamStatus,
) -> Option<String> {
    let is = |type_: &str| condition(&pool.status.conditions, type_).is_some_and(|condition| condition.is_true());
    let settled = is("Updated") && !is("Degraded");
    let chosen = sources.iter().any(|config| !config.spec.os_image_url.is_empty());
    let image = rendered.map(|config| config.spec.os_image_url.as_str()).filter(|image| !image.is_empty())?;
    let set = offered.available_streams.iter().find(|set| set.os_image == image)?;
    (settled && !chosen).then(|| set.name.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pool(name: &str, stream: Option<&str>) -> MachineConfigPool {
        let stream = stream.map(|name| json!({"name": name}));
        serde_json::from_value(json!({"metadata": {"name": name}, "spec": {"osImageStream": stream}})).unwrap()
    }

    #[test]
    fn a_pool_follows_itself_then_worker_then_the_default() {
        use Choice::{Default, Explicit, Inherited};
        for (name, own, worker, expected) in [
            ("worker", Some("rhel-10"), None, ("rhel-10", Explicit)),
            ("worker", None, None, ("rhel-9", Default)),
            ("master", None, Some("rhel-10"), ("rhel-9", Default)),
            ("arbiter", None, Some("rhel-10"), ("rhel-9", Default)),
            ("infra", None, Some("rhel-10"), ("rhel-10", Inherited)),
            ("infra", Some("x"), Some("rhel-10"), ("x", Explicit)),
            ("infra", Some(""), Some("rhel-10"), ("rhel-10", Inherited)),
            ("infra", None, None, ("rhel-9", Default)),
        ] {
            let pools = [pool("worker", worker)];
            let found = effective(&pool(name, own), &pools, "rhel-9");
            assert_eq!((found.stream.as_str(), found.choice), expected, "{name} {own:?} {worker:?}");
        }
        assert_eq!(effective(&pool("infra", None), &[], "rhel-9").choice, Default, "no worker pool");
    }

    #[test]
    fn only_worker_takes_others_along() {
        let pools = [pool("infra", None), pool("gpu", Some("rhel-10")), pool("master", None), pool("worker", None)];
        let along = |leader: &str| -> Vec<String> {
            followers(&pool(leader, None), &pools).iter().map(|pool| pool.metadata.name.clone()).collect()
        };
        assert_eq!(along("worker"), ["infra"]);
        assert!(along("infra").is_empty() && along("master").is_empty());
    }

    #[test]
    fn a_stream_is_reported_only_by_a_settled_pool_whose_image_nobody_chose() {
        let config =
            |image: &str| -> MachineConfig { serde_json::from_value(json!({"spec": {"osImageURL": image}})).unwrap() };
        let offered: OSImageStreamStatus =
            serde_json::from_value(json!({"availableStreams": [{"name": "rhel-9", "osImage": "nine"}]})).unwrap();
        let with = |updated: &str, degraded: &str| -> MachineConfigPool {
            serde_json::from_value(json!({"status": {"conditions": [
                {"type": "Updated", "status": updated}, {"type": "Degraded", "status": degraded},
            ]}}))
            .unwrap()
        };
        let (plain, chosen) = (config(""), config("mine"));
        for (updated, degraded, rendered, source, expected) in [
            ("True", "False", Some("nine"), &plain, Some("rhel-9")),
            ("False", "False", Some("nine"), &plain, None),
            ("True", "True", Some("nine"), &plain, None),
            ("True", "False", Some("other"), &plain, None),
            ("True", "False", Some(""), &plain, None),
            ("True", "False", None, &plain, None),
            ("True", "False", Some("nine"), &chosen, None),
        ] {
            let rendered = rendered.map(config);
            let found = reported(&with(updated, degraded), rendered.as_ref(), &[source], &offered);
            assert_eq!(found.as_deref(), expected, "{updated} {degraded} {rendered:?}");
        }
    }
}
