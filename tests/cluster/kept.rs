//! An agent that is nobody in particular: the kubelet's credentials are root's alone, and come to it through the root half.
//!
//! What systemd does for the units is done by hand here: a socket that root holds, an applier for whoever connects, and an
//! agent that sees neither this machine's `/run` nor its `/var/lib`.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::agent::{Subject, with_file};
use super::cluster::controller::Controller;
use super::cluster::server::Server;
use super::cluster::{eventually, loudly};
use super::sandbox;

/// A file whose change takes neither a drain nor a restart.
const QUIET: &str = "/var/lib/kubelet/config.json";
const NOBODY: u32 = 65_534;
/// `$1`: the directory with the socket. The agent has no root to work on: the root half has.
const AGENT: &str = "#!/bin/sh\nexec unshare --mount --propagation private sh -ec '
mount -t tmpfs run /run && mkdir /run/ostler && mount --bind \"$1\" /run/ostler
mount -t tmpfs lib /var/lib && mkdir -m 700 /var/lib/kubelet
exec setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --no-new-privs \\
    \"$2\" daemon --log-level=debug --kubelet-healthz=none --metrics=none --node-name=kept' agent";

/// Whether such an agent can be had here; says so if not.
fn possible() -> bool {
    let mut attempt = Command::new("unshare");
    attempt.args(["--mount", "--propagation", "private", "mount", "-t", "tmpfs", "run", "/run"]);
    let can = sandbox::is_root() && attempt.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !can {
        loudly("SKIPPED: an agent without rights: it takes root, and mounts of its own");
    }
    can
}

/// Serves whoever connects, for as long as this process lives: each with an applier of its own.
fn serve(directory: &Path, root: PathBuf) {
    let listener = UnixListener::bind(directory.join("applier.sock")).unwrap();
    fs::set_permissions(directory.join("applier.sock"), fs::Permissions::from_mode(0o666)).unwrap();
    std::thread::spawn(move || {
        for peer in listener.incoming().map_while(Result::ok) {
            let mut applier = Command::new(sandbox::programs().join("ostler-applier"));
            applier.arg("--root").arg(&root).arg("--stdio").stdin(OwnedFd::from(peer.try_clone().unwrap()));
            let mut applier = applier.stdout(OwnedFd::from(peer)).spawn().unwrap();
            std::thread::spawn(move || applier.wait());
        }
    });
}

/// Writes the kubelet's file with another user in it, for root alone.
fn write_kubeconfig(subject: &Subject, made: &Path, user: Value) {
    let mut document: Value = serde_json::from_str(&fs::read_to_string(made).unwrap()).unwrap();
    document["users"][0]["user"] = user;
    subject.sandbox.write("/var/lib/kubelet/kubeconfig.next", document.to_string());
    let [next, path] =
        ["kubeconfig.next", "kubeconfig"].map(|name| subject.sandbox.path("/var/lib/kubelet").join(name));
    fs::set_permissions(&next, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(next, path).unwrap();
}

/// The certificate as the kubelet keeps it: behind a link, with its key.
fn keep(subject: &Subject, made: &Path) -> Value {
    let pem = fs::read_to_string(made.with_extension("pem")).unwrap();
    subject.sandbox.write("/var/lib/kubelet/pki/kubelet-client-1.pem", pem);
    let current = "/var/lib/kubelet/pki/kubelet-client-current.pem";
    symlink("kubelet-client-1.pem", subject.sandbox.path(current)).unwrap();
    json!({"client-certificate": current, "client-key": current})
}

#[tokio::test]
async fn an_agent_without_rights_survives_that_its_credentials_end_and_are_replaced() {
    let Some(server) = Server::shared().await else { return };
    if !possible() {
        return;
    }
    let made = server.node("kept");
    let config = with_file("rendered-kept-1", QUIET, "1");
    let controller = Controller::new(server.admin().await);
    let subject = Subject::installed("kept", made.clone(), controller, &config).await;
    let run = subject.sandbox.outside().join("run");
    fs::create_dir_all(run.join("agent")).unwrap();
    chown(run.join("agent"), Some(NOBODY), Some(NOBODY)).unwrap();
    serve(&run, subject.sandbox.root().to_owned());
    let program = subject.sandbox.outside().join("agent");
    let ostler = sandbox::programs().join("ostler");
    fs::write(&program, format!("{AGENT} '{}' '{}'\n", run.display(), ostler.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut subject = subject.by(program);

    // What has ended is not accepted.
    write_kubeconfig(&subject, &made, json!({"token": "of-yesterday"}));
    subject.start();
    eventually("nobody is let in", async || subject.log().contains("credentials are not accepted")).await;
    let status = fs::read_to_string(format!("/proc/{}/status", subject.pid())).unwrap();
    assert!(status.contains("\nUid:\t65534\t65534\t65534\t65534\n"), "{status}");
    let user = keep(&subject, &made);
    write_kubeconfig(&subject, &made, user);
    subject.done("rendered-kept-1").await;

    subject.make("rendered-kept-2", &with_file("rendered-kept-2", QUIET, "2")["spec"]["config"]).await;
    subject.want("rendered-kept-2").await;
    subject.done("rendered-kept-2").await;
    assert_eq!(subject.file(QUIET).as_deref(), Some("2"));
    let log = subject.log();
    assert!(!log.contains("of-yesterday") && !log.contains("BEGIN"), "{log}");
}
