//! What is worth knowing of a target before a node is brought into it: keys that nobody reads, and a plan that takes
//! things away for a MachineConfig that may be the wrong one.
//!
//! Owns what is warned of and its words. Refuses to refuse: Ignition and the machine-config-daemon take such targets, and
//! a node without a cluster is given configurations that nobody rendered.

use serde::Serialize;
use serde_json::Value;

use crate::api::MachineConfigSpec;
use crate::ignition::{Config, UnknownKeys};
use crate::machine_config::MachineConfig;
use crate::plan::Plan;
use crate::step::Step;

/// The label of the MachineConfigs that a pool's is rendered from.
const ROLE: &str = "machineconfiguration.openshift.io/role";
/// The kind that owns a rendered MachineConfig.
const POOL: &str = "MachineConfigPool";
/// How the name of a rendered one begins; the pool's and a hash follow.
const RENDERED: &str = "rendered-";

/// One thing worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Warning {
    /// The Ignition config has nothing in it but its version.
    RemovesEverything {
        config: String,
        /// How much goes.
        removals: usize,
    },
    /// A part of a pool's configuration, or one that a person wrote, takes things away.
    NotRendered {
        config: String,
        /// How much goes.
        removals: usize,
    },
    /// A key is ignored.
    UnknownKey {
        path: String,
        /// The key that may be meant.
        nearest: Option<&'static str>,
        /// What does not have the key.
        reader: String,
    },
    /// More keys are ignored than are named.
    UnknownKeys {
        /// How many more.
        count: usize,
    },
}

impl Warning {
    /// What to say.
    pub fn message(&self) -> String {
        match self {
            Self::RemovesEverything { config, removals } => format!(
                "the Ignition config of {config} has nothing but its version: the plan removes {}, all that the node has \
                 from its configuration",
                things(*removals)
            ),
            Self::NotRendered { config, removals } => format!(
                "{config} is not a rendered MachineConfig, and the plan removes {}; a node of a pool needs the whole one, \
                 rendered-POOL-HASH",
                things(*removals)
            ),
            Self::UnknownKey { path, nearest, reader } => {
                let meant = nearest.map(|nearest| format!("; did you mean {nearest:?}?")).unwrap_or_default();
                format!("{path} is not a key of {reader} and is ignored{meant}")
            }
            Self::UnknownKeys { count: 1 } => "one more key is unknown and ignored".to_owned(),
            Self::UnknownKeys { count } => format!("{count} more keys are unknown and ignored"),
        }
    }
}

fn things(count: usize) -> String {
    match count {
        1 => "one thing".to_owned(),
        count => format!("{count} things"),
    }
}

/// What a MachineConfig's document tells beyond what is decided on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    rendered: bool,
    spec: UnknownKeys,
    config: UnknownKeys,
    version: String,
}

impl Provenance {
    /// Reads a document, whatever it is.
    pub fn of(document: &Value) -> Self {
        let config = document.pointer("/spec/config").unwrap_or(&Value::Null);
        // The types would copy the values, which are nearly all of the document.
        let keys = document.pointer("/spec").and_then(Value::as_object).map(|spec| spec.keys());
        let shell: Value = keys.into_iter().flatten().map(|key| (key.clone(), Value::Null)).collect();
        let version = config.pointer("/ignition/version").and_then(Value::as_str).unwrap_or_default();
        Self {
            rendered: is_rendered(document),
            spec: UnknownKeys::of_type::<MachineConfigSpec>(&shell, "spec"),
            config: UnknownKeys::of_config(config, "spec.config"),
            version: version.chars().take(32).collect(),
        }
    }

    /// What is worth knowing of this target, by what its plan would do.
    pub fn warnings(&self, target: &MachineConfig, plan: Option<&Plan>) -> Vec<Warning> {
        let steps = plan.map(|plan| plan.steps.as_slice()).unwrap_or_default();
        let removals = steps.iter().map(removed).sum();
        let config = || target.name.clone();
        let mut warnings = Vec::new();
        // Kernel arguments are not of the Ignition config.
        let is_emptied = steps.iter().any(|step| !matches!(step, Step::StageOs(_)) && removed(step) > 0);
        if is_emptied && target.ignition == Config::default() {
            warnings.push(Warning::RemovesEverything { config: config(), removals });
        }
        if removals > 0 && !self.rendered {
            warnings.push(Warning::NotRendered { config: config(), removals });
        }
        let ignition = format!("Ignition {}", self.version);
        for (keys, reader) in [(&self.spec, "a MachineConfig"), (&self.config, ignition.as_str())] {
            warnings.extend(keys.named.iter().map(|key| Warning::UnknownKey {
                path: key.path.clone(),
                nearest: key.nearest,
                reader: reader.to_owned(),
            }));
        }
        let count = self.spec.more.saturating_add(self.config.more);
        warnings.extend((count > 0).then_some(Warning::UnknownKeys { count }));
        warnings
    }
}

/// A pool's controller names what it renders, and makes the pool its owner. What it is rendered from has a role.
fn is_rendered(document: &Value) -> bool {
    let metadata = document.get("metadata").unwrap_or(&Value::Null);
    let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default();
    let hash = name.strip_prefix(RENDERED).and_then(|rest| rest.rsplit_once('-'));
    let owners = metadata.get("ownerReferences").and_then(Value::as_array);
    let is_pools =
        owners.is_some_and(|owners| owners.iter().any(|owner| owner.get("kind") == Some(&Value::from(POOL))));
    let is_part = metadata.get("labels").is_some_and(|labels| labels.get(ROLE).is_some());
    !is_part && (is_pools || hash.is_some_and(|(pool, hash)| !pool.is_empty() && !hash.is_empty()))
}

/// How many things a step takes away for good.
fn removed(step: &Step) -> usize {
    match step {
        Step::RemoveFile { .. }
        | Step::RemoveUnit { .. }
        | Step::RemoveDropin { .. }
        | Step::LockPassword { .. }
        | Step::SetSshKeys { keys: 0, .. } => 1,
        Step::StageOs(deployment) => {
            let arguments = &deployment.kernel_arguments;
            arguments.remove.iter().filter(|argument| !arguments.append.contains(argument)).count()
        }
        Step::Drain
        | Step::WriteFile { .. }
        | Step::WriteUnit { .. }
        | Step::WriteDropin { .. }
        | Step::MaskUnit { .. }
        | Step::UnmaskUnit { .. }
        | Step::EnableUnit { .. }
        | Step::DisableUnit { .. }
        | Step::PresetUnit { .. }
        | Step::SetSshKeys { .. }
        | Step::SetPassword { .. }
        | Step::RecordConfig { .. }
        | Step::DaemonReload
        | Step::ReloadService { .. }
        | Step::RestartService { .. }
        | Step::Reboot => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rendered_one_is_known_by_its_name_or_its_owner_and_a_part_by_its_role() {
        let role = json!({ROLE: "worker"});
        let pool = json!([{"kind": POOL, "name": "worker"}]);
        let controller = json!([{"kind": "ControllerConfig", "name": "c"}]);
        let generated = json!({"machineconfiguration.openshift.io/generated-by-controller-version": "abc"});
        for (metadata, expected) in [
            (json!({"name": "rendered-worker-0123456789abcdef0123456789abcdef"}), true),
            (json!({"name": "rendered-worker-big-0f"}), true),
            (json!({"name": "rendered-worker"}), false),
            (json!({"name": "rendered--"}), false),
            (
                json!({"name": "00-worker", "labels": role, "annotations": generated, "ownerReferences": controller}),
                false,
            ),
            (json!({"name": "99-worker-ssh", "labels": role}), false),
            (json!({"name": "x", "ownerReferences": pool}), true),
            (json!({"name": "x", "ownerReferences": pool, "labels": role}), false),
            (json!({"name": "site-3"}), false),
            (json!(null), false),
        ] {
            assert_eq!(is_rendered(&json!({"metadata": metadata})), expected, "{metadata}");
        }
    }

    #[test]
    fn any_document_can_be_looked_at() {
        for document in [json!(null), json!([]), json!({"spec": []}), json!({"spec": {"config": []}}), json!("x")] {
            let provenance = Provenance::of(&document);
            assert_eq!(provenance.warnings(&MachineConfig::empty(), None), []);
        }
    }

    #[test]
    fn counts_agree_in_number() {
        let one = Warning::NotRendered { config: "a".to_owned(), removals: 1 };
        let many = Warning::RemovesEverything { config: "a".to_owned(), removals: 2 };
        assert!(one.message().contains("removes one thing;") && many.message().contains("2 things,"), "{many:?}");
    }
}
