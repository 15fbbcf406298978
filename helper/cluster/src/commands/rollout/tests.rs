use std::fs;

use serde_json::{Value, json};

use super::*;

const KEY: &str = "machineconfiguration.openshift.io";

fn worker(name: &str, current: &str, desired: &str, drain: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"node-role.kubernetes.io/worker": "", "topology.kubernetes.io/zone": "a"},
            "annotations": {format!("{KEY}/currentConfig"): current, format!("{KEY}/desiredConfig"): desired,
                format!("{KEY}/desiredDrain"): drain, format!("{KEY}/state"): if current == desired { "Done" } else { "Working" }}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
}

/// Three workers: one that drains and is kept by a budget, one that is next, one that is done.
fn objects() -> Vec<Value> {
    vec![
        json!({"apiVersion": format!("{KEY}/v1"), "kind": "MachineConfigPool", "metadata": {"name": "worker"},
            "spec": {"configuration": {"name": "new"}, "maxUnavailable": 2,
                "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/worker": ""}}}}),
        worker("drains", "old", "new", "drain-new"),
        worker("next", "old", "old", ""),
        worker("done", "new", "new", ""),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db-0", "namespace": "shop", "labels": {"app": "db"}},
            "spec": {"nodeName": "drains"}, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "db"}},
            "spec": {"nodeName": "next"}, "status": {"phase": "Running"}}),
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "db", "namespace": "shop"},
            "spec": {"selector": {"matchLabels": {"app": "db"}}},
            "status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1}}),
    ]
}

async fn read(objects: &[Value]) -> Fleet {
    let directory = tempfile::tempdir().unwrap();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    fs::write(directory.path().join("all.json"), list.to_string()).unwrap();
    let options = ClusterOptions { from_dir: Some(directory.path().to_owned()), ..ClusterOptions::default() };
    let source = Source::open(&options).await.unwrap();
    let (fleet, notes) = gather::fleet(&source).await.unwrap();
    assert_eq!(notes, [""; 0]);
    fleet
}

const fn shown(output: Format) -> ViewOptions {
    ViewOptions { output, watch: false, interval: 5 }
}

fn told(command: &RolloutCommand, fleet: &Fleet) -> String {
    let now = "2026-06-01T12:00:00Z".parse().unwrap();
    anstream::adapter::strip_str(&answer(command, fleet, now).unwrap()).to_string()
}

#[tokio::test]
async fn one_table_shows_pools_and_who_waits_for_what() {
    let fleet = read(&objects()).await;
    let status = |all| RolloutCommand::Status(StatusOptions { pools: Vec::new(), all, view: shown(Format::Text) });
    let text = told(&status(false), &fleet);
    assert!(text.contains("worker  new     1/3      1/2   next"), "{text}");
    assert!(text.contains("draining") && text.contains("pod shop/db-0 is kept by PodDisruptionBudget db"), "{text}");
    assert!(text.contains("it is number 1 by zone and age"), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("done ")), "{text}");
    assert!(told(&status(true), &fleet).lines().any(|line| line.starts_with("done ")));
    let none = RolloutCommand::Status(StatusOptions {
        pools: vec!["infra".to_owned()],
        all: false,
        view: shown(Format::Text),
    });
    let error = answer(&none, &fleet, Timestamp::UNIX_EPOCH).unwrap_err();
    assert_eq!(Outcome::from(&error), Outcome::NoAnswer);
}

#[tokio::test]
async fn only_pods_of_nodes_that_drain_are_kept() {
    let fleet = read(&objects()).await;
    assert_eq!(fleet.pods.iter().map(|pod| pod.metadata.name.as_str()).collect::<Vec<_>>(), ["db-0"]);
    let calm: Vec<Value> = objects().into_iter().filter(|object| object["metadata"]["name"] != "drains").collect();
    assert!(read(&calm).await.pods.is_empty());
}

#[tokio::test]
async fn a_program_gets_the_order_the_explanation_and_the_estimate() {
    let fleet = read(&objects()).await;
    let document = |command| serde_json::from_str::<Value>(&told(&command, &fleet)).unwrap();
    let next = document(RolloutCommand::Next(shown(Format::Json)));
    assert_eq!(next["pools"][0]["now"], json!(["next"]));
    let explain =
        |name: &str| RolloutCommand::Explain(ExplainOptions { node: name.to_owned(), view: shown(Format::Json) });
    assert_eq!(document(explain("drains"))["node"]["phase"], "draining");
    let error = answer(&explain("nobody"), &fleet, Timestamp::UNIX_EPOCH).unwrap_err();
    assert_eq!(error.to_string(), "nothing updates node nobody: there is no such node");
    let options = EstimateOptions { minutes_per_node: Some(10), payload_minutes: 60, view: shown(Format::Json) };
    let estimate = document(RolloutCommand::Estimate(options));
    assert_eq!((&estimate["leftSeconds"], &estimate["wholeSeconds"]), (&json!(1200), &json!(4800)));
}
