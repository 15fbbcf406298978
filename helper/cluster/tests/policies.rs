//! The admission policies of the helper and the rules of its kind, evaluated here: not every API server to test with has them.
#![cfg(test)]

use kube_cel::{Validator, VapEvaluator, VapExpression};
use serde_json::{Value, json};

const ADMISSION: &str = include_str!("../../../packaging/manifests/cluster-helper/admission.yaml");

const CRD: &str = include_str!("../../../packaging/manifests/cluster-helper/crd.yaml");

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

fn image(part: &str) -> String {
    format!("registry.example.com/ocp/{part}@sha256:{}", "0".repeat(64))
}

/// An OSImageStream with a default that is asked for, and with streams and the default in force if it has a status.
fn object(asked: &str, status: Option<(&[&str], &str)>) -> Value {
    let set = |name: &&str| json!({"name": name, "osImage": image("os"), "osExtensionsImage": image("ext")});
    let mut object = json!({"metadata": {"name": "cluster"}, "spec": {"defaultStream": asked}});
    if let Some((names, default)) = status {
        let sets: Vec<Value> = names.iter().map(set).collect();
        object["status"] = json!({"availableStreams": sets, "defaultStream": default});
    }
    object
}

/// What the rules say against an object.
fn complaints(new: &Value, old: Option<&Value>) -> Vec<String> {
    let definition: Value = serde_saphyr::from_str(CRD).unwrap();
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert!(!kube_cel::compile_schema(schema).has_errors());
    let checked = Validator::new().validate(schema, new, old);
    checked.map_or_else(|errors| errors.into_vec().into_iter().map(|error| error.message).collect(), |()| Vec::new())
}

#[test]
fn the_default_of_the_kind_is_a_stream_that_is_there() {
    let streams: &[&str] = &["rhel-9", "rhel-10"];
    let good = object("rhel-9", Some((streams, "rhel-9")));
    for (new, old, expected) in [
        (object("rhel-9", None), None, &[][..]),
        (good.clone(), None, &[]),
        (object("rhel-10", Some((streams, "rhel-9"))), Some(&good), &[]),
        (object("rhel-8", Some((streams, "rhel-9"))), Some(&good), &["spec.defaultStream must be one of"]),
        // A default that is gone stays until somebody changes it.
        (object("rhel-9", Some((&streams[1..], "rhel-10"))), Some(&good), &[]),
        (object("rhel-9", Some((streams, "rhel-8"))), Some(&good), &["defaultStream must be one of"]),
        (object("Rhel_9", None), None, &["a name has lower case letters"]),
        (object("rhel-9", Some((&["rhel-9", "-"], "rhel-9"))), None, &["a name has lower case letters"]),
    ] {
        let told = complaints(&new, old);
        assert_eq!(told.len(), expected.len(), "{new}: {told:?}");
        assert!(told.iter().zip(expected).all(|(told, words)| told.starts_with(words)), "{told:?}");
    }
    let mut other = good.clone();
    other["metadata"]["name"] = json!("other");
    assert_eq!(complaints(&other, None).len(), 1);
    for bad in ["registry.example.com/os:latest", "os@sha256:0", "registry/os@sha256:0123"] {
        let mut loose = good.clone();
        loose["status"]["availableStreams"][0]["osImage"] = json!(bad);
        assert!(!complaints(&loose, None).is_empty(), "{bad}");
    }
}
