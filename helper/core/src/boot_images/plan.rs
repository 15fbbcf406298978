//! The decision for each machine resource, from all that was read of a cluster.

use serde_json::Value;

use super::eligibility::{self, Eligible, Surroundings};
use super::enrolment::Enrolled;
use super::platforms::{self, Request};
use super::stub::{self, Found};
use super::{
    BOOT_IMAGES, Change, Cluster, Decision, Gate, Item, Kind, Machine, Platform, Report, StubAdvice, Verdict, capi,
    guard, merge,
};
use crate::objects::{Infrastructure, MachineSet, Whole};

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
    let mapi = machines.iter().filter(|machine| machine.kind == Kind::MachineSet && machine.is_looked_after());
    let twins = mapi.filter(|machine| capi.contains(machine.name()));
    twins.map(|machine| MachineSet(machine.object.clone())).collect()
}

fn decide_beside(cluster: &Cluster, gate: &Gate, machine: &Machine, counterparts: &[MachineSet]) -> Item {
    let mut item = blank(machine);
    item.current = current(cluster, machine);
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

/// The boot image that is there, whatever is decided about it.
fn current(cluster: &Cluster, machine: &Machine) -> String {
    let Some(platform) = cluster.platform() else { return String::new() };
    if machine.kind.is_capi() {
        return capi::told(machine, &cluster.templates);
    }
    machine.provider_spec().map(|spec| platforms::told(platform, spec)).unwrap_or_default()
}

/// What stands for all machine resources alike.
struct Ground<'a> {
    platform: Platform,
    infrastructure: &'a Infrastructure,
}

fn ground<'a>(cluster: &'a Cluster, gate: &Gate, machine: &Machine) -> Result<Ground<'a>, Verdict> {
    if let Some(problem) = &machine.object.misshapen {
        return Err(Verdict::Error(problem.clone()));
    }
    if !machine.is_looked_after() {
        let own = machine.kind.namespace();
        return Err(Verdict::Ignored(format!("it is not in the namespace {own}, the only one that is looked after")));
    }
    let infrastructure = required(&cluster.infrastructure, "Infrastructure cluster")?;
    let platform = Platform::of(infrastructure).map_err(Verdict::Error)?;
    cluster.configuration.as_ref().map_err(|why| Verdict::Error(why.clone()))?;
    cluster.version.as_ref().map_err(|why| Verdict::Error(why.clone()))?;
    if !platform.is_managed() {
        let shipped = cluster.shipped.as_ref().ok().and_then(Option::as_ref);
        let stream = shipped.and_then(|shipped| shipped.stream(super::DEFAULT_STREAM).ok());
        return Err(platforms::unmanaged(platform, stream, cluster.control_plane));
    }
    if machine.kind == Kind::ControlPlaneMachineSet && !platform.is_control_plane_managed() {
        let title = platform.title();
        return Err(Verdict::Ignored(format!(
            "the machine-config operator does not update boot images of the control plane on {title}"
        )));
    }
    if let Gate::Waiting(why) = gate {
        return Err(Verdict::Ignored(format!("nothing is changed now: {why}")));
    }
    match cluster.enrolment(platform).judge(machine) {
        Enrolled::Yes => Ok(Ground { platform, infrastructure }),
        Enrolled::No(why) => Err(Verdict::Ignored(why)),
        Enrolled::Unclear(why) => Err(Verdict::Error(why)),
    }
}

fn required<'a, T>(read: &'a Result<Option<T>, String>, what: &str) -> Result<&'a T, Verdict> {
    match read {
        Ok(Some(object)) => Ok(object),
        Ok(None) => Err(Verdict::Error(format!("{what} is not there, and nothing can be decided without it"))),
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
    let spec = machine.provider_spec().ok_or_else(|| {
        let at = machine.kind.provider_spec().join(".");
        Verdict::Error(format!("it has no provider spec ({at}), which would name its boot image"))
    })?;
    let stream = shipped.stream(&eligible.stream)?;
    Ok(Wanted { change: platforms::assess(spec, &request(stream))?, template: None })
}

fn settle_change(cluster: &Cluster, machine: &Machine, item: &mut Item, wanted: Wanted) -> Result<(), Verdict> {
    let Wanted { change, template } = wanted;
    let (stub, remark) = user_data(cluster, machine)?;
    let spec = template.map_or_else(|| machine.provider_spec(), capi::machine_spec).unwrap_or(&Value::Null);
    // Only what describes machines: replicas change all the time, and would make each change another one.
    let digest = guard::digest(&merge::applied(spec, &change.leaf));
    let clone = template.map(|template| capi::cloned(machine, template, &change.leaf));
    let (clone, patch) = match clone {
        Some((clone, patch)) => (Some(clone), patch),
        None => (None, merge::nested(machine.kind.provider_spec(), change.leaf)),
    };
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

const HOT_LOOP: &str = "the same boot image has been set three times and was put back each time: end what puts it back, opt \
                        the machine resource out of boot image updates, and in again";

/// The user data that a new boot image would have to read, and what is to be remarked about them.
fn user_data(cluster: &Cluster, machine: &Machine) -> Result<(Option<StubAdvice>, &'static str), String> {
    let (name, keys): (&str, &[&str]) = if machine.kind.is_capi() {
        (machine.object.text("/spec/template/spec/bootstrap/dataSecretName"), &["value", "userData"])
    } else {
        let secret = machine.provider_spec().and_then(|spec| spec.pointer("/userDataSecret/name"));
        (secret.and_then(Value::as_str).unwrap_or_default(), &["userData"])
    };
    if name.is_empty() {
        let at = if machine.kind.is_capi() { "bootstrap.dataSecretName" } else { "userDataSecret.name" };
        return Err(format!("it names no secret with user data ({at}), without which no machine starts"));
    }
    let namespace = machine.kind.namespace();
    match cluster.user_data.find(namespace, name) {
        Found::Secret(secret) => stub::check(secret, keys).map(|advice| (advice, "")).map_err(|error| whole(&error)),
        Found::Unreadable(why) => Err(why.to_owned()),
        Found::Missing => {
            Err(format!("its secret with user data, {namespace}/{name}, is not there: no machine starts"))
        }
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
        namespace: machine.namespace().to_owned(),
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
        Verdict::Manual(Report { decision, reason, release, steps }) => {
            item.target = if release.is_empty() { String::new() } else { format!("RHCOS {release}") };
            (item.release, item.steps) = (release, steps);
            (decision, reason)
        }
    };
}
