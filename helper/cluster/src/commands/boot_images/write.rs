//! What is written to a cluster about boot images. Every write names the version of the object that it was decided on, so
//! that nothing is written over somebody else's change.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, Error};
use ostler_cluster_core::boot_images::history::{HISTORY, Written};
use ostler_cluster_core::boot_images::{Machine, StubAdvice, TemplateClone, stub};
use ostler_cluster_core::objects::{CLUSTER_API_NAMESPACE, MCO_NAMESPACE, MachineConfiguration, Whole};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::standing::Standing;

/// Longest time of a request.
const REQUEST_LIMIT: Duration = Duration::from_secs(60);
/// How often a write is tried that somebody else's was in the way of.
pub const MAX_TRIES: usize = 5;

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Somebody else has changed the object meanwhile.
    #[error("{what} was changed by somebody else meanwhile: try again")]
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
    /// The user may not write it.
    #[error("not allowed to write {what}: {message}; apply packaging/manifests/cluster-helper/rbac-boot-images.yaml")]
    Forbidden {
        /// The object.
        what: String,
        /// The server's words.
        message: String,
    },
    /// What was read anew is not what was decided on, and another decision comes of it.
    #[error("{what} was changed by somebody else meanwhile: {reason}")]
    Otherwise {
        /// The object.
        what: String,
        /// What is decided now.
        reason: String,
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
                match status.code {
                    403 => Self::Forbidden { what, message },
                    code => Self::Refused { what, code, message },
                }
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
        match answer(&what, api.patch(machine.name(), &PatchParams::default(), &Patch::Merge(patch))).await {
            Err(WriteError::Refused { code: 404, .. }) => {
                Err(WriteError::Otherwise { what, reason: "it is gone".to_owned() })
            }
            written => written.map(drop),
        }
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

    /// Removes a template as it was read. One that is gone is as good.
    pub async fn remove_template(&self, template: &Whole) -> Result<(), WriteError> {
        let (kind, name) = (template.text("/kind"), template.metadata.name.as_str());
        let what = format!("{kind} {name}");
        let uid = Some(template.metadata.uid.clone()).filter(|uid| !uid.is_empty());
        let preconditions = Preconditions { uid, resource_version: None };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let api = self.templates(template.text("/apiVersion"), kind);
        match answer(&what, api.delete(name, &parameters)).await {
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
        let otherwise = |reason: String| WriteError::Otherwise { what: what.clone(), reason };
        let raw = serde_json::to_value(secret).unwrap_or_default();
        let secret = ostler_cluster_core::objects::read(raw).map_err(|error| otherwise(error.to_string()))?;
        // Its config may have been raised meanwhile, for another machine resource that shares it.
        let fresh = stub::check(&secret, &[&advice.key]).map_err(|error| otherwise(error.to_string()))?;
        let Some(fresh) = fresh else { return Ok(()) };
        let annotations = json!({stub::UPGRADED_TO: fresh.to, stub::UPGRADED_AT: time});
        let patch = json!({
            "metadata": {"resourceVersion": version, "annotations": annotations},
            "data": {&advice.key: STANDARD.encode(fresh.upgraded.expose())},
        });
        answer(&what, api.patch(&advice.secret, &PatchParams::default(), &Patch::Merge(patch))).await.map(drop)
    }

    /// Writes what was done to boot images over what was read of it, and says which version that is now.
    pub async fn history(&self, written: &Written, version: &str) -> Result<String, WriteError> {
        let api = self.api("v1", "ConfigMap", "configmaps", Some(MCO_NAMESPACE));
        let what = format!("ConfigMap {HISTORY}");
        let object = if version.is_empty() {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": HISTORY, "namespace": MCO_NAMESPACE}, "data": written.data});
            let object = serde_json::from_value::<DynamicObject>(object);
            let object = object.map_err(|_| WriteError::Unreachable { what: what.clone() })?;
            answer(&what, api.create(&PostParams::default(), &object)).await?
        } else {
            let mut data: serde_json::Map<String, Value> =
                written.dropped.iter().map(|key| (key.clone(), Value::Null)).collect();
            data.extend(written.data.iter().map(|(key, text)| (key.clone(), text.as_str().into())));
            let patch = Patch::Merge(json!({"metadata": {"resourceVersion": version}, "data": data}));
            answer(&what, api.patch(HISTORY, &PatchParams::default(), &patch)).await?
        };
        Ok(object.metadata.resource_version.unwrap_or_default())
    }

    /// Puts what is ours to say into the status of the `MachineConfiguration`. The rest of it is others'.
    pub async fn status(&self, standing: &Standing, time: &str) -> Result<(), WriteError> {
        let api = self.api("operator.openshift.io/v1", "MachineConfiguration", "machineconfigurations", None);
        let what = "MachineConfiguration cluster";
        for _ in 0..MAX_TRIES {
            let object = answer(what, api.get(MachineConfiguration::NAME)).await?;
            let version = object.metadata.resource_version.clone();
            let Some(mut status) = standing.patch(&object.data, time) else { return Ok(()) };
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

async fn answer<T>(what: &str, request: impl Future<Output = Result<T, Error>>) -> Result<T, WriteError> {
    match timeout(REQUEST_LIMIT, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(WriteError::new(what, error)),
        Err(_) => Err(WriteError::Unreachable { what: what.to_owned() }),
    }
}
