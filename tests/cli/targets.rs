//! Targets that would take everything away, that nobody rendered, or that have keys which nobody reads.

use serde_json::{Value, json};

use super::{Files, machine_config, one_file, ostler};

fn document(name: &str, spec: &Value) -> String {
    json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": name}, "spec": spec})
    .to_string()
}

/// The warnings of a plan as JSON, each by kind and the key that it names.
fn warnings(document: &Value) -> Vec<(String, String, String)> {
    let text = |warning: &Value, key: &str| warning[key].as_str().unwrap_or_default().to_owned();
    let warnings = document["warnings"].as_array().expect("warnings is a list");
    warnings.iter().map(|one| (text(one, "kind"), text(one, "path"), text(one, "nearest"))).collect()
}

#[test]
fn an_empty_config_is_refused_as_a_target_and_can_be_left() {
    let files = Files::new("empty-config");
    let from = files.config("from.json", &one_file("/etc/motd", "hello"));
    for (name, spec) in [
        ("missing", json!({"kernelArguments": ["quiet"]})),
        ("null", json!({"config": null})),
        ("object", json!({"config": {}})),
        ("text", json!({"config": ""})),
        ("versionless", json!({"config": {"ignition": {}}})),
    ] {
        let to = files.write(&format!("{name}.json"), document("rendered-worker-1", &spec));
        let answer = ostler(&["plan", "--from", &from, "--to", &to, "-o", "json"]);
        assert_eq!(answer.code, Some(3), "{name}: {}", answer.stdout);
        let plan = answer.json();
        let reason = plan["reason"].as_str().unwrap();
        assert!(reason.starts_with("parsing new Ignition config from machineconfig \"rendered-worker-1\" failed"));
        assert!(plan["remedy"].is_string() && plan["steps"].as_array().unwrap().is_empty(), "{plan}");
        let root = files.path(&format!("root-{name}"));
        std::fs::create_dir_all(&root).unwrap();
        let answer = ostler(&["apply", "--root", &root, "--to", &to, "--yes"]);
        assert_eq!(answer.code, Some(3), "{name}: {} {}", answer.stdout, answer.stderr);
        let answer = ostler(&["diff", "--install-time", &from, "--to", &to]);
        assert_eq!(answer.code, Some(2), "{name}: {} {}", answer.stdout, answer.stderr);
        if ["missing", "null", "object"].contains(&name) {
            let answer = ostler(&["plan", "--from", &to, "--to", &from]);
            assert_eq!(answer.code, Some(0), "{name} as the current one: {}", answer.stdout);
        }
    }
}

#[test]
fn a_target_that_nobody_rendered_is_pointed_out_where_it_removes_things() {
    let files = Files::new("not-rendered");
    let from = files.config("from.json", &one_file("/etc/motd", "hello"));
    let kinds = |name: &str, edit: &dyn Fn(&mut Value), ignition: &Value| {
        let mut config = machine_config(name, ignition);
        edit(&mut config);
        let to = files.write("to.json", config.to_string());
        let answer = ostler(&["plan", "--from", &from, "--to", &to, "-o", "json"]);
        assert_eq!(answer.code, Some(0), "{}", answer.stdout);
        let kinds: Vec<_> = warnings(&answer.json()).into_iter().map(|(kind, ..)| kind).collect();
        let text = ostler(&["plan", "--from", &from, "--to", &to]).stdout;
        assert_eq!(text.contains("Warning:"), !kinds.is_empty(), "{text}");
        kinds
    };
    let (same, other, nothing) = (one_file("/etc/motd", "bye"), one_file("/etc/issue", "x"), json!({}));
    let as_is = |_: &mut Value| {};
    let owned = |config: &mut Value| {
        config["metadata"]["ownerReferences"] = json!([{"kind": "MachineConfigPool", "name": "worker"}]);
    };
    let role = |config: &mut Value| {
        config["metadata"]["labels"] = json!({"machineconfiguration.openshift.io/role": "worker"});
    };
    assert_eq!(kinds("99-worker-ssh", &as_is, &same), [""; 0]);
    assert_eq!(kinds("99-worker-ssh", &as_is, &other), ["notRendered"]);
    assert_eq!(kinds("99-worker-ssh", &as_is, &nothing), ["removesEverything", "notRendered"]);
    assert_eq!(kinds("rendered-worker-0f", &as_is, &other), [""; 0]);
    assert_eq!(kinds("rendered-worker-0f", &as_is, &nothing), ["removesEverything"]);
    assert_eq!(kinds("custom", &owned, &other), [""; 0]);
    assert_eq!(kinds("rendered-worker-0f", &role, &other), ["notRendered"]);
}

#[test]
fn keys_that_nobody_reads_are_named_with_the_nearest_that_is_read() {
    let files = Files::new("unknown-keys");
    let spec = json!({
        "kernelArgument": ["quiet"],
        "config": {
            "ignition": {"version": "3.2.0"},
            "storgae": {"files": []},
            "kernelArguments": {"shouldExist": ["a"]},
            "Storage": {"files": [{"path": "/etc/motd", "content": {"source": "data:,x"}, "zzzzzzzz": 1}]},
            "systemd": {"unit": [{"name": "a.service"}]},
        },
    });
    let to = files.write("to.json", document("rendered-worker-1", &spec));
    let answer = ostler(&["plan", "--to", &to, "-o", "json"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stdout);
    let unknown = |path: &str, nearest: &str| ("unknownKey".to_owned(), path.to_owned(), nearest.to_owned());
    assert_eq!(
        warnings(&answer.json()),
        [
            unknown("spec.kernelArgument", "kernelArguments"),
            unknown("spec.config.kernelArguments", ""),
            unknown("spec.config.storgae", "storage"),
            unknown("spec.config.storage.files[0].content", "contents"),
            unknown("spec.config.storage.files[0].zzzzzzzz", ""),
            unknown("spec.config.systemd.unit", "units"),
        ]
    );
    let text = ostler(&["plan", "--to", &to]).stdout;
    assert!(text.contains("spec.config.storgae") && text.contains("did you mean \"storage\"?"), "{text}");
    let spec = json!({"config": {"ignition": {"version": "2.2.0"},
        "storage": {"files": [{"filesystem": "root", "path": "/etc/motd", "modee": 420, "contents": {"source": "data:,x"}}]}}});
    let to = files.write("spec-2.json", document("rendered-worker-1", &spec));
    let answer = ostler(&["plan", "--to", &to, "-o", "json"]).json();
    assert_eq!(warnings(&answer), [unknown("spec.config.storage.files[0].modee", "mode")]);
}

#[test]
fn a_flood_of_unknown_keys_is_cut_short_and_counted() {
    let files = Files::new("flood");
    let mut config = json!({"ignition": {"version": "3.5.0"}});
    for number in 0..5000 {
        config[format!("{number}-{}", "x".repeat(500))] = json!(1);
    }
    let to = files.write("to.json", document("rendered-worker-1", &json!({"config": config})));
    let answer = ostler(&["plan", "--to", &to, "-o", "json"]);
    let found = warnings(&answer.json());
    assert_eq!(found.len(), 17, "{found:?}");
    assert_eq!(answer.json()["warnings"][16]["count"], json!(5000 - 16));
    assert!(found.iter().all(|(_, path, _)| path.len() < 200), "{found:?}");
}
