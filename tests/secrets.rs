//! Secrets in every place that has room for one, through every command: none is shown, and on the disk each stays where
//! it belongs.
#![cfg(test)]

#[path = "sandbox/mod.rs"]
mod sandbox;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use sandbox::{Answer, JOURNAL, Sandbox, base64, data, file, forms, gzip, tree};
use serde_json::{Value, json};

/// One for each place; each occurs nowhere else.
const SECRETS: [&str; 9] = [
    "c4n4ry-plain-file",
    "c4n4ry-base64-file",
    "c4n4ry-packed-file",
    "c4n4ry-pull-secret",
    "c4n4ry-unit-text",
    "c4n4ry-dropin-text",
    "c4n4ry-password",
    "c4n4ry-ssh-key",
    "c4n4ry-found-file",
];

/// Files that hold secrets because they are meant to.
const HOLDERS: [&str; 9] = [
    "etc/plain",
    "etc/encoded",
    "etc/packed",
    "etc/found",
    "var/lib/kubelet/config.json",
    "etc/systemd/system/app.service",
    "etc/systemd/system/kubelet.service.d/10-app.conf",
    "etc/shadow",
    "home/core/.ssh/authorized_keys.d/ignition",
];

/// Files that hold a whole configuration: for root alone.
const RECORDS: [&str; 2] = ["etc/machine-config-daemon/currentconfig", "var/lib/ostler/install-time.json"];

fn secret_in(bytes: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(bytes);
    SECRETS.into_iter().find(|secret| forms(secret).iter().any(|form| text.contains(form)))
}

fn config(variant: &str) -> Value {
    let of = |secret: usize| format!("{} {variant}\n", SECRETS[secret]);
    let pull = json!({"auths": {"registry.example": {"auth": base64(of(3))}}}).to_string();
    json!({
        "storage": {"files": [
            {"path": "/etc/plain", "contents": {"source": format!("data:,{}-{variant}", SECRETS[0])}},
            file("/etc/encoded", of(1)),
            {"path": "/etc/packed",
             "contents": {"compression": "gzip", "source": data(gzip(of(2).as_bytes()))}},
            {"path": "/var/lib/kubelet/config.json", "mode": 0o600, "contents": {"source": data(pull)}},
            file("/etc/found", variant),
        ]},
        "systemd": {"units": [
            {"name": "app.service", "enabled": true,
             "contents": format!("[Service]\nEnvironment=A={}[Install]\nWantedBy=multi-user.target\n", of(4))},
            {"name": "kubelet.service",
             "dropins": [{"name": "10-app.conf", "contents": format!("[Service]\nEnvironment=A={}", of(5))}]},
        ]},
        "passwd": {"users": [{
            "name": "core",
            "passwordHash": format!("$6$salt${}{variant}", SECRETS[6]),
            "sshAuthorizedKeys": [format!("ssh-ed25519 AAAA{} core@{variant}", SECRETS[7])],
        }]},
    })
}

/// A machine whose every answer is searched.
struct Watched {
    sandbox: Sandbox,
    answers: usize,
}

impl Watched {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("/etc/found", format!("{} was here before\n", SECRETS[8]));
        Self { sandbox, answers: 0 }
    }

    fn check(&mut self, what: &str, answer: &Answer) {
        self.answers += 1;
        for (stream, text) in [("stdout", &answer.stdout), ("stderr", &answer.stderr)] {
            let shown = secret_in(text.as_bytes());
            assert_eq!(shown, None, "{what}: shown on {stream}: {text}");
        }
    }

    /// Runs a command for people and for programs.
    fn both(&mut self, arguments: &[&str], code: i32) {
        for format in ["json", "text"] {
            let mut all = arguments.to_vec();
            all.extend(["-o", format]);
            let answer = self.sandbox.ostler(&all);
            self.check(&all.join(" "), &answer);
            assert_eq!(answer.code, Some(code), "{all:?}: {answer}");
        }
    }

    fn once(&mut self, arguments: &[&str], code: i32) {
        let answer = self.sandbox.ostler(arguments);
        self.check(&arguments.join(" "), &answer);
        assert_eq!(answer.code, Some(code), "{arguments:?}: {answer}");
    }

    /// Looks for secrets in every file, and whether the journal is for root alone.
    fn check_disk(&self) {
        let tree = tree(self.sandbox.root());
        for (path, entry) in &tree {
            let Some(secret) = secret_in(&entry.holds) else { continue };
            let meant = HOLDERS.iter().any(|holder| path == Path::new(holder))
                || RECORDS.iter().any(|record| path == Path::new(record))
                || path == Path::new("etc/machine-config-daemon/orig/etc/found.mcdorig")
                || path.starts_with(JOURNAL);
            assert!(meant, "{secret:?} stands in {}", path.display());
        }
        for record in RECORDS {
            let mode = tree.get(Path::new(record)).map(|entry| entry.mode);
            assert!(mode.is_none_or(|mode| mode == 0o600), "{record}: {mode:?}");
        }
        let journal = tree.iter().filter(|(path, _)| path.starts_with(JOURNAL));
        for (path, entry) in journal {
            let mode = if entry.kind == "directory" { 0o700 } else { 0o600 };
            assert_eq!(entry.mode, mode, "{}", path.display());
        }
    }
}

#[test]
fn commands_that_succeed_show_no_secret() {
    let mut watched = Watched::new();
    let [first, second] = ["first", "second"].map(|name| watched.sandbox.config(name, &config(name)));
    let planned = sandbox::start(&["plan", "--from", &first, "--to", &second]).end();
    watched.check("plan", &planned);
    watched.both(&["apply", "--dry-run", "--to", &first], 0);
    watched.both(&["apply", "--yes", "--to", &first], 0);
    watched.check_disk();
    watched.both(&["apply", "--dry-run", "--to", &second], 0);
    watched.once(&["apply", "--yes", "-o", "json", "--to", &second], 0);
    watched.check_disk();
    watched.both(&["status"], 0);
    watched.both(&["drift"], 0);
    let paths: Vec<String> = HOLDERS.iter().map(|holder| (*holder).to_owned()).collect();
    for path in &paths {
        let edited = format!("{} edited\n", SECRETS[0]);
        if path != "etc/shadow" {
            watched.sandbox.write(path, edited);
        }
    }
    watched.both(&["drift"], 4);
    watched.once(&["drift", "--repair", "--yes"], 0);
    watched.both(&["drift"], 0);
    watched.check_disk();
    watched.both(&["rollback", "--dry-run"], 0);
    watched.once(&["rollback", "--yes", "-o", "json"], 0);
    watched.both(&["recover"], 0);
    watched.check_disk();
    assert!(watched.answers >= 20, "{}", watched.answers);
}

#[test]
fn commands_that_fail_show_no_secret() {
    let mut watched = Watched::new();
    let first = watched.sandbox.config("first", &config("first"));
    watched.both(&["rollback", "--dry-run"], 2);
    watched.once(&["apply", "--yes", "--to", &first], 0);
    let evil = format!("$6${}:0:\n", SECRETS[6]);
    for (name, pointer, value, code) in [
        ("user", "/storage/files/0/user", json!({"name": "nobody-knows"}), 3),
        ("packing", "/storage/files/0/contents/compression", json!("gzip"), 3),
        ("remote", "/storage/files/0/contents/source", json!(format!("http://a/{}", SECRETS[0])), 3),
        ("base64", "/storage/files/0/contents/source", json!(format!("data:;base64,{}!", SECRETS[0])), 3),
        ("hash", "/passwd/users/0/passwordHash", json!(evil), 3),
        ("type", "/passwd/users/0/passwordHash", json!({"a": SECRETS[6]}), 3),
        ("agent", "/storage/files/0/path", json!("/usr/bin/ostler"), 3),
    ] {
        let mut target = config("second");
        let (above, key) = pointer.rsplit_once('/').unwrap();
        let place = target.pointer_mut(above).unwrap();
        match key.parse::<usize>() {
            Ok(number) => place[number] = value,
            Err(_) => place[key] = value,
        }
        let target = watched.sandbox.config(name, &target);
        watched.both(&["apply", "--yes", "--to", &target], code);
    }
    let second = watched.sandbox.config("second", &config("second"));
    fs::create_dir_all(watched.sandbox.path("/etc/plain.d")).unwrap();
    fs::remove_file(watched.sandbox.path("/etc/plain")).unwrap();
    fs::rename(watched.sandbox.path("/etc/plain.d"), watched.sandbox.path("/etc/plain")).unwrap();
    watched.both(&["apply", "--yes", "--to", &second], 3);
    watched.both(&["drift"], 4);
    watched.once(&["drift", "--repair", "--yes"], 4);
    let record = watched.sandbox.path("/etc/machine-config-daemon/currentconfig");
    let text = fs::read(&record).unwrap();
    fs::write(&record, &text[..text.len() - 30]).unwrap();
    watched.both(&["apply", "--yes", "--to", &second], 1);
    watched.both(&["status"], 4);
    watched.check_disk();
}

#[test]
fn an_agent_at_the_finest_log_level_shows_no_secret() {
    let mut watched = Watched::new();
    watched.sandbox.write("/proc/sys/kernel/random/boot_id", "boot-1\n");
    let desired = watched.sandbox.outside().join("desired");
    fs::create_dir(&desired).unwrap();
    for name in ["first", "second"] {
        let document = sandbox::machine_config(name, &config(name)).to_string();
        fs::write(desired.join(format!("{name}.json")), document).unwrap();
        let from = ["daemon", "--once", "--standalone", desired.to_str().unwrap(), "--node-name", "n"];
        let answer = watched.sandbox.ostler(&[&from[..], &["--metrics", "none", "--log-level", "trace"]].concat());
        assert!(answer.stderr.contains(name), "{answer}");
        watched.check("the agent", &answer);
    }
    assert!(fs::read_to_string(watched.sandbox.path("/etc/plain")).unwrap().contains(SECRETS[0]));
    watched.check_disk();
}

#[test]
fn commands_that_are_in_each_others_way_or_killed_show_no_secret() {
    let mut watched = Watched::new();
    let configs = ["first", "second", "third"].map(|name| watched.sandbox.config(name, &config(name)));
    let mut open = 0;
    for round in 0..40u64 {
        let target = &configs[usize::try_from(round).unwrap() % 3];
        let other = &configs[usize::try_from(round + 1).unwrap() % 3];
        let began = Instant::now();
        let rivals = [target, other].map(|config| watched.sandbox.start(&["apply", "--yes", "--to", config]));
        for rival in rivals {
            watched.check("rivals", &rival.end());
        }
        let lasted = began.elapsed();
        let mut killed = watched.sandbox.start(&["apply", "--yes", "--to", target]);
        // However busy the machine is: kills are spread over the time that the commands before have just taken.
        thread::sleep(lasted * u32::try_from(round).unwrap() / 40);
        killed.kill();
        let status = watched.sandbox.ostler(&["status", "-o", if round % 2 == 0 { "json" } else { "text" }]);
        watched.check("status after a kill", &status);
        open += usize::from(watched.sandbox.path(JOURNAL).join("plan").exists());
        let blocked = watched.sandbox.ostler(&["apply", "--yes", "--to", other]);
        watched.check("apply after a kill", &blocked);
        let recovered = watched.sandbox.ostler(&["recover"]);
        watched.check("recover", &recovered);
        watched.check_disk();
    }
    assert!(open > 0, "none was killed in the middle");
}
