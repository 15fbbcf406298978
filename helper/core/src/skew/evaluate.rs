//! The verdict: whether boot images are too old for the cluster to be updated, and what can be done about it.

use serde::Serialize;

use super::enforcement::Enforcement;
use super::version::{self, OCP_LIMIT, OcpVersion, RHCOS_LIMIT};
use super::{BOOT_IMAGE_ANNOTATION, Mismatch};
use crate::boot_images::conditions::{DEGRADED, PROGRESSING};
use crate::objects::{
    ClusterVersion, Condition, Infrastructure, MachineConfiguration, Node, RecordedBootImage, condition,
};

/// What is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Question<'a> {
    /// The administrator's choice, and what is in force.
    pub configuration: Option<&'a MachineConfiguration>,
    /// The platform.
    pub infrastructure: Option<&'a Infrastructure>,
    /// The release.
    pub version: Option<&'a ClusterVersion>,
    /// Whether bare metal machines do not get their OS from the release.
    pub legacy_metal: bool,
    /// Nodes, which may say what they were installed from.
    pub nodes: &'a [Node],
    /// Machines that do not fit their pools.
    pub mismatches: &'a [Mismatch],
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Reading {
    /// Nobody enforces anything.
    NotEnforced,
    /// Boot images are being updated, or will be for the first time.
    Pending,
    /// They are new enough.
    Within,
    /// They are too old.
    TooOld,
    /// They could not be updated.
    Degraded,
    /// Nobody can tell.
    Unclear,
}

/// A boot image that a node says it was installed from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The node.
    pub node: String,
    /// The version.
    pub version: String,
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluation {
    /// How skew is enforced.
    pub enforcement: Enforcement,
    /// What comes of it.
    pub reading: Reading,
    /// The condition of the ClusterOperator that follows.
    pub upgradeable: Condition,
    /// What can be done.
    pub remedies: Vec<String>,
    /// What is to be remarked.
    pub warnings: Vec<String>,
    /// Boot images that nodes say they were installed from, oldest first. Information: nothing follows from it.
    pub evidence: Vec<Evidence>,
    /// Machines that do not fit their pools.
    pub mismatches: Vec<Mismatch>,
}

/// Evaluates.
pub fn evaluate(question: &Question) -> Evaluation {
    let Question { configuration, infrastructure, version, legacy_metal, nodes, mismatches } = *question;
    let enforcement = Enforcement::of(configuration, infrastructure, version, legacy_metal);
    let mut warnings = Vec::new();
    let reading = read(&enforcement, configuration, &mut warnings);
    let evidence = evidence(nodes);
    if let (Some(oldest), Reading::Within | Reading::Pending) = (evidence.first(), reading)
        && version::rhel(&oldest.version).is_some_and(|rhel| rhel < RHCOS_LIMIT)
    {
        warnings.push(format!("node {} was installed from {}, which is below the limit", oldest.node, oldest.version));
    }
    warnings.extend(mismatches.iter().map(ToString::to_string));
    let blocked = matches!(reading, Reading::TooOld | Reading::Degraded);
    let remedies = if blocked { remedies(&enforcement, version) } else { Vec::new() };
    let upgradeable = upgradeable(&enforcement, reading, &remedies);
    Evaluation { enforcement, reading, upgradeable, remedies, warnings, evidence, mismatches: mismatches.to_vec() }
}

fn read(
    enforcement: &Enforcement,
    configuration: Option<&MachineConfiguration>,
    warnings: &mut Vec<String>,
) -> Reading {
    match enforcement.mode.as_str() {
        "None" => return Reading::NotEnforced,
        "Automatic" => {
            let conditions = configuration.map(|object| object.status.conditions.as_slice()).unwrap_or_default();
            if condition(conditions, DEGRADED).is_some_and(Condition::is_true) {
                return Reading::Degraded;
            }
            match condition(conditions, PROGRESSING) {
                Some(progressing) if !progressing.is_true() && progressing.reason != "NA" => {}
                _ => return Reading::Pending,
            }
        }
        "Manual" => {}
        other => {
            warnings.push(format!("the enforcement mode {other:?} is not known"));
            return Reading::Unclear;
        }
    }
    compare(&enforcement.recorded, warnings)
}

/// Where a release is recorded, only that counts. What cannot be read keeps nothing back.
fn compare(recorded: &RecordedBootImage, warnings: &mut Vec<String>) -> Reading {
    let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
    let old = match (given(&recorded.ocp_version), given(&recorded.rhcos_version)) {
        (Some(ocp), _) => OcpVersion::parse(&ocp).map(|version| version < OCP_LIMIT).ok_or(ocp),
        (None, Some(rhcos)) => version::rhel(&rhcos).map(|rhel| rhel < RHCOS_LIMIT).ok_or(rhcos),
        (None, None) => {
            warnings.push("no boot image is recorded".to_owned());
            return Reading::Unclear;
        }
    };
    match old {
        Ok(true) => Reading::TooOld,
        Ok(false) => Reading::Within,
        Err(text) => {
            warnings.push(format!("the recorded version {text:?} cannot be read"));
            Reading::Unclear
        }
    }
}

fn evidence(nodes: &[Node]) -> Vec<Evidence> {
    let mut found: Vec<Evidence> = nodes
        .iter()
        .filter_map(|node| {
            let version = node.metadata.annotations.get(BOOT_IMAGE_ANNOTATION)?;
            Some(Evidence { node: node.metadata.name.clone(), version: version.clone() })
        })
        .collect();
    // What cannot be read is last: nothing is known to be older.
    let age = |version: &str| version::rhel(version).unwrap_or((u32::MAX, 0));
    found.sort_by(|a, b| (age(&a.version), &a.version, &a.node).cmp(&(age(&b.version), &b.version, &b.node)));
    found
}

fn recorded(image: &RecordedBootImage) -> String {
    match (&image.ocp_version, &image.rhcos_version) {
        (Some(ocp), _) => format!("OpenShift {ocp}"),
        (None, Some(rhcos)) => format!("RHCOS {rhcos}"),
        (None, None) => "an unknown version".to_owned(),
    }
}

fn upgradeable(enforcement: &Enforcement, reading: Reading, remedies: &[String]) -> Condition {
    let (major, minor) = RHCOS_LIMIT;
    let problem = match reading {
        Reading::TooOld => Some(format!(
            "the boot images of this cluster are of {}; new machines need at least OpenShift {OCP_LIMIT} or RHCOS \
             {major}.{minor}",
            recorded(&enforcement.recorded)
        )),
        Reading::Degraded => Some("boot images could not be updated (BootImageUpdateDegraded)".to_owned()),
        _ => None,
    };
    let condition = |status: &str, reason: &str, message: String| Condition {
        type_: "Upgradeable".to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: None,
    };
    match problem {
        None => condition("True", "AsExpected", String::new()),
        Some(problem) => {
            let message = format!("{problem}. Do one of these: {}", remedies.join("; "));
            condition("False", "ClusterBootImageSkewError", message)
        }
    }
}

fn remedies(enforcement: &Enforcement, version: Option<&ClusterVersion>) -> Vec<String> {
    let release = version.map(|version| version.status.desired.version.as_str()).unwrap_or_default();
    let release = OcpVersion::parse(release)
        .map_or_else(|| "latest".to_owned(), |version| format!("{}.{}", version.major, version.minor));
    let first = match enforcement.mode.as_str() {
        "Automatic" => "see `ostler-cluster bootimages plan` for what keeps boot images from being updated",
        _ => {
            "have the cluster update boot images (spec.managedBootImages of MachineConfiguration cluster), where the \
             platform lets it"
        }
    };
    vec![
        first.to_owned(),
        "update boot images by hand, and record their version in spec.bootImageSkewEnforcement (mode Manual)"
            .to_owned(),
        "set spec.bootImageSkewEnforcement.mode to None, if no machine will ever be added".to_owned(),
        format!(
            "read https://docs.redhat.com/en/documentation/openshift_container_platform/{release}/html/\
             machine_configuration/mco-update-boot-skew-mgmt"
        ),
    ]
}
