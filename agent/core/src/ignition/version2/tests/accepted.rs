//! Configs that have a counterpart in spec 3, and that counterpart.

use serde_json::json;

use super::{accepts, file, files, hash};

#[test]
fn the_three_versions_of_the_operators_parser_are_read() {
    for version in ["2.0.0", "2.1.0", "2.2.0"] {
        accepts(version, json!({}), json!({}));
    }
}

#[test]
fn a_file_keeps_everything_and_overwrites_by_default() {
    accepts(
        "2.2.0",
        files(json!([{
            "filesystem": "root",
            "path": "/etc//a/../b/",
            "mode": 420,
            "user": {"id": 0},
            "group": {"name": "wheel"},
            "contents": {"source": "data:,x", "compression": "gzip", "verification": {"hash": hash()}},
            "unknown": {"deep": [1]},
        }])),
        files(json!([{
            "path": "/etc/b",
            "mode": 420,
            "overwrite": true,
            "user": {"id": 0},
            "group": {"name": "wheel"},
            "contents": {"source": "data:,x", "compression": "gzip", "verification": {"hash": hash()}},
        }])),
    );
}

#[test]
fn a_file_without_contents_is_an_empty_file() {
    let empty = json!([{"path": "/a", "overwrite": true, "contents": {"source": ""}}]);
    accepts("2.2.0", files(json!([file(json!({}))])), files(empty.clone()));
    let nulls = json!({"contents": {"source": null, "compression": null}, "mode": null, "user": null, "append": null});
    accepts("2.2.0", files(json!([file(nulls)])), files(empty));
}

#[test]
fn overwrite_is_kept_when_written_and_false_when_appending() {
    let cases = [
        (json!({"overwrite": false}), json!({"overwrite": false, "contents": {"source": ""}})),
        (json!({"overwrite": true}), json!({"overwrite": true, "contents": {"source": ""}})),
        (
            json!({"append": true, "contents": {"source": "data:,x"}}),
            json!({"overwrite": false, "append": [{"source": "data:,x"}]}),
        ),
        (json!({"append": true, "overwrite": false}), json!({"overwrite": false, "append": [{"source": ""}]})),
    ];
    for (fields, mut expected) in cases {
        expected["path"] = json!("/a");
        accepts("2.2.0", files(json!([file(fields)])), files(json!([expected])));
    }
}

#[test]
fn directories_and_links_do_not_overwrite_by_default() {
    accepts(
        "2.2.0",
        json!({"storage": {
            "directories": [
                {"filesystem": "root", "path": "/d", "mode": 493, "user": {"name": "core"}},
                {"filesystem": "root", "path": "/e", "overwrite": true},
            ],
            "links": [
                {"filesystem": "root", "path": "/l", "target": "/d", "hard": true, "overwrite": true},
                {"filesystem": "root", "path": "/m", "target": "../d"},
            ],
        }}),
        json!({"storage": {
            "directories": [{"path": "/d", "mode": 493, "user": {"name": "core"}}, {"path": "/e", "overwrite": true}],
            "links": [
                {"path": "/l", "target": "/d", "hard": true, "overwrite": true},
                {"path": "/m", "target": "../d"},
            ],
        }}),
    );
}

#[test]
fn enabled_wins_over_the_deprecated_enable() {
    let cases = [
        (json!({}), json!({})),
        (json!({"enable": true}), json!({"enabled": true})),
        (json!({"enable": false}), json!({})),
        (json!({"enabled": true}), json!({"enabled": true})),
        (json!({"enabled": false}), json!({"enabled": false})),
        (json!({"enable": true, "enabled": false}), json!({"enabled": false})),
        (json!({"enable": false, "enabled": true}), json!({"enabled": true})),
    ];
    for (mut unit, mut expected) in cases {
        unit["name"] = json!("a.service");
        expected["name"] = json!("a.service");
        accepts("2.2.0", json!({"systemd": {"units": [unit]}}), json!({"systemd": {"units": [expected]}}));
    }
}

#[test]
fn empty_fields_of_a_unit_become_absent() {
    accepts(
        "2.2.0",
        json!({"systemd": {"units": [
            {"name": "a.service", "contents": "", "mask": false, "dropins": [{"name": "b.conf", "contents": ""}]},
            {"name": "c.service", "contents": "[Unit]", "mask": true, "dropins": []},
        ]}}),
        json!({"systemd": {"units": [
            {"name": "c.service", "contents": "[Unit]", "mask": true},
            {"name": "a.service", "dropins": [{"name": "b.conf"}]},
        ]}}),
    );
}

#[test]
fn core_keeps_its_fields_and_loses_the_deprecated_section() {
    accepts(
        "2.2.0",
        json!({"passwd": {
            "users": [{"name": "core", "gecos": "Core", "homeDir": "/home/core", "noCreateHome": true, "noLogInit": true,
                "noUserGroup": true, "primaryGroup": "core", "groups": ["wheel"], "shell": "/bin/sh", "system": true,
                "uid": 1000, "passwordHash": "", "sshAuthorizedKeys": ["k"]}],
            "groups": [{"name": "g", "gid": 7, "passwordHash": "h", "system": true}, {"name": "e", "passwordHash": ""}],
        }}),
        json!({"passwd": {
            "users": [{"name": "core", "gecos": "Core", "homeDir": "/home/core", "noCreateHome": true, "noLogInit": true,
                "noUserGroup": true, "primaryGroup": "core", "groups": ["wheel"], "shell": "/bin/sh", "system": true,
                "uid": 1000, "passwordHash": "", "sshAuthorizedKeys": ["k"]}],
            "groups": [{"name": "g", "gid": 7, "passwordHash": "h", "system": true}, {"name": "e"}],
        }}),
    );
    accepts(
        "2.2.0",
        json!({"passwd": {"users": [{"name": "core", "create": {"uid": 1, "shell": "/bin/sh"}}]}}),
        json!({"passwd": {"users": [{"name": "core"}]}}),
    );
}

#[test]
fn disks_without_partitions_and_raid_arrays_pass() {
    accepts(
        "2.2.0",
        json!({"storage": {
            "disks": [{"device": "/dev/a", "wipeTable": true}, {"device": "/dev/b", "partitions": []}],
            "raid": [
                {"name": "r", "level": "raid1", "devices": ["/dev/a"], "spares": 1, "options": ["--o"]},
                {"name": "s", "level": "stripe", "spares": 0},
            ],
            "filesystems": [{"name": "root", "path": "/sysroot"}],
        }}),
        json!({"storage": {
            "disks": [{"device": "/dev/a", "wipeTable": true}, {"device": "/dev/b"}],
            "raid": [
                {"name": "r", "level": "raid1", "devices": ["/dev/a"], "spares": 1, "options": ["--o"]},
                {"name": "s", "level": "stripe"},
            ],
        }}),
    );
}

#[test]
fn a_forced_root_filesystem_is_implied() {
    let mount = json!({"device": "/dev/a", "format": "xfs", "label": "ROOT", "create": {"force": true}});
    accepts("2.2.0", json!({"storage": {"filesystems": [{"name": "root", "mount": mount}]}}), json!({}));
}

#[test]
fn references_become_resources_and_append_becomes_merge() {
    accepts(
        "2.2.0",
        json!({"ignition": {
            "config": {"append": [{"source": "https://a"}], "replace": {"source": "HTTP://b", "verification": {"hash": hash()}}},
            "security": {"tls": {"certificateAuthorities": [{"source": "data:,c"}]}},
            "timeouts": {"httpResponseHeaders": 0, "httpTotal": 5},
        }}),
        json!({"ignition": {
            "config": {"merge": [{"source": "https://a"}], "replace": {"source": "HTTP://b", "verification": {"hash": hash()}}},
            "security": {"tls": {"certificateAuthorities": [{"source": "data:,c"}]}},
            "timeouts": {"httpResponseHeaders": 0, "httpTotal": 5},
        }}),
    );
}

#[test]
fn version_2_1_ignores_what_2_2_added_and_has_no_open_mode() {
    accepts(
        "2.1.0",
        json!({
            "ignition": {"security": {"tls": 1}, "timeouts": {"httpTotal": 5}},
            "storage": {
                "files": [{"filesystem": "root", "path": "/a", "append": "no boolean", "overwrite": false, "user": {"name": "u"}}],
                "directories": [{"filesystem": "root", "path": "/d", "overwrite": true}],
                "links": [{"filesystem": "root", "path": "/l", "target": "/d", "overwrite": true}],
                "raid": [{"name": "r", "level": "1", "options": ["--o"]}],
            },
            "systemd": {"units": [{"name": "a.service", "enabled": false}]},
        }),
        json!({
            "ignition": {"timeouts": {"httpTotal": 5}},
            "storage": {
                "files": [{"path": "/a", "mode": 0, "overwrite": true, "contents": {"source": ""}, "user": {"name": "u"}}],
                "directories": [{"path": "/d", "mode": 0}],
                "links": [{"path": "/l", "target": "/d"}],
                "raid": [{"name": "r", "level": "1"}],
            },
            "systemd": {"units": [{"name": "a.service", "enabled": false}]},
        }),
    );
}

#[test]
fn version_2_0_ignores_what_2_1_added_and_always_has_numeric_owners() {
    accepts(
        "2.0.0",
        json!({
            "ignition": {"timeouts": {"httpTotal": "no number"}},
            "storage": {
                "files": [file(json!({"user": {"name": "u"}, "group": {"id": 7, "name": "g"}}))],
                "directories": 1,
                "links": [{"path": "relative"}],
            },
            "systemd": {"units": [{"name": "a.service", "enable": true, "enabled": false}]},
            "passwd": {"users": [{"name": "core", "passwordHash": "", "shell": "/bin/sh", "uid": 5, "create": {"uid": 5}}]},
        }),
        json!({
            "storage": {"files": [{"path": "/a", "mode": 0, "overwrite": true, "contents": {"source": ""},
                "user": {"id": 0}, "group": {"id": 7}}]},
            "systemd": {"units": [{"name": "a.service", "enabled": true}]},
            "passwd": {"users": [{"name": "core"}]},
        }),
    );
}

#[test]
fn the_last_file_wins_and_files_come_latest_first() {
    let source = |path: &str, text: &str| file(json!({"path": path, "contents": {"source": format!("data:,{text}")}}));
    let entry = |path: &str, text: &str| json!({"path": path, "overwrite": true, "contents": {"source": format!("data:,{text}")}});
    accepts(
        "2.2.0",
        files(json!([source("/a", "old"), source("/b", "b"), source("/a", "new"), source("/c", "c")])),
        files(json!([entry("/c", "c"), entry("/a", "new"), entry("/b", "b")])),
    );
}

#[test]
fn the_last_unit_wins_and_collects_drop_ins_by_name() {
    let dropin = |name: &str, text: &str| json!({"name": name, "contents": text});
    accepts(
        "2.2.0",
        json!({"systemd": {"units": [
            {"name": "a.service", "contents": "old", "enabled": true,
                "dropins": [dropin("1.conf", "old"), dropin("3.conf", "first"), dropin("3.conf", "second")]},
            {"name": "b.service"},
            {"name": "a.service", "dropins": [dropin("1.conf", "new")]},
            {"name": "a.service", "contents": "new", "dropins": [dropin("2.conf", "new")]},
        ]}}),
        json!({"systemd": {"units": [
            {"name": "a.service", "contents": "new",
                "dropins": [dropin("2.conf", "new"), dropin("1.conf", "new"), dropin("3.conf", "first")]},
            {"name": "b.service"},
        ]}}),
    );
}

#[test]
fn the_last_core_wins_and_collects_keys_once() {
    accepts(
        "2.2.0",
        json!({"passwd": {"users": [
            {"name": "core", "sshAuthorizedKeys": ["1", "2"], "passwordHash": "old", "shell": "/bin/sh"},
            {"name": "core", "sshAuthorizedKeys": ["3", "1"]},
            {"name": "core", "sshAuthorizedKeys": ["4", "4", "3"], "passwordHash": "new"},
        ]}}),
        json!({"passwd": {"users": [
            {"name": "core", "sshAuthorizedKeys": ["4", "3", "1", "2"], "passwordHash": "new"},
        ]}}),
    );
}
