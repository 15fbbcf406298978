//! Who an agent is to its cluster: with another's credentials, with nobody's, with new ones; and what it never tells.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use k8s_openapi::api::core::v1::Event;
use kube::Api;
use ostler_core::api::MachineConfigNode;
use serde_json::{Value, json};

use super::agent::{Subject, document, is, with_file};
use super::cluster::controller::{Controller, annotation};
use super::cluster::drains::Drains;
use super::cluster::server::Server;
use super::cluster::{eventually, loudly, manifests};
use super::sandbox::{base64, data, file, forms};

/// A file whose change takes neither a drain nor a restart.
const QUIET: &str = "/var/lib/kubelet/config.json";
const WRONG: &str = "the API server does not accept the credentials as those of this node";
const REMEDY: &str = "apply packaging/manifests/rbac.yaml to the cluster";

async fn says(subject: &Subject, what: &str) {
    eventually(&format!("{}: {what}", subject.name), async || subject.log().contains(what)).await;
}

/// Replaces certificate and key as the kubelet does: at once.
fn replace(kubeconfig: &Path, by: &str) {
    let pem = kubeconfig.with_extension("pem");
    let next = pem.with_extension("next");
    fs::write(&next, by).unwrap();
    fs::rename(next, pem).unwrap();
}

fn pem(kubeconfig: &Path) -> String {
    fs::read_to_string(kubeconfig.with_extension("pem")).unwrap()
}

#[tokio::test]
async fn an_agent_with_another_nodes_credentials_is_kept_out_until_it_has_its_own() {
    let Some(server) = Server::shared().await else { return };
    let admin = server.admin().await;
    let guarded = manifests::serves_admission_policies(&admin).await;
    let kubeconfig = server.node("impostor");
    let own = pem(&kubeconfig);
    replace(&kubeconfig, &pem(&server.node("impostor-2")));
    let config = with_file("rendered-impostor-1", QUIET, "1");
    let mut subject = Subject::installed("impostor", kubeconfig.clone(), Controller::new(admin), &config).await;
    subject.start();
    says(&subject, &format!("cannot annotate node impostor: {WRONG}")).await;
    says(&subject, "tried 2 times").await;
    assert!(subject.log().contains("Fix: give the agent the kubelet's kubeconfig"), "{}", subject.log());
    let status = subject.sandbox.ostler(&["status"]);
    assert!(status.to_string().contains(&format!("Unknown: {WRONG}")), "{status}");
    let node = subject.controller.nodes().get("impostor").await.unwrap();
    assert_eq!([annotation(&node, "state"), annotation(&node, "currentConfig")], [None, None]);
    if guarded {
        let object = subject.controller.machine_config_nodes().get("impostor").await.unwrap();
        assert_eq!(object.status.map_or(0, |status| status.conditions.len()), 0);
    } else {
        loudly("SKIPPED: that another node's MachineConfigNode is not written: this API server is too old for it");
    }
    replace(&kubeconfig, &own);
    subject.done("rendered-impostor-1").await;
}

#[tokio::test]
async fn an_agent_that_nobody_knows_says_what_to_do_and_waits() {
    let Some(server) = Server::shared().await else { return };
    let config = with_file("rendered-nobody-1", QUIET, "1");
    let controller = Controller::new(server.admin().await);
    let mut subject = Subject::installed("nobodys", server.nobody(), controller, &config).await;
    subject.start();
    says(&subject, &format!("cannot watch node nobodys: {WRONG}: ")).await;
    let kinds = [
        "MachineConfigNode nobodys",
        "MachineConfiguration cluster",
        "FeatureGate cluster",
        "ControllerConfig machine-config-controller",
    ];
    for kind in kinds {
        says(&subject, &format!("not allowed to watch {kind}: ")).await;
    }
    assert_eq!(subject.log().matches(REMEDY).count(), kinds.len(), "{}", subject.log());
    assert!(!subject.log().contains("error: "), "{}", subject.log());
    let status = subject.sandbox.ostler(&["status", "-o", "json"]);
    assert!(status.code.is_some() && status.json()["daemon"].is_object(), "it still answers: {status}");
    let node = subject.controller.nodes().get("nobodys").await.unwrap();
    assert_eq!(annotation(&node, "state"), None);
    assert!(nix::sys::signal::kill(subject.pid(), None).is_ok(), "it runs");
}

#[tokio::test]
async fn credentials_that_are_renewed_or_spoilt_on_the_way_do_not_stop_an_agent() {
    let Some(server) = Server::shared().await else { return };
    let kubeconfig = server.node("renewed");
    let old = pem(&kubeconfig);
    let config = with_file("rendered-renewed-1", QUIET, "1");
    let controller = Controller::new(server.admin().await);
    let mut subject = Subject::installed("renewed", kubeconfig.clone(), controller, &config).await;
    subject.start();
    subject.done("rendered-renewed-1").await;
    let new = new_pem(server, &kubeconfig);
    let mut count = 1;
    replace(&kubeconfig, "half a certif");
    // Files are not looked at more than once a second.
    while !subject.log().contains("the old credentials stay in use") {
        assert!(count < 30, "{}", subject.log());
        update(&subject, &mut count).await;
    }
    for pem in [new, old] {
        replace(&kubeconfig, &pem);
        update(&subject, &mut count).await;
    }
    assert!(!subject.log().contains("error: ") && !subject.log().contains("BEGIN"), "{}", subject.log());
}

async fn update(subject: &Subject, count: &mut u32) {
    *count += 1;
    let next = format!("rendered-renewed-{count}");
    subject.make(&next, &with_file(&next, QUIET, &next)["spec"]["config"]).await;
    subject.want(&next).await;
    subject.done(&next).await;
    assert_eq!(subject.file(QUIET), Some(next));
}

/// Another certificate for the same node, whose files stay as they are.
fn new_pem(server: &Server, kubeconfig: &Path) -> String {
    let before = pem(kubeconfig);
    let made = pem(&server.node("renewed"));
    assert_ne!(made, before);
    replace(kubeconfig, &before);
    made
}

/// One for each place; each occurs nowhere else.
const CANARIES: [&str; 7] = [
    "c4n4ry-plain-file",
    "c4n4ry-base64-file",
    "c4n4ry-pull-secret",
    "c4n4ry-password",
    "c4n4ry-ssh-key",
    "c4n4ry-unit-text",
    "c4n4ry-luks-key",
];

fn ignition(variant: &str) -> Value {
    let of = |canary: usize| format!("{} {variant}\n", CANARIES[canary]);
    let pull = json!({"auths": {"registry.example": {"auth": base64(of(2))}}}).to_string();
    json!({
        "ignition": {"version": "3.5.0"},
        "storage": {"files": [
            {"path": "/etc/plain", "mode": 0o644, "contents": {"source": format!("data:,{}-{variant}", CANARIES[0])}},
            file("/etc/encoded", of(1)),
            {"path": QUIET, "mode": 0o600, "overwrite": true, "contents": {"source": data(pull)}},
        ], "luks": [{"name": "a", "device": "/dev/a", "keyFile": {"source": data(of(6))}}]},
        "systemd": {"units": [{"name": "app.service", "contents": format!("[Service]\nEnvironment=A={}", of(5))}]},
        "passwd": {"users": [{
            "name": "core",
            "passwordHash": format!("$6$salt${}{variant}", CANARIES[3]),
            "sshAuthorizedKeys": [format!("ssh-ed25519 AAAA{} core@{variant}", CANARIES[4])],
        }]},
    })
}

/// Wants what cannot be had: a disk, or a file below a file.
fn impossible(which: &str) -> Value {
    let mut ignition = ignition(which);
    if which == "refused" {
        ignition["storage"]["disks"] = json!([{"device": "/dev/a", "wipeTable": true}]);
    } else {
        let below = file("/etc/passwd/below", CANARIES[1]);
        ignition["storage"]["files"].as_array_mut().unwrap().push(below);
    }
    ignition
}

#[tokio::test]
async fn no_secret_of_a_configuration_is_told_to_anybody() {
    let Some(server) = Server::shared().await else { return };
    let metrics = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let first = document("rendered-secret-1", ignition("first"));
    let controller = Controller::new(server.admin().await);
    let subject = Subject::installed("secret", server.node("secret"), controller, &first).await;
    let mut subject = subject.with(&["--metrics", &metrics.to_string()]);
    let _drains = Drains::answer(subject.controller.clone(), "secret");
    subject.start();
    subject.done("rendered-secret-1").await;
    subject.make("rendered-secret-2", &ignition("second")).await;
    subject.want("rendered-secret-2").await;
    subject.node_until("Rebooting", |node| annotation(node, "post-config-action") == Some("Rebooting")).await;
    assert!(subject.file("/etc/plain").unwrap().contains(CANARIES[0]), "the canaries are on the machine");
    search(&subject, metrics).await;
    subject.restart();
    subject.done("rendered-secret-2").await;
    let changed = |object: &MachineConfigNode| object.status.as_ref().unwrap().irreconcilable_changes.len() == 1;
    subject.object_until("the key among what cannot be had", changed).await;
    search(&subject, metrics).await;
    for (config, which, state) in
        [("rendered-secret-3", "refused", "Unreconcilable"), ("rendered-secret-4", "failing", "Degraded")]
    {
        subject.make(config, &impossible(which)).await;
        subject.want(config).await;
        subject.node_until(state, |node| annotation(node, "state") == Some(state)).await;
        subject.object_until("trouble", |object| is(object, "NodeDegraded", "True") || state != "Degraded").await;
        search(&subject, metrics).await;
    }
}

/// Looks everywhere that the agent tells something.
async fn search(subject: &Subject, metrics: SocketAddr) {
    let name = &subject.name;
    let events: Api<Event> = Api::all(subject.controller.nodes().into_client());
    let json = |object| serde_json::to_string::<Value>(&object).unwrap();
    let node = serde_json::to_value(subject.controller.nodes().get(name).await.unwrap()).unwrap();
    let object = serde_json::to_value(subject.controller.machine_config_nodes().get(name).await.unwrap()).unwrap();
    let events = serde_json::to_value(events.list(&Default::default()).await.unwrap().items).unwrap();
    let [status, text] = ["json", "text"].map(|format| subject.sandbox.ostler(&["status", "-o", format]).to_string());
    let metrics = scrape(metrics);
    assert!(metrics.contains("mcd_"), "{metrics}");
    let mut told = vec![
        ("the log", subject.log()),
        ("the node", json(node)),
        ("the MachineConfigNode", json(object)),
        ("the events", json(events)),
        ("ostler status -o json", status),
        ("ostler status", text),
        ("the metrics", metrics),
    ];
    let run = fs::read_dir(subject.sandbox.path("/run/ostler/agent")).unwrap().map(|entry| entry.unwrap().path());
    assert!(told.iter().all(|(_, text)| !text.is_empty()), "{told:#?}");
    told.extend(run.filter_map(|path| Some(("a file in /run/ostler/agent", fs::read_to_string(path).ok()?))));
    for (place, text) in told {
        let found = CANARIES.iter().find(|canary| forms(canary).iter().any(|form| text.contains(form)));
        assert_eq!(found, None, "{place}: {text}");
    }
}

fn scrape(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
