//! What a machine resource has to be for its boot image to be updated, before anybody looks at the image.

use super::{DEFAULT_STREAM, Kind, Machine, Mode, STREAM_LABEL, Verdict};
use crate::objects::{ClusterVersion, MachineSet};
use crate::stream_metadata::Architecture;

/// The labels that the autoscaler expects of new nodes.
const NODE_LABELS: &str = "capacity.cluster-autoscaler.kubernetes.io/labels";
const ARCHITECTURE: &str = "kubernetes.io/arch=";
const OS_LABEL: &str = "machine.openshift.io/os-id";

/// What the checks need to know of a cluster.
pub(super) struct Surroundings<'a> {
    pub version: Option<&'a ClusterVersion>,
    pub control_plane: Option<Architecture>,
    pub mode: Mode,
    pub counterparts: &'a [MachineSet],
}

/// What a machine resource that passes boots.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Eligible {
    pub architecture: Architecture,
    pub stream: String,
}

/// In the order of the machine-config operator, so that the first obstacle is the same.
pub(super) fn check(machine: &Machine, surroundings: &Surroundings) -> Result<Eligible, Verdict> {
    owner(machine)?;
    if machine.kind == Kind::ClusterMachineSet {
        counterpart(machine, surroundings.counterparts)?;
    }
    let stream = stream(machine, surroundings.mode)?;
    if machine.template_label(OS_LABEL) == Some("Windows") {
        return Err(Verdict::Ignored("its machines run Windows".to_owned()));
    }
    let architecture = architecture(machine, surroundings)?;
    if !machine.kind.is_capi() && matches!(machine.authority(), "ClusterAPI" | "Migrating") {
        let authority = machine.authority();
        return Err(Verdict::Ignored(format!("the Cluster API has the say over it (authoritativeAPI {authority})")));
    }
    Ok(Eligible { architecture, stream })
}

fn owner(machine: &Machine) -> Result<(), Verdict> {
    let Some(owner) = machine.owner() else { return Ok(()) };
    let who = format!("{} {}", owner.kind, owner.name);
    if machine.kind == Kind::ClusterMachineSet
        && let Some(deployment) =
            machine.metadata().owner_references.iter().find(|owner| owner.kind == Kind::MachineDeployment.name())
    {
        return Err(Verdict::Ignored(format!("it follows MachineDeployment {}", deployment.name)));
    }
    Err(Verdict::Skipped(format!("it is owned by {who}, which would undo the change; update the boot image there")))
}

/// During a migration both APIs have an object of the name, and one of them has the say.
fn counterpart(machine: &Machine, counterparts: &[MachineSet]) -> Result<(), Verdict> {
    let twin = counterparts.iter().map(|MachineSet(twin)| twin).find(|twin| twin.metadata.name == machine.name());
    match twin {
        Some(twin) if twin.text("/status/authoritativeAPI") != "ClusterAPI" => {
            Err(Verdict::Ignored("the MachineSet of the same name of the Machine API has the say over it".to_owned()))
        }
        _ => Ok(()),
    }
}

/// The operator looks after one stream only; the others are ours to update where nobody else does.
fn stream(machine: &Machine, mode: Mode) -> Result<String, Verdict> {
    match machine.labels().get(STREAM_LABEL).map(String::as_str) {
        None | Some(DEFAULT_STREAM) => Ok(DEFAULT_STREAM.to_owned()),
        Some(other) if mode == Mode::Own => Ok(other.to_owned()),
        Some(other) => Err(Verdict::Ignored(format!(
            "its stream is {other}, and the machine-config operator updates {DEFAULT_STREAM} only"
        ))),
    }
}

fn architecture(machine: &Machine, surroundings: &Surroundings) -> Result<Architecture, Verdict> {
    let unknown = || {
        Verdict::Error(
            "the architecture of the control plane is not known: no node of it has the label kubernetes.io/arch, or they \
             differ; say it with --architecture"
                .to_owned(),
        )
    };
    if machine.kind == Kind::ControlPlaneMachineSet {
        return surroundings.control_plane.ok_or_else(unknown);
    }
    let Some(labels) = machine.metadata().annotations.get(NODE_LABELS) else {
        let several = surroundings.version.is_some_and(|version| version.status.desired.architecture == "Multi");
        return match (several, surroundings.control_plane) {
            (true, _) => Err(Verdict::Skipped(format!(
                "the cluster has several architectures, and the annotation {NODE_LABELS} that would say which is missing: \
                 annotate it with {ARCHITECTURE}amd64, or whatever it is"
            ))),
            (false, known) => known.ok_or_else(unknown),
        };
    };
    match labels.split(',').find_map(|label| label.trim().strip_prefix(ARCHITECTURE)) {
        None => Err(Verdict::Error(format!(
            "the annotation {NODE_LABELS} does not have {ARCHITECTURE}: add it, or remove the annotation"
        ))),
        Some(name) => Architecture::of_go(name).ok_or_else(|| {
            Verdict::Error(format!(
                "the annotation {NODE_LABELS} names the architecture {name:?}: only amd64, arm64, ppc64le and s390x exist"
            ))
        }),
    }
}
