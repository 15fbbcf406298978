//! Reports of known pairs, as people and the API see them.

use serde_json::{Value, json};

use super::{Change, MAX_CHANGES, MAX_DIFF, MAX_FIELD_PATH, report};
use crate::ignition::{Config, Section};

fn disks(value: Value) -> Config {
    Config { disks: Section::from(value), ..Config::default() }
}

fn luks(value: Value) -> Config {
    Config { luks: Section::from(value), ..Config::default() }
}

fn filesystems(value: Value) -> Config {
    Config { filesystems: Section::from(value), ..Config::default() }
}

fn raid(value: Value) -> Config {
    Config { raid: Section::from(value), ..Config::default() }
}

/// Paths without the part that all have in common.
fn told(install: &Config, target: &Config) -> Vec<(String, String)> {
    let short = |path: &str| path.strip_prefix("spec.config.storage.").unwrap().to_owned();
    report(install, target).into_iter().map(|change| (short(&change.field_path), change.diff)).collect()
}

fn paths(install: &Config, target: &Config) -> Vec<String> {
    told(install, target).into_iter().map(|(path, _)| path).collect()
}

#[track_caller]
fn check(install: &Config, target: &Config, expected: &[(&str, &str)]) {
    let expected: Vec<(String, String)> = expected.iter().map(|(p, d)| ((*p).to_owned(), (*d).to_owned())).collect();
    assert_eq!(told(install, target), expected);
}

#[track_caller]
fn assert_accepted(changes: &[Change]) {
    assert!(changes.len() <= MAX_CHANGES);
    for change in changes {
        assert!(change.field_path.chars().count() <= MAX_FIELD_PATH, "{}", change.field_path);
        assert!((1..=MAX_DIFF).contains(&change.diff.chars().count()), "{}", change.diff);
    }
}

#[test]
fn a_renamed_device_is_one_field_with_both_values() {
    let disk = |slot: &str| {
        let device = format!("/dev/disk/by-path/pci-0000:3b:00.0-scsi-0:3:{slot}:0");
        disks(json!([{"device": device, "partitions": [{"label": "var", "sizeMiB": 0}], "wipeTable": true}]))
    };
    let changes = report(&disk("222"), &disk("111"));
    let expected = json!([{
        "fieldPath": "spec.config.storage.disks[0].device",
        "diff": "- \"/dev/disk/by-path/pci-0000:3b:00.0-scsi-0:3:222:0\"\n\
                 + \"/dev/disk/by-path/pci-0000:3b:00.0-scsi-0:3:111:0\"\n",
    }]);
    assert_eq!(serde_json::to_value(&changes).unwrap(), expected);
}

#[test]
fn a_whole_section_on_one_side_is_one_entry() {
    let some = disks(json!([{"wipeTable": true, "device": "/dev/sda"}]));
    let text = r#"[{"device":"/dev/sda","wipeTable":true}]"#;
    check(&Config::default(), &some, &[("disks", &format!("+ {text}\n"))]);
    check(&some, &Config::default(), &[("disks", &format!("- {text}\n"))]);
    check(&some, &some, &[]);
}

#[test]
fn every_leaf_is_its_own_entry_in_the_order_of_the_paths() {
    let install = Config {
        disks: Section::from(json!([{"device": "a", "partitions": [{"number": 1, "sizeMiB": 5}], "wipeTable": true}])),
        raid: Section::from(json!([{"name": "md0", "level": "raid0", "devices": ["x", "y"]}])),
        ..Config::default()
    };
    let target = Config {
        disks: Section::from(json!([{"device": "a", "partitions": [{"number": 1, "sizeMiB": 6, "label": "v"}]}])),
        raid: Section::from(json!([{"name": "md0", "level": "raid1", "devices": ["x", "z"]}])),
        filesystems: Section::from(json!([{"device": "f"}])),
        ..Config::default()
    };
    check(
        &install,
        &target,
        &[
            ("disks[0].partitions[0].label", "+ \"v\"\n"),
            ("disks[0].partitions[0].sizeMiB", "- 5\n+ 6\n"),
            ("disks[0].wipeTable", "- true\n"),
            ("filesystems", "+ [{\"device\":\"f\"}]\n"),
            ("raid[0].devices[1]", "- \"y\"\n+ \"z\"\n"),
            ("raid[0].level", "- \"raid0\"\n+ \"raid1\"\n"),
        ],
    );
}

#[test]
fn items_at_the_end_are_named_by_their_index() {
    let (one, two) = (json!([{"device": "a"}]), json!([{"device": "a"}, {"device": "b"}]));
    check(&disks(one.clone()), &disks(two.clone()), &[("disks[1]", "+ {\"device\":\"b\"}\n")]);
    check(&disks(two), &disks(one), &[("disks[1]", "- {\"device\":\"b\"}\n")]);
}

#[test]
fn items_that_push_others_along_are_told_at_the_list() {
    let (a, b, x) =
        (json!({"device": "a", "wipeTable": true}), json!({"device": "b", "wipeTable": true}), json!({"device": "x"}));
    let insertion = "+ {\"device\":\"x\"}\n";
    check(&disks(json!([a, b])), &disks(json!([x, a, b])), &[("disks", &format!("@ [0]\n{insertion}"))]);
    check(&disks(json!([a, b])), &disks(json!([a, x, b])), &[("disks", &format!("@ [1]\n{insertion}"))]);
    check(&disks(json!([x, a, b])), &disks(json!([a, b])), &[("disks", "@ [0]\n- {\"device\":\"x\"}\n")]);
    let changed = json!({"device": "a", "wipeTable": false});
    let text = format!("@ [0]\n{insertion}@ [0→1].wipeTable\n- true\n+ false\n");
    check(&disks(json!([a, b])), &disks(json!([x, changed, b])), &[("disks", &text)]);
}

#[test]
fn an_item_removed_where_another_is_inserted_shares_the_heading() {
    let item = |name: &str| json!({"name": name, "level": name, "devices": [name]});
    let install = raid(json!([item("a"), item("b"), item("c")]));
    let target = raid(json!([item("x"), item("y"), item("b"), item("c")]));
    let text = concat!(
        "@ [0]\n- {\"devices\":[\"a\"],\"level\":\"a\",\"name\":\"a\"}\n",
        "+ {\"devices\":[\"x\"],\"level\":\"x\",\"name\":\"x\"}\n",
        "@ [1]\n+ {\"devices\":[\"y\"],\"level\":\"y\",\"name\":\"y\"}\n"
    );
    check(&install, &target, &[("raid", text)]);
}

#[test]
fn a_reordered_list_says_what_moved() {
    let part = |number: u64| json!({"number": number, "label": number.to_string(), "sizeMiB": number});
    let install = disks(json!([{"device": "a", "partitions": [part(1), part(2), part(3)]}]));
    let target = disks(json!([{"device": "a", "partitions": [part(3), part(1), part(2)]}]));
    check(&install, &target, &[("disks[0].partitions", "@ [2→0]\n~ moved\n")]);
}

#[test]
fn going_by_index_wins_where_it_tells_less() {
    let disk = |device: &str, wipe: bool| json!({"device": device, "wipeTable": wipe});
    let install = disks(json!([disk("a", true), disk("b", false)]));
    let target = disks(json!([disk("b", true), disk("a", false)]));
    assert_eq!(paths(&install, &target), ["disks[0].device", "disks[1].device"]);
}

#[test]
fn scalars_in_lists_are_told_like_items() {
    let options = |list: Value| filesystems(json!([{"device": "f", "mountOptions": list}]));
    let path = "filesystems[0].mountOptions";
    let install = options(json!(["a", "b", "c"]));
    check(&install, &options(json!(["b", "c"])), &[(path, "@ [0]\n- \"a\"\n")]);
    check(&install, &options(json!(["a", "b"])), &[("filesystems[0].mountOptions[2]", "- \"c\"\n")]);
    check(&install, &options(json!(["a", "x", "c"])), &[("filesystems[0].mountOptions[1]", "- \"b\"\n+ \"x\"\n")]);
    check(&install, &options(json!(["a", "c", "b"])), &[(path, "@ [2→1]\n~ moved\n")]);
}

#[test]
fn a_field_of_another_type_is_told_whole() {
    let install = luks(json!([{"name": "r", "clevis": {"tpm2": true}}]));
    let target = luks(json!([{"name": "r", "clevis": ["x"]}]));
    check(&install, &target, &[("luks[0].clevis", "- {\"tpm2\":true}\n+ [\"x\"]\n")]);
}

#[test]
fn tang_servers_are_known_by_their_url() {
    let tang = |list: Value| luks(json!([{"name": "r", "clevis": {"tang": list}}]));
    let (a, b) = (json!({"url": "http://a", "thumbprint": "t"}), json!({"url": "http://b", "thumbprint": "t"}));
    check(
        &tang(json!([a, b])),
        &tang(json!([b])),
        &[("luks[0].clevis.tang", "@ [0]\n- {\"thumbprint\":\"t\",\"url\":\"http://a\"}\n")],
    );
}

#[test]
fn texts_of_several_lines_are_compared_line_by_line() {
    let advert = |text: &str| luks(json!([{"name": "r", "clevis": {"tang": [{"url": "u", "advertisement": text}]}}]));
    let path = "luks[0].clevis.tang[0].advertisement";
    let install = advert("1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    check(
        &install,
        &advert("1\nx\n3\n4\n5\n6\n7\n8\n9"),
        &[(path, "  1\n- 2\n+ x\n  3\n  4\n  …\n  7\n  8\n- 9\n+ 9\n\\ no newline at the end\n")],
    );
    check(&advert("a\nb\r\n"), &advert("a\nb\n"), &[(path, "  a\n- b\\r\n+ b\n")]);
    let many = "line\n".repeat(100_000);
    assert!(told(&advert(&many), &advert("x\ny\n"))[0].1.ends_with("ostler diff\n"));
}

#[test]
fn secrets_are_listed_but_never_quoted() {
    let volume = |secret: &str| {
        json!([{
            "name": "root",
            "label": format!("Data:,{secret}"),
            "keyFile": {
                "source": format!("https://host/{secret}"),
                "httpHeaders": [{"name": "Authorization", "value": secret}],
            },
            "clevis": {"custom": {"pin": "sss", "config": format!("{{\n\"t\": \"{secret}\"\n}}")}},
        }])
    };
    let hidden = "- \"(hidden)\"\n+ \"(hidden)\"\n";
    check(
        &luks(volume("S3CRET-1")),
        &luks(volume(&"S3CRET-2".repeat(900))),
        &[
            ("luks[0].clevis.custom.config", hidden),
            ("luks[0].keyFile.httpHeaders[0].value", hidden),
            ("luks[0].keyFile.source", hidden),
            ("luks[0].label", hidden),
        ],
    );
    for (install, target) in [
        (Config::default(), luks(volume("S3CRET"))),
        (luks(json!([{"name": "x"}, {"name": "y"}])), luks(json!([volume("S3CRET")[0], {"name": "x"}, {"name": "y"}]))),
        (luks(json!([{"name": "root"}])), luks(volume("S3CRET"))),
    ] {
        let text = serde_json::to_string(&report(&install, &target)).unwrap();
        assert!(text.contains("(hidden)") && !text.contains("S3CRET"), "{text}");
    }
}

#[test]
fn the_deepest_neighbours_share_an_entry_when_there_are_too_many() {
    let list = |size: u64, label: &str| {
        let disk = |n: u64| json!({"device": n.to_string(), "wipeTable": size == 1});
        let mut all: Vec<Value> = (0..31).map(disk).collect();
        all[7]["partitions"] = json!([{"number": 1, "sizeMiB": size, "label": label}, {"number": 2}]);
        disks(Value::from(all))
    };
    let changes = told(&list(1, "a"), &list(2, "b"));
    assert_eq!(changes.len(), 32);
    let merged = "@ label\n- \"a\"\n+ \"b\"\n@ sizeMiB\n- 1\n+ 2\n";
    assert!(changes.contains(&("disks[7].partitions[0]".to_owned(), merged.to_owned())), "{changes:?}");
    assert!(changes.contains(&("disks[7].wipeTable".to_owned(), "- true\n+ false\n".to_owned())));
}

#[test]
fn no_more_is_merged_than_must_be() {
    let list = |wipe: bool| {
        let disk = |n: usize| match n {
            3 => json!({"device": "3", "a": wipe, "wipeTable": wipe}),
            9 => json!({"device": "9", "a": wipe, "b": wipe, "wipeTable": wipe}),
            _ => json!({"device": n.to_string(), "wipeTable": wipe}),
        };
        disks((0..30).map(disk).collect())
    };
    let paths = paths(&list(true), &list(false));
    assert_eq!(paths.len(), 32);
    assert!(paths.contains(&"disks[3]".to_owned()) && paths.contains(&"disks[9].b".to_owned()), "{paths:?}");
}

#[test]
fn hundreds_of_changes_end_in_a_count() {
    let list = |wipe: bool| {
        disks((0..1000).map(|n| json!({"device": format!("/dev/disk/by-id/{n}"), "wipeTable": wipe})).collect())
    };
    let changes = report(&list(true), &list(false));
    assert_accepted(&changes);
    let [change] = changes.as_slice() else { panic!("{changes:?}") };
    assert_eq!(change.field_path, "spec.config.storage.disks");
    assert!(change.diff.starts_with("@ [0].wipeTable\n- true\n+ false\n@ [1].wipeTable\n"), "{}", change.diff);
    let last = change.diff.lines().last().unwrap();
    let shown = change.diff.lines().filter(|line| line.starts_with('@')).count();
    let expected = format!("… {} more differences not shown (", 1000 - shown);
    assert!(last.starts_with(&expected) && last.ends_with("compare the two configs with: ostler diff"), "{last}");
}

#[test]
fn a_path_that_is_too_long_or_odd_is_told_further_up() {
    let nested = |leaf: u64| luks(json!([{"name": "r", "clevis": {"b".repeat(30): {"c".repeat(30): {"d": leaf}}}}]));
    let text = format!("@ {}.d\n- 1\n+ 2\n", "c".repeat(30));
    check(&nested(1), &nested(2), &[(&format!("luks[0].clevis.{}", "b".repeat(30)), &text)]);
    let odd = |leaf: u64, plain: u64| luks(json!([{"a": plain, "o-d\nd": {"x": leaf}, "z": plain}]));
    check(&odd(1, 1), &odd(2, 1), &[("luks[0]", "@ o-d\\nd.x\n- 1\n+ 2\n")]);
    assert_eq!(paths(&odd(1, 1), &odd(2, 2)), ["luks[0]"]);
}

#[test]
fn long_values_are_cut_where_they_differ() {
    let option = |tail: &str| filesystems(json!([{"device": "f", "path": format!("{}{tail}", "p".repeat(9000))}]));
    let changes = report(&option("old"), &option("new"));
    assert_accepted(&changes);
    let diff = &changes[0].diff;
    assert!(diff.contains("pold\"\n") && diff.contains("pnew\"\n") && diff.starts_with("- …ppp"), "{diff}");
    assert!(diff.ends_with("… long values shortened; compare the two configs with: ostler diff\n"), "{diff}");
}

#[test]
fn a_long_section_on_one_side_names_as_many_items_as_it_can() {
    let list = (0..30).map(|n| json!({"device": format!("/dev/{n}"), "partitions": [{"label": "x".repeat(300)}]}));
    let changes = report(&Config::default(), &disks(list.collect()));
    assert_accepted(&changes);
    let diff = &changes[0].diff;
    assert!(diff.starts_with("@ [0]\n+ {\"device\":\"/dev/0\","), "{diff}");
    assert!(diff.contains("@ [29]\n+ {\"device\":\"/dev/29\","), "{diff}");
}

#[test]
fn huge_configs_are_reported_all_the_same() {
    let list = |shift: usize, size: usize| {
        let part = |n: usize| json!({"number": n + 1, "sizeMiB": size});
        let disk = |n: usize| json!({"device": n.to_string(), "partitions": (0..50).map(part).collect::<Value>()});
        disks((shift..shift + 300).map(disk).collect())
    };
    for (install, target) in [(list(0, 1), list(0, 2)), (list(0, 1), list(1, 1)), (list(0, 1), list(150, 2))] {
        let changes = report(&install, &target);
        assert_accepted(&changes);
        assert_eq!(changes[0].field_path, "spec.config.storage.disks");
    }
}
