//! What is written to a cluster about boot images. Every write names the version of the object that it was decided on, so
//! that nothing is written over somebody else's change.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, Error};
use ostler_cluster_core::boot_images::{Machine, StubAdvice, TemplateClone, stub};
use ostler_cluster_core::objects::{CLUSTER_API_NAMESPACE, Condition, MCO_NAMESPACE, MachineConfiguration};
use serde_json::{Value, json};
use tokio::time::timeout;

/// Longest time of a request.
const REQUEST_LIMIT: Duration = Duration::from_secs(60);
/// How often a write is tried that somebody else's was in the way of.
pub const MAX_TRIES: usize = 5;

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Somebody else has changed the object meanwhile.
    #[error("{what} has changed meanwhile")]
    Conflict {
        /// The object.
        what: String,
    },
    /// The server does not let it be written.
    #[error("{what} cannot be written: the server answers {code}: {message}")]
    Refused {
        /// The object.
        what: String,
        /// Its answer.
        code: u16,
        /// Its words.
        message: String,
    },
    /// There is no answer.
    #[error("{what} cannot be written: the cluster cannot be reached")]
    Unreachable {
        /// The object.
        what: String,
    },
}

impl WriteError {
    /// Whether it is worth looking again.
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    fn new(what: &str, error: Error) -> Self {
        let what = what.to_owned();
        match error {
            Error::Api(status) if status.code == 409 => Self::Conflict { what },
            Error::Api(status) => {
                let message = status.message.chars().take(512).collect();
                Self::Refused { what, code: status.code, message }
            }
            // The causes may quote what was sent.
            _ => Self::Unreachable { what },
        }
    }
}

/// Writes to a cluster.
pub struct Writer {
    client: Client,
}

impl Writer {
    /// To the cluster of a client.
    pub const fn new(client: Client) -> Self {
        Self { client }
    }

    fn api(&self, version: &str, kind: &str, plural: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    /// Patches a machine resource as it was read.
    pub async fn machine(&self, machine: &Machine, patch: &Value) -> Result<(), WriteError> {
        let kind = machine.kind;
        let api = self.api(machine.object.text("/apiVersion"), kind.name(), kind.plural(), Some(kind.namespace()));
        let mut patch = patch.clone();
        if let Some(fields) = patch.as_object_mut() {
            fields.insert("metadata".to_owned(), json!({"resourceVersion": machine.metadata().resource_version}));
        }
        let what = format!("{} {}", kind.name(), machine.name());
        answer(&what, api.patch(machine.name(), &PatchParams::default(), &Patch::Merge(patch))).await.map(drop)
    }

    /// The machine resource as it is now; nothing where it is gone.
    pub async fn again(&self, machine: &Machine) -> Result<Option<Machine>, WriteError> {
        let kind = machine.kind;
        let api = self.api(machine.object.text("/apiVersion"), kind.name(), kind.plural(), Some(kind.namespace()));
        let what = format!("{} {}", kind.name(), machine.name());
        let found = answer(&what, api.get_opt(machine.name())).await?;
        let raw = found.and_then(|object| serde_json::to_value(object).ok());
        Ok(raw.map(|raw| Machine::new(kind, raw.into())))
    }

    /// Makes a template. One of the name has the same contents.
    pub async fn template(&self, clone: &TemplateClone) -> Result<(), WriteError> {
        let text = |at: &str| clone.create.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let (kind, name) = (text("/kind"), text("/metadata/name"));
        let what = format!("{kind} {name}");
        let api = self.templates(text("/apiVersion"), kind);
        let Ok(object) = serde_json::from_value::<DynamicObject>(clone.create.clone()) else {
            return Err(WriteError::Refused { what, code: 422, message: "it is no object".to_owned() });
        };
        match answer(&what, api.create(&PostParams::default(), &object)).await {
            Ok(_) | Err(WriteError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes the template that another stands in for. One that is gone is as good.
    pub async fn remove_replaced(&self, clone: &TemplateClone) -> Result<(), WriteError> {
        let text = |at: &str| clone.create.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let what = format!("{} {}", text("/kind"), clone.replaces);
        let api = self.templates(text("/apiVersion"), text("/kind"));
        match answer(&what, api.delete(&clone.replaces, &DeleteParams::default())).await {
            Ok(_) | Err(WriteError::Refused { code: 404, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn templates(&self, version: &str, kind: &str) -> Api<DynamicObject> {
        self.api(version, kind, &format!("{}s", kind.to_lowercase()), Some(CLUSTER_API_NAMESPACE))
    }

    /// Writes user data that were raised to another version, unless they are of another version already.
    pub async fn stub(&self, advice: &StubAdvice, time: &str) -> Result<(), WriteError> {
        let api = self.api("v1", "Secret", "secrets", Some(&advice.namespace));
        let what = format!("secret {}", advice.secret);
        let secret = answer(&what, api.get(&advice.secret)).await?;
        let version = secret.metadata.resource_version.clone();
        let raw = serde_json::to_value(secret).unwrap_or_default();
        let fresh = ostler_cluster_core::objects::read(raw).ok();
        // Its config may have been raised meanwhile, for another machine resource that shares it.
        let checked = fresh.map(|secret| stub::check(&secret, &[&advice.key]));
        let Some(Ok(Some(fresh))) = checked else { return Ok(()) };
        let annotations = json!({stub::UPGRADED_TO: fresh.to, stub::UPGRADED_AT: time});
        let patch = json!({
            "metadata": {"resourceVersion": version, "annotations": annotations},
            "data": {&advice.key: STANDARD.encode(fresh.upgraded.expose())},
        });
        answer(&what, api.patch(&advice.secret, &PatchParams::default(), &Patch::Merge(patch))).await.map(drop)
    }

    /// Writes the data of a ConfigMap of the machine-config operator's namespace, which is made where there is none.
    pub async fn config_map(&self, name: &str, data: Value) -> Result<(), WriteError> {
        let api = self.api("v1", "ConfigMap", "configmaps", Some(MCO_NAMESPACE));
        let what = format!("ConfigMap {name}");
        let patch = Patch::Merge(json!({"data": data}));
        match answer(&what, api.patch(name, &PatchParams::default(), &patch)).await {
            Err(WriteError::Refused { code: 404, .. }) => {
                let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": name, "namespace": MCO_NAMESPACE}, "data": data});
                let object = serde_json::from_value::<DynamicObject>(object);
                let object = object.map_err(|_| WriteError::Unreachable { what: what.clone() })?;
                answer(&what, api.create(&PostParams::default(), &object)).await.map(drop)
            }
            written => written.map(drop),
        }
    }

    /// Puts conditions, and the release that boot images are of, into the status of the `MachineConfiguration`. The rest of
    /// it is others'.
    pub async fn status(&self, conditions: &[Condition], recorded: Option<&str>, time: &str) -> Result<(), WriteError> {
        let api = self.api("operator.openshift.io/v1", "MachineConfiguration", "machineconfigurations", None);
        let what = "MachineConfiguration cluster";
        for _ in 0..MAX_TRIES {
            let object = answer(what, api.get(MachineConfiguration::NAME)).await?;
            let version = object.metadata.resource_version.clone();
            let Some(mut status) = status_patch(&object.data, conditions, recorded, time) else { return Ok(()) };
            if let Some(fields) = status.as_object_mut() {
                fields.insert("metadata".to_owned(), json!({"resourceVersion": version}));
            }
            let patch = Patch::Merge(status);
            match answer(what, api.patch_status(MachineConfiguration::NAME, &PatchParams::default(), &patch)).await {
                Err(error) if error.is_conflict() => {}
                written => return written.map(drop),
            }
        }
        Err(WriteError::Conflict { what: what.to_owned() })
    }
}

/// A merge patch of the status; nothing where it says all of it already.
fn status_patch(object: &Value, conditions: &[Condition], recorded: Option<&str>, time: &str) -> Option<Value> {
    let there = object.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut all = there.clone();
    for condition in conditions {
        let Ok(mut new) = serde_json::to_value(condition) else { continue };
        let old = there.iter().find(|old| old.get("type").and_then(Value::as_str) == Some(&condition.type_));
        let same = old.is_some_and(|old| old.get("status") == new.get("status"));
        let since = old.filter(|_| same).and_then(|old| old.get("lastTransitionTime")).cloned();
        if let Some(fields) = new.as_object_mut() {
            fields.insert("lastTransitionTime".to_owned(), since.unwrap_or_else(|| time.into()));
        }
        all.retain(|old| old.get("type").and_then(Value::as_str) != Some(&condition.type_));
        all.push(new);
    }
    let by_type = |value: &Value| value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let sorted = |mut list: Vec<Value>| {
        list.sort_by_key(by_type);
        list
    };
    let mut status = serde_json::Map::new();
    if sorted(all.clone()) != sorted(there) {
        status.insert("conditions".to_owned(), all.into());
    }
    let skew = object.pointer("/status/bootImageSkewEnforcementStatus");
    let automatic = skew.and_then(|skew| skew.get("mode")?.as_str()) == Some("Automatic");
    let known = skew.and_then(|skew| skew.pointer("/automatic/ocpVersion")?.as_str());
    if let Some(recorded) = recorded.filter(|recorded| automatic && known != Some(recorded)) {
        let skew = json!({"automatic": {"ocpVersion": recorded, "rhcosVersion": null}});
        status.insert("bootImageSkewEnforcementStatus".to_owned(), skew);
    }
    (!status.is_empty()).then(|| json!({"status": status}))
}

async fn answer<T>(what: &str, request: impl Future<Output = Result<T, Error>>) -> Result<T, WriteError> {
    match timeout(REQUEST_LIMIT, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(WriteError::new(what, error)),
        Err(_) => Err(WriteError::Unreachable { what: what.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(type_: &str, status: &str) -> Condition {
        Condition { type_: type_.to_owned(), status: status.to_owned(), ..Condition::default() }
    }

    #[test]
    fn only_our_conditions_are_written_and_only_when_they_differ() {
        let others = json!({"type": "Other", "status": "True", "lastTransitionTime": "then"});
        let object = json!({"status": {"conditions": [others],
            "bootImageSkewEnforcementStatus": {"mode": "Automatic", "automatic": {"ocpVersion": "4.12.0"}}}});
        let patch = status_patch(&object, &[condition("A", "True")], Some("4.21.0"), "now").unwrap();
        assert_eq!(patch["status"]["conditions"][0], others);
        assert_eq!(patch["status"]["conditions"][1]["lastTransitionTime"], "now");
        assert_eq!(patch["status"]["bootImageSkewEnforcementStatus"]["automatic"]["ocpVersion"], "4.21.0");
        let object = json!({"status": patch["status"]});
        assert_eq!(status_patch(&object, &[condition("A", "True")], Some("4.21.0"), "later"), None);
        let flipped = status_patch(&object, &[condition("A", "False")], Some("4.22.0"), "later").unwrap();
        assert_eq!(flipped["status"]["conditions"][1]["lastTransitionTime"], "later");
        assert_eq!(flipped["status"].get("bootImageSkewEnforcementStatus"), None);
    }
}
