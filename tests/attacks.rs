//! Hostile configurations and hostile machines against the real commands: each is refused, with nothing changed, or
//! contained, with nothing changed outside the root.
#![cfg(test)]

#[path = "attacks/configs.rs"]
mod configs;
#[path = "attacks/journals.rs"]
mod journals;
#[path = "attacks/races.rs"]
mod races;
#[path = "attacks/roots.rs"]
mod roots;
#[path = "sandbox/mod.rs"]
mod sandbox;

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use sandbox::{Answer, Sandbox, Tree, differences, tree, tree_with_times};
use serde_json::{Value, json};

/// What must come of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Exit 2 or 3, and nothing has changed, inside or outside.
    Refused,
    /// Exit 1, because the machine is not fit for it, and nothing has changed, inside or outside.
    Unfit,
    /// Exit 1, because it was begun and undone, and nothing has changed but the agent's own files.
    Undone,
    /// Exit 0, and nothing has changed outside.
    Contained,
}

/// All that must stay as it is.
struct Surroundings {
    outside: Tree,
    hostname: Option<SystemTime>,
}

impl Surroundings {
    fn of(sandbox: &Sandbox) -> Self {
        let hostname = fs::metadata("/etc/hostname").and_then(|metadata| metadata.modified()).ok();
        Self { outside: tree_with_times(&sandbox.outside()), hostname }
    }

    fn assert_same(&self, sandbox: &Sandbox, attack: &str) {
        let now = Self::of(sandbox);
        let changed = differences(&self.outside, &now.outside);
        assert!(changed.is_empty(), "{attack}: changed outside the root: {changed:#?}");
        assert_eq!(self.hostname, now.hostname, "{attack}: this machine's own /etc/hostname was written");
    }
}

/// A sandbox whose outside holds everything that an attack could want to reach.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let outside = sandbox.outside();
    for directory in ["etc", "empty", "system/kubelet.service.d", "ssh/authorized_keys.d", "state/journal"] {
        fs::create_dir_all(outside.join(directory)).unwrap();
    }
    for file in ["canary", "etc/passwd", "etc/shadow", "system/app.service", "ssh/authorized_keys.d/ignition"] {
        fs::write(outside.join(file), format!("canary in {file}\n")).unwrap();
    }
    sandbox
}

/// A change that touches every kind of thing.
fn everything() -> Value {
    json!({
        "storage": {"files": [
            sandbox::file("/etc/app/app.conf", "new\n"),
            sandbox::file("/etc/motd", "new\n"),
            sandbox::file("/opt/deep/er/file", "new\n"),
        ]},
        "systemd": {"units": [
            {"name": "app.service", "enabled": true,
             "contents": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"},
            {"name": "kubelet.service", "dropins": [{"name": "10-app.conf", "contents": "[Service]\n"}]},
            {"name": "masked.service", "mask": true},
        ]},
        "passwd": {"users": [
            {"name": "core", "passwordHash": "$6$salt$hash", "sshAuthorizedKeys": ["ssh-ed25519 AAAA core"]},
        ]},
    })
}

/// Applies a config and compares the end with the one that must come.
fn attack(name: &str, sandbox: &Sandbox, config: &str, end: End) -> Answer {
    let surroundings = Surroundings::of(sandbox);
    let before = tree(sandbox.root());
    let answer = sandbox.apply(config);
    surroundings.assert_same(sandbox, name);
    let expected: &[i32] = match end {
        End::Refused => &[2, 3],
        End::Unfit | End::Undone => &[1],
        End::Contained => &[0],
    };
    let code = answer.code.unwrap_or(-1);
    assert!(expected.contains(&code), "{name}: {end:?} is expected: {answer}");
    if end != End::Contained {
        let mut changed = differences(&before, &tree(sandbox.root()));
        if end == End::Undone {
            let own = ["var/lib/ostler", "etc/.pwd.lock", "etc/.ostler-"];
            changed.retain(|line| !own.iter().any(|own| line.starts_with(own)));
        }
        assert!(changed.is_empty(), "{name}: changed all the same: {changed:#?}\n{answer}");
        assert!(!answer.stderr.is_empty() || answer.stdout.contains("Refused"), "{name}: no reason is given");
    }
    answer
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
