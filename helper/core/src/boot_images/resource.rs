//! Machine resources of every kind, seen alike.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::objects::{
    CLUSTER_API, CLUSTER_API_NAMESPACE, MACHINE_API, MACHINE_API_NAMESPACE, Metadata, OwnerReference, Whole,
};

/// Kinds of machine resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `MachineSet` of the Machine API.
    MachineSet,
    /// `ControlPlaneMachineSet`.
    ControlPlaneMachineSet,
    /// `MachineSet` of the Cluster API.
    ClusterMachineSet,
    /// `MachineDeployment` of the Cluster API.
    MachineDeployment,
}

impl Kind {
    /// Its name in objects.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MachineSet | Self::ClusterMachineSet => "MachineSet",
            Self::ControlPlaneMachineSet => "ControlPlaneMachineSet",
            Self::MachineDeployment => "MachineDeployment",
        }
    }

    /// Its name in URLs and in the administrator's choice.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::MachineSet | Self::ClusterMachineSet => "machinesets",
            Self::ControlPlaneMachineSet => "controlplanemachinesets",
            Self::MachineDeployment => "machinedeployments",
        }
    }

    /// Its group.
    pub const fn group(self) -> &'static str {
        if self.is_capi() { CLUSTER_API } else { MACHINE_API }
    }

    /// The namespace that it is looked for in.
    pub const fn namespace(self) -> &'static str {
        if self.is_capi() { CLUSTER_API_NAMESPACE } else { MACHINE_API_NAMESPACE }
    }

    /// Whether it is of the Cluster API.
    pub const fn is_capi(self) -> bool {
        matches!(self, Self::ClusterMachineSet | Self::MachineDeployment)
    }

    /// What the machine-config operator calls many of them.
    pub const fn title(self) -> &'static str {
        match self {
            Self::MachineSet => "MAPI MachineSets",
            Self::ControlPlaneMachineSet => "ControlPlaneMachineSets",
            Self::ClusterMachineSet => "CAPI MachineSets",
            Self::MachineDeployment => "CAPI MachineDeployments",
        }
    }

    /// Where it says what its machines look like.
    pub const fn provider_spec(self) -> &'static [&'static str] {
        match self {
            Self::ControlPlaneMachineSet => {
                &["spec", "template", "machines_v1beta1_machine_openshift_io", "spec", "providerSpec", "value"]
            }
            _ => &["spec", "template", "spec", "providerSpec", "value"],
        }
    }

    const fn template_labels(self) -> &'static str {
        match self {
            Self::ControlPlaneMachineSet => "/spec/template/machines_v1beta1_machine_openshift_io/spec/metadata/labels",
            _ => "/spec/template/metadata/labels",
        }
    }
}

/// A machine resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its kind.
    pub kind: Kind,
    /// All of it.
    pub object: Whole,
}

impl Machine {
    /// One of a kind.
    pub const fn new(kind: Kind, object: Whole) -> Self {
        Self { kind, object }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.object.metadata.name
    }

    /// Its namespace. Files that people write by hand often leave it out; they mean the usual one.
    pub fn namespace(&self) -> &str {
        match self.object.metadata.namespace.as_str() {
            "" => self.kind.namespace(),
            namespace => namespace,
        }
    }

    /// Whether it is where machine resources are looked after. Objects of its name elsewhere are somebody else's.
    pub fn is_looked_after(&self) -> bool {
        self.namespace() == self.kind.namespace()
    }

    /// Names, labels and owners.
    pub const fn metadata(&self) -> &Metadata {
        &self.object.metadata
    }

    /// Labels.
    pub const fn labels(&self) -> &BTreeMap<String, String> {
        &self.object.metadata.labels
    }

    /// The first of those who own it.
    pub fn owner(&self) -> Option<&OwnerReference> {
        self.object.metadata.owner_references.first()
    }

    /// What its machines look like, for the Machine API.
    pub fn provider_spec(&self) -> Option<&Value> {
        let found = self.kind.provider_spec().iter().try_fold(&self.object.raw, |value, key| value.get(key));
        found.filter(|value| !value.is_null())
    }

    /// A label that its machines get.
    pub fn template_label(&self, key: &str) -> Option<&str> {
        self.object.raw.pointer(self.kind.template_labels())?.get(key)?.as_str()
    }

    /// Which API has the say.
    pub fn authority(&self) -> &str {
        self.object.text("/status/authoritativeAPI")
    }

    /// Tells it from every other machine resource that is looked after.
    pub fn key(&self) -> String {
        format!("{}.{}.{}", self.kind.plural(), self.kind.group(), self.name())
    }
}
