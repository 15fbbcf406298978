//! Machines whose files were laid out to lead a change astray.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::End::{Contained, Refused, Undone, Unfit};
use crate::sandbox::{Sandbox, is_root};
use crate::{End, attack, everything, sandbox};

type Row = (&'static str, End, fn(&Sandbox));

/// Puts a link in the place of whatever is there.
fn link(sandbox: &Sandbox, at: &str, to: impl AsRef<Path>) {
    let path = sandbox.path(at);
    clear(&path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(to, path).unwrap();
}

fn clear(path: &Path) {
    let _ = fs::remove_dir_all(path).or_else(|_| fs::remove_file(path));
}

fn link_out(sandbox: &Sandbox, at: &str, to: &str) {
    link(sandbox, at, sandbox.outside().join(to));
}

/// The same without an absolute path: as many steps up as it takes and many more.
fn climb_out(sandbox: &Sandbox, at: &str, to: &str) {
    let outside = sandbox.outside().join(to);
    let up: PathBuf = std::iter::repeat_n("..", 40).collect();
    link(sandbox, at, up.join(outside.strip_prefix("/").unwrap()));
}

/// The way out as somebody would go who knows where the root is.
fn step_out(sandbox: &Sandbox, at: &str, to: &str) {
    let depth = at.trim_matches('/').split('/').count();
    let up: PathBuf = std::iter::repeat_n("..", depth).collect();
    link(sandbox, at, up.join("outside").join(to));
}

fn pipe(sandbox: &Sandbox, at: &str) {
    let path = sandbox.path(at);
    clear(&path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn directory(sandbox: &Sandbox, at: &str) {
    let path = sandbox.path(at);
    clear(&path);
    fs::create_dir_all(path.join("full")).unwrap();
}

const TARGETS: &[Row] = &[
    ("target is a link out", Contained, |s| link_out(s, "/etc/motd", "canary")),
    ("target is a relative link out", Contained, |s| step_out(s, "/etc/motd", "canary")),
    ("target is a link up and out", Contained, |s| climb_out(s, "/etc/motd", "canary")),
    ("target is a link to nowhere", Contained, |s| link_out(s, "/etc/motd", "missing")),
    ("target is a link to a directory out", Contained, |s| link_out(s, "/etc/motd", "etc")),
    ("target is a link to itself", Contained, |s| link(s, "/etc/motd", "motd")),
    ("target is a hard link out", Contained, |s| {
        fs::hard_link(s.outside().join("canary"), s.path("/etc/motd")).unwrap();
    }),
    ("target is a pipe", Refused, |s| pipe(s, "/etc/motd")),
    ("target is a socket", Refused, |s| drop(UnixListener::bind(s.path("/etc/motd")).unwrap())),
    ("target is a directory", Refused, |s| directory(s, "/etc/motd")),
    ("parent is a file", Refused, |s| s.write("/etc/app", "in the way")),
    ("parent is a pipe", Refused, |s| pipe(s, "/etc/app")),
    ("unit is a link out", Contained, |s| link_out(s, "/etc/systemd/system/app.service", "system/app.service")),
    ("unit is a directory", Refused, |s| directory(s, "/etc/systemd/system/app.service")),
    ("enabling link is a link out", Contained, |s| {
        link_out(s, "/etc/systemd/system/multi-user.target.wants/app.service", "system/app.service");
    }),
    ("mask is a pipe", Refused, |s| pipe(s, "/etc/systemd/system/masked.service")),
    ("keys are a link out", Contained, |s| {
        link_out(s, "/home/core/.ssh/authorized_keys.d/ignition", "ssh/authorized_keys.d/ignition");
    }),
    ("keys are a hard link out", Contained, |s| {
        fs::create_dir_all(s.path("/home/core/.ssh/authorized_keys.d")).unwrap();
        let keys = s.path("/home/core/.ssh/authorized_keys.d/ignition");
        fs::hard_link(s.outside().join("ssh/authorized_keys.d/ignition"), keys).unwrap();
    }),
    ("temporaries are planted links", Contained, |s| {
        for number in 0..20 {
            link_out(s, &format!("/etc/.ostler-tx-{number}"), "canary");
            link_out(s, &format!("/etc/app/.ostler-tx-{number}"), "canary");
        }
    }),
    ("temporaries are planted hard links", Contained, |s| {
        for number in 0..20 {
            fs::hard_link(s.outside().join("canary"), s.path(&format!("/etc/.ostler-tx-{number}"))).unwrap();
        }
    }),
    ("temporaries are planted pipes", Undone, |s| (0..20).for_each(|n| pipe(s, &format!("/etc/.ostler-tx-{n}")))),
];

const PARENTS: &[Row] = &[
    ("/etc leads out", Refused, |s| link_out(s, "/etc", "etc")),
    ("/etc steps out", Refused, |s| step_out(s, "/etc", "etc")),
    ("/etc climbs out", Refused, |s| climb_out(s, "/etc", "etc")),
    ("/etc/app leads out", Refused, |s| link_out(s, "/etc/app", "empty")),
    ("/etc/app steps out", Refused, |s| step_out(s, "/etc/app", "empty")),
    ("/opt/deep leads out", Refused, |s| link_out(s, "/opt/deep", "empty")),
    ("/etc/systemd leads out", Refused, |s| link_out(s, "/etc/systemd", "")),
    ("/etc/systemd/system leads out", Refused, |s| link_out(s, "/etc/systemd/system", "system")),
    ("the drop-ins' directory leads out", Refused, |s| {
        link_out(s, "/etc/systemd/system/kubelet.service.d", "system/kubelet.service.d");
    }),
    ("the directory of enabled units leads out", Refused, |s| {
        link_out(s, "/etc/systemd/system/multi-user.target.wants", "empty");
    }),
    ("/home leads out", Refused, |s| link_out(s, "/home", "")),
    ("/home/core leads out", Refused, |s| link_out(s, "/home/core", "empty")),
    (".ssh leads out", Refused, |s| link_out(s, "/home/core/.ssh", "ssh")),
    (".ssh steps out", Refused, |s| step_out(s, "/home/core/.ssh", "ssh")),
    ("authorized_keys.d leads out", Refused, |s| {
        link_out(s, "/home/core/.ssh/authorized_keys.d", "ssh/authorized_keys.d");
    }),
    ("a loop above a target", Refused, |s| {
        link(s, "/etc/app", "app2");
        link(s, "/etc/app2", "app");
    }),
    ("a link through /proc", Refused, |s| link(s, "/etc/app", "/proc/self/root/tmp")),
    ("/etc/machine-config-daemon leads out", Refused, |s| link_out(s, "/etc/machine-config-daemon", "empty")),
    ("originals lead out", Contained, |s| link_out(s, "/etc/machine-config-daemon/orig", "empty")),
    ("stamps lead out", Refused, |s| link_out(s, "/etc/machine-config-daemon/noorig", "empty")),
    ("an original is a link out", Contained, |s| {
        link_out(s, "/etc/machine-config-daemon/orig/etc/motd.mcdorig", "canary");
    }),
    ("a stamp is a link out", Contained, |s| {
        link_out(s, "/etc/machine-config-daemon/noorig/etc/motd.mcdnoorig", "canary");
    }),
];

const OWN: &[Row] = &[
    ("/var leads out", Unfit, |s| link_out(s, "/var", "state")),
    ("the state leads out", Unfit, |s| link_out(s, "/var/lib/ostler", "state")),
    ("the state steps out", Unfit, |s| step_out(s, "/var/lib/ostler", "state")),
    ("the journal leads out", Unfit, |s| link_out(s, "/var/lib/ostler/journal", "state/journal")),
    ("the journal is a file", Unfit, |s| s.write("/var/lib/ostler/journal", "in the way")),
    ("the lock leads out", Unfit, |s| link_out(s, "/var/lib/ostler/journal/lock", "canary")),
    ("the lock is a pipe", Unfit, |s| pipe(s, "/var/lib/ostler/journal/lock")),
    ("/etc/passwd leads out", Unfit, |s| link_out(s, "/etc/passwd", "etc/passwd")),
    ("/etc/passwd is a pipe", Unfit, |s| pipe(s, "/etc/passwd")),
    ("/etc/group is a pipe", Unfit, |s| pipe(s, "/etc/group")),
    ("/etc/shadow leads out", Unfit, |s| link_out(s, "/etc/shadow", "etc/shadow")),
    ("/etc/shadow is a pipe", Unfit, |s| pipe(s, "/etc/shadow")),
    ("the password lock leads out", Unfit, |s| link_out(s, "/etc/.pwd.lock", "canary")),
    ("the password lock is a pipe", Unfit, |s| pipe(s, "/etc/.pwd.lock")),
    ("the recorded configuration is a pipe", Unfit, |s| pipe(s, "/etc/machine-config-daemon/currentconfig")),
    ("the recorded configuration leads out", Unfit, |s| {
        link_out(s, "/etc/machine-config-daemon/currentconfig", "canary");
    }),
    ("the recorded configuration is garbage", Unfit, |s| {
        s.write("/etc/machine-config-daemon/currentconfig", "{\"kind\": 1");
    }),
    ("the install-time configuration is a pipe", Unfit, |s| pipe(s, "/etc/mcs-machine-config-content.json")),
    ("the labels' rules are a pipe", Contained, |s| {
        s.write("/etc/selinux/config", "SELINUX=enforcing\nSELINUXTYPE=targeted\n");
        pipe(s, "/etc/selinux/targeted/contexts/files/file_contexts");
    }),
];

fn device(sandbox: &Sandbox) {
    let made = Command::new("mknod").arg(sandbox.path("/etc/motd")).args(["c", "1", "3"]).status().unwrap();
    assert!(made.success());
}

fn run(rows: &[Row]) {
    let mut wrong = Vec::new();
    for (name, end, prepare) in rows {
        let sandbox = sandbox();
        prepare(&sandbox);
        let config = sandbox.config("harmless", &everything());
        let attacked = std::panic::catch_unwind(|| attack(name, &sandbox, &config, *end));
        wrong.extend(attacked.err().map(|_| *name));
    }
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), rows.len());
}

#[test]
fn what_stands_at_a_target_is_replaced_or_refused_and_never_followed() {
    run(TARGETS);
    if is_root() {
        run(&[("target is a device", Refused, device)]);
    }
}

#[test]
fn directories_that_lead_out_of_the_root_lead_nowhere() {
    run(PARENTS);
}

#[test]
fn the_agents_own_files_cannot_be_turned_against_it() {
    run(OWN);
}
