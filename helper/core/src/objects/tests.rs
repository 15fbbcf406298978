use std::collections::BTreeMap;

use serde_json::json;

use super::*;

#[test]
fn null_and_absent_fields_are_empty() {
    let object = json!({
        "metadata": {"name": "worker", "labels": null, "annotations": null, "creationTimestamp": null},
        "spec": {"configuration": {"name": "rendered-worker-1", "source": null}, "maxUnavailable": "10%"},
        "status": {"conditions": null, "machineCount": 3, "certExpirys": [{"bundle": "b", "subject": "s", "expiry": "soon"}]},
    });
    let pool: MachineConfigPool = read(object).unwrap();
    assert_eq!(pool.spec.configuration.name, "rendered-worker-1");
    assert_eq!(pool.status.machine_count, 3);
    assert_eq!(pool.status.cert_expirys[0].expiry, None);
    assert_eq!(
        read::<MachineConfigPool>(json!({"metadata": {"name": "x"}, "spec": null, "status": null})).unwrap().spec,
        PoolSpec::default()
    );
}

#[test]
fn a_field_of_another_type_is_named_and_its_value_is_not() {
    let object = json!({"metadata": {"name": "a"}, "spec": {"osImageURL": ["hunter2"]}});
    let error = read::<MachineConfig>(object).unwrap_err().to_string();
    assert!(error.starts_with("spec.osImageURL: ") && !error.contains("hunter2"), "{error}");
}

#[test]
fn the_ignition_config_is_never_shown() {
    let object = json!({"metadata": {"name": "a"}, "spec": {"config": {"passwd": "hunter2"}}});
    let config: MachineConfig = read(object).unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
    assert_eq!(config.spec.config.expose()["passwd"], "hunter2");
}

#[test]
fn a_release_is_read_with_its_history() {
    let object = json!({
        "metadata": {"name": "version"},
        "status": {"desired": {"version": "4.22.1", "image": "r"}, "history": [
            {"state": "Partial", "version": "4.22.1", "startedTime": "2026-01-02T00:00:00Z", "completionTime": null},
            {"state": "Completed", "version": "4.21.0", "completionTime": "2026-01-01T00:00:00Z"},
        ]},
    });
    let version: ClusterVersion = read(object).unwrap();
    assert_eq!(version.status.history[0].completion_time, None);
    assert_eq!(version.status.history[1].completion_time.unwrap().to_string(), "2026-01-01T00:00:00Z");
}

/// Go reads null as nothing, wherever it stands.
#[test]
fn an_image_stream_is_read_as_generously_as_go_reads_it() {
    let object = json!({"kind": "ImageStream", "apiVersion": null, "metadata": null, "spec": {"tags": [
        null,
        {"name": null, "from": {"kind": null, "name": null}, "annotations": {"a": null, "b": "c"}},
        {"name": "x", "from": null, "annotations": null},
    ]}});
    let stream: ImageStream = read(object).unwrap();
    let names: Vec<&str> = stream.spec.tags.iter().map(|tag| tag.name.as_str()).collect();
    assert_eq!(names, ["", "x"]);
    assert_eq!(stream.spec.tags[0].annotations["a"], "");
    assert!(read::<ImageStream>(json!({"kind": "ImageStream", "spec": {"tags": [{"name": 3}]}})).is_err());
}

#[test]
fn a_registry_of_a_bundle_is_named_as_in_an_image() {
    let object = json!({"spec": {"imageRegistryBundleUserData": [{"file": "mirror.example..5000", "data": "eA=="}],
        "imageRegistryBundleData": null, "rootCAData": "eA=="}});
    let config: ControllerConfig = read(object).unwrap();
    assert_eq!(config.spec.user_registry_bundles[0].registry(), "mirror.example:5000");
    assert_eq!((config.spec.root_ca.as_str(), config.spec.registry_bundles.len()), ("eA==", 0));
}

#[test]
fn what_people_leave_out_in_yaml_is_empty_and_not_an_error() {
    let object = json!({"metadata": {"name": "a", "labels": {"node-role.kubernetes.io/worker": null}},
        "spec": null, "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": null}]}});
    let node: Node = read(object).unwrap();
    let pool: MachineConfigPool =
        read(json!({"spec": {"nodeSelector": {"matchLabels": {"node-role.kubernetes.io/worker": null}}}})).unwrap();
    assert!(pool.spec.node_selector.matches(&node.metadata.labels));
}

#[test]
fn a_selector_is_asked_for_in_the_words_of_a_server() {
    for (selector, expected) in [
        (json!({}), Some("")),
        (json!({"matchLabels": {"a": "b", "c": ""}}), Some("a=b,c=")),
        (
            json!({"matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]},
                {"key": "l", "operator": "NotIn", "values": ["z"]}, {"key": "m", "operator": "Exists"},
                {"key": "n", "operator": "DoesNotExist"}]}),
            Some("k in (x,y),l notin (z),m,!n"),
        ),
        (json!({"matchExpressions": [{"key": "k", "operator": "Perhaps"}]}), None),
        (json!({"matchExpressions": [{"key": "k", "operator": "In"}]}), None),
    ] {
        let read: Selector = serde_json::from_value(selector.clone()).unwrap();
        assert_eq!(read.query().as_deref(), expected, "{selector}");
    }
}

#[test]
fn selectors_select_as_in_kubernetes() {
    let labels: BTreeMap<String, String> = [("role".to_owned(), "infra".to_owned())].into();
    let requirement = |operator: &str, values: &[&str]| json!({"key": "role", "operator": operator, "values": values});
    for (selector, expected) in [
        (json!({}), true),
        (json!({"matchLabels": {"role": "infra"}}), true),
        (json!({"matchLabels": {"role": "worker"}}), false),
        (json!({"matchExpressions": [requirement("In", &["worker", "infra"])]}), true),
        (json!({"matchExpressions": [requirement("In", &["worker"])]}), false),
        (json!({"matchExpressions": [requirement("NotIn", &["worker"])]}), true),
        (json!({"matchExpressions": [requirement("Exists", &[])]}), true),
        (json!({"matchExpressions": [requirement("DoesNotExist", &[])]}), false),
        (json!({"matchExpressions": [requirement("Perhaps", &[])]}), false),
    ] {
        let read: Selector = serde_json::from_value(selector.clone()).unwrap();
        assert_eq!(read.matches(&labels), expected, "{selector}");
    }
}
