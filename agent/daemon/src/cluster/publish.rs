//! What is fetched once and what is written: the hand of whoever decides.
//!
//! Owns the form of each request and the repetition after a collision. Decides neither what to write nor when, and compares
//! with nothing: what it is told to send is sent.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Request;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::core::{ApiResource, NotUsed, Object, Resource, ResourceExt, Status};
use ostler_core::api::machine_config_node::PinnedImageSetProgress;
use ostler_core::api::{MachineConfig, MachineConfigNode};
use ostler_core::certificates::bundle_of;
use ostler_core::node::{NodeView, keys};
use ostler_core::protocol::Sealed;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::connect::Cluster;
use super::error::ClusterError;
use super::pause;

/// As whom specifications are written.
pub(super) const MANAGER: &str = "ostler-node";

/// How often a write is sent before a collision is passed on.
const ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Where the API server's authority is found while it is rotated.
const AUTHORITY_NAMESPACE: &str = "openshift-machine-config-operator";
const AUTHORITY: &str = "kubeconfig-data";
const AUTHORITY_KEY: &str = "ca-bundle.crt";

/// A node as far as it is read: its images and addresses are nobody's business here.
pub type NodeObject = Object<Schedulable, NotUsed>;

/// What is read of a node's specification.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Schedulable {
    unschedulable: bool,
}

/// What concerns us of a node.
pub fn view(node: &NodeObject) -> NodeView {
    let uid = node.metadata.uid.as_deref().unwrap_or_default();
    NodeView::new(&node.name_any(), uid, node.spec.unschedulable, node.annotations())
}

impl Cluster {
    /// Fetches a configuration, whole: fields that this release does not know survive.
    pub async fn machine_config(&self, name: &str) -> Result<Sealed, ClusterError> {
        let what = format!("get MachineConfig {name}");
        if !is_object_name(name) {
            return Err(ClusterError::NotFound { what });
        }
        let path = format!("{}/{name}", MachineConfig::url_path(&(), None));
        let request = Request::get(path).body(Body::empty()).map_err(kube::Error::HttpError);
        let answer = async { self.client.send(request?).await }.await;
        let (head, body) = answer.map_err(|error| ClusterError::new(&what, error))?.into_parts();
        let bytes = body.collect().await.map_err(|error| ClusterError::new(&what, error))?.to_bytes();
        if !head.status.is_success() {
            let status = serde_json::from_slice::<Status>(&bytes).unwrap_or_default().with_code(head.status.as_u16());
            return Err(ClusterError::new(&what, kube::Error::Api(status.boxed())));
        }
        let problem = "is not JSON".to_owned();
        let mut document: Value = serde_json::from_slice(&bytes).map_err(|_| ClusterError::Answer { what, problem })?;
        if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        Ok(Sealed::new(document))
    }

    /// Fetches what the API server is to be verified with from now on.
    pub async fn server_authority(&self) -> Result<Vec<u8>, ClusterError> {
        let what = format!("get ConfigMap {AUTHORITY_NAMESPACE}/{AUTHORITY}");
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), AUTHORITY_NAMESPACE);
        let map = maps.get(AUTHORITY).await.map_err(|error| ClusterError::new(&what, error))?;
        let map = serde_json::to_value(map).unwrap_or_default();
        let problem = format!("holds no {AUTHORITY_KEY} that can be read");
        bundle_of(&map, AUTHORITY_KEY).ok_or(ClusterError::Answer { what, problem })
    }

    /// Sets annotations of the node, and removes those without a value; answers with the node as it is then.
    pub async fn annotate(&self, changes: &BTreeMap<&str, Option<String>>) -> Result<NodeView, ClusterError> {
        let nodes = Api::<NodeObject>::all_with(self.client.clone(), &ApiResource::erase::<Node>(&()));
        let patch = Patch::Merge(json!({"metadata": {"annotations": changes}}));
        let what = format!("annotate node {}", self.node);
        let parameters = PatchParams::default();
        let answer = persist(&what, || nodes.patch(&self.node, &parameters, &patch)).await;
        let node = answer.map_err(ClusterError::of_own_node)?;
        remember(&self.answered.node, node.resource_version());
        Ok(view(&node))
    }

    /// Makes `status` all that `manager` says in the status of the node's report; what others say stays. A conflict if
    /// anybody has written to the report since `read`, which is for the caller to solve; so are the writes below.
    pub async fn apply_status(
        &self,
        read: &MachineConfigNode,
        manager: &str,
        status: &Value,
    ) -> Result<MachineConfigNode, ClusterError> {
        let body = json!({
            "apiVersion": MachineConfigNode::api_version(&()),
            "kind": MachineConfigNode::kind(&()),
            "metadata": {"name": self.node, "resourceVersion": read.metadata.resource_version},
            "status": status,
        });
        self.patch_status(&PatchParams::apply(manager).force(), &Patch::Apply(body)).await
    }

    /// Removes the list of what only a new installation could bring, whoever wrote it.
    pub async fn clear_irreconcilable(&self, read: &MachineConfigNode) -> Result<MachineConfigNode, ClusterError> {
        let patch = merge(read, json!({"irreconcilableChanges": null}));
        self.patch_status(&PatchParams::default(), &patch).await
    }

    /// Makes these all pinned image sets that the report speaks of, whoever wrote what was there.
    pub async fn replace_pinned_sets(
        &self,
        read: &MachineConfigNode,
        manager: &str,
        sets: &[PinnedImageSetProgress],
    ) -> Result<MachineConfigNode, ClusterError> {
        let sets = if sets.is_empty() { Value::Null } else { json!(sets) };
        let parameters = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        self.patch_status(&parameters, &merge(read, json!({"pinnedImageSets": sets}))).await
    }

    async fn patch_status(
        &self,
        parameters: &PatchParams,
        patch: &Patch<Value>,
    ) -> Result<MachineConfigNode, ClusterError> {
        let reports = Api::<MachineConfigNode>::all(self.client.clone());
        let what = format!("report the status of MachineConfigNode {}", self.node);
        let answer = reports.patch_status(&self.node, parameters, patch).await;
        let report = answer.map_err(|error| ClusterError::new(&what, error))?;
        remember(&self.answered.machine_config_node, report.resource_version());
        Ok(slim(report))
    }

    /// Creates the node's report where there is none yet.
    pub async fn ensure_machine_config_node(
        &self,
        view: &NodeView,
        desired: &str,
    ) -> Result<MachineConfigNode, ClusterError> {
        match self.report().await {
            Err(ClusterError::NotFound { .. }) => {}
            found => return found,
        }
        let reports = Api::<MachineConfigNode>::all(self.client.clone());
        let pool = self.primary_pool().await?;
        let parameters = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        match reports.create(&parameters, &new_report(view, desired, pool.as_deref())).await {
            Ok(report) => Ok(slim(report)),
            // Somebody else was faster, which is as good.
            Err(kube::Error::Api(status)) if status.code == 409 => self.report().await,
            Err(error) => Err(ClusterError::new(&format!("create MachineConfigNode {}", self.node), error)),
        }
    }

    /// The node's report as it is now.
    pub async fn report(&self) -> Result<MachineConfigNode, ClusterError> {
        let reports = Api::<MachineConfigNode>::all(self.client.clone());
        let answer = reports.get(&self.node).await;
        answer.map(slim).map_err(|error| ClusterError::new(&format!("get MachineConfigNode {}", self.node), error))
    }
}

fn new_report(view: &NodeView, desired: &str, pool: Option<&str>) -> MachineConfigNode {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
    use ostler_core::api::{MachineConfigNodeSpec, NameRef, machine_config_node::SpecConfigVersion};

    let desired = if desired.is_empty() { keys::NOT_YET_SET } else { desired }.to_owned();
    let spec = MachineConfigNodeSpec {
        config_image: None,
        config_version: SpecConfigVersion { desired },
        node: NameRef::new(&view.name),
        pool: NameRef::new(pool.unwrap_or(keys::NOT_YET_SET)),
    };
    let mut report = MachineConfigNode::new(&view.name, spec);
    report.metadata.owner_references = Some(vec![OwnerReference {
        api_version: Node::api_version(&()).into_owned(),
        kind: Node::kind(&()).into_owned(),
        name: view.name.clone(),
        uid: view.uid.clone(),
        ..OwnerReference::default()
    }]);
    report
}

/// A change of the status as it was read.
fn merge(read: &MachineConfigNode, status: Value) -> Patch<Value> {
    Patch::Merge(json!({"metadata": {"resourceVersion": read.metadata.resource_version}, "status": status}))
}

pub(super) fn slim(mut report: MachineConfigNode) -> MachineConfigNode {
    report.metadata.managed_fields = None;
    report
}

fn remember(answered: &AtomicU64, version: Option<String>) {
    let version = version.and_then(|version| version.parse().ok()).unwrap_or(0);
    answered.store(version, Ordering::Relaxed);
}

/// Sends the same again after a collision: annotations do not rest on what was read before.
async fn persist<T, F>(what: &str, mut send: impl FnMut() -> F) -> Result<T, ClusterError>
where
    F: Future<Output = kube::Result<T>>,
{
    let mut attempt = 1;
    loop {
        match send().await {
            Err(kube::Error::Api(status)) if status.code == 409 && attempt < ATTEMPTS => {
                sleep(pause::after(attempt, FIRST_PAUSE, LONGEST_PAUSE)).await;
                attempt += 1;
            }
            outcome => return outcome.map_err(|error| ClusterError::new(what, error)),
        }
    }
}

/// Whether an object can be called that; anything else must not become part of an address.
fn is_object_name(name: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
    !name.is_empty() && name.len() <= 253 && name.bytes().all(good) && !name.starts_with('.')
}

#[cfg(test)]
mod tests;
