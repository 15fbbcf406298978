//! A double of the operator and its controllers: the cluster's side of what a node talks about, nothing of a node's.
//!
//! It writes as they do, in their order and under their names, with the habit that costs updates: it reads a
//! MachineConfigNode, changes some conditions and puts all of them back by force. [`super::drains`] answers drains.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use ostler_core::api::machine_config_node::{ConditionStatus, SpecConfigImage, SpecConfigVersion, StatusConfigVersion};
use ostler_core::api::{
    Condition, MachineConfig, MachineConfigNode, MachineConfigNodeSpec, MachineConfigNodeStatus, NameRef, Time,
};
use serde_json::{Value, json};

/// What all annotations of a node start with.
pub const PREFIX: &str = "machineconfiguration.openshift.io/";
/// Under which name operator, controller and daemon apply statuses.
pub const MANAGER: &str = "machine-config-operator";
/// What a MachineConfigNode is to become before anybody has said so.
pub const NOT_YET_SET: &str = "not-yet-set";
/// How often a conflict is tried again.
const TRIES: u32 = 5;

/// The types that a new status has, in their order.
const TYPES: [&str; 14] = [
    "UpdatePrepared",
    "UpdateExecuted",
    "UpdatePostActionComplete",
    "UpdateComplete",
    "Resumed",
    "Drained",
    "AppliedFilesAndOS",
    "Cordoned",
    "RebootedNode",
    "Updated",
    "Uncordoned",
    "NodeDegraded",
    "PinnedImageSetsDegraded",
    "PinnedImageSetsProgressing",
];

/// The double.
#[derive(Clone)]
pub struct Controller {
    client: Client,
}

/// One condition to report.
#[derive(Clone, Debug)]
pub struct Told {
    /// Its type.
    pub type_: &'static str,
    /// Its status.
    pub status: ConditionStatus,
    /// Its reason.
    pub reason: &'static str,
    /// Its message.
    pub message: String,
}

impl Controller {
    /// With a client that may do everything.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// The nodes.
    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    /// What becomes of the nodes.
    pub fn machine_config_nodes(&self) -> Api<MachineConfigNode> {
        Api::all(self.client.clone())
    }

    /// A worker as it is when the operator has seen it: with a MachineConfigNode that wants nothing yet.
    pub async fn introduce(&self, name: &str) -> Node {
        let node = self.create_node(name).await;
        self.create_machine_config_node(&node, "worker").await;
        node
    }

    /// A worker that nobody has looked at yet.
    pub async fn create_node(&self, name: &str) -> Node {
        let node = json!({"metadata": {"name": name, "labels": {"node-role.kubernetes.io/worker": ""}}});
        let node = serde_json::from_value(node).unwrap();
        self.nodes().create(&PostParams::default(), &node).await.unwrap()
    }

    /// The object that goes with a node, as the operator makes it.
    pub async fn create_machine_config_node(&self, node: &Node, pool: &str) -> MachineConfigNode {
        let spec = MachineConfigNodeSpec {
            config_image: None,
            config_version: SpecConfigVersion { desired: NOT_YET_SET.to_owned() },
            node: NameRef::new(node.name_any()),
            pool: NameRef::new(pool),
        };
        let mut object = MachineConfigNode::new(&node.name_any(), spec);
        let owner = json!([{"apiVersion": "v1", "kind": "Node", "name": node.name_any(), "uid": node.uid()}]);
        object.metadata.owner_references = serde_json::from_value(owner).unwrap();
        self.machine_config_nodes().create(&PostParams::default(), &object).await.unwrap()
    }

    /// A configuration, rendered.
    pub async fn create_config(&self, config: &MachineConfig) -> MachineConfig {
        let api: Api<MachineConfig> = Api::all(self.client.clone());
        api.create(&PostParams::default(), config).await.unwrap()
    }

    /// Wants another configuration of a node, and an image with it or none: first of its MachineConfigNode, then of it.
    pub async fn set_desired(&self, node: &str, config: &str, image: Option<&str>) {
        let api = self.machine_config_nodes();
        let writer =
            PostParams { field_manager: Some("machine-config-controller".to_owned()), ..PostParams::default() };
        for attempt in 1.. {
            let mut object = api.get(node).await.unwrap();
            object.spec.config_version.desired = config.to_owned();
            object.spec.config_image = image.map(|image| SpecConfigImage { desired_image: image.to_owned() });
            match api.replace(node, &writer, &object).await {
                Ok(_) => break,
                Err(kube::Error::Api(status)) if status.is_conflict() && attempt < TRIES => {}
                Err(error) => panic!("{node}: {error}"),
            }
        }
        self.annotate(node, &[("desiredConfig", Some(config)), ("desiredImage", image)]).await;
    }

    /// Sets annotations of a node, without their prefix, or removes them.
    pub async fn annotate(&self, node: &str, annotations: &[(&str, Option<&str>)]) {
        self.try_to_annotate(node, annotations).await.unwrap();
    }

    /// The same where the server may be down.
    pub async fn try_to_annotate(&self, node: &str, annotations: &[(&str, Option<&str>)]) -> kube::Result<()> {
        let named: BTreeMap<_, _> = annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), value)).collect();
        let patch = json!({"metadata": {"annotations": named}});
        self.nodes().patch(node, &PatchParams::default(), &Patch::Strategic(patch)).await.map(drop)
    }

    /// Reports as the controller does. Between [`Self::apply`] and the reading before it others may write, to no avail.
    pub async fn report(&self, node: &str, parent: Told, child: Told) -> kube::Result<()> {
        let read = self.machine_config_nodes().get(node).await?;
        self.apply(&read, parent, child).await
    }

    /// Puts a status back with two conditions changed. Nothing is sent if the first already says the same.
    pub async fn apply(&self, read: &MachineConfigNode, parent: Told, child: Told) -> kube::Result<()> {
        let status = read.status.clone().unwrap_or_default();
        let Some(conditions) = merged(&status.conditions, &parent, &child) else { return Ok(()) };
        let name = read.name_any();
        let node = self.nodes().get(&name).await?;
        let mut applied = MachineConfigNodeStatus {
            conditions,
            config_version: Some(config_version(&node)),
            observed_generation: read.metadata.generation.map(|generation| generation + 1),
            ..MachineConfigNodeStatus::default()
        };
        applied.pinned_image_sets = status.pinned_image_sets;
        let object = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigNode",
            "metadata": {"name": name}, "status": applied,
        });
        let writer = PatchParams::apply(MANAGER).force();
        self.machine_config_nodes().patch_status(&name, &writer, &Patch::Apply(object)).await.map(drop)
    }
}

impl Told {
    fn condition(&self) -> Condition {
        Condition {
            last_transition_time: Time(Timestamp::now()),
            message: self.message.clone(),
            observed_generation: None,
            reason: self.reason.to_owned(),
            status: self.status.as_str().to_owned(),
            type_: self.type_.to_owned(),
        }
    }
}

/// All conditions with two of them replaced; none if the parent is there already.
fn merged(stored: &[Condition], parent: &Told, child: &Told) -> Option<Vec<Condition>> {
    let [parent, child] = [parent, child].map(Told::condition);
    if stored.is_empty() {
        let others = TYPES.into_iter().filter(|type_| *type_ != parent.type_ && *type_ != child.type_);
        let others: Vec<_> = others.map(not_yet).collect();
        return Some([vec![parent, child], others].concat());
    }
    let same =
        |old: &Condition| old.type_ == parent.type_ && old.status == parent.status && old.message == parent.message;
    if stored.iter().any(same) {
        return None;
    }
    let mut all = stored.to_vec();
    for new in [child, parent] {
        match all.iter_mut().find(|old| old.type_ == new.type_) {
            Some(old) => *old = new,
            None => all.push(new),
        }
    }
    Some(all)
}

fn not_yet(type_: &'static str) -> Condition {
    let message = format!("This node has not yet entered the {type_} phase");
    Told { type_, status: ConditionStatus::False, reason: "NotYetOccurred", message }.condition()
}

fn config_version(node: &Node) -> StatusConfigVersion {
    let desired = annotation(node, "desiredConfig").unwrap_or(NOT_YET_SET).to_owned();
    StatusConfigVersion { current: annotation(node, "currentConfig").map(str::to_owned), desired }
}

/// An annotation without its prefix, unless it is empty.
pub fn annotation<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    let value = node.annotations().get(&format!("{PREFIX}{key}"))?;
    (!value.is_empty()).then_some(value)
}

/// A rendered configuration with an Ignition config.
pub fn machine_config(name: &str, ignition: Value) -> MachineConfig {
    let mut config = MachineConfig::default();
    config.metadata.name = Some(name.to_owned());
    config.spec.config = ignition;
    config
}
