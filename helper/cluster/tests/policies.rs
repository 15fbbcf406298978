//! The admission policies of the helper, evaluated here: not every API server to test with has them.
#![cfg(test)]

use kube_cel::{VapEvaluator, VapExpression};
use serde_json::{Value, json};

const ADMISSION: &str = include_str!("../../../packaging/manifests/cluster-helper/admission.yaml");

fn policies() -> [Value; 4] {
    serde_saphyr::from_multiple::<Value>(ADMISSION).unwrap().try_into().unwrap()
}

fn pool(stream: Option<&str>) -> Value {
    match stream {
        Some(name) => {
            json!({"metadata": {"name": "worker"}, "spec": {"paused": true, "osImageStream": {"name": name}}})
        }
        None => json!({"metadata": {"name": "worker"}, "spec": {"paused": true}}),
    }
}

/// Whether the policy lets a pool be written.
fn allows(policy: &Value, new: Value, old: Option<Value>, streams: Option<&[&str]>) -> bool {
    let status = streams.map(|names| {
        let sets: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        json!({"availableStreams": sets})
    });
    let parameters = status.map_or(json!({"spec": {}}), |status| json!({"spec": {}, "status": status}));
    let mut evaluator = VapEvaluator::builder().object(new).params(parameters);
    if let Some(old) = old {
        evaluator = evaluator.old_object(old);
    }
    let evaluator = evaluator.build();
    let results = |list: &str| {
        let expressions: Vec<VapExpression> = serde_json::from_value(policy["spec"][list].clone()).unwrap();
        evaluator.compile_expressions(&expressions).iter().for_each(|made| assert!(made.is_ok(), "{made:?}"));
        evaluator.evaluate(&expressions)
    };
    results("matchConditions").iter().any(|result| !result.passed)
        || results("validations").iter().all(|result| result.passed)
}

#[test]
fn pools_are_kept_to_streams_that_exist() {
    let [policy, binding, ..] = policies();
    assert_eq!(binding["spec"]["policyName"], policy["metadata"]["name"]);
    let offered: Option<&[&str]> = Some(&["rhel-9", "rhel-10"]);
    for (new, old, streams, expected) in [
        (None, None, offered, true),
        (None, Some(Some("rhel-9")), None, true),
        (Some("rhel-9"), None, offered, true),
        (Some("rhel-8"), None, offered, false),
        (Some("rhel-10"), Some(None), offered, true),
        (Some("rhel-8"), Some(None), offered, false),
        (Some("rhel-8"), Some(Some("rhel-9")), offered, false),
        (Some("rhel-8"), Some(Some("rhel-8")), offered, true),
        (Some("rhel-9"), None, None, false),
    ] {
        let allowed = allows(&policy, pool(new), old.map(pool), streams);
        assert_eq!(allowed, expected, "{old:?} to {new:?} of {streams:?}");
    }
}

#[test]
fn the_object_cannot_be_deleted() {
    let [.., policy, binding] = policies();
    assert_eq!(binding["spec"]["policyName"], policy["metadata"]["name"]);
    assert_eq!(policy["spec"]["matchConstraints"]["resourceRules"][0]["operations"], json!(["DELETE"]));
    let expressions: Vec<VapExpression> = serde_json::from_value(policy["spec"]["validations"].clone()).unwrap();
    let evaluator = VapEvaluator::builder().object(json!({})).build();
    assert!(evaluator.evaluate(&expressions).iter().all(|result| !result.passed));
}
