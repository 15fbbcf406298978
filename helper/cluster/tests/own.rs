//! The helper as the owner of streams, against a real API server: with the rights of its manifests and no others.
#![cfg(test)]

#[path = "../../../tests/cluster/mod.rs"]
mod cluster;
#[path = "own/lab.rs"]
mod lab;

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use cluster::eventually;
use lab::{Lab, Replica};

const HASH: &str = "machineconfiguration.openshift.io/release-image-version";
const RELEASE: &str = "machineconfiguration.openshift.io/release-payload-image";

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_made_kept_and_left_to_others() {
    let Some(lab) = Lab::start().await else { return };
    made_for_a_release(&lab).await;
    left_alone_by_a_restart(&lab).await;
    moved_to_another_default(&lab).await;
    renewed_for_another_release(&lab).await;
    kept_when_nothing_is_found(&lab).await;
    warned_of_their_end(&lab).await;
    chosen_by_pools(&lab).await;
    written_by_one_of_two(&lab).await;
    left_to_a_controller(&lab).await;
}

async fn made_for_a_release(lab: &Lab) {
    lab.release("registry.example.com/release@sha256:1", "4.21.0").await;
    lab.images("1", &["rhel-9", "rhel-10"]);
    let observed = lab.run(&["streams", "run", "--once"]);
    assert!(observed.status.success() && lab.said(&observed).contains("would be written"), "{observed:?}");
    assert!(lab.stream().await.is_none(), "looking writes nothing");
    let done = lab.own();
    assert!(done.status.success(), "{done:?}");
    let object = lab.stream().await.expect("it was made");
    assert_eq!(object["spec"]["defaultStream"], "rhel-9");
    assert_eq!(object["status"]["defaultStream"], "rhel-9");
    let names: Vec<&Value> =
        object["status"]["availableStreams"].as_array().unwrap().iter().map(|set| &set["name"]).collect();
    assert_eq!(names, ["rhel-10", "rhel-9"]);
    assert_eq!(object["metadata"]["annotations"][RELEASE], "registry.example.com/release@sha256:1");
    assert_eq!(object["metadata"]["annotations"][HASH], Value::Null);
}

async fn left_alone_by_a_restart(lab: &Lab) {
    let before = lab.stream().await.unwrap();
    assert!(lab.own().status.success());
    assert_eq!(lab.stream().await.unwrap()["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
}

async fn moved_to_another_default(lab: &Lab) {
    lab.change(json!({"spec": {"defaultStream": "rhel-10"}})).await;
    assert!(lab.own().status.success());
    let object = lab.stream().await.unwrap();
    assert_eq!(
        (&object["spec"]["defaultStream"], &object["status"]["defaultStream"]),
        (&json!("rhel-10"), &json!("rhel-10"))
    );
    lab.change(json!({"spec": {"defaultStream": "rhel-9"}})).await;
    assert!(lab.own().status.success());
    assert_eq!(lab.stream().await.unwrap()["status"]["defaultStream"], "rhel-9");
}

/// The annotation with the controller's hash is not ours, whoever put it there.
async fn renewed_for_another_release(lab: &Lab) {
    lab.change(json!({"metadata": {"annotations": {HASH: "abc"}}})).await;
    lab.release("registry.example.com/release@sha256:2", "5.1.0").await;
    lab.images("2", &["rhel-9", "rhel-10", "rhel-11"]);
    assert!(lab.own().status.success());
    let object = lab.stream().await.unwrap();
    assert_eq!(object["metadata"]["annotations"][HASH], "abc");
    assert_eq!(object["metadata"]["annotations"][RELEASE], "registry.example.com/release@sha256:2");
    assert_eq!(object["status"]["defaultStream"], "rhel-9", "the default of the cluster outlives the release");
    let sets = object["status"]["availableStreams"].as_array().unwrap();
    assert_eq!(sets.len(), 3);
    assert!(sets.iter().all(|set| set["osImage"].as_str().unwrap().contains("/os-2-")), "{sets:?}");
    lab.images("3", &["rhel-9"]);
    lab.release("registry.example.com/release@sha256:3", "5.1.0").await;
    assert!(lab.own().status.success());
    let object = lab.stream().await.unwrap();
    assert_eq!(object["status"]["availableStreams"].as_array().unwrap().len(), 1, "streams that are gone go");
}

async fn kept_when_nothing_is_found(lab: &Lab) {
    let before = lab.stream().await.unwrap();
    lab.release("registry.example.com/release@sha256:4", "5.1.0").await;
    lab.images("4", &[]);
    let done = lab.own();
    assert_eq!(done.status.code(), Some(3), "{done:?}");
    lab.images("4", &["rhel-10"]);
    let done = lab.own();
    assert_eq!(done.status.code(), Some(3), "{done:?}");
    assert!(lab.said(&done).contains("stream rhel-9 would be the default"), "{done:?}");
    assert_eq!(lab.stream().await.unwrap()["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    lab.images("4", &["rhel-9", "rhel-10"]);
    assert!(lab.own().status.success());
}

async fn warned_of_their_end(lab: &Lab) {
    let policy = "streams: [{name: rhel-9, deprecatedIn: '5.0', blockedIn: '5.1', successor: rhel-10}]";
    lab.policy(policy).await;
    let done = lab.own();
    assert!(done.status.success() && lab.said(&done).contains("DeprecatedOSStreamInUse"), "{done:?}");
    let pool = lab.pool().await;
    let conditions = pool["status"]["conditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 2, "the condition of others stays: {conditions:?}");
    assert_eq!(conditions[1]["type"], "OSStreamDeprecated");
    assert_eq!(conditions[1]["reason"], "StreamEndOfLife");
    assert!(lab.own().status.success());
    assert_eq!(lab.pool().await["metadata"]["resourceVersion"], pool["metadata"]["resourceVersion"], "written once");
    lab.policy("streams: []").await;
    assert!(lab.own().status.success());
    assert_eq!(lab.pool().await["status"]["conditions"][1]["status"], "False");
}

async fn chosen_by_pools(lab: &Lab) {
    let set = |stream: &str, more: &[&str]| lab.run(&[&["streams", "set", "worker", stream], more].concat());
    assert_eq!(set("rhel-12", &["--force"]).status.code(), Some(3));
    let forbidden = set("rhel-10", &[]);
    assert_eq!(forbidden.status.code(), Some(1), "the manifests let nobody change a pool: {forbidden:?}");
    lab.let_change_pools().await;
    dropped_while_the_gate_is_off(lab).await;
    assert!(set("rhel-10", &[]).status.success());
    assert_eq!(lab.pool().await["spec"]["osImageStream"]["name"], "rhel-10");
    lab.reports("rhel-10").await;
    let back = set("rhel-9", &[]);
    assert_eq!(back.status.code(), Some(3));
    assert!(lab.said(&back).contains("going back to rhel-9 is not supported"), "{back:?}");
    assert!(set("rhel-9", &["--force"]).status.success());
    let pool = lab.pool().await;
    assert_eq!(pool["spec"]["osImageStream"]["name"], "rhel-9");
    assert_eq!(pool["metadata"]["annotations"]["ostler.dev/last-os-image-stream"], "rhel-10");
}

async fn dropped_while_the_gate_is_off(lab: &Lab) {
    lab.gate_streams(false).await;
    let dropped = lab.run(&["streams", "set", "worker", "rhel-10"]);
    assert_eq!(dropped.status.code(), Some(3), "{dropped:?}");
    assert!(lab.said(&dropped).contains("while the feature gate OSStreams is off"), "{dropped:?}");
    lab.gate_streams(true).await;
}

async fn written_by_one_of_two(lab: &Lab) {
    let mut replicas = [lab.replica("one"), lab.replica("two")];
    eventually("somebody holds the Lease", || async { lab.holder().await.is_some() }).await;
    let holder = lab.holder().await.unwrap();
    let first = usize::from(holder.starts_with("two_"));
    replicas[first].kill();
    lab.change(json!({"spec": {"defaultStream": "rhel-10"}})).await;
    eventually("the other one goes on", || async {
        lab.stream().await.unwrap()["status"]["defaultStream"] == "rhel-10"
    })
    .await;
    assert_ne!(lab.holder().await.unwrap(), holder);
    replicas[1 - first].terminate();
    assert!(lab.holder().await.is_none(), "the Lease is given up");
    replicas.iter_mut().for_each(Replica::kill);
}

async fn left_to_a_controller(lab: &Lab) {
    lab.streams.delete("cluster", &DeleteParams::default()).await.unwrap();
    let sets = json!([{"name": "rhel-9", "osImage": lab::image("os", "x"), "osExtensionsImage": lab::image("ext", "x")},
        {"name": "old", "osImage": lab::image("os", "y"), "osExtensionsImage": lab::image("ext", "y")}]);
    let object = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "OSImageStream",
        "metadata": {"name": "cluster", "annotations": {HASH: "abc"}}, "spec": {"defaultStream": "rhel-9"},
    });
    let by = PatchParams::apply("machine-config-controller");
    lab.streams.patch("cluster", &by, &Patch::Apply(&object)).await.unwrap();
    let refused = lab.own();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let mut status = object.clone();
    status["status"] = json!({"availableStreams": sets, "defaultStream": "rhel-9"});
    lab.streams.patch_status("cluster", &by, &Patch::Apply(&status)).await.unwrap();
    let before = lab.stream().await.unwrap();
    let refused = lab.own();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(lab.said(&refused).contains("machine-config-controller"), "{refused:?}");
    assert_eq!(lab.stream().await.unwrap()["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    let taken = lab.run(&["streams", "run", "--own", "--take-over", "--once"]);
    assert!(taken.status.success(), "{taken:?}");
    let object = lab.stream().await.unwrap();
    assert_eq!(object["metadata"]["annotations"][HASH], "abc", "not ours to change");
    let names: Vec<&Value> =
        object["status"]["availableStreams"].as_array().unwrap().iter().map(|set| &set["name"]).collect();
    assert_eq!(names, ["rhel-10", "rhel-9"], "nothing of the former writer is left");
}
