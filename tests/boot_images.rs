//! `ostler-cluster bootimages` against a real API server, with the rights of its manifests and no others: enrolment, new boot
//! images, conflicts, restoring, the Cluster API, and many machine sets.
#![cfg(test)]

#[path = "cluster/mod.rs"]
mod cluster;
#[path = "boot_images/estate.rs"]
mod estate;

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use estate::{CAPI, Estate, MAPI, MCO, OLD, image, shipped};
use kube::api::DeleteParams;
use serde_json::{Value, json};

const MANY: usize = 500;
/// What the helper may need for as many machine sets, in KiB.
const MEMORY: usize = 96 * 1024;

#[tokio::test]
async fn boot_images_follow_the_release_and_the_administrators_choice() {
    let Some(estate) = Estate::new().await else { return };
    estate.set("a", OLD).await;
    estate.set("b", OLD).await;
    estate.set("custom", "projects/mine/global/images/x").await;
    chosen_in_part(&estate).await;
    chosen_all_and_another_release(&estate).await;
    recorded_by_what_was_skipped(&estate).await;
    nothing_during_an_update(&estate).await;
    per_object_errors(&estate).await;
    no_boot_images_at_all(&estate).await;
    opted_out_and_put_back(&estate).await;
    put_back_by_somebody_each_time(&estate).await;
}

async fn chosen_in_part(estate: &Estate) {
    assert_eq!(estate.run(&["apply"]).status, Some(2), "nobody has said that this is ours to do");
    estate.enrol(json!({"mode": "Partial", "partial": {"machineResourceSelector": {"matchLabels": {"n": "a"}}}})).await;
    let ended = estate.run(&["apply", "--own"]);
    assert_eq!(ended.status, Some(0), "{}", ended.told);
    let changed = json!({"boot": true, "image": image("new"), "sizeGb": 128, "novel": {"x": [1]}});
    assert_eq!(estate.disk("a").await, changed);
    assert_eq!(estate.disk("b").await["image"], OLD);
    let secrets = estate.api("v1", "Secret", "secrets", Some(MAPI));
    let secret = secrets.get("worker-user-data").await.unwrap();
    assert_eq!(
        secret.metadata.annotations.unwrap()["machineconfiguration.openshift.io/stub-ignition-upgraded-to"],
        "3.5.0"
    );
    let status = estate.status().await;
    assert_eq!(status["managedBootImagesStatus"]["machineManagers"][0]["selection"]["mode"], "Partial");
    let skew = &status["bootImageSkewEnforcementStatus"];
    assert_eq!((&skew["mode"], &skew["manual"]["ocpVersion"]), (&json!("Manual"), &json!("4.12.7")));
}

async fn chosen_all_and_another_release(estate: &Estate) {
    estate.enrol(json!({"mode": "All"})).await;
    estate.ship(shipped("newer")).await;
    let ended = estate.run(&["apply", "--own"]);
    assert_eq!(ended.status, Some(0), "{}", ended.told);
    for name in ["a", "b"] {
        assert_eq!(estate.disk(name).await["image"], image("newer").as_str());
    }
    assert_eq!(estate.disk("custom").await["image"], "projects/mine/global/images/x");
    let decisions: Vec<String> = estate.decisions().into_iter().map(|(_, decision)| decision).collect();
    assert_eq!(decisions, ["current", "current", "skipped"]);
    let progressing = estate.condition("BootImageUpdateProgressing").await;
    let message = progressing["message"].as_str().unwrap();
    assert!(message.starts_with("Reconciled 2 of 3 MAPI MachineSets (1 skipped) | "), "{message}");
    assert_eq!((&progressing["status"], &progressing["reason"]), (&json!("False"), &json!("ClusterVersionStable")));
}

async fn recorded_by_what_was_skipped(estate: &Estate) {
    let skew = &estate.status().await["bootImageSkewEnforcementStatus"];
    assert_eq!(
        (&skew["mode"], &skew["automatic"]["ocpVersion"]),
        (&json!("Automatic"), &json!("4.12.7")),
        "one was skipped, and may be as old as the cluster"
    );
    let ended = estate.run(&["skew"]);
    assert!(ended.status == Some(0) && ended.told.contains("too old"), "{}", ended.told);
    estate.sets().delete("custom", &DeleteParams::default()).await.unwrap();
    assert_eq!(estate.run(&["apply", "--own"]).status, Some(0));
    let skew = &estate.status().await["bootImageSkewEnforcementStatus"];
    assert_eq!(skew["automatic"]["ocpVersion"], "4.21.0");
    let before = estate.status().await;
    assert_eq!(estate.run(&["apply", "--own"]).status, Some(0));
    assert_eq!(estate.status().await, before, "what is said already is not said again");
}

async fn nothing_during_an_update(estate: &Estate) {
    estate.release("Partial").await;
    estate.put("a", OLD).await;
    let ended = estate.run(&["apply", "--own"]);
    assert!(ended.status == Some(0) && ended.told.contains("being updated to 4.21.0"), "{}", ended.told);
    assert_eq!(estate.disk("a").await["image"], OLD);
    estate.release("Completed").await;
    assert_eq!(estate.run(&["apply", "--own", "--only", "a"]).status, Some(0));
    assert_eq!(estate.disk("a").await["image"], image("newer").as_str());
    assert_eq!(estate.run(&["apply", "--own", "--only", "nobody"]).status, Some(3));
}

/// One that cannot be changed keeps nobody else back, and is told in the condition.
async fn per_object_errors(estate: &Estate) {
    estate.user_data(MAPI, "master-user-data", "userData", "#cloud-config").await;
    estate.set_with("broken", OLD, "master-user-data").await;
    estate.set_with("forbidden", OLD, "custom-user-data").await;
    estate.ship(shipped("newest")).await;
    let ended = estate.run(&["apply", "--own"]);
    assert_eq!(ended.status, Some(1), "{}", ended.told);
    for name in ["a", "b"] {
        assert_eq!(estate.disk(name).await["image"], image("newest").as_str());
    }
    for name in ["broken", "forbidden"] {
        assert_eq!(estate.disk(name).await["image"], OLD);
    }
    errors_are_told(estate).await;
}

async fn errors_are_told(estate: &Estate) {
    let degraded = estate.condition("BootImageUpdateDegraded").await;
    let message = degraded["message"].as_str().unwrap();
    assert!(degraded["status"] == "True" && message.contains("2 Degraded MAPI MachineSets"), "{message}");
    assert!(message.contains("MachineSet broken: ") && message.contains("no Ignition config"), "{message}");
    assert!(message.contains("not allowed to read Secret custom-user-data"), "{message}");
    assert!(!message.contains("cloud-config"), "what is in a secret is nobody's business: {message}");
}

async fn no_boot_images_at_all(estate: &Estate) {
    estate.ship(json!({"stream": "{"})).await;
    let decisions: Vec<(String, String)> = estate.decisions();
    assert!(decisions.iter().all(|(_, decision)| decision == "error"), "{decisions:?}");
    for name in ["broken", "forbidden"] {
        estate.sets().delete(name, &DeleteParams::default()).await.unwrap();
    }
    estate.ship(shipped("newest")).await;
}

async fn opted_out_and_put_back(estate: &Estate) {
    estate.enrol(json!({"mode": "None"})).await;
    let ended = estate.run(&["restore", "a", "--own", "--change", "1"]);
    assert_eq!(ended.status, Some(0), "{}", ended.told);
    assert_eq!(estate.disk("a").await["image"], OLD);
    let told = estate.run(&["history", "a"]).printed;
    assert!(told.lines().last().unwrap().ends_with(OLD), "{told}");
    let ended = estate.run(&["restore", "a", "--own"]);
    assert_eq!(ended.status, Some(0), "{}", ended.told);
    assert_eq!(estate.disk("a").await["image"], image("newest").as_str(), "that it was put back can be undone");
    for (words, status) in
        [(["restore", "b", "--own", "--change", "9"], 2), (["restore", "x", "--own", "--kind", "Pod"], 2)]
    {
        assert_eq!(estate.run(&words).status, Some(status), "{words:?}");
    }
    assert_eq!(estate.run(&["restore", "nobody", "--own"]).status, Some(3));
    let maps = estate.api("v1", "ConfigMap", "configmaps", Some(MCO));
    let history = maps.get("ostler-boot-image-history").await.unwrap();
    let record: Value =
        serde_json::from_str(history.data["data"]["machinesets.machine.openshift.io.a"].as_str().unwrap()).unwrap();
    assert_eq!(record["machineResourceReference"]["resource"], "MachineSet");
    assert_eq!(record["details"][0]["bootImageVersion"], "9.6.20260101-0");
}

async fn put_back_by_somebody_each_time(estate: &Estate) {
    assert_eq!(estate.run(&["apply", "--own"]).status, Some(0), "nobody is enrolled, and what was done is forgotten");
    estate.enrol(json!({"mode": "All"})).await;
    for _ in 0..3 {
        estate.put("b", OLD).await;
        let ended = estate.run(&["apply", "--own"]);
        assert_eq!(ended.status, Some(0), "{}", ended.told);
    }
    estate.put("b", OLD).await;
    let ended = estate.run(&["apply", "--own"]);
    assert!(ended.status == Some(1) && ended.told.contains("was put back each time"), "{}", ended.told);
    assert_eq!(estate.disk("b").await["image"], OLD);
    tried_again_when_opted_out_and_in(estate).await;
}

async fn tried_again_when_opted_out_and_in(estate: &Estate) {
    estate.enrol(json!({"mode": "None"})).await;
    assert_eq!(estate.run(&["apply", "--own"]).status, Some(0));
    estate.enrol(json!({"mode": "All"})).await;
    assert_eq!(estate.run(&["apply", "--own"]).status, Some(0));
    assert_eq!(estate.disk("b").await["image"], image("newest").as_str());
}

/// The helper reads its list of known images after the machine sets, and before it writes: a pipe holds it up in between.
#[tokio::test]
async fn changes_of_others_in_between_are_kept() {
    let Some(estate) = Estate::new().await else { return };
    for name in ["scaled", "customised", "updated", "gone"] {
        estate.set(name, OLD).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("known");
    let path = pipe.to_str().unwrap();
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let running = estate.start(&["apply", "--own", "--known", path]);
    let mut held = opened(&pipe).await;
    estate.change("scaled", json!({"spec": {"replicas": 7}})).await;
    estate.put("customised", "projects/mine/global/images/x").await;
    estate.put("updated", &image("new")).await;
    estate.sets().delete("gone", &DeleteParams::default()).await.unwrap();
    held.write_all(b"ami-1\n").unwrap();
    drop(held);
    assert_eq!(running.ended().status, Some(1), "two could not be changed");
    let scaled = estate.sets().get("scaled").await.unwrap();
    assert_eq!(
        (&scaled.data["spec"]["replicas"], &estate.disk("scaled").await["image"]),
        (&json!(7), &json!(image("new")))
    );
    assert_eq!(estate.disk("customised").await["image"], "projects/mine/global/images/x");
    assert_eq!(estate.disk("updated").await["image"], image("new").as_str());
    let message = estate.condition("BootImageUpdateDegraded").await["message"].as_str().unwrap().to_owned();
    for words in ["MachineSet customised was changed by somebody else", "MachineSet gone was changed", "it is gone"] {
        assert!(message.contains(words), "{message}");
    }
    let recorded = estate.run(&["history"]).printed;
    assert!(recorded.contains("scaled"), "{recorded}");
    for name in ["customised", "updated", "gone"] {
        assert!(!recorded.contains(name), "what was not done is not kept: {recorded}");
    }
    run_by_one_of_two(&estate).await;
}

/// The pipe, once somebody reads from it.
async fn opened(pipe: &Path) -> File {
    let start = Instant::now();
    loop {
        let open = OpenOptions::new().write(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits()).open(pipe);
        match open {
            Ok(file) => return file,
            Err(error) => assert!(start.elapsed() < cluster::PATIENCE, "nobody reads: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Only the holder of the Lease writes; when it goes, another goes on, and says what set it off.
async fn run_by_one_of_two(estate: &Estate) {
    estate.sets().delete("customised", &DeleteParams::default()).await.unwrap();
    let words = |name| ["run", "--own", "--interval", "1", "--lease-seconds", "3", "--identity", name];
    let leases = estate.api("coordination.k8s.io/v1", "Lease", "leases", Some(MCO));
    let one = estate.start(&words("one"));
    cluster::eventually("the Lease is held", || async {
        leases.get_opt("ostler-cluster-bootimages").await.unwrap().is_some()
    })
    .await;
    let two = estate.start(&words("two"));
    estate.ship(shipped("newer")).await;
    estate.gets("scaled", &image("newer")).await;
    cluster::eventually("what set it off is told", || async {
        estate.condition("BootImageUpdateProgressing").await["reason"] == "BootImageConfigMapUpdated"
            || estate.condition("BootImageUpdateProgressing").await["reason"] == "MAPIMachineSetUpdated"
    })
    .await;
    one.kill();
    estate.ship(shipped("newest")).await;
    estate.gets("scaled", &image("newest")).await;
    assert_eq!(two.terminate(), Some(0));
    let observed = estate.run(&["run", "--once"]);
    assert_eq!(observed.status, Some(0), "{}", observed.told);
    estate.ship(shipped("last")).await;
    let observed = estate.run(&["run", "--once"]);
    assert!(observed.told.contains("MachineSet scaled would get another boot image"), "{}", observed.told);
    assert_eq!(estate.disk("scaled").await["image"], image("newest").as_str(), "looking changes nothing");
    controller_in_the_way(estate).await;
}

async fn controller_in_the_way(estate: &Estate) {
    let pod = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": pod});
    let deployment = json!({"metadata": {"name": "machine-config-controller"}, "spec": spec});
    estate.make("apps/v1", "Deployment", Some(MCO), deployment).await;
    for words in [["apply", "--own"], ["run", "--own"]] {
        let ended = estate.run(&words);
        assert!(ended.status == Some(2) && ended.told.contains("--beside-controller"), "{}", ended.told);
    }
    assert_eq!(estate.run(&["apply", "--own", "--beside-controller"]).status, Some(0));
    assert_eq!(estate.disk("scaled").await["image"], image("last").as_str());
}

#[tokio::test]
async fn templates_of_the_cluster_api_are_cloned_and_the_old_ones_go() {
    let Some(estate) = Estate::new().await else { return };
    let template =
        json!({"metadata": {"name": "t"}, "spec": {"template": {"spec": {"image": OLD, "instanceType": "n1"}}}});
    let (group, kind, plural) =
        ("infrastructure.cluster.x-k8s.io/v1beta1", "GCPMachineTemplate", "gcpmachinetemplates");
    estate.make(group, kind, Some(CAPI), template).await;
    estate.user_data(CAPI, "worker-user-data", "value", r#"{"ignition":{"version":"3.4.0"}}"#).await;
    let spec =
        json!({"bootstrap": {"dataSecretName": "worker-user-data"}, "infrastructureRef": {"kind": kind, "name": "t"}});
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"template": {"spec": spec}}});
    let capi = "cluster.x-k8s.io/v1beta1";
    estate.make(capi, "MachineDeployment", Some(CAPI), deployment).await;
    let owner = json!([{"apiVersion": capi, "kind": "MachineDeployment", "name": "d", "uid": "u"}]);
    let follower = json!({"metadata": {"name": "d-1", "ownerReferences": owner}, "spec": {"template": {"spec": spec}}});
    estate.make(capi, "MachineSet", Some(CAPI), follower).await;
    let apply = ["apply", "--own", "--include-capi"];
    let ended = estate.run(&apply);
    assert_eq!(ended.status, Some(0), "{}", ended.told);
    let deployments = estate.api(capi, "MachineDeployment", "machinedeployments", Some(CAPI));
    let deployment = deployments.get("d").await.unwrap();
    let name = deployment.data["spec"]["template"]["spec"]["infrastructureRef"]["name"].as_str().unwrap().to_owned();
    let templates = estate.api(group, kind, plural, Some(CAPI));
    let made = templates.get(&name).await.unwrap();
    let spec = &made.data["spec"]["template"]["spec"];
    assert_eq!(spec, &json!({"image": image("new"), "instanceType": "n1"}));
    // The old set of the deployment still refers to it.
    assert!(templates.get_opt("t").await.unwrap().is_some());
    estate.ship(shipped("newer")).await;
    assert_eq!(estate.run(&apply).status, Some(0));
    assert!(templates.get_opt(&name).await.unwrap().is_none());
    assert!(templates.get_opt("t").await.unwrap().is_some());
    let ended = estate.run(&["restore", "d", "--own"]);
    assert_eq!(ended.status, Some(0), "{}", ended.told);
    let deployment = deployments.get("d").await.unwrap();
    let again = deployment.data["spec"]["template"]["spec"]["infrastructureRef"]["name"].as_str().unwrap();
    assert_eq!(templates.get(again).await.unwrap().data["spec"]["template"]["spec"]["image"], image("new").as_str());
    // When the old set is gone, so is what it was made from.
    let sets = estate.api(capi, "MachineSet", "machinesets", Some(CAPI));
    sets.delete("d-1", &DeleteParams::default()).await.unwrap();
    let ended = estate.run(&apply);
    assert_eq!(ended.status, Some(0), "{}", ended.told);
    assert!(templates.get_opt("t").await.unwrap().is_none(), "{}", ended.told);
    assert_eq!(templates.list(&kube::api::ListParams::default()).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn five_hundred_machine_sets_are_no_trouble() {
    let Some(estate) = Estate::new().await else { return };
    for number in 0..MANY {
        estate.set(&format!("w{number:03}"), OLD).await;
    }
    let began = Instant::now();
    let ended = estate.run_in(MEMORY, &["apply", "--own"]);
    assert_eq!(ended.status, Some(0), "{}", ended.told);
    assert!(began.elapsed() < Duration::from_secs(600), "{:?}", began.elapsed());
    let decisions = estate.decisions();
    assert_eq!(decisions.len(), MANY);
    assert!(decisions.iter().all(|(_, decision)| decision == "current"));
}
