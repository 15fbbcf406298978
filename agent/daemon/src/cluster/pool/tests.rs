use serde_json::Value;

use super::*;
use crate::cluster::double::{Double, Reply, node, report};

fn pools(names: &[&str]) -> Reply {
    let pool = |name: &&str| {
        json!({"metadata": {"name": name}, "spec":
            {"nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}}}})
    };
    let items: Vec<Value> = names.iter().map(pool).collect();
    Reply::Json(200, json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": items}))
}

fn infra_node() -> Value {
    let mut node = node(1, &json!({}));
    node["metadata"]["labels"] = json!({"node-role.kubernetes.io/infra": "", "node-role.kubernetes.io/worker": ""});
    node
}

/// A report in a pool that was named by a manager.
fn named(pool: &str, manager: &str) -> Value {
    let mut report = report(7, "rendered-infra-1");
    report["spec"]["pool"]["name"] = json!(pool);
    let fields = json!({"f:spec": {"f:pool": {"f:name": {}}}});
    report["metadata"]["managedFields"] = json!([{"manager": manager, "fieldsV1": fields}]);
    report
}

fn cluster_with(report: Value) -> Double {
    Double::new(move |asked| match () {
        () if asked.line.contains("machineconfigpools") => pools(&["worker", "master", "infra"]),
        () if asked.line.contains("/api/v1/nodes") => Reply::Json(200, infra_node()),
        () => Reply::Json(200, report.clone()),
    })
}

#[tokio::test(start_paused = true)]
async fn a_pool_is_named_where_it_is_not_set_or_ours_and_left_where_the_operator_named_it() {
    for (pool, manager, patched) in [
        ("not-yet-set", "machine-config-operator", true),
        ("not-yet-set", MANAGER, true),
        ("worker", MANAGER, true),
        ("worker", "machine-config-operator", false),
        ("infra", MANAGER, false),
    ] {
        let object = named(pool, manager);
        let double = cluster_with(object.clone());
        let cluster = double.cluster().await;
        let read: MachineConfigNode = serde_json::from_value(object).unwrap();
        for _ in 0..2 {
            cluster.name_pool(read.clone(), "rendered-infra-1").await.unwrap();
        }
        let sent: Vec<Value> = double
            .asked()
            .iter()
            .filter(|asked| asked.line.starts_with("PATCH"))
            .map(|asked| asked.body.clone())
            .collect();
        let expected = json!({"metadata": {"resourceVersion": "7"}, "spec": {"pool": {"name": "infra"}}});
        assert_eq!(sent, vec![expected; usize::from(patched)], "{pool} {manager}");
    }
}

#[tokio::test(start_paused = true)]
async fn pools_are_listed_once_for_a_configuration_and_never_for_one_of_the_named_pool() {
    let double = cluster_with(named("worker", "machine-config-operator"));
    let cluster = double.cluster().await;
    let read: MachineConfigNode = serde_json::from_value(named("worker", "machine-config-operator")).unwrap();
    for desired in ["rendered-worker-1", "rendered-infra-1", "rendered-infra-1", "rendered-infra-2"] {
        cluster.name_pool(read.clone(), desired).await.unwrap();
    }
    let listed = double.lines().iter().filter(|line| line.contains("machineconfigpools")).count();
    assert_eq!(listed, 2);
}
