//! What sets off a pass, in the words that the machine-config operator has for it in conditions.
//!
//! It hears of changes; we look again and compare. Nothing is decided here.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Cluster, Enrolment, Kind, Machine, guard};

/// The reason before anything has been compared: the cluster is at rest.
pub const AT_REST: &str = "ClusterVersionStable";

/// What was seen of a cluster, as far as a change to it sets off a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// The release that is complete, if one is.
    release: Option<String>,
    /// The version of the shipped images.
    images: Option<String>,
    /// Who is enrolled.
    choice: Option<Enrolment>,
    /// Digests of the machine resources.
    machines: BTreeMap<(Kind, String), String>,
}

/// What happened to an object.
#[derive(Clone, Copy)]
enum Event {
    Added,
    Updated,
    Deleted,
}

impl Sight {
    /// What is to be seen now.
    pub fn of(cluster: &Cluster) -> Self {
        let version = cluster.version.as_ref().ok().and_then(Option::as_ref);
        let latest = version.and_then(|version| version.status.history.first());
        let shipped = cluster.shipped.as_ref().ok().and_then(Option::as_ref);
        let machines = cluster.machines.iter().filter(|machine| machine.is_looked_after());
        Self {
            release: latest.filter(|latest| latest.state == "Completed").map(|latest| latest.version.clone()),
            images: shipped.map(|shipped| shipped.resource_version.clone()),
            choice: cluster.choice().zip(cluster.platform()).map(|(_, platform)| cluster.enrolment(platform)),
            machines: machines.map(|machine| ((machine.kind, machine.name().to_owned()), digest(machine))).collect(),
        }
    }

    /// What has happened between this and a later sight; nothing where nothing has.
    pub fn event(&self, later: &Self) -> Option<&'static str> {
        if later.release.is_some() && self.release != later.release {
            return Some(AT_REST);
        }
        let images = change(self.images.as_ref(), later.images.as_ref()).map(|event| match event {
            Event::Added => "BootImageConfigMapAdded",
            Event::Updated => "BootImageConfigMapUpdated",
            Event::Deleted => "BootImageConfigMapDeleted",
        });
        let choice = change(self.choice.as_ref(), later.choice.as_ref()).map(|event| match event {
            Event::Added => "BootImageUpdateConfigurationAdded",
            Event::Updated => "BootImageUpdateConfigurationUpdated",
            Event::Deleted => "BootImageUpdateConfigurationDeleted",
        });
        images.or(choice).or_else(|| self.machine(later))
    }

    fn machine(&self, later: &Self) -> Option<&'static str> {
        let keys = self.machines.keys().chain(later.machines.keys());
        keys.into_iter().find_map(|key| {
            let event = change(self.machines.get(key), later.machines.get(key))?;
            Some(machine_event(key.0, event))
        })
    }
}

fn change<T: PartialEq>(before: Option<&T>, after: Option<&T>) -> Option<Event> {
    match (before, after) {
        (None, Some(_)) => Some(Event::Added),
        (Some(_), None) => Some(Event::Deleted),
        (Some(before), Some(after)) if before != after => Some(Event::Updated),
        _ => None,
    }
}

const fn machine_event(kind: Kind, event: Event) -> &'static str {
    match (kind, event) {
        (Kind::MachineSet, Event::Added) => "MAPIMachineSetAdded",
        (Kind::MachineSet, Event::Updated) => "MAPIMachineSetUpdated",
        (Kind::MachineSet, Event::Deleted) => "MAPIMachineSetDeleted",
        (Kind::ControlPlaneMachineSet, Event::Added) => "ControlPlaneMachineSetAdded",
        (Kind::ControlPlaneMachineSet, Event::Updated) => "ControlPlaneMachineSetUpdated",
        (Kind::ControlPlaneMachineSet, Event::Deleted) => "ControlPlaneMachineSetDeleted",
        (Kind::ClusterMachineSet, Event::Added) => "CAPIMachineSetAdded",
        (Kind::ClusterMachineSet, Event::Updated) => "CAPIMachineSetUpdated",
        (Kind::ClusterMachineSet, Event::Deleted) => "CAPIMachineSetDeleted",
        (Kind::MachineDeployment, Event::Added) => "CAPIMachineDeploymentAdded",
        (Kind::MachineDeployment, Event::Updated) => "CAPIMachineDeploymentUpdated",
        (Kind::MachineDeployment, Event::Deleted) => "CAPIMachineDeploymentDeleted",
    }
}

/// What machines look like, and what decides whether they are looked at; not how many there are.
fn digest(machine: &Machine) -> String {
    let looks = match machine.kind.is_capi() {
        true => machine.object.raw.pointer("/spec/template"),
        false => machine.provider_spec(),
    };
    let field = |at: &str| machine.object.raw.pointer(at);
    guard::digest(&json!([
        looks,
        field("/metadata/labels"),
        field("/metadata/annotations"),
        field("/metadata/ownerReferences"),
        field("/status/authoritativeAPI"),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot_images::tests::{GCP_OLD, GCP_TARGET, cluster, edited, gcp};

    #[test]
    fn what_has_happened_is_told_by_comparing() {
        let mut before = cluster("GCP");
        before.machines = vec![gcp(GCP_OLD)];
        let seen = Sight::of(&before);
        let event = |change: &dyn Fn(&mut Cluster)| {
            let mut after = before.clone();
            change(&mut after);
            seen.event(&Sight::of(&after))
        };
        assert_eq!(event(&|_| {}), None);
        assert_eq!(event(&|after| after.machines.clear()), Some("MAPIMachineSetDeleted"));
        assert_eq!(event(&|after| after.machines = vec![gcp(GCP_TARGET)]), Some("MAPIMachineSetUpdated"));
        let other = edited(&gcp(GCP_OLD), "/metadata/name", "b".into());
        assert_eq!(event(&|after| after.machines.push(other.clone())), Some("MAPIMachineSetAdded"));
        let scaled = edited(&gcp(GCP_OLD), "/spec/replicas", 7.into());
        assert_eq!(event(&|after| after.machines = vec![scaled.clone()]), None);
        let control = Machine::new(Kind::ControlPlaneMachineSet, other.object.clone());
        assert_eq!(event(&|after| after.machines.push(control.clone())), Some("ControlPlaneMachineSetAdded"));
        assert_eq!(event(&|after| after.shipped = Ok(None)), Some("BootImageConfigMapDeleted"));
        let newer = |after: &mut Cluster| {
            if let Ok(Some(shipped)) = &mut after.shipped {
                shipped.resource_version = "9".to_owned();
            }
        };
        assert_eq!(event(&newer), Some("BootImageConfigMapUpdated"));
        let chosen = |after: &mut Cluster| after.configuration = Ok(Some(Default::default()));
        assert_eq!(event(&chosen), Some("BootImageUpdateConfigurationAdded"));
        let updated = |after: &mut Cluster| {
            if let Ok(Some(version)) = &mut after.version {
                version.status.history[0].version = "4.22.0".to_owned();
            }
        };
        assert_eq!(event(&updated), Some("ClusterVersionStable"));
        let updating = |after: &mut Cluster| {
            if let Ok(Some(version)) = &mut after.version {
                version.status.history[0].state = "Partial".to_owned();
            }
        };
        assert_eq!(event(&updating), None);
    }
}
