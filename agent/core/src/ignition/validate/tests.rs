//! One accepted and one refused config for every rule. Places are what is compared: texts may improve.

use serde_json::{Value, json};

use super::*;

fn config(mut sections: Value, version: &str) -> spec::Config {
    let ignition = sections.as_object_mut().unwrap().entry("ignition").or_insert_with(|| json!({}));
    ignition["version"] = version.into();
    serde_json::from_value(sections).unwrap()
}

fn places(sections: &str, version: &str) -> Vec<String> {
    let sections = serde_json::from_str(sections).unwrap_or_else(|error| panic!("{error}: {sections}"));
    match validate(&config(sections, version)) {
        Ok(()) => vec![],
        Err(Invalid::Ignition(problems)) => problems.into_iter().map(|problem| problem.at).collect(),
        Err(other) => panic!("{other}"),
    }
}

/// Sections of a config, and where it is wrong.
type Case = (&'static str, &'static [&'static str]);

fn assert_places(inside: fn(&str) -> String, cases: &[Case]) {
    for (sections, expected) in cases {
        assert_eq!(places(&inside(sections), "3.5.0"), *expected, "{sections}");
    }
}

fn storage(text: &str) -> String {
    format!(r#"{{"storage": {{{text}}}}}"#)
}

#[test]
fn paths_of_files_directories_and_links_are_absolute_and_clean() {
    let cases: &[Case] = &[
        (r#""files": [{"path": "/"}, {"path": "/a/..b/.c"}]"#, &[]),
        (r#""files": [{"path": ""}]"#, &["storage.files[0].path"]),
        (r#""files": [{"path": "a"}]"#, &["storage.files[0].path"]),
        (r#""files": [{"path": "/ok"}, {"path": "/a/"}]"#, &["storage.files[1].path"]),
        (r#""directories": [{"path": "/a//b"}]"#, &["storage.directories[0].path"]),
        (r#""directories": [{"path": "/a/../b"}]"#, &["storage.directories[0].path"]),
        (r#""links": [{"path": "/a/.", "target": "b"}]"#, &["storage.links[0].path"]),
    ];
    assert_places(storage, cases);
}

#[test]
fn files_directories_and_links_share_one_set_of_paths() {
    let cases: &[Case] = &[
        (
            r#""files": [{"path": "/a"}], "directories": [{"path": "/b"}], "links": [{"path": "/c", "target": "x"}]"#,
            &[],
        ),
        (r#""files": [{"path": "/a"}, {"path": "/a"}]"#, &["storage.files[1].path"]),
        (r#""files": [{"path": "/a"}], "directories": [{"path": "/a"}]"#, &["storage.files[0].path"]),
        (r#""files": [{"path": "/a"}], "links": [{"path": "/a", "target": "x"}]"#, &["storage.links[0].path"]),
        (r#""directories": [{"path": "/a"}], "links": [{"path": "/a", "target": "x"}]"#, &["storage.links[0].path"]),
    ];
    assert_places(storage, cases);
}

#[test]
fn nothing_lies_beneath_a_link() {
    let cases: &[Case] = &[
        (r#""links": [{"path": "/a", "target": "x"}], "files": [{"path": "/ab/c"}]"#, &[]),
        (r#""files": [{"path": "/a"}, {"path": "/a/b"}]"#, &[]),
        (r#""links": [{"path": "/a", "target": "x"}], "files": [{"path": "/a/b/c"}]"#, &["storage.files[0].path"]),
        (
            r#""links": [{"path": "/a", "target": "x"}], "directories": [{"path": "/a/b"}]"#,
            &["storage.directories[0].path"],
        ),
        (r#""links": [{"path": "/a/b", "target": "x"}, {"path": "/a", "target": "x"}]"#, &["storage.links[0].path"]),
    ];
    assert_places(storage, cases);
}

#[test]
fn links_have_targets_and_hard_ones_do_not_lead_to_directories() {
    let cases: &[Case] = &[
        (r#""directories": [{"path": "/d"}], "links": [{"path": "/a", "target": "/d"}]"#, &[]),
        (r#""directories": [{"path": "/d"}], "links": [{"path": "/a", "target": "d", "hard": true}]"#, &[]),
        (r#""links": [{"path": "/a", "target": "/f", "hard": true, "user": {"id": 1}}]"#, &[]),
        (r#""links": [{"path": "/a"}]"#, &["storage.links[0].target"]),
        (r#""links": [{"path": "/a", "target": ""}]"#, &["storage.links[0].target"]),
        (
            r#""directories": [{"path": "/d"}], "links": [{"path": "/a", "target": "/x/../d/", "hard": true}]"#,
            &["storage.links[0].target"],
        ),
        (
            r#""directories": [{"path": "/d"}], "links": [{"path": "/a", "target": "../d", "hard": true}]"#,
            &["storage.links[0].target"],
        ),
    ];
    assert_places(storage, cases);
}

#[test]
fn owners_modes_and_overwriting_are_consistent() {
    let cases: &[Case] = &[
        (r#""files": [{"path": "/a", "mode": 420, "user": {"id": 0, "name": ""}, "group": {"name": "wheel"}}]"#, &[]),
        (r#""files": [{"path": "/a", "user": {"id": 0, "name": "root"}}]"#, &["storage.files[0].user"]),
        (r#""directories": [{"path": "/a", "group": {"id": 0, "name": "root"}}]"#, &["storage.directories[0].group"]),
        (r#""links": [{"path": "/a", "target": "x", "user": {"id": 0, "name": "root"}}]"#, &["storage.links[0].user"]),
        (r#""directories": [{"path": "/a", "mode": 4095}]"#, &[]),
        (r#""directories": [{"path": "/a", "mode": 4096}]"#, &["storage.directories[0].mode"]),
        (r#""files": [{"path": "/a", "mode": -1}]"#, &["storage.files[0].mode"]),
        (r#""files": [{"path": "/a", "mode": 4096}]"#, &["storage.files[0].mode"]),
        (r#""files": [{"path": "/a", "overwrite": true, "contents": {"source": ""}}]"#, &[]),
        (r#""files": [{"path": "/a", "overwrite": false}]"#, &[]),
        (r#""files": [{"path": "/a", "overwrite": true}]"#, &["storage.files[0].overwrite"]),
        (r#""directories": [{"path": "/a", "overwrite": true}]"#, &[]),
    ];
    assert_places(storage, cases);
}

fn contents(text: &str) -> String {
    storage(&format!(r#""files": [{{"path": "/a", "contents": {{{text}}}}}]"#))
}

#[test]
fn resources_have_a_readable_source_and_known_compression() {
    let cases: &[Case] = &[
        ("", &[]),
        (r#""source": """#, &[]),
        (r#""source": "data:,x", "compression": """#, &[]),
        (r#""source": "data:,x", "compression": "gzip""#, &[]),
        (r#""compression": "xz""#, &["storage.files[0].contents.compression"]),
        (r#""source": "data:,a b""#, &["storage.files[0].contents.source"]),
        (r#""source": "ftp://h/x""#, &["storage.files[0].contents.source"]),
    ];
    assert_places(contents, cases);
    let append = |source| storage(&format!(r#""files": [{{"path": "/a", "append": [{source}, {source}]}}]"#));
    assert!(places(&append(r#"{"source": "data:,x"}"#), "3.5.0").is_empty());
    let expected = ["storage.files[0].append[0].source", "storage.files[0].append[1].source"];
    assert_eq!(places(&append(r#"{"source": "x"}"#), "3.5.0"), expected);
}

#[test]
fn hashes_have_a_function_and_its_length() {
    let hash = |hash: &str, version| {
        let text = format!(r#""source": "data:,x", "verification": {{"hash": "{hash}"}}"#);
        places(&contents(&text), version).is_empty()
    };
    assert!(hash(&format!("sha512-{}", "0".repeat(128)), "3.0.0"));
    assert!(hash(&format!("sha256-{}", "z".repeat(64)), "3.1.0"));
    assert!(!hash(&format!("sha256-{}", "0".repeat(64)), "3.0.0"));
    for refused in ["", "sha512", "md5-00", "sha512-00", &format!("sha256-{}", "0".repeat(128))] {
        assert!(!hash(refused, "3.5.0"), "{refused}");
    }
    let sourceless = format!(r#""verification": {{"hash": "sha256-{}"}}"#, "0".repeat(64));
    assert_eq!(places(&contents(&sourceless), "3.5.0"), ["storage.files[0].contents.verification.hash"]);
}

#[test]
fn headers_belong_to_http_and_are_named_once() {
    let cases: &[Case] = &[
        (r#""source": "https://h/", "httpHeaders": [{"name": "A", "value": "b"}, {"name": "a"}]"#, &[]),
        (r#""source": "data:,x", "httpHeaders": []"#, &[]),
        (r#""source": "data:,x", "httpHeaders": [{"name": "A"}]"#, &["storage.files[0].contents.httpHeaders"]),
        (r#""httpHeaders": [{"name": "A"}]"#, &["storage.files[0].contents.httpHeaders"]),
        (r#""source": "http://h/", "httpHeaders": [{"name": ""}]"#, &["storage.files[0].contents.httpHeaders[0].name"]),
        (
            r#""source": "http://h/", "httpHeaders": [{"name": "A", "value": ""}]"#,
            &["storage.files[0].contents.httpHeaders[0].value"],
        ),
        (
            r#""source": "http://h/", "httpHeaders": [{"name": "A"}, {"name": "A"}]"#,
            &["storage.files[0].contents.httpHeaders[1]"],
        ),
    ];
    assert_places(contents, cases);
}

fn ignition(text: &str) -> String {
    format!(r#"{{"ignition": {{{text}}}}}"#)
}

#[test]
fn further_configs_certificates_and_proxies_can_be_fetched() {
    let cases: &[Case] = &[
        (r#""config": {"merge": [{"source": "http://a"}, {"source": "http://b"}], "replace": {}}"#, &[]),
        (r#""config": {"merge": [{}]}"#, &["ignition.config.merge[0].source"]),
        (r#""config": {"merge": [{"source": "http://a"}, {"source": "http://a"}]}"#, &["ignition.config.merge[1]"]),
        (r#""config": {"replace": {"source": "x"}}"#, &["ignition.config.replace.source"]),
        (r#""security": {"tls": {"certificateAuthorities": [{"source": "data:,x"}]}}"#, &[]),
        (
            r#""security": {"tls": {"certificateAuthorities": [{"source": ""}]}}"#,
            &["ignition.security.tls.certificateAuthorities[0].source"],
        ),
        (
            r#""security": {"tls": {"certificateAuthorities": [{"source": "data:,x"}, {"source": "data:,x"}]}}"#,
            &["ignition.security.tls.certificateAuthorities[1]"],
        ),
        (r#""proxy": {"httpProxy": "https://p", "httpsProxy": "http://p", "noProxy": ["a", "b"]}"#, &[]),
        (
            r#""proxy": {"httpProxy": "", "httpsProxy": "ftp://p"}"#,
            &["ignition.proxy.httpProxy", "ignition.proxy.httpsProxy"],
        ),
        (r#""proxy": {"noProxy": ["a", "a"]}"#, &["ignition.proxy.noProxy[1]"]),
    ];
    assert_places(ignition, cases);
}

#[test]
fn kernel_arguments_are_listed_once() {
    let inside = |text: &str| format!(r#"{{"kernelArguments": {{{text}}}}}"#);
    let cases: &[Case] = &[
        (r#""shouldExist": ["a", "b"], "shouldNotExist": ["c"]"#, &[]),
        (r#""shouldExist": ["a", "a"]"#, &["kernelArguments.shouldExist[1]"]),
        (r#""shouldNotExist": ["a", "a"]"#, &["kernelArguments.shouldNotExist[1]"]),
        (r#""shouldExist": ["a"], "shouldNotExist": ["b", "a"]"#, &["kernelArguments.shouldNotExist[1]"]),
    ];
    assert_places(inside, cases);
}

#[test]
fn users_groups_and_keys_are_listed_once() {
    let inside = |text: &str| format!(r#"{{"passwd": {{{text}}}}}"#);
    let cases: &[Case] = &[
        (r#""users": [{"name": "a", "groups": ["x"], "sshAuthorizedKeys": ["k", "l"]}, {"name": "b"}]"#, &[]),
        (r#""users": [{"name": "a"}, {"name": "a"}]"#, &["passwd.users[1]"]),
        (r#""users": [{"name": "a", "groups": ["x", "x"]}]"#, &["passwd.users[0].groups[1]"]),
        (r#""users": [{"name": "a", "sshAuthorizedKeys": ["k", "k"]}]"#, &["passwd.users[0].sshAuthorizedKeys[1]"]),
        (r#""groups": [{"name": "a"}], "users": [{"name": "a"}]"#, &[]),
        (r#""groups": [{"name": "a"}, {"name": "a"}]"#, &["passwd.groups[1]"]),
    ];
    assert_places(inside, cases);
}

#[test]
fn units_and_dropins_have_names_and_readable_text() {
    let inside = |text: &str| format!(r#"{{"systemd": {{"units": [{text}]}}}}"#);
    let cases: &[Case] = &[
        (r#"{"name": "a.service", "enabled": true, "contents": "[Unit]\nA=b"}, {"name": "b@.mount"}"#, &[]),
        (r#"{"name": "a.service", "dropins": [{"name": "b.conf", "contents": ""}]}"#, &[]),
        (r#"{"name": "a"}"#, &["systemd.units[0].name"]),
        (r#"{"name": "a.conf"}"#, &["systemd.units[0].name"]),
        (r#"{"name": "a.service/b"}"#, &["systemd.units[0].name"]),
        (r#"{"name": "service"}"#, &["systemd.units[0].name"]),
        (r#"{"name": "a.service"}, {"name": "a.service"}"#, &["systemd.units[1]"]),
        (r#"{"name": "a.service", "contents": "[Unit"}"#, &["systemd.units[0].contents"]),
        (r#"{"name": "a.service", "dropins": [{"name": "b"}]}"#, &["systemd.units[0].dropins[0].name"]),
        (
            r#"{"name": "a.service", "dropins": [{"name": "b.conf"}, {"name": "b.conf", "contents": "[X]\nY"}]}"#,
            &["systemd.units[0].dropins[1]", "systemd.units[0].dropins[1].contents"],
        ),
    ];
    assert_places(inside, cases);
}

#[test]
fn no_file_takes_the_place_of_a_unit() {
    let place = |path: &str, unit: &str| {
        let sections =
            format!(r#"{{"storage": {{"files": [{{"path": "{path}"}}]}}, "systemd": {{"units": [{unit}]}}}}"#);
        places(&sections, "3.5.0")
    };
    let unit = r#"{"name": "a.service", "contents": "[A]", "dropins": [{"name": "b.conf", "contents": "[A]"}]}"#;
    let empty = r#"{"name": "a.service", "contents": "", "dropins": [{"name": "b.conf"}]}"#;
    for path in ["/etc/systemd/system/a.service", "/etc/systemd/system/a.service.d/b.conf"] {
        assert_eq!(place(path, unit), ["storage.files[0].path"], "{path}");
        assert!(place(path, empty).is_empty(), "{path}");
    }
    assert!(place("/etc/systemd/system/b.service", unit).is_empty());
}

mod volumes;

#[test]
fn an_empty_config_is_valid() {
    assert_eq!(validate(&spec::Config::default()), Ok(()));
    assert!(places(r#"{"storage": {}, "systemd": {}, "passwd": {}, "kernelArguments": {}}"#, "3.5.0").is_empty());
}

#[test]
fn special_permission_bits_are_refused_after_everything_else() {
    let file = |mode: i64, path: &str| config(json!({"storage": {"files": [{"path": path, "mode": mode}]}}), "3.5.0");
    assert_eq!(validate(&file(0o777, "/a")), Ok(()));
    let error = validate(&file(0o1777, "/path")).unwrap_err();
    assert_eq!(error.to_string(), "invalid mode 01777 for /path, cannot exceed 0777");
    assert!(matches!(validate(&file(0o1777, "path")), Err(Invalid::Ignition(_))));
    let directory = config(json!({"storage": {"directories": [{"path": "/a", "mode": 0o1777}]}}), "3.5.0");
    assert_eq!(validate(&directory), Ok(()));
}

#[test]
fn problems_are_named_and_counted() {
    let files: Vec<_> = (0..100).map(|_| json!({"path": "relative"})).collect();
    let error = validate(&config(json!({"storage": {"files": files}}), "3.5.0")).unwrap_err();
    let Invalid::Ignition(problems) = &error else { panic!("{error}") };
    assert_eq!(problems.len(), MOST);
    let text = error.to_string();
    let start =
        r#"invalid ignition V3 config found: storage.files[0].path: "relative" is relative; write an absolute path; "#;
    assert!(text.starts_with(start), "{text}");
    assert!(text.len() < 5000, "{}", text.len());
    let long = config(json!({"storage": {"files": [{"path": "x".repeat(10_000)}]}}), "3.5.0");
    assert!(validate(&long).unwrap_err().to_string().len() < 300);
}

#[test]
fn messages_hold_no_contents() {
    let sections = json!({
        "ignition": {"proxy": {"httpProxy": "hunter2://hunter2@h"}, "config": {"merge": [{"source": "hunter2"}, {"source": "hunter2"}]}},
        "passwd": {"users": [{"name": "a", "passwordHash": "hunter2", "sshAuthorizedKeys": ["hunter2", "hunter2"]}]},
        "storage": {
            "files": [{"path": "/a", "contents": {"source": "data:,hunter2 ", "verification": {"hash": "hunter2"}}}],
            "luks": [{"name": "l", "keyFile": {"source": "data:,hunter2 "}, "clevis": {"custom": {"config": "hunter2"}}}],
        },
        "systemd": {"units": [{"name": "a.service", "contents": "[Service]\nhunter2"}]},
    });
    let error = validate(&config(sections, "3.5.0")).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
}
