//! Which images a pool's configuration gets: those of its stream, unless somebody's MachineConfig says otherwise.

use crate::objects::{MachineConfig, MachineConfigPool, StreamSet};

/// Marks configurations that a controller made.
const GENERATED: &str = "machineconfiguration.openshift.io/generated-by-controller-version";
/// Says for which machines a configuration is meant.
const ROLE: &str = "machineconfiguration.openshift.io/role";

/// The images of a pool's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Injected {
    /// `osImageURL`.
    pub os_image: String,
    /// `baseOSExtensionsContainerImage`.
    pub extensions_image: String,
    /// The MachineConfig whose OS image it is, where it is not the stream's.
    pub overridden_by: Option<String>,
    /// The same of the extensions image.
    pub extensions_overridden_by: Option<String>,
}

impl Injected {
    /// The images of a stream after the sources of the pool have had their say, the last one counting.
    pub fn new(set: &StreamSet, sources: &[&MachineConfig]) -> Self {
        let by_people = || sources.iter().filter(|config| !config.metadata.annotations.contains_key(GENERATED));
        let last = |image: fn(&MachineConfig) -> &str, of_stream: &str| {
            let config = by_people().rev().find(|config| !image(config).is_empty());
            let other = config.filter(|config| image(config) != of_stream);
            (
                other.map_or(of_stream, |config| image(config)).to_owned(),
                other.map(|config| config.metadata.name.clone()),
            )
        };
        let (os_image, overridden_by) = last(|config| &config.spec.os_image_url, &set.os_image);
        let (extensions_image, extensions_overridden_by) =
            last(|config| &config.spec.extensions_image, &set.os_extensions_image);
        Self { os_image, extensions_image, overridden_by, extensions_overridden_by }
    }

    /// Whether the image can change under its name.
    pub fn is_pinned(&self) -> bool {
        self.os_image.contains("@sha256:")
    }
}

/// The configurations that are merged for a pool, in the order of the merge: those for workers by name, then the rest by name.
pub fn merge_order<'a>(pool: &MachineConfigPool, configs: &'a [MachineConfig]) -> Vec<&'a MachineConfig> {
    let selector = &pool.spec.machine_config_selector;
    let selected = configs.iter().filter(|config| !selector.is_empty() && selector.matches(&config.metadata.labels));
    let mut sources: Vec<&MachineConfig> = selected.collect();
    let for_workers = |config: &MachineConfig| config.metadata.labels.get(ROLE).is_some_and(|role| role == "worker");
    sources.sort_by(|one, other| {
        for_workers(other).cmp(&for_workers(one)).then_with(|| one.metadata.name.cmp(&other.metadata.name))
    });
    sources
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(name: &str, role: &str, image: &str, generated: bool) -> MachineConfig {
        let annotations = if generated { json!({GENERATED: "hash"}) } else { json!({}) };
        serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {ROLE: role}, "annotations": annotations}, "spec": {"osImageURL": image},
        }))
        .unwrap()
    }

    fn pool() -> MachineConfigPool {
        let selector = json!({"matchExpressions": [{"key": ROLE, "operator": "In", "values": ["worker", "infra"]}]});
        serde_json::from_value(json!({"metadata": {"name": "infra"}, "spec": {"machineConfigSelector": selector}}))
            .unwrap()
    }

    #[test]
    fn worker_configs_come_first_and_others_by_name() {
        let configs = [
            config("99-x", "worker", "", false),
            config("00-i", "infra", "", false),
            config("00-w", "worker", "", false),
            config("50-m", "master", "", false),
        ];
        let order: Vec<&str> =
            merge_order(&pool(), &configs).iter().map(|config| config.metadata.name.as_str()).collect();
        assert_eq!(order, ["00-w", "99-x", "00-i"]);
        assert!(merge_order(&MachineConfigPool::default(), &configs).is_empty(), "an empty selector selects nothing");
    }

    #[test]
    fn the_last_image_that_a_person_set_counts() {
        let set = StreamSet { name: "s".into(), os_image: "os".into(), os_extensions_image: "ext".into() };
        let by = |name: &str, image: &str| config(name, "worker", image, false);
        let generated = config("00", "worker", "made", true);
        for (configs, image, overridden) in [
            (vec![], "os", None),
            (vec![generated.clone()], "os", None),
            (vec![by("a", "mine"), by("b", "")], "mine", Some("a")),
            (vec![by("a", "mine"), by("b", "yours")], "yours", Some("b")),
            (vec![by("a", "mine"), by("b", "os")], "os", None),
            (vec![by("a", "mine"), generated], "mine", Some("a")),
        ] {
            let injected = Injected::new(&set, &configs.iter().collect::<Vec<_>>());
            assert_eq!(
                (injected.os_image.as_str(), injected.overridden_by.as_deref()),
                (image, overridden),
                "{configs:?}"
            );
            assert_eq!(injected.extensions_image, "ext");
        }
    }
}
