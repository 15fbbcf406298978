//! A string that stands for every secret of a configuration, and must never come out again.

use serde_json::{Value, json};

use crate::{Files, machine_config, ostler};

/// As it stands in a config, and as it stands there encoded.
const CANARY: &str = "c4n4ry-hunter2";
const ENCODED: &str = "YzRuNHJ5LWh1bnRlcjI=";

fn check(arguments: &[&str], code: i32) {
    let answer = ostler(arguments);
    assert_eq!(answer.code, Some(code), "{arguments:?}: {}{}", answer.stdout, answer.stderr);
    for (stream, text) in [("stdout", &answer.stdout), ("stderr", &answer.stderr)] {
        assert!(
            !text.contains(CANARY) && !text.contains(ENCODED),
            "{arguments:?} shows the canary on {stream}: {text}"
        );
    }
}

fn file(path: &str) -> Value {
    json!({"path": path, "contents": {"source": format!("data:;base64,{ENCODED}")}})
}

/// Secrets in every place that has room for one.
fn secretive() -> Value {
    json!({
        "storage": {
            "files": [
                {"path": "/etc/containers/registries.conf", "contents": {"source": format!("data:,%23%20{CANARY}")}},
                file("/etc/motd"),
                file("/var/lib/kubelet/config.json"),
                {"path": "/etc/plain", "contents": {"source": format!("data:,{CANARY}")}},
            ],
            "luks": [{
                "name": "data",
                "device": "/dev/sdb",
                "keyFile": {
                    "source": format!("https://example.com/{CANARY}"),
                    "httpHeaders": [{"name": "Authorization", "value": format!("Bearer {CANARY}")}],
                },
            }],
        },
        "systemd": {"units": [{
            "name": "tune.service",
            "contents": format!("[Service]\nEnvironment=PASSWORD={CANARY}\n"),
            "dropins": [{"name": "a.conf", "contents": format!("[Service]\nEnvironment=TOKEN={CANARY}\n")}],
        }]},
        "passwd": {"users": [{
            "name": "core",
            "passwordHash": format!("$6${CANARY}"),
            "sshAuthorizedKeys": [format!("ssh-ed25519 {CANARY}")],
        }]},
    })
}

fn with(pointer: &str, value: &Value) -> Value {
    let mut config = secretive();
    if let Some(place) = config.pointer_mut(pointer) {
        *place = value.clone();
        return config;
    }
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    config.pointer_mut(parent).unwrap_or_else(|| panic!("no {parent}"))[key] = value.clone();
    config
}

#[test]
fn an_accepted_change_shows_no_secret() {
    let files = Files::new("canary-accepted");
    let empty = files.config("empty.json", &json!({}));
    let full = files.config("full.json", &secretive());
    for format in ["text", "json"] {
        check(&["plan", "--from", &empty, "--to", &full, "-o", format], 0);
        check(&["plan", "--from", &full, "--to", &empty, "-o", format], 0);
        check(&["plan", "--to", &full, "--first-boot", "-o", format], 0);
        check(&["diff", "--install-time", &empty, "--to", &full, "-o", format], 4);
        check(&["diff", "--install-time", &full, "--to", &empty, "-o", format], 4);
    }
}

#[test]
fn a_refused_change_shows_no_secret() {
    let files = Files::new("canary-refused");
    let full = files.config("full.json", &secretive());
    let contents = |source: String| json!({"path": "/etc/containers/registries.conf", "contents": {"source": source}});
    let header = json!([{"name": "Authorization", "value": CANARY}]);
    let remote = json!({"path": "/etc/a", "contents": {
        "source": format!("https://user:{CANARY}@example.com/{CANARY}"), "httpHeaders": header,
    }});
    let gzip = json!({"path": "/etc/a", "contents": {"source": format!("data:,{CANARY}"), "compression": "gzip"}});
    let append = json!({"path": "/etc/a", "append": [{"source": format!("data:,{CANARY}")}]});
    for (name, pointer, value) in [
        ("registries", "/storage/files/0", contents(format!("data:,registry%20=%20%22{CANARY}%22"))),
        ("toml", "/storage/files/0", contents(format!("data:,%5B%5B{CANARY}"))),
        ("data-url", "/storage/files/0", contents(format!("data:;base64,{CANARY}!"))),
        ("no-url", "/storage/files/0", contents(CANARY.to_owned())),
        ("remote", "/storage/files/0", remote),
        ("gzip", "/storage/files/0", gzip),
        ("append", "/storage/files/0", append),
        ("disks", "/storage/disks", json!([{"device": "/dev/sdc"}])),
        ("user", "/passwd/users/0/shell", json!(format!("/bin/{CANARY}"))),
        ("group", "/passwd/groups", json!([{"name": "a", "passwordHash": CANARY}])),
        ("kargs", "/kernelArguments", json!({"shouldExist": [CANARY]})),
    ] {
        let to = files.config(name, &with(pointer, &value));
        for format in ["text", "json"] {
            check(&["plan", "--from", &full, "--to", &to, "-o", format], 3);
        }
    }
}

#[test]
fn contents_that_are_asked_for_leave_secrets_out() {
    let files = Files::new("canary-contents");
    let empty = files.config("empty.json", &json!({}));
    let key = format!("-----BEGIN%20PRIVATE%20KEY-----%0A{CANARY}%0A-----END%20PRIVATE%20KEY-----%0A");
    let lines = format!("proxy=http://user:{CANARY}@proxy%0Apassword=%20{CANARY}%0Aopen=yes%0A");
    let secret = json!([
        file("/var/lib/kubelet/config.json"),
        file("/etc/pki/tls/private/a"),
        file("/etc/my-token"),
        {"path": "/etc/key.pem", "contents": {"source": format!("data:,{key}")}},
        {"path": "/etc/app.conf", "contents": {"source": format!("data:,{lines}")}},
    ]);
    let mut config = with("/storage/files", &secret);
    let to = files.config("to.json", &config);
    for (from, to) in [(&empty, &to), (&to, &empty)] {
        check(&["plan", "--from", from, "--to", to, "--show-contents"], 0);
    }
    config["passwd"]["users"][0]["shell"] = json!(CANARY);
    check(&["plan", "--to", &files.config("refused.json", &config), "--show-contents"], 3);
    let answer = ostler(&["plan", "--from", &empty, "--to", &to, "--show-contents"]);
    assert!(answer.stdout.contains("+ open=yes"), "nothing is shown, so nothing is proved: {}", answer.stdout);
}

#[test]
fn an_error_quotes_no_secret() {
    let files = Files::new("canary-errors");
    for (name, pointer, value, code) in [
        ("hash", "/passwd/users/0/passwordHash", json!({"a": CANARY}), 3),
        ("keys", "/passwd/users/0/sshAuthorizedKeys", json!(CANARY), 3),
        ("mode", "/storage/files/0/mode", json!(CANARY), 3),
        ("source", "/storage/files/0/contents", json!(CANARY), 3),
        ("unit", "/systemd/units/0/enabled", json!(CANARY), 3),
        ("units", "/systemd/units", json!(CANARY), 3),
        ("luks", "/storage/luks", json!(CANARY), 3),
    ] {
        let to = files.config(name, &with(pointer, &value));
        check(&["plan", "--to", &to], code);
        check(&["plan", "--to", &to, "-o", "json"], code);
        check(&["diff", "--install-time", &to, "--to", &to], 2);
    }
    let whole = machine_config("rendered", &secretive()).to_string();
    let cut: String = whole.chars().take(whole.len() - 20).collect();
    let yaml = format!("spec:\n  password: {CANARY}\n bad: [{CANARY}\n");
    let kernel = json!({"spec": {"kernelArguments": CANARY}}).to_string();
    for (name, text) in [("cut", cut), ("yaml", yaml), ("kernel", kernel), ("scalar", CANARY.to_owned())] {
        let to = files.write(name, text);
        check(&["plan", "--to", &to], 2);
    }
}
