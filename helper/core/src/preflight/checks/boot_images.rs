//! Whether new machines can start, and join the pools they are made for.

use super::{Answer, Nature, partly, risk};
use crate::boot_images::stub::{self, StubError};
use crate::boot_images::{Cluster, Decision, Enrolment, Gate, Kind, KnownImages, Machine, Platform, conditions, plan};
use crate::objects::condition;
use crate::preflight::{Inventory, Objects, Reading, Severity, Target, Undecided};
use crate::skew::{self, Enforcement, Pools, Question, mismatches};
use crate::stream_metadata::Architecture;

pub(super) const SKEW: &str = "MachineConfigBootImageSkew";
pub(super) const UNENFORCED: &str = "MachineConfigBootImageSkewUnenforced";
pub(super) const FAILING: &str = "MachineConfigBootImageUpdateFailing";
pub(super) const UNMANAGED: &str = "MachineConfigBootImageUnmanaged";
pub(super) const MISMATCH: &str = "MachineConfigBootImageMajorMismatch";
pub(super) const STUB: &str = "MachineConfigStubIgnitionOutdated";

const PAGE: &str = "mco-update-boot-images";
const SKEW_PAGE: &str = "mco-update-boot-skew-mgmt";

/// What is enforced, by all that says so.
fn enforcement(inventory: &Inventory) -> Result<Enforcement, Undecided> {
    let boot = &inventory.boot;
    Ok(Enforcement::of(
        boot.configuration.needed()?.as_ref(),
        boot.infrastructure.needed()?.as_ref(),
        Some(inventory.cluster_version.needed()?),
        boot.legacy_metal.or_none()?.copied().unwrap_or_default(),
    ))
}

/// The limits are those of the operator today; no release says yet that it has others.
pub(super) fn skew(inventory: &Inventory, target: &Target) -> Answer {
    let boot = &inventory.boot;
    let found = skew::evaluate(&Question {
        configuration: boot.configuration.needed()?.as_ref(),
        infrastructure: boot.infrastructure.needed()?.as_ref(),
        version: Some(inventory.cluster_version.needed()?),
        legacy_metal: boot.legacy_metal.or_none()?.copied().unwrap_or_default(),
        nodes: &[],
        mismatches: &[],
    });
    let recorded = &found.enforcement.recorded;
    let version = recorded.ocp_version.as_ref().or(recorded.rhcos_version.as_ref());
    let mut objects = Objects::default();
    match found.reading {
        skew::Reading::TooOld => {
            let note = format!("mode {}", found.enforcement.mode);
            objects.add(version.map_or("an unknown version", String::as_str), &note);
        }
        skew::Reading::Unclear => {
            return Err(Undecided::because(found.warnings.first().cloned().unwrap_or_default()));
        }
        _ => {}
    }
    Ok(risk(&objects, || Nature {
        name: SKEW,
        severity: Severity::Critical,
        url: target.page(SKEW_PAGE),
        cause: format!(
            "Boot images are older than {} can start new machines from (at least OpenShift {}, or RHCOS {}.{})",
            target.version,
            skew::OCP_LIMIT,
            skew::RHCOS_LIMIT.0,
            skew::RHCOS_LIMIT.1
        ),
        remedy: "Update the boot images and record their version in spec.bootImageSkewEnforcement of \
                 MachineConfiguration 'cluster', or have the cluster manage them."
            .to_owned(),
    }))
}

pub(super) fn unenforced(inventory: &Inventory, target: &Target) -> Answer {
    let enforcement = enforcement(inventory)?;
    let infrastructure = inventory.boot.infrastructure.needed()?.as_ref();
    let single = infrastructure.is_some_and(|object| object.status.control_plane_topology == "SingleReplica");
    let metal = infrastructure.is_some_and(|object| Platform::of(object) == Ok(Platform::Baremetal));
    let mut objects = Objects::default();
    if enforcement.mode == "None" && !single && !metal {
        objects.add("MachineConfiguration 'cluster'", enforcement.because);
    }
    Ok(risk(&objects, || Nature {
        name: UNENFORCED,
        severity: Severity::Info,
        url: target.page(SKEW_PAGE),
        cause: "Nothing watches how old boot images become, so new machines may fail to join one day".to_owned(),
        remedy: "Set spec.bootImageSkewEnforcement.mode to Manual with the version in use, if machines are ever added."
            .to_owned(),
    }))
}

pub(super) fn failing(inventory: &Inventory, target: &Target) -> Answer {
    let configuration = inventory.boot.configuration.needed()?.as_ref();
    let all = configuration.map(|object| object.status.conditions.as_slice()).unwrap_or_default();
    let Some(failing) = condition(all, conditions::DEGRADED).filter(|failing| failing.is_true()) else {
        return Ok(None);
    };
    let automatic = enforcement(inventory).is_ok_and(|enforcement| enforcement.mode == "Automatic");
    let mut objects = Objects::default();
    objects.add("MachineConfiguration 'cluster'", &failing.message);
    Ok(risk(&objects, || Nature {
        name: FAILING,
        severity: if automatic { Severity::Critical } else { Severity::Warning },
        url: target.page(PAGE),
        cause: "Boot images could not be updated (BootImageUpdateDegraded)".to_owned(),
        remedy: "See 'ostler-cluster bootimages plan' for what keeps each machine set, and correct it.".to_owned(),
    }))
}

pub(super) fn unmanaged(inventory: &Inventory, target: &Target) -> Answer {
    let boot = &inventory.boot;
    if !boot.machines.needed()?.iter().any(|machine| machine.kind == Kind::MachineSet) {
        return Ok(None);
    }
    let Some(infrastructure) = boot.infrastructure.needed()? else {
        return Err(Undecided::because("there is no Infrastructure 'cluster'"));
    };
    let platform = Platform::of(infrastructure).map_err(Undecided::because)?;
    if !platform.is_managed() {
        return Ok(None);
    }
    let configuration = boot.configuration.needed()?;
    let mut objects = Objects::default();
    let mode = Enrolment::of(configuration.as_ref(), platform).mode(Kind::MachineSet).to_owned();
    if mode != "All" {
        objects.add("machine sets", &format!("spec.managedBootImages selects {mode}"));
    }
    for item in plan(&cluster(inventory, target)?, &Gate::Open) {
        if item.enrolled && item.decision == Decision::Skipped && item.kind == Kind::MachineSet.name() {
            objects.add(&format!("{} {}", item.kind, item.name), &item.reason);
        }
    }
    Ok(risk(&objects, || Nature {
        name: UNMANAGED,
        severity: Severity::Warning,
        url: target.page(PAGE),
        cause: "The cluster does not update the boot images of these, so they stay at what they are".to_owned(),
        remedy: "Update them by hand, or let the cluster manage them; 'ostler-cluster bootimages plan' says how."
            .to_owned(),
    }))
}

/// What boot images are decided on.
fn cluster(inventory: &Inventory, target: &Target) -> Result<Cluster, Undecided> {
    let boot = &inventory.boot;
    let shipped = boot.shipped.needed()?.clone();
    let mut known = KnownImages::default();
    shipped.iter().for_each(|shipped| known.learn(shipped));
    if let Reading::Read(coming) = &target.boot_images {
        known.learn(coming);
    }
    let nodes = inventory.nodes.needed()?;
    let control_plane = nodes.iter().find(|node| node.is_control_plane());
    Ok(Cluster {
        shipped: Ok(shipped),
        infrastructure: Ok(boot.infrastructure.needed()?.clone()),
        version: Ok(Some(inventory.cluster_version.needed()?.clone())),
        configuration: Ok(boot.configuration.needed()?.clone()),
        control_plane: control_plane.and_then(|node| Architecture::of_go(node.architecture())),
        known,
        user_data: boot.user_data.needed().cloned().unwrap_or_default(),
        machines: boot.machines.needed()?.clone(),
        ..Cluster::default()
    })
}

pub(super) fn mismatch(inventory: &Inventory, target: &Target) -> Answer {
    let boot = &inventory.boot;
    let machines = boot.machines.needed()?;
    if machines.is_empty() {
        return Ok(None);
    }
    let pools =
        Pools { pools: inventory.pools.needed()?, streams: inventory.stream.or_none()?.and_then(Option::as_ref) };
    let user_data = boot.user_data.needed().cloned().unwrap_or_default();
    let mut objects = Objects::default();
    for found in mismatches(machines, &user_data, &pools) {
        let note = format!("boots {}, pool {} runs {}", found.boot_stream, found.pool, found.pool_stream);
        objects.add(&format!("{} {}", found.kind, found.name), &note);
    }
    Ok(risk(&objects, || Nature {
        name: MISMATCH,
        severity: Severity::Critical,
        url: target.page(PAGE),
        cause: "New machines would boot another major version of RHEL than the pool they join runs".to_owned(),
        remedy: "Give each machine set a boot image of its pool's stream and the label \
                 machineconfiguration.openshift.io/osstream with its name."
            .to_owned(),
    }))
}

pub(super) fn stubs(inventory: &Inventory, target: &Target) -> Answer {
    let boot = &inventory.boot;
    let machines = boot.machines.needed()?;
    let user_data = boot.user_data.needed()?;
    let mut objects = Objects::default();
    let mut unreadable = 0_usize;
    for machine in machines {
        let Some((name, keys)) = secret_of(machine) else { continue };
        let Some(secret) = user_data.secret(machine.kind.namespace(), name) else {
            unreadable += 1;
            continue;
        };
        let version = match stub::check(secret, keys) {
            Ok(None) => continue,
            Ok(Some(advice)) => advice.from,
            Err(StubError::Conversion { version, .. }) => version,
            Err(_) => {
                unreadable += 1;
                continue;
            }
        };
        let version = if version.is_empty() { "no version".to_owned() } else { format!("version {version}") };
        objects.add(&format!("Secret {name}"), &format!("{version}, for {}", machine.name()));
    }
    let unknown = || Undecided::because(format!("the user data of {unreadable} machine resources cannot be read"));
    let found = risk(&objects, || Nature {
        name: STUB,
        severity: Severity::Warning,
        url: target.page(PAGE),
        cause: "User data of new machines are of an Ignition version that new boot images do not read".to_owned(),
        remedy: "Convert each secret to version 3 before its boot image is updated; 'ostler-cluster bootimages plan' \
                 shows which."
            .to_owned(),
    });
    partly(found, (unreadable > 0).then(unknown))
}

fn secret_of(machine: &Machine) -> Option<(&str, &'static [&'static str])> {
    let (name, keys): (&str, &[&str]) = if machine.kind.is_capi() {
        (machine.object.text("/spec/template/spec/bootstrap/dataSecretName"), &["value", "userData"])
    } else {
        (machine.provider_spec()?.pointer("/userDataSecret/name")?.as_str()?, &["userData"])
    };
    (!name.is_empty()).then_some((name, keys))
}
