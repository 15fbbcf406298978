//! Configurations that no machine may apply.

use serde_json::{Value, json};

use crate::sandbox::{data, file, gzip, text_file};
use crate::{End, attack, sandbox};

type Row = (&'static str, Value);

fn files(files: &[Value]) -> Value {
    json!({"storage": {"files": files}})
}

fn unit(unit: &Value) -> Value {
    json!({"systemd": {"units": [unit]}})
}

fn dropin(unit: &str, name: &str) -> Value {
    json!({"systemd": {"units": [{"name": unit, "dropins": [{"name": name, "contents": "[Service]\n"}]}]}})
}

fn service(name: &str) -> Value {
    unit(&json!({"name": name, "contents": "[Service]\nExecStart=/bin/true\n"}))
}

/// A file with one field as given.
fn with(field: &str, value: &Value) -> Value {
    let mut entry = file("/etc/motd", "new\n");
    entry[field] = value.clone();
    files(&[entry])
}

fn core(user: &Value) -> Value {
    let mut user = user.clone();
    user["name"] = json!("core");
    json!({"passwd": {"users": [user]}})
}

fn paths() -> Vec<Row> {
    let long = format!("/etc/{}", "a/".repeat(2600)) + "a";
    let named = |name, path: &str| (name, text_file(path, "new\n"));
    vec![
        named("relative path", "etc/motd"),
        named("path out of the root", "/etc/../../outside/canary"),
        named("dot dot within the root", "/etc/app/../motd"),
        named("dot", "/etc/./motd"),
        named("NUL in a path", "/etc/motd\0.conf"),
        named("trailing slash", "/etc/motd/"),
        named("two slashes in front", "//etc/motd"),
        named("two slashes within", "/etc//motd"),
        named("the root itself", "/"),
        named("no path", ""),
        named("path that is too long", &long),
        named("name that is too long", &format!("/etc/{}", "a".repeat(256))),
        ("same path twice", files(&[file("/etc/motd", "1"), file("/etc/motd", "2")])),
        ("file above a file", files(&[file("/etc/app", "1"), file("/etc/app/app.conf", "2")])),
        ("file below the directory of drop-ins' file", {
            let mut config = dropin("app.service", "10-a.conf");
            config["storage"] = json!({"files": [file("/etc/systemd/system/app.service.d", "1")]});
            config
        }),
    ]
}

fn names() -> Vec<Row> {
    vec![
        ("unit out of its directory", service("../../../outside/system/app.service")),
        ("unit with a slash", service("a/b.service")),
        ("absolute unit", service("/etc/motd.service")),
        ("unit called dot dot", service("..")),
        ("unit with NUL", service("a\0.service")),
        ("unit with a line end", service("a\nb.service")),
        ("unit without a name", service("")),
        ("drop-in out of its directory", dropin("app.service", "../../../../outside/canary.conf")),
        ("drop-in with a slash", dropin("app.service", "a/b.conf")),
        ("drop-in called dot dot", dropin("app.service", "..")),
        ("drop-in with NUL", dropin("app.service", "a\0.conf")),
        ("drop-in of a unit out of its directory", dropin("../../motd", "a.conf")),
    ]
}

fn denied() -> Vec<Row> {
    let named = |name, path: &str| (name, text_file(path, "new\n"));
    vec![
        named("the agent itself", "/usr/bin/ostler"),
        named("the applier", "/usr/libexec/ostler/ostler-applier"),
        named("the journal's plan", "/var/lib/ostler/journal/plan"),
        named("a new file of the state", "/var/lib/ostler/x"),
        named("the state's directory", "/var/lib/ostler"),
        named("the agent's unit as a file", "/etc/systemd/system/ostler.service"),
        named("the agent's drop-in as a file", "/etc/systemd/system/ostler.service.d/10-x.conf"),
        named("a link to the agent's unit", "/etc/systemd/system/multi-user.target.wants/ostler-applier.socket"),
        named("the force file", "/run/machine-config-daemon-force"),
        named("the record of the configuration", "/etc/machine-config-daemon/currentconfig"),
        named("the record of the image", "/etc/machine-config-daemon/currentimage"),
        named("a kept original", "/etc/machine-config-daemon/orig/etc/motd.mcdorig"),
        named("a stamp of no original", "/etc/machine-config-daemon/noorig/etc/motd.mcdnoorig"),
        ("the agent's unit", service("ostler.service")),
        ("the applier's unit", service("ostler-applier.service")),
        ("the agent's unit masked", unit(&json!({"name": "ostler.service", "mask": true}))),
        ("the agent's unit disabled", unit(&json!({"name": "ostler.service", "enabled": false}))),
        ("drop-in of the agent's unit", dropin("ostler.service", "10-x.conf")),
    ]
}

fn contents() -> Vec<Row> {
    let contents = |source: String| with("contents", &json!({"source": source}));
    let packed = |bytes: &[u8]| with("contents", &json!({"compression": "gzip", "source": data(bytes)}));
    vec![
        ("remote contents", contents("http://127.0.0.1:1/x".into())),
        ("contents of a local file", contents("file:///etc/shadow".into())),
        ("bad base64", contents("data:;base64,A!B".into())),
        ("no gzip", packed(b"plain")),
        ("gzip that ends early", packed(&gzip(b"a text that is cut off")[..20])),
        ("gzip bomb", packed(&gzip(&vec![0; 65 << 20]))),
        ("unknown compression", with("contents", &json!({"compression": "xz", "source": "data:,a"}))),
        ("appended contents", with("append", &json!([{"source": "data:,a"}]))),
        ("unknown user", with("user", &json!({"name": "nobody-knows"}))),
        ("unknown group", with("group", &json!({"name": "nobody-knows"}))),
        ("user that means no change", with("user", &json!({"id": 4_294_967_295_u64}))),
        ("group that means no change", with("group", &json!({"id": 4_294_967_295_u64}))),
        ("user beyond all numbers", with("user", &json!({"id": 4_294_967_296_u64}))),
        ("negative user", with("user", &json!({"id": -1}))),
        ("negative mode", with("mode", &json!(-1))),
        ("mode of a directory", with("mode", &json!(0o040_755))),
        ("mode beyond all bits", with("mode", &json!(0o7_777_777))),
    ]
}

fn access() -> Vec<Row> {
    vec![
        ("hash with a colon", core(&json!({"passwordHash": "$6$a:0:0:::"}))),
        ("hash with a line end", core(&json!({"passwordHash": "$6$a\nroot::0:0:99999:7:::"}))),
        ("hash with NUL", core(&json!({"passwordHash": "$6$a\0b"}))),
        ("another user", json!({"passwd": {"users": [{"name": "root", "sshAuthorizedKeys": ["ssh-ed25519 AAAA x"]}]}})),
        ("another home", core(&json!({"homeDir": "/", "sshAuthorizedKeys": ["ssh-ed25519 AAAA x"]}))),
        ("the password file under a password", {
            let mut config = core(&json!({"passwordHash": "$6$a$b"}));
            config["storage"] = json!({"files": [file("/etc/shadow", "root::0:0:99999:7:::\n")]});
            config
        }),
    ]
}

/// What only reaches what the same configuration could have by other means: the lines of the one file of keys.
fn harmless() -> Vec<Row> {
    vec![
        ("key with a line end", core(&json!({"sshAuthorizedKeys": ["ssh-ed25519 AAAA core\nssh-ed25519 BBBB evil"]}))),
        ("key with NUL", core(&json!({"sshAuthorizedKeys": ["ssh-ed25519 AAAA\0 core"]}))),
        ("the keys' file under keys", {
            let mut config = core(&json!({"sshAuthorizedKeys": ["ssh-ed25519 AAAA x"]}));
            config["storage"] = json!({"files": [file("/home/core/.ssh/authorized_keys.d/ignition", "evil")]});
            config
        }),
    ]
}

fn run(rows: Vec<Row>, end: End) {
    let mut wrong = Vec::new();
    for (name, config) in rows {
        let sandbox = sandbox();
        let config = sandbox.config("hostile", &config);
        let attacked = std::panic::catch_unwind(|| attack(name, &sandbox, &config, end));
        wrong.extend(attacked.err().map(|_| name));
    }
    assert!(wrong.is_empty(), "not {end:?}: {wrong:#?}");
}

#[test]
fn hostile_configurations_are_refused_and_change_nothing() {
    let rows = [paths(), names(), denied(), contents(), access()].concat();
    assert!(rows.len() >= 40, "only {} rows", rows.len());
    run(rows, End::Refused);
}

#[test]
fn configurations_that_say_things_in_an_odd_way_reach_nothing_else() {
    run(harmless(), End::Contained);
}
