use std::sync::Mutex;

use futures_util::stream::Stream;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::*;
use crate::cluster::double::{Asked, Double, Reply, report};

/// Objects by the end of their kind's name and their own; watches stay open and are told what changes.
#[derive(Clone, Default)]
struct Store(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    objects: Vec<(String, Value)>,
    open: Vec<(String, UnboundedSender<Value>)>,
}

impl Store {
    fn double(&self) -> Double {
        let store = self.clone();
        Double::new(move |asked| store.answer(asked))
    }

    fn answer(&self, asked: &Asked) -> Reply {
        let mut inner = self.0.lock().unwrap();
        if asked.line.contains("watch=true") {
            let (sender, lines) = unbounded_channel();
            inner.open.push((asked.line.clone(), sender));
            return Reply::Lines(lines);
        }
        let selected = |key: &str| {
            let (kind, name) = key.split_once('/').unwrap();
            asked.line.contains(&format!("/{kind}?")) && asked.line.ends_with(&format!("metadata.name%3D{name}"))
        };
        let items: Vec<&Value> = inner.objects.iter().filter(|(key, _)| selected(key)).map(|(_, item)| item).collect();
        Reply::Json(
            200,
            json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": items}),
        )
    }

    /// Puts an object in place and tells whoever watches it.
    fn put(&self, kind: &str, name: &str, spec: &Value, version: u64) {
        let object = json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "X", "spec": spec,
            "metadata": {"name": name, "resourceVersion": version.to_string(), "generation": version, "labels": {"x": "y"}}});
        let mut inner = self.0.lock().unwrap();
        let (key, part) = (format!("{kind}/{name}"), format!("/{kind}?"));
        let ours = |line: &str| line.contains(&part) && line.contains(&format!("metadata.name%3D{name}&"));
        for (_, watch) in inner.open.iter().filter(|(line, _)| ours(line)) {
            drop(watch.send(json!({"type": "MODIFIED", "object": object})));
        }
        inner.objects.retain(|(stored, _)| *stored != key);
        inner.objects.push((key, object));
    }

    fn pool(&self, name: &str, sets: &[&str], version: u64) {
        let sets: Vec<Value> = sets.iter().map(|name| json!({ "name": name })).collect();
        self.put("machineconfigpools", name, &json!({ "pinnedImageSets": sets }), version);
    }

    fn set(&self, name: &str, version: u64) {
        self.put("pinnedimagesets", name, &json!({"pinnedImages": [{"name": "r.example/a@sha256:0"}]}), version);
    }

    fn report(&self, pool: &str) {
        let mut report = report(5, "a");
        report["spec"]["pool"]["name"] = json!(pool);
        self.0.lock().unwrap().objects.push(("machineconfignodes/worker-0".to_owned(), report));
    }
}

/// Names and generations of the sets that are told next.
async fn next(changes: &mut (impl Stream<Item = Change> + Unpin)) -> Vec<(String, i64)> {
    loop {
        if let Change::PinnedSets(sets) = changes.next().await.unwrap() {
            let told = |set: &PinnedImageSet| {
                assert!(set.metadata.labels.is_none());
                (set.metadata.name.clone().unwrap(), set.metadata.generation.unwrap())
            };
            return sets.iter().map(told).collect();
        }
    }
}

fn named(pairs: &[(&str, i64)]) -> Vec<(String, i64)> {
    pairs.iter().map(|(name, generation)| ((*name).to_owned(), *generation)).collect()
}

fn asked_about(double: &Double, kind: &str) -> usize {
    double.lines().iter().filter(|line| line.contains(kind) && line.contains("watch=true")).count()
}

#[tokio::test(start_paused = true)]
async fn sets_are_followed_by_the_names_that_the_pools_give_them() {
    let store = Store::default();
    store.report("infra");
    store.pool("infra", &["a", "absent"], 5);
    store.pool("worker", &["b", "a"], 5);
    ["a", "b", "c"].iter().for_each(|name| store.set(name, 5));
    let double = store.double();
    let mut changes = double.cluster().await.changes();
    assert_eq!(next(&mut changes).await, named(&[("a", 5), ("b", 5)]));
    store.set("a", 6);
    assert_eq!(next(&mut changes).await, named(&[("a", 6), ("b", 5)]));
    store.pool("worker", &["c"], 7);
    assert_eq!(next(&mut changes).await, named(&[("a", 6), ("c", 5)]));
    store.pool("infra", &[], 8);
    assert_eq!(next(&mut changes).await, named(&[("c", 5)]));
    let unnamed = double.lines().into_iter().filter(|line| !line.contains("fieldSelector=metadata.name%3D")).count();
    assert_eq!(unnamed, 0);
}

#[tokio::test(start_paused = true)]
async fn a_node_without_sets_costs_the_watch_of_its_pool() {
    let store = Store::default();
    store.report("worker");
    store.pool("worker", &[], 5);
    let double = store.double();
    let mut changes = double.cluster().await.changes();
    assert_eq!(next(&mut changes).await, named(&[]));
    let quiet = tokio::time::timeout(std::time::Duration::from_secs(60), next(&mut changes)).await;
    assert!(quiet.is_err());
    assert_eq!((asked_about(&double, "machineconfigpools"), asked_about(&double, "pinnedimagesets")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_pool_is_not_known_yet_is_told_nothing() {
    let store = Store::default();
    store.report("not-yet-set");
    let double = store.double();
    let mut changes = double.cluster().await.changes();
    assert!(tokio::time::timeout(std::time::Duration::from_secs(60), next(&mut changes)).await.is_err());
    assert_eq!(asked_about(&double, "machineconfigpools"), 0);
}
