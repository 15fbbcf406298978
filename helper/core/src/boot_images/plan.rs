//! The decision for each machine resource, from all that was read of a cluster.

use serde_json::Value;

use super::eligibility::{self, Eligible, Surroundings};
use super::enrolment::Enrolled;
use super::platforms::{self, Request};
use super::stub::{self, Found, UserData};
use super::{
    BOOT_IMAGES, Change, Decision, Enrolment, HotLoop, Item, Kind, KnownImages, Machine, Platform, ShippedImages,
    StubAdvice, Verdict, capi, guard, merge,
};
use crate::objects::{ClusterVersion, Infrastructure, MachineConfiguration, MachineSet, Whole};
use crate::stream_metadata::Architecture;

/// Who updates boot images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The machine-config operator; what it does and why is told.
    #[default]
    Observe,
    /// This helper, as nobody else does.
    Own,
}

/// What was read of a cluster. `Err` is what could not be read, and why.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Boot images of the release.
    pub shipped: Result<Option<ShippedImages>, String>,
    /// The platform.
    pub infrastructure: Result<Option<Infrastructure>, String>,
    /// The release.
    pub version: Result<Option<ClusterVersion>, String>,
    /// The administrator's choice.
    pub configuration: Result<Option<MachineConfiguration>, String>,
    /// Architecture of the control plane.
    pub control_plane: Option<Architecture>,
    /// AMIs that are known.
    pub known: KnownImages,
    /// What new machines start with.
    pub user_data: UserData,
    /// The machine resources.
    pub machines: Vec<Machine>,
    /// Templates of the Cluster API.
    pub templates: Vec<Whole>,
    /// Changes that were made before.
    pub attempts: HotLoop,
    /// Who updates boot images.
    pub mode: Mode,
    /// Whether all of the Cluster API are enrolled.
    pub with_capi: bool,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            shipped: Ok(None),
            infrastructure: Ok(None),
            version: Ok(None),
            configuration: Ok(None),
            control_plane: None,
            known: KnownImages::default(),
            user_data: UserData::default(),
            machines: Vec::new(),
            templates: Vec::new(),
            attempts: HotLoop::default(),
            mode: Mode::Observe,
            with_capi: false,
        }
    }
}

/// Whether anything is to be done at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It is.
    Open,
    /// It is not, and why.
    Waiting(String),
}

/// Nothing is done while the cluster is being installed or updated, or while the operator has not read what the
/// administrator asks for. A dump without the objects that say so keeps nothing back.
pub fn gate(cluster: &Cluster) -> Gate {
    if let Ok(Some(version)) = &cluster.version {
        match version.status.history.first() {
            None => return Gate::Waiting("the cluster is being installed".to_owned()),
            Some(latest) if latest.state != "Completed" => {
                return Gate::Waiting(format!("the cluster is being updated to {}", latest.version));
            }
            Some(_) => {}
        }
    }
    if let Ok(Some(configuration)) = &cluster.configuration
        && let (Some(is), Some(seen)) = (configuration.metadata.generation, configuration.status.observed_generation)
        && is != seen
    {
        return Gate::Waiting(format!("MachineConfiguration cluster is at generation {is}, its status at {seen}"));
    }
    Gate::Open
}

/// Decides for every machine resource: those of the Machine API, the control plane, then those of the Cluster API.
pub fn plan(cluster: &Cluster, gate: &Gate) -> Vec<Item> {
    let counterparts = twins(&cluster.machines);
    let mut machines: Vec<&Machine> = cluster.machines.iter().collect();
    machines.sort_by(|a, b| (a.kind, a.name()).cmp(&(b.kind, b.name())));
    machines.into_iter().map(|machine| decide_beside(cluster, gate, machine, &counterparts)).collect()
}

/// Decides for one machine resource.
pub fn decide(cluster: &Cluster, gate: &Gate, machine: &Machine) -> Item {
    decide_beside(cluster, gate, machine, &twins(&cluster.machines))
}

fn twins(machines: &[Machine]) -> Vec<MachineSet> {
    let capi: std::collections::BTreeSet<&str> =
        machines.iter().filter(|machine| machine.kind == Kind::ClusterMachineSet).map(Machine::name).collect();
    let twins = machines.iter().filter(|machine| machine.kind == Kind::MachineSet && capi.contains(machine.name()));
    twins.map(|machine| MachineSet(machine.object.clone())).collect()
}

fn decide_beside(cluster: &Cluster, gate: &Gate, machine: &Machine, counterparts: &[MachineSet]) -> Item {
    let mut item = blank(machine);
    let judged = ground(cluster, gate, machine).and_then(|ground| {
        item.enrolled = true;
        let surroundings = Surroundings {
            version: cluster.version.as_ref().ok().and_then(Option::as_ref),
            control_plane: cluster.control_plane,
            mode: cluster.mode,
            counterparts,
        };
        let eligible = eligibility::check(machine, &surroundings)?;
        item.architecture = Some(eligible.architecture);
        let wanted = image(cluster, machine, &ground, &eligible)?;
        settle_change(cluster, machine, &mut item, wanted)
    });
    if let Err(verdict) = judged {
        settle(&mut item, verdict);
    }
    item
}

/// What stands for all machine resources alike.
struct Ground<'a> {
    platform: Platform,
    infrastructure: &'a Infrastructure,
}

fn ground<'a>(cluster: &'a Cluster, gate: &Gate, machine: &Machine) -> Result<Ground<'a>, Verdict> {
    if let Some(problem) = machine.object.misshapen {
        return Err(Verdict::Error(problem.to_owned()));
    }
    let (namespace, own) = (machine.metadata().namespace.as_str(), machine.kind.namespace());
    if !namespace.is_empty() && namespace != own {
        return Err(Verdict::Ignored(format!("only the namespace {own} is looked after")));
    }
    let infrastructure = required(&cluster.infrastructure, "Infrastructure cluster")?;
    let platform = Platform::of(infrastructure).map_err(Verdict::Error)?;
    let configuration = cluster.configuration.as_ref().map_err(|why| Verdict::Error(why.clone()))?.as_ref();
    cluster.version.as_ref().map_err(|why| Verdict::Error(why.clone()))?;
    let managed = match machine.kind {
        Kind::ControlPlaneMachineSet => platform.is_control_plane_managed(),
        _ => platform.is_managed(),
    };
    if !managed {
        let shipped = cluster.shipped.as_ref().ok().and_then(Option::as_ref);
        let stream = shipped.and_then(|shipped| shipped.stream(super::DEFAULT_STREAM).ok());
        return Err(platforms::unmanaged(platform, stream, cluster.control_plane));
    }
    if let Gate::Waiting(why) = gate {
        return Err(Verdict::Ignored(format!("nothing is changed now: {why}")));
    }
    let mut enrolment = Enrolment::of(configuration, platform);
    enrolment.with_capi = cluster.with_capi;
    match enrolment.judge(machine) {
        Enrolled::Yes => Ok(Ground { platform, infrastructure }),
        Enrolled::No(why) => Err(Verdict::Ignored(why)),
        Enrolled::Unclear(why) => Err(Verdict::Error(why)),
    }
}

fn required<'a, T>(read: &'a Result<Option<T>, String>, what: &str) -> Result<&'a T, Verdict> {
    match read {
        Ok(Some(object)) => Ok(object),
        Ok(None) => Err(Verdict::Error(format!("{what} is not there"))),
        Err(why) => Err(Verdict::Error(why.clone())),
    }
}

/// A change, and the template that it is made to a copy of.
struct Wanted<'a> {
    change: Change,
    template: Option<&'a Whole>,
}

fn image<'a>(
    cluster: &'a Cluster,
    machine: &Machine,
    ground: &Ground<'a>,
    eligible: &Eligible,
) -> Result<Wanted<'a>, Verdict> {
    let shipped = required(&cluster.shipped, &format!("ConfigMap {BOOT_IMAGES}"))?;
    let request = |stream| Request {
        platform: ground.platform,
        stream,
        architecture: eligible.architecture,
        known: &cluster.known,
        infrastructure: ground.infrastructure,
    };
    if machine.kind.is_capi() {
        let template = capi::template(machine, &cluster.templates, ground.platform)?;
        let stream = shipped.stream(&eligible.stream)?;
        return Ok(Wanted { change: capi::assess(template, &request(stream))?, template: Some(template) });
    }
    let spec = machine.provider_spec().ok_or("it has no provider spec")?;
    let stream = shipped.stream(&eligible.stream)?;
    Ok(Wanted { change: platforms::assess(spec, &request(stream))?, template: None })
}

fn settle_change(cluster: &Cluster, machine: &Machine, item: &mut Item, wanted: Wanted) -> Result<(), Verdict> {
    let Wanted { change, template } = wanted;
    let (stub, remark) = user_data(cluster, machine)?;
    let clone = template.map(|template| capi::cloned(machine, template, &change.leaf));
    let (clone, patch) = match clone {
        Some((clone, patch)) => (Some(clone), patch),
        None => (None, merge::nested(machine.kind.provider_spec(), change.leaf)),
    };
    let digest = guard::digest(merge::applied(&machine.object.raw, &patch).get("spec").unwrap_or(&Value::Null));
    if cluster.attempts.refuses(&machine.key(), &digest) {
        return Err(HOT_LOOP.into());
    }
    let raise = stub.as_ref().map_or_else(String::new, |stub| {
        let StubAdvice { secret, from, to, .. } = stub;
        format!("; the Ignition config in its secret {secret} has to be raised from {from} to {to}")
    });
    item.decision = Decision::Patch;
    item.reason = format!("its boot image is {}, and should be {}{raise}{remark}", change.current, change.target);
    (item.patch, item.stub, item.template, item.digest) = (Some(patch), stub, clone, digest);
    (item.current, item.target, item.release) = (change.current, change.target, change.release);
    item.before = Some(change.before);
    Ok(())
}

const HOT_LOOP: &str = "the same boot image has been set three times and was put back each time: find out who does that, \
                        opt it out of boot image updates, and in again";

/// The user data that a new boot image would have to read, and what is to be remarked about them.
fn user_data(cluster: &Cluster, machine: &Machine) -> Result<(Option<StubAdvice>, &'static str), String> {
    let (name, keys): (&str, &[&str]) = if machine.kind.is_capi() {
        (machine.object.text("/spec/template/spec/bootstrap/dataSecretName"), &["value", "userData"])
    } else {
        let secret = machine.provider_spec().and_then(|spec| spec.pointer("/userDataSecret/name"));
        (secret.and_then(Value::as_str).unwrap_or_default(), &["userData"])
    };
    if name.is_empty() {
        return Err("it names no secret with user data".to_owned());
    }
    let namespace = machine.kind.namespace();
    match cluster.user_data.find(namespace, name) {
        Found::Secret(secret) => stub::check(secret, keys).map(|advice| (advice, "")).map_err(|error| whole(&error)),
        Found::Unreadable(why) => Err(why.to_owned()),
        Found::Missing => Err(format!("its secret with user data, {namespace}/{name}, is not there")),
        Found::NotRead => Ok((None, "; the secret with its user data was not at hand, and is not checked")),
    }
}

/// An error with its causes, in one line.
fn whole(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

fn blank(machine: &Machine) -> Item {
    Item {
        name: machine.name().to_owned(),
        namespace: machine.kind.namespace().to_owned(),
        kind: machine.kind.name(),
        api_group: machine.kind.group(),
        decision: Decision::Error,
        reason: String::new(),
        patch: None,
        current: String::new(),
        target: String::new(),
        release: String::new(),
        architecture: None,
        stub: None,
        template: None,
        enrolled: false,
        steps: Vec::new(),
        before: None,
        digest: String::new(),
    }
}

fn settle(item: &mut Item, verdict: Verdict) {
    (item.decision, item.reason) = match verdict {
        Verdict::Current { image } => {
            item.current.clone_from(&image);
            (Decision::Current, format!("its boot image is {image}, as it should be"))
        }
        Verdict::Skipped(reason) => (Decision::Skipped, reason),
        Verdict::Ignored(reason) => (Decision::Ignored, reason),
        Verdict::Error(reason) => (Decision::Error, reason),
        Verdict::Manual { decision, reason, steps } => {
            item.steps = steps;
            (decision, reason)
        }
    };
}
