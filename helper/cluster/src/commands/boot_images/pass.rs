//! One pass over the machine resources: decide, note what is going to be done, do it, and say how it went.

use std::collections::BTreeSet;

use anyhow::Result;
use jiff::Timestamp;
use ostler_cluster_core::boot_images::history::{HISTORY, History, Record, Reference};
use ostler_cluster_core::boot_images::{
    self, Cluster, Decision, Gate, Item, Kind, Machine, ShippedImages, capi, conditions,
};
use ostler_cluster_core::skew::{self, Remembered};

use super::gather::{Gathered, gather};
use super::write::{MAX_TRIES, WriteError, Writer};
use crate::cli::boot_images::BasisOptions;
use crate::output;
use crate::source::{Live, Source};

/// What a pass is about.
pub struct Pass<'a> {
    /// The cluster.
    pub source: &'a Source,
    /// The same, for writing.
    pub live: &'a Live,
    /// What decisions are made on.
    pub basis: &'a BasisOptions,
    /// Only the machine resources of this name.
    pub only: Option<&'a str>,
    /// What set it off, as conditions say it.
    pub reason: &'static str,
}

/// The time now, as annotations and records have it.
pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl Pass<'_> {
    /// Does it, and says what came of each machine resource.
    pub async fn go(&self) -> Result<(Cluster, Vec<Item>)> {
        let Gathered { cluster, mut history, .. } = gather(self.source, self.basis).await?;
        let gate = match (&cluster.version, boot_images::gate(&cluster)) {
            (Ok(None), _) => Gate::Waiting("ClusterVersion version is not there".to_owned()),
            (_, gate) => gate,
        };
        let mut items = boot_images::plan(&cluster, &gate);
        items.retain(|item| self.only.is_none_or(|only| only == item.name));
        if let Gate::Waiting(why) = &gate {
            output::note(&format!("nothing is changed now: {why}"));
            return Ok((cluster, items));
        }
        let writer = self.writer();
        let time = now();
        self.note(&cluster, &items, &mut history, &time).await?;
        let mut failed = BTreeSet::new();
        for item in items.iter_mut().filter(|item| item.decision == Decision::Patch) {
            let Some(machine) = cluster.machines.iter().find(|machine| is(machine, item)) else { continue };
            match change(&writer, &cluster, machine, item, &time).await {
                Ok(()) => done(item),
                Err(error) => {
                    failed.insert(machine.key());
                    item.decision = Decision::Error;
                    item.reason = error.to_string();
                }
            }
        }
        self.collect(&items).await?;
        if !failed.is_empty() {
            failed.iter().for_each(|key| history.take_back(key));
            self.keep(&mut history).await?;
        }
        if self.only.is_none() {
            self.tell(&cluster, &items, &time).await;
        }
        Ok((cluster, items))
    }

    fn writer(&self) -> Writer {
        Writer::new(self.live.client())
    }

    /// What is going to be done is noted first: what cannot be undone is not begun.
    async fn note(&self, cluster: &Cluster, items: &[Item], history: &mut History, time: &str) -> Result<()> {
        let shipped: Option<&ShippedImages> = cluster.shipped.as_ref().ok().and_then(Option::as_ref);
        let mut guard = history.guard();
        let mut differs = false;
        for item in items {
            let Some(machine) = cluster.machines.iter().find(|machine| is(machine, item)) else { continue };
            let key = machine.key();
            if !item.enrolled {
                differs |= history.forget_attempts(&key);
            } else if item.decision == Decision::Patch {
                let attempt = guard.note(&key, &item.digest);
                history.add(&key, reference(item), Record::of(item, shipped, time), Some(attempt));
                differs = true;
            }
        }
        if differs { self.keep(history).await } else { Ok(()) }
    }

    async fn keep(&self, history: &mut History) -> Result<()> {
        self.writer().config_map(HISTORY, serde_json::to_value(history.data()?)?).await?;
        Ok(())
    }

    /// Removes templates that nothing refers to any more.
    async fn collect(&self, items: &[Item]) -> Result<()> {
        let replaced: Vec<_> = items
            .iter()
            .filter(|item| item.decision == Decision::Current)
            .filter_map(|item| item.template.as_ref())
            .collect();
        if replaced.is_empty() {
            return Ok(());
        }
        let machines = super::gather::machines(self.source).await?;
        for clone in replaced.into_iter().filter(|clone| capi::is_orphan(&clone.replaces, &machines)) {
            if let Err(error) = self.writer().remove_replaced(clone).await {
                output::note(&format!("the template {} is left behind: {error}", clone.replaces));
            }
        }
        Ok(())
    }

    /// Conditions are for others to read; the work is done whether they can be written or not.
    async fn tell(&self, cluster: &Cluster, items: &[Item], time: &str) {
        if !matches!(cluster.configuration, Ok(Some(_))) {
            return;
        }
        let shipped = cluster.shipped.as_ref().ok().and_then(Option::as_ref);
        let version = cluster.version.as_ref().ok().and_then(Option::as_ref);
        let recorded = shipped.map(|shipped| skew::after_pass(items, shipped, version));
        let recorded = match recorded {
            Some(Remembered::Release(release)) => Some(release.to_string()),
            _ => None,
        };
        let conditions = conditions::after(items, self.reason);
        if let Err(error) = self.writer().status(&conditions, recorded.as_deref(), time).await {
            output::note(&error.to_string());
        }
    }
}

fn is(machine: &Machine, item: &Item) -> bool {
    machine.name() == item.name && machine.kind.name() == item.kind && machine.kind.group() == item.api_group
}

/// The machine resource of an item, for records.
pub fn reference(item: &Item) -> Reference {
    Reference { name: item.name.clone(), resource: item.kind.to_owned(), api_group: item.api_group.to_owned() }
}

fn done(item: &mut Item) {
    item.decision = Decision::Current;
    item.reason = format!("its boot image is {} now, and was {}", item.target, item.current);
}

/// Changes one machine resource; where somebody else was faster, looks and decides again.
async fn change(
    writer: &Writer,
    cluster: &Cluster,
    machine: &Machine,
    item: &Item,
    time: &str,
) -> Result<(), WriteError> {
    let (mut machine, mut item) = (machine.clone(), item.clone());
    for _ in 0..MAX_TRIES {
        match attempt(writer, &machine, &item, time).await {
            Err(error) if error.is_conflict() => {}
            ended => return ended,
        }
        let what = format!("{} {}", machine.kind.name(), machine.name());
        let Some(fresh) = writer.again(&machine).await? else {
            return Err(WriteError::Refused { what, code: 404, message: "it is gone".to_owned() });
        };
        let mut decided = boot_images::decide(cluster, &Gate::Open, &fresh);
        match decided.decision {
            Decision::Patch => {}
            Decision::Current => return Ok(()),
            _ => return Err(WriteError::Refused { what, code: 409, message: std::mem::take(&mut decided.reason) }),
        }
        (machine, item) = (fresh, decided);
    }
    Err(WriteError::Conflict { what: format!("{} {}", machine.kind.name(), machine.name()) })
}

/// What machines start with comes first, then what they are made from, then the machine resource.
async fn attempt(writer: &Writer, machine: &Machine, item: &Item, time: &str) -> Result<(), WriteError> {
    if let Some(advice) = &item.stub {
        writer.stub(advice, time).await?;
    }
    if let Some(clone) = &item.template {
        writer.template(clone).await?;
    }
    match &item.patch {
        Some(patch) => writer.machine(machine, patch).await,
        None => Ok(()),
    }
}

/// The kinds that can be restored by a name.
pub fn kind_named(name: &str) -> Option<&'static str> {
    let kinds = [Kind::MachineSet, Kind::ControlPlaneMachineSet, Kind::MachineDeployment];
    kinds.into_iter().map(Kind::name).find(|kind| kind.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use http::{Method, Request, Response};
    use kube::Client;
    use kube::client::Body;
    use ostler_cluster_core::boot_images::ShippedImages;
    use ostler_cluster_core::boot_images::stub::UserData;
    use ostler_cluster_core::objects::{self, Infrastructure};
    use ostler_cluster_core::stream_metadata::Architecture;
    use serde_json::{Value, json};

    use super::*;

    const OLD: &str = "projects/rhcos-cloud/global/images/old";
    const NEW: &str = "projects/rhcos-cloud/global/images/new";

    fn object(image: &str, version: &str) -> Value {
        json!({"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
            "metadata": {"name": "a", "namespace": "openshift-machine-api", "resourceVersion": version},
            "spec": {"template": {"spec": {"providerSpec": {"value": {
                "disks": [{"boot": true, "image": image}], "userDataSecret": {"name": "s"}}}}}}})
    }

    fn cluster() -> Cluster {
        let stream =
            json!({"architectures": {"x86_64": {"images": {"gcp": {"project": "rhcos-cloud", "name": "new"}}}}});
        let map = objects::read(json!({"metadata": {"name": "m"}, "data": {"stream": stream.to_string()}})).unwrap();
        let infrastructure: Infrastructure =
            objects::read(json!({"status": {"platformStatus": {"type": "GCP"}}})).unwrap();
        Cluster {
            shipped: Ok(Some(ShippedImages::of(&map))),
            infrastructure: Ok(Some(infrastructure)),
            control_plane: Some(Architecture::X86_64),
            user_data: UserData::new(Vec::new(), false),
            ..Cluster::default()
        }
    }

    /// A server that refuses so many patches and shows an object when asked, and what it was sent.
    fn server(conflicts: usize, shown: Value) -> (Writer, Arc<Mutex<Vec<Value>>>) {
        let patches = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&patches);
        let service = tower::service_fn(move |request: Request<Body>| {
            let (kept, shown) = (Arc::clone(&kept), shown.clone());
            async move {
                let patched = request.method() == Method::PATCH;
                let mut code = 200;
                if patched {
                    let body = request.into_body().collect_bytes().await.unwrap();
                    let mut kept = kept.lock().unwrap();
                    kept.push(serde_json::from_slice(&body).unwrap());
                    code = if kept.len() <= conflicts { 409 } else { 200 };
                }
                let body = match code {
                    200 => shown,
                    code => {
                        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "m", "reason": "Conflict"})
                    }
                };
                let answer = Response::builder().status(code).body(Body::from(body.to_string().into_bytes()));
                Ok::<_, std::convert::Infallible>(answer.unwrap())
            }
        });
        (Writer::new(Client::new(service, "default")), patches)
    }

    async fn changed(conflicts: usize, shown: Value) -> (Result<(), WriteError>, Vec<Value>) {
        let cluster = cluster();
        let machine = Machine::new(Kind::MachineSet, object(OLD, "1").into());
        let item = boot_images::decide(&cluster, &Gate::Open, &machine);
        assert_eq!(item.decision, Decision::Patch, "{}", item.reason);
        let (writer, patches) = server(conflicts, shown);
        let ended = change(&writer, &cluster, &machine, &item, "now").await;
        let patches = patches.lock().unwrap().clone();
        (ended, patches)
    }

    #[tokio::test]
    async fn somebody_elses_change_is_looked_at_before_trying_again() {
        let (ended, patches) = changed(1, object(OLD, "2")).await;
        assert!(ended.is_ok(), "{ended:?}");
        let versions: Vec<&Value> = patches.iter().map(|patch| &patch["metadata"]["resourceVersion"]).collect();
        assert_eq!(versions, ["1", "2"]);
    }

    #[tokio::test]
    async fn what_somebody_else_did_already_is_not_done_again() {
        let (ended, patches) = changed(1, object(NEW, "2")).await;
        assert!(ended.is_ok() && patches.len() == 1, "{ended:?}");
        let (ended, patches) = changed(1, object("projects/mine/global/images/x", "2")).await;
        assert!(matches!(ended, Err(WriteError::Refused { .. })) && patches.len() == 1, "{ended:?}");
    }

    #[tokio::test]
    async fn an_object_that_never_rests_is_given_up() {
        let (ended, patches) = changed(usize::MAX, object(OLD, "2")).await;
        assert!(ended.is_err_and(|error| error.is_conflict()));
        assert_eq!(patches.len(), MAX_TRIES);
    }
}
