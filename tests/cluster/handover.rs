//! Nodes of a machine-config-daemon taken over in a real cluster.

use nix::sys::signal::{Signal, kill};

use super::agent::Subject;
use super::cluster::controller::{Controller, annotation};
use super::cluster::server::Server;
use super::estate::{self, QUIET};
use super::sandbox;

async fn node(server: &Server, name: &str) -> Subject {
    Subject::unknown(name, server.node(name), Controller::new(server.admin().await)).await
}

#[tokio::test]
async fn a_new_node_is_introduced_with_what_it_was_told_even_if_the_cluster_has_another_configuration() {
    let Some(server) = Server::shared().await else { return };
    let mut subject = node(server, "new").await;
    // The installer's configuration is not the cluster's: nobody has made it there.
    estate::installed(&subject.sandbox, "rendered-new-0", &[(QUIET, "one")]);
    subject.start();
    let node = subject.done("rendered-new-0").await;
    for (key, expected) in [("desiredConfig", "rendered-new-0"), ("firstPivotConfig", "rendered-new-0")] {
        assert_eq!(annotation(&node, key), Some(expected), "{key}: {}", subject.log());
    }
    sandbox::until("the introduction is over", || subject.file(estate::NODE_ANNOTATIONS_DONE).is_some());
    assert_eq!(subject.file(estate::NODE_ANNOTATIONS), None);
    assert!(!subject.log().contains("Degraded"), "{}", subject.log());
}

#[tokio::test]
async fn a_restart_that_the_daemon_announced_and_did_not_live_to_see_is_made() {
    let Some(server) = Server::shared().await else { return };
    let mut subject = node(server, "announced").await;
    estate::settled(&subject.sandbox, "rendered-announced-2", &[(QUIET, "two")]);
    subject.sandbox.write("/run/bin/machine-config-daemon", "copied in this boot");
    let left = [
        // An older state of the store: what is on the disk counts.
        ("currentConfig", Some("rendered-announced-1")),
        ("post-config-action", Some("Rebooting")),
        ("state", Some("Working")),
    ];
    subject.controller.annotate("announced", &left).await;
    subject.want("rendered-announced-2").await;
    subject.start();
    sandbox::until("the restart is due", || subject.log().contains("wait for the machine to restart"));
    let node = subject.controller.nodes().get("announced").await.unwrap();
    // It is in effect after the restart, whatever is on the disk.
    assert_eq!(annotation(&node, "currentConfig"), Some("rendered-announced-1"), "{}", subject.log());
    assert_eq!(annotation(&node, "post-config-action"), Some("Rebooting"), "{}", subject.log());
    assert_eq!(annotation(&node, "state"), Some("Working"), "{}", subject.log());
    std::fs::remove_file(subject.sandbox.path("/run/bin/machine-config-daemon")).unwrap();
    subject.restart();
    let node = subject.done("rendered-announced-2").await;
    assert_eq!(annotation(&node, "post-config-action").unwrap_or_default(), "");
}

#[tokio::test]
async fn nothing_is_published_while_a_machine_config_daemon_runs() {
    let Some(server) = Server::shared().await else { return };
    let mut subject = node(server, "shared").await;
    estate::installed(&subject.sandbox, "rendered-shared-1", &[(QUIET, "one")]);
    subject.sandbox.write("/proc/4711/cmdline", "machine-config-daemon\0start\0");
    subject.sandbox.write("/proc/4711/status", "Name:\tx\nUid:\t0\t0\t0\t0\n");
    subject.sandbox.write("/proc/4711/stat", "4711 (machine-config-) S 1");
    std::os::unix::fs::symlink("/run/bin/machine-config-daemon", subject.sandbox.path("/proc/4711/exe")).unwrap();
    subject.start();
    sandbox::until("it stands back", || subject.log().contains("runs on this node as process 4711"));
    let seen = subject.controller.nodes().get("shared").await.unwrap();
    let ours = seen.metadata.annotations.unwrap_or_default();
    assert!(!ours.keys().any(|key| key.starts_with("machineconfiguration.openshift.io/")), "{ours:?}");
    let object = subject.controller.machine_config_nodes().get("shared").await.unwrap();
    assert!(object.status.is_none_or(|status| status.conditions.is_empty()));
    std::fs::remove_dir_all(subject.sandbox.path("/proc/4711")).unwrap();
    kill(subject.pid(), Signal::SIGHUP).unwrap();
    subject.done("rendered-shared-1").await;
    assert_eq!(subject.log().matches("runs on this node as process 4711").count(), 1, "once is enough");
}
