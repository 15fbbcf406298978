//! One pass over the machine resources: decide, note what is going to be done, do it, and say how it went.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use jiff::Timestamp;
use ostler_cluster_core::boot_images::events::{AT_REST, Sight};
use ostler_cluster_core::boot_images::history::{History, Record, Reference};
use ostler_cluster_core::boot_images::{
    self, Cluster, Decision, Enrolment, Gate, Item, Kind, Machine, Platform, capi, conditions,
};
use ostler_cluster_core::skew;

use super::gather::{Gathered, gather, machines, templates};
use super::standing::Standing;
use super::write::{MAX_TRIES, WriteError, Writer};
use crate::cli::boot_images::BasisOptions;
use crate::output;
use crate::own::Leadership;
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
    /// Whether we may write, where several stand for it.
    pub leadership: Option<&'a Leadership>,
}

/// What is remembered from one pass to the next.
pub struct Memory {
    seen: Option<Sight>,
    /// What set off the last pass that anything set off, as conditions say it.
    reason: &'static str,
    /// What was said last of each topic: what stays as it is is said once.
    told: BTreeMap<String, String>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { seen: None, reason: AT_REST, told: BTreeMap::new() }
    }
}

impl Memory {
    fn see(&mut self, cluster: &Cluster) {
        let now = Sight::of(cluster);
        if let Some(event) = self.seen.as_ref().and_then(|before| before.event(&now)) {
            self.reason = event;
        }
        self.seen = Some(now);
    }

    /// Says something, unless it was the last that was said of the topic. Nothing to say makes the topic new again.
    pub fn tell(&mut self, topic: &str, words: &str) {
        if words.is_empty() {
            self.told.remove(topic);
        } else if self.told.get(topic).is_none_or(|told| told != words) {
            output::note(words);
            self.told.insert(topic.to_owned(), words.to_owned());
        }
    }
}

/// The time now, as annotations and records have it.
pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl Pass<'_> {
    /// Does it, and says what came of each machine resource.
    pub async fn go(&self, memory: &mut Memory) -> Result<Vec<Item>> {
        let Gathered { cluster, mut history, notes, .. } = gather(self.source, self.basis).await?;
        memory.tell("notes", &notes.join("; "));
        memory.see(&cluster);
        let gate = match (&cluster.version, boot_images::gate(&cluster)) {
            (Ok(None), _) => Gate::Waiting("ClusterVersion version is not there".to_owned()),
            (_, gate) => gate,
        };
        let mut items = boot_images::plan(&cluster, &gate);
        items.retain(|item| self.only.is_none_or(|only| only == item.name));
        if let Gate::Waiting(why) = &gate {
            memory.tell("gate", &format!("nothing is changed now: {why}"));
            return Ok(items);
        }
        memory.tell("gate", "");
        let (time, before) = (now(), history.clone());
        self.note(&cluster, &items, &mut history, &time).await?;
        self.begin(&cluster, &items, memory.reason, &time).await;
        let undone = self.change_all(&cluster, &mut items, &time).await;
        if !undone.is_empty() {
            undone.iter().for_each(|key| history.take_back(key, &before));
            say_if_wrong(keep(&self.writer(), &cluster, &mut history).await);
        }
        if cluster.with_capi {
            say_if_wrong(self.collect().await);
        }
        self.end(&cluster, &items, memory.reason, &time).await;
        Ok(items)
    }

    fn writer(&self) -> Writer {
        Writer::new(self.live.client())
    }

    /// What is going to be done is noted first: what cannot be undone is not begun.
    async fn note(&self, cluster: &Cluster, items: &[Item], history: &mut History, time: &str) -> Result<()> {
        let shipped = cluster.shipped.as_ref().ok().and_then(Option::as_ref);
        let mut guard = history.guard();
        let mut differs = false;
        for item in items {
            let Some(machine) = cluster.machines.iter().find(|machine| is(machine, item)) else { continue };
            let key = machine.key();
            if !item.enrolled {
                differs |= machine.is_looked_after() && history.forget_attempts(&key);
            } else if item.decision == Decision::Patch {
                let attempt = guard.note(&key, &item.digest);
                history.add(&key, reference(item), Record::of(item, shipped, time), Some(attempt));
                differs = true;
            }
        }
        if differs { keep(&self.writer(), cluster, history).await } else { Ok(()) }
    }

    /// Changes what is to be changed, one by one, and says by their keys which were not, after all.
    async fn change_all(&self, cluster: &Cluster, items: &mut [Item], time: &str) -> BTreeSet<String> {
        let writer = self.writer();
        let mut undone = BTreeSet::new();
        for item in items.iter_mut().filter(|item| item.decision == Decision::Patch) {
            let Some(machine) = cluster.machines.iter().find(|machine| is(machine, item)) else { continue };
            let changed = match self.leadership.is_none_or(Leadership::leads) {
                true => change(&writer, cluster, machine, item, time).await.map_err(|error| error.to_string()),
                false => Err("the Lease was lost: somebody else goes on".to_owned()),
            };
            if !matches!(changed, Ok(true)) {
                undone.insert(machine.key());
            }
            settle(item, changed);
        }
        undone
    }

    /// Removes templates that nothing needs any more, of this pass or of earlier ones.
    async fn collect(&self) -> Result<()> {
        let (machines, templates) = (machines(self.source).await?, templates(self.source).await?);
        for template in capi::orphans(&templates, &machines) {
            if let Err(error) = self.writer().remove_template(template).await {
                output::note(&format!("the template {} is left behind: {error}", template.metadata.name));
            }
        }
        Ok(())
    }

    async fn begin(&self, cluster: &Cluster, items: &[Item], reason: &str, time: &str) {
        if items.iter().any(|item| item.decision == Decision::Patch) {
            let conditions = vec![conditions::progressing(items, reason)];
            self.say(cluster, Standing { conditions, ..Standing::default() }, time).await;
        }
    }

    async fn end(&self, cluster: &Cluster, items: &[Item], reason: &str, time: &str) {
        let conditions = vec![conditions::progressing(items, reason), conditions::degraded(items, reason)];
        let operator = cluster.choice().is_some_and(|object| object.status.observed_generation.is_some());
        let enrolled = cluster.platform().filter(|_| !operator).map(|platform| cluster.enrolment(platform));
        let enrolled = enrolled.as_ref().map(Enrolment::status);
        let skew = skew::enforced_after(cluster, items);
        self.say(cluster, Standing { conditions, enrolled, skew }, time).await;
    }

    /// The status is for others to read; the work is done whether it can be written or not. A part of the machine resources
    /// says nothing about all of them.
    async fn say(&self, cluster: &Cluster, standing: Standing, time: &str) {
        let managed = cluster.platform().is_some_and(Platform::is_managed);
        if self.only.is_none() && managed && cluster.choice().is_some() {
            say_if_wrong(self.writer().status(&standing, time).await.map_err(Into::into));
        }
    }
}

fn say_if_wrong(done: Result<()>) {
    if let Err(error) = done {
        output::note(&format!("{error:#}"));
    }
}

/// Writes what was done, or is going to be.
pub async fn keep(writer: &Writer, cluster: &Cluster, history: &mut History) -> Result<()> {
    let there: BTreeSet<String> = cluster.machines.iter().map(Machine::key).collect();
    let written = history.written(|key| there.contains(key))?;
    history.version = writer.history(&written, &history.version).await?;
    Ok(())
}

fn is(machine: &Machine, item: &Item) -> bool {
    machine.name() == item.name
        && machine.namespace() == item.namespace
        && machine.kind.name() == item.kind
        && machine.kind.group() == item.api_group
}

/// The machine resource of an item, for records.
pub fn reference(item: &Item) -> Reference {
    Reference { name: item.name.clone(), resource: item.kind.to_owned(), api_group: item.api_group.to_owned() }
}

/// What is said of a machine resource after it was changed, found to be changed, or neither.
fn settle(item: &mut Item, changed: Result<bool, String>) {
    let Item { target, current, .. } = &*item;
    (item.decision, item.reason) = match changed {
        Ok(true) => (Decision::Current, format!("its boot image is {target} now, and was {current}")),
        Ok(false) => (Decision::Current, format!("its boot image is {target}: somebody else was faster")),
        Err(reason) => (Decision::Error, reason),
    };
}

/// Changes one machine resource; where somebody else was faster, looks and decides again. Says whether it was us who did it.
async fn change(
    writer: &Writer,
    cluster: &Cluster,
    machine: &Machine,
    item: &Item,
    time: &str,
) -> Result<bool, WriteError> {
    let (mut machine, mut item) = (machine.clone(), item.clone());
    for _ in 0..MAX_TRIES {
        match attempt(writer, &machine, &item, time).await {
            Err(error) if error.is_conflict() => {}
            ended => return ended.map(|()| true),
        }
        let what = format!("{} {}", machine.kind.name(), machine.name());
        let Some(fresh) = writer.again(&machine).await? else {
            return Err(WriteError::Otherwise { what, reason: "it is gone".to_owned() });
        };
        let decided = boot_images::decide(cluster, &Gate::Open, &fresh);
        match decided.decision {
            Decision::Patch => {}
            Decision::Current => return Ok(false),
            _ => return Err(WriteError::Otherwise { what, reason: decided.reason }),
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

    async fn changed(conflicts: usize, shown: Value) -> (Result<bool, WriteError>, Vec<Value>) {
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
        assert!(matches!(ended, Ok(true)), "{ended:?}");
        let versions: Vec<&Value> = patches.iter().map(|patch| &patch["metadata"]["resourceVersion"]).collect();
        assert_eq!(versions, ["1", "2"]);
    }

    #[tokio::test]
    async fn what_somebody_else_did_already_is_not_done_again() {
        let (ended, patches) = changed(1, object(NEW, "2")).await;
        assert!(matches!(ended, Ok(false)) && patches.len() == 1, "{ended:?}");
        let (ended, patches) = changed(1, object("projects/mine/global/images/x", "2")).await;
        assert!(matches!(ended, Err(WriteError::Otherwise { .. })) && patches.len() == 1, "{ended:?}");
    }

    #[tokio::test]
    async fn an_object_that_never_rests_is_given_up() {
        let (ended, patches) = changed(usize::MAX, object(OLD, "2")).await;
        assert!(ended.is_err_and(|error| error.is_conflict()));
        assert_eq!(patches.len(), MAX_TRIES);
    }
}
