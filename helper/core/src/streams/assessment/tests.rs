use serde_json::{Value, json};

use super::*;

const ROLE: &str = "machineconfiguration.openshift.io/role";

fn offered() -> OSImageStreamStatus {
    let set = |name: &str| json!({"name": name, "osImage": format!("os@sha256:{name}"), "osExtensionsImage": format!("ext-{name}")});
    serde_json::from_value(json!({"availableStreams": [set("rhel-10"), set("rhel-9")], "defaultStream": "rhel-9"}))
        .unwrap()
}

fn pool(stream: Option<&str>, reported: Option<&str>) -> MachineConfigPool {
    let name = |name: Option<&str>| name.map(|name| json!({"name": name}));
    serde_json::from_value(json!({
        "metadata": {"name": "worker"},
        "spec": {"osImageStream": name(stream), "machineConfigSelector": {"matchLabels": {ROLE: "worker"}}},
        "status": {"osImageStream": name(reported)},
    }))
    .unwrap()
}

fn config(name: &str, spec: Value) -> MachineConfig {
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {ROLE: "worker"}}, "spec": spec})).unwrap()
}

fn runc() -> MachineConfig {
    let source = "data:,%5Bcrio.runtime%5D%0Adefault_runtime%20%3D%20%22runc%22";
    let file = json!({"path": "/etc/crio/crio.conf.d/99-runc", "contents": {"source": source}});
    config("99-runc", json!({"config": {"ignition": {"version": "3.4.0"}, "storage": {"files": [file]}}}))
}

fn found(
    pool: &MachineConfigPool,
    stream: Option<&str>,
    configs: &[MachineConfig],
    labels: Option<&Labels>,
) -> Vec<(&'static str, bool)> {
    let offered = offered();
    let policy = Policy::from_document(json!({"streams": [{"name": "rhel-9", "deprecatedIn": "5.1"}]})).unwrap();
    let release = Version::parse("5.0.0").unwrap();
    let cluster = Cluster {
        offered: &offered,
        pools: std::slice::from_ref(pool),
        configs,
        policy: &policy,
        release: Some(&release),
    };
    let assessment = assess(&cluster, pool, stream, labels);
    assessment.obstacles.into_iter().map(|obstacle| (obstacle.reason, obstacle.blocks)).collect()
}

#[test]
fn nothing_stands_in_the_way_of_going_forward() {
    assert_eq!(found(&pool(None, Some("rhel-9")), Some("rhel-10"), &[], None), []);
    assert_eq!(found(&pool(None, None), None, &[], None), []);
}

#[test]
fn a_stream_that_is_not_offered_and_one_that_is_older_block() {
    assert_eq!(found(&pool(None, Some("rhel-9")), Some("rhel-11"), &[], None), [("StreamMissing", true)]);
    assert_eq!(found(&pool(Some("rhel-10"), Some("rhel-10")), Some("rhel-9"), &[], None), [("StreamDowngrade", true)]);
    assert_eq!(found(&pool(None, Some("custom")), Some("rhel-9"), &[], None), [("StreamIncomparable", false)]);
}

#[test]
fn an_image_that_somebody_set_blocks_only_a_stream_that_the_pool_names() {
    let pinned = [config("50-image", json!({"osImageURL": "mine@sha256:x"}))];
    assert_eq!(found(&pool(Some("rhel-9"), None), None, &pinned, None), [("OSImageURLConflict", true)]);
    let loose = [config("50-image", json!({"osImageURL": "mine:latest"}))];
    assert_eq!(
        found(&pool(None, None), None, &loose, None),
        [("OSImageURLOverridden", false), ("OSImageURLNotPinned", false)]
    );
}

#[test]
fn an_extensions_image_that_somebody_set_is_told_and_never_blocks() {
    let other = [config("50-extensions", json!({"baseOSExtensionsContainerImage": "mine@sha256:x"}))];
    assert_eq!(found(&pool(Some("rhel-9"), None), None, &other, None), [("ExtensionsImageOverridden", false)]);
    let same = [config("50-extensions", json!({"baseOSExtensionsContainerImage": "ext-rhel-9"}))];
    assert_eq!(found(&pool(Some("rhel-9"), None), None, &same, None), []);
}

#[test]
fn pools_that_worker_takes_along_are_assessed_as_inheriting() {
    let mut infra = pool(None, Some("rhel-10"));
    infra.metadata.name = "infra".to_owned();
    let pools = [pool(None, Some("rhel-9")), infra];
    let (offered, policy) = (offered(), Policy::default());
    let configs = [config("50-image", json!({"osImageURL": "mine@sha256:x"}))];
    let cluster = Cluster { offered: &offered, pools: &pools, configs: &configs, policy: &policy, release: None };
    let along = assess_followers(&cluster, &pools[0], "rhel-9");
    let [(name, assessment)] = &along[..] else { panic!("{along:?}") };
    assert_eq!((name.as_str(), assessment.effective.choice), ("infra", Choice::Inherited));
    let reasons: Vec<(&str, bool)> =
        assessment.obstacles.iter().map(|obstacle| (obstacle.reason, obstacle.blocks)).collect();
    assert_eq!(reasons, [("OSImageURLOverridden", false), ("StreamDowngrade", true)]);
    assert!(assess_followers(&cluster, &pools[1], "rhel-9").is_empty());
}

#[test]
fn runc_blocks_the_streams_that_have_none_whoever_chose_the_image() {
    assert_eq!(found(&pool(None, None), Some("rhel-10"), &[runc()], None), [("RuncOnRHEL10", true)]);
    assert_eq!(found(&pool(None, None), Some("rhel-9"), &[runc()], None), []);
    let configs = [runc(), config("50-image", json!({"osImageURL": "mine@sha256:x"}))];
    let of = |stream: &str| Labels::Found([("io.openshift.os.streamclass".to_owned(), stream.to_owned())].into());
    let overridden = ("OSImageURLOverridden", false);
    assert_eq!(found(&pool(None, None), None, &configs, Some(&of("centos-10"))), [overridden, ("RuncOnRHEL10", true)]);
    assert_eq!(found(&pool(None, None), None, &configs, Some(&of("rhel-9"))), [overridden]);
    assert_eq!(found(&pool(None, None), None, &configs, None), [overridden, ("RuntimeUnknown", false)]);
    let away = Labels::Unreachable("no route".to_owned());
    assert_eq!(found(&pool(None, None), None, &configs, Some(&away)), [overridden, ("RuntimeUnknown", false)]);
    assert_eq!(found(&pool(None, None), None, &configs[1..], None), [overridden], "without runc it is all the same");
}

#[test]
fn a_deprecated_stream_is_told_and_does_not_block() {
    let (offered, pool) = (offered(), pool(None, None));
    let policy = Policy::from_document(json!({"streams": [{"name": "rhel-9", "deprecatedIn": "5.1"}]})).unwrap();
    let release = Version::parse("5.1.0").unwrap();
    let cluster = Cluster { offered: &offered, pools: &[], configs: &[], policy: &policy, release: Some(&release) };
    let assessment = assess(&cluster, &pool, None, None);
    assert_eq!(assessment.obstacles.len(), 1);
    assert_eq!((assessment.obstacles[0].reason, assessment.obstacles[0].blocks), ("OSStreamDeprecated", false));
    assert_eq!(assessment.injected.unwrap().extensions_image, "ext-rhel-9");
}
