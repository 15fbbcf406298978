//! Reading what new machines start from. Of secrets only those are read that machine resources name.

use std::collections::BTreeSet;

use ostler_cluster_core::boot_images::stub::UserData;
use ostler_cluster_core::boot_images::{BOOT_IMAGES, Kind, Machine, ShippedImages};
use ostler_cluster_core::objects::{
    ClusterMachineSet, ConfigMap, ControlPlaneMachineSet, Infrastructure, MCO_NAMESPACE, MachineConfiguration,
    MachineDeployment, MachineSet, Provisioning, Secret, Whole,
};
use ostler_cluster_core::preflight::{Boot, Reading};

use super::gather::Clock;
use crate::source::Source;

/// Reads it.
pub async fn boot(source: &Source, clock: Clock, late: &mut bool) -> Boot {
    let machines = machines(source, clock, late).await;
    let user_data = match &machines {
        Reading::Read(machines) => user_data(source, machines, clock, late).await,
        _ => Reading::Failed { reason: "which user data there are is not known".to_owned() },
    };
    let provisioning: Reading<Option<Provisioning>> = clock.one(source, None, Provisioning::NAME, late).await;
    let shipped: Reading<Option<ConfigMap>> = clock.one(source, Some(MCO_NAMESPACE), BOOT_IMAGES, late).await;
    Boot {
        configuration: clock.one(source, None, MachineConfiguration::NAME, late).await,
        infrastructure: clock.one(source, None, Infrastructure::NAME, late).await,
        legacy_metal: provisioning.map(|object| object.is_some_and(|object| !object.download_url().is_empty())),
        machines,
        user_data,
        shipped: shipped.map(|map| map.map(|map| ShippedImages::of(&map))),
    }
}

/// A cluster without one of the kinds has no machines of it.
async fn machines(source: &Source, clock: Clock, late: &mut bool) -> Reading<Vec<Machine>> {
    let mut all = Vec::new();
    let sets = clock.all(source, None, late).await.map(|sets| owned(sets, |MachineSet(object)| object));
    let control = clock.all(source, None, late).await.map(|sets| owned(sets, |ControlPlaneMachineSet(object)| object));
    let cluster = clock.all(source, None, late).await.map(|sets| owned(sets, |ClusterMachineSet(object)| object));
    let deployments = clock.all(source, None, late).await.map(|sets| owned(sets, |MachineDeployment(object)| object));
    for (kind, read) in [
        (Kind::MachineSet, sets),
        (Kind::ControlPlaneMachineSet, control),
        (Kind::ClusterMachineSet, cluster),
        (Kind::MachineDeployment, deployments),
    ] {
        match read {
            Reading::Read(objects) => all.extend(objects.into_iter().map(|object| Machine::new(kind, object))),
            Reading::UnknownKind { .. } => {}
            other => return other.map(|_| Vec::new()),
        }
    }
    Reading::Read(all)
}

fn owned<T>(objects: Vec<T>, of: fn(T) -> Whole) -> Vec<Whole> {
    objects.into_iter().map(of).collect()
}

async fn user_data(source: &Source, machines: &[Machine], clock: Clock, late: &mut bool) -> Reading<UserData> {
    let mut wanted = BTreeSet::new();
    for machine in machines {
        let name = match machine.kind.is_capi() {
            true => Some(machine.object.text("/spec/template/spec/bootstrap/dataSecretName")),
            false => machine.provider_spec().and_then(|spec| spec.pointer("/userDataSecret/name")?.as_str()),
        };
        wanted.extend(name.filter(|name| !name.is_empty()).map(|name| (machine.kind.namespace(), name.to_owned())));
    }
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for (namespace, name) in wanted {
        let read: Reading<Option<Secret>> = clock.one(source, Some(namespace), &name, late).await;
        match read {
            Reading::Read(secret) => found.extend(secret),
            Reading::NotRead => return Reading::NotRead,
            other => {
                let why = other.needed().err().map(|undecided| undecided.reason).unwrap_or_default();
                unread.push((namespace, name, why));
            }
        }
    }
    // A dump is mostly stripped of secrets: that one is not there says nothing.
    let mut user_data = UserData::new(found, source.live().is_some());
    unread.into_iter().for_each(|(namespace, name, why)| user_data.unreadable(namespace, &name, why));
    Reading::Read(user_data)
}
