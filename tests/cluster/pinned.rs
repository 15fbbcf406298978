//! Images kept on a node, from the set in a real cluster to CRI-O's file and back to the node's status.

use std::fs;

use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use ostler_core::api::machine_config_node::PinnedImageSetProgress;
use ostler_core::api::{MachineConfigNode, MachineConfigPool, PinnedImageSet};
use ostler_tests::crio::{Answer, Crio};
use serde_json::{Value, json};

use super::agent::{Subject, condition, is, with_file};
use super::cluster::controller::Controller;
use super::cluster::server::Server;

const POOL: &str = "keeps";
const SET: &str = "kept";
const DROP_IN: &str = "/etc/crio/crio.conf.d/50-pinned-images";

/// Nobody answers there, so that nobody is asked for long how large it is.
fn image(name: &str) -> String {
    format!("127.0.0.1:10/team/{name}@sha256:{}", "0".repeat(64))
}

fn images(names: &[&str]) -> Value {
    let images: Vec<Value> = names.iter().map(|name| json!({"name": image(name)})).collect();
    json!({ "pinnedImages": images })
}

async fn pin(admin: &Client, sets: &[&str]) {
    let pools: Api<MachineConfigPool> = Api::all(admin.clone());
    let sets: Vec<Value> = sets.iter().map(|name| json!({ "name": name })).collect();
    let patch = Patch::Merge(json!({"spec": {"pinnedImageSets": sets}}));
    pools.patch(POOL, &PatchParams::default(), &patch).await.unwrap();
}

async fn fill(admin: &Client, names: &[&str]) {
    let sets: Api<PinnedImageSet> = Api::all(admin.clone());
    let patch = Patch::Merge(json!({ "spec": images(names) }));
    sets.patch(SET, &PatchParams::default(), &patch).await.unwrap();
}

/// A node in a pool of its own, in which one set is named.
async fn node(server: &Server, admin: &Client) -> (Subject, Crio) {
    let pool: MachineConfigPool = serde_json::from_value(json!({"metadata": {"name": POOL}, "spec":
        {"paused": false, "pinnedImageSets": [{"name": SET}]}}))
    .unwrap();
    Api::all(admin.clone()).create(&PostParams::default(), &pool).await.unwrap();
    let set: PinnedImageSet =
        serde_json::from_value(json!({"metadata": {"name": SET}, "spec": images(&["a", "b"])})).unwrap();
    Api::all(admin.clone()).create(&PostParams::default(), &set).await.unwrap();
    let config = with_file("rendered-keeps-1", "/etc/motd", "1");
    let controller = Controller::new(admin.clone());
    let subject = Subject::installed("keeper", server.node("keeper"), controller, &config).await;
    let reports: Api<MachineConfigNode> = Api::all(admin.clone());
    let patch = Patch::Merge(json!({"spec": {"pool": {"name": POOL}}}));
    reports.patch("keeper", &PatchParams::default(), &patch).await.unwrap();
    for directory in ["/run/crio", "/etc/crio/crio.conf.d", "/var/lib/containers/storage"] {
        fs::create_dir_all(subject.sandbox.path(directory)).unwrap();
    }
    let crio = Crio::listen(&subject.sandbox.path("/run/crio/crio.sock")).unwrap();
    // How full the disk is that tests run on must not matter.
    crio.store_at("/out/of/sight");
    (subject, crio)
}

fn told(object: &MachineConfigNode) -> Option<&PinnedImageSetProgress> {
    object.status.as_ref()?.pinned_image_sets.first()
}

fn generations(object: &MachineConfigNode) -> [i32; 3] {
    let set = told(object).cloned().unwrap_or_default();
    [set.desired_generation, set.current_generation, set.last_failed_generation].map(Option::unwrap_or_default)
}

#[tokio::test]
async fn a_set_is_pulled_kept_and_told_whatever_comes_in_between() {
    let Some(server) = Server::shared().await else { return };
    let admin = server.admin().await;
    let (mut subject, crio) = node(server, &admin).await;
    crio.answer(&image("b"), [Answer::Hang]);
    subject.start();
    let pulls = |object: &MachineConfigNode| is(object, "PinnedImageSetsProgressing", "True");
    let object = subject.object_until("pulling", |object| pulls(object) && generations(object) == [1, 0, 0]).await;
    assert!(condition(&object, "PinnedImageSetsProgressing").unwrap().message.ends_with("images: keeper"));
    subject.done("rendered-keeps-1").await;

    // Killed in the middle of it, the pull ends and the next agent goes on.
    crio.wait_until("one image is there and the other hangs", |seen| seen.images.len() == 1 && seen.under_way == 1);
    subject.kill();
    crio.wait_until("the pull was given up", |seen| seen.given_up == 1);
    assert_eq!(subject.file(DROP_IN), None);
    subject.start();
    let object = subject.object_until("the set complete", |object| generations(object) == [1, 1, 0]).await;
    let text = format!("[crio]\n  [crio.image]\n    pinned_images = [\"{}\", \"{}\"]\n", image("a"), image("b"));
    assert_eq!(subject.file(DROP_IN).as_deref(), Some(text.as_str()));
    assert!(is(&object, "PinnedImageSetsProgressing", "False") && is(&object, "PinnedImageSetsDegraded", "False"));
    assert_eq!(crio.look(|seen| seen.pulls.iter().filter(|pull| pull.image == image("a")).count()), 1);

    // Another set in the middle of a pull: the old one is not waited for.
    crio.answer(&image("c"), [Answer::Hang]);
    fill(&admin, &["a", "c"]).await;
    crio.wait_until("the new image hangs", |seen| seen.under_way == 1);
    let unknown = || Answer::Fail("reading manifest: manifest unknown".to_owned());
    crio.answer(&image("d"), [unknown(), unknown(), unknown(), unknown()]);
    fill(&admin, &["a", "d"]).await;
    let object = subject.object_until("the failure", |object| generations(object) == [3, 1, 3]).await;
    assert!(is(&object, "PinnedImageSetsDegraded", "True"));
    let error = told(&object).unwrap().last_failed_generation_error.clone().unwrap();
    assert!(error.contains("manifest unknown") && error.contains(&image("d")), "{error}");
    assert!(is(&object, "PinnedImageSetsProgressing", "False"));

    // It can be had the next time, and is tried by itself.
    let object = subject.object_until("the set complete again", |object| generations(object) == [3, 3, 0]).await;
    assert!(is(&object, "PinnedImageSetsDegraded", "False"));
    assert_eq!(condition(&object, "PinnedImageSetsProgressing").unwrap().message, "All pinned image sets complete");
    assert!(subject.file(DROP_IN).unwrap().contains(&image("d")));

    pin(&admin, &[]).await;
    subject.object_until("no sets", |object| object.status.as_ref().unwrap().pinned_image_sets.is_empty()).await;
    assert_eq!(subject.file(DROP_IN), None);
    let object = subject.controller.machine_config_nodes().get("keeper").await.unwrap();
    assert!(is(&object, "Updated", "True") && is(&object, "PinnedImageSetsDegraded", "False"));
}
