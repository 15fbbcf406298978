use serde_json::json;

use super::*;
use crate::objects::{ClusterVersion, ConfigHead, WholeConfig, read};

fn target(version: &str) -> Target {
    Target {
        version: ReleaseVersion::parse(version).unwrap(),
        kernel_floor: None,
        window_days: 30,
        now: "2026-02-06T15:30:00.25Z".parse().unwrap(),
        images: Reading::NotRead,
        boot_images: Reading::NotRead,
    }
}

fn running(version: &str) -> Inventory {
    let object = json!({"metadata": {"name": "version"}, "status": {"desired": {"version": "9.9.9"},
        "history": [{"state": "Partial", "version": "9.9.9"}, {"state": "Completed", "version": version}]}});
    let version: ClusterVersion = read(object).unwrap();
    Inventory { cluster_version: Reading::Read(version), ..Inventory::default() }
}

#[test]
fn versions_are_strict_and_their_distance_is_what_people_call_it() {
    for bad in [
        "",
        "4",
        "4.21",
        "4.21.x",
        "04.1.1",
        "4.21.1-",
        "4.21.1 ",
        "v4.21.1",
        "4.21.1-ä",
        "4.-1.2",
        "4.+1.2",
        "1.2.3.4",
    ] {
        assert!(ReleaseVersion::parse(bad).is_err(), "{bad}");
    }
    for (from, to, expected) in [
        ("4.21.1", "4.21.1", Distance::None),
        ("4.21.1", "4.21.9", Distance::Patch),
        ("4.21.1", "4.22.0", Distance::Next),
        ("4.21.1", "4.23.0-rc.1", Distance::Skip(Some(2))),
        ("4.22.1", "5.0.0", Distance::Next),
        ("4.22.1", "5.2.0", Distance::Skip(None)),
        ("4.21.2", "4.21.1", Distance::Back),
        ("5.0.0", "4.99.0", Distance::Back),
        ("18446744073709551614.0.0", "18446744073709551615.0.0", Distance::Next),
        ("4.0.0", "18446744073709551615.1.0", Distance::Skip(None)),
    ] {
        assert_eq!(running(from).distance(&target(to)), expected, "{from} to {to}");
    }
    assert_eq!(Inventory::default().distance(&target("4.21.1")), Distance::Unknown);
}

#[test]
fn every_check_has_a_name_of_its_own_in_order_and_none_guesses() {
    let names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(names, sorted);
    assert!(names.iter().all(|name| name.starts_with("MachineConfig") && name.len() <= 256));
    // With nothing read there is one risk: that nothing is known.
    let target = Target { kernel_floor: Some((5, 14)), ..target("4.22.0") };
    let nothing = evaluate(&Inventory::default(), &target);
    assert_eq!(nothing.risks.iter().map(|risk| risk.name).collect::<Vec<_>>(), [UNKNOWN]);
    let message = &nothing.risks[0].message;
    assert!(message.chars().count() <= MAX_MESSAGE);
    assert!(names.iter().all(|name| message.contains(name)), "{message}");
}

#[test]
fn every_check_that_was_not_made_is_named_however_long_the_reasons_are() {
    let mut unknown = message::Unknown::default();
    for (at, check) in CHECKS.iter().enumerate() {
        unknown.add(check.name, &format!("{at:02} {}", "x".repeat(1000)));
    }
    unknown.add("the target", &"y".repeat(1000));
    let told = unknown.message();
    assert!(told.chars().count() <= MAX_MESSAGE, "{}", told.chars().count());
    assert!(CHECKS.iter().all(|check| told.contains(check.name)), "{told}");
    let mut one = message::Unknown::default();
    ["B", "A"].iter().for_each(|check| one.add(check, "there is no light"));
    assert!(one.message().contains("find: B, A (because there is no light). Remove"), "{}", one.message());
}

#[test]
fn what_was_found_and_what_could_not_be_looked_at_are_both_told() {
    let node = |name: &str, kernel: &str| {
        read(json!({"metadata": {"name": name}, "status": {"nodeInfo": {"kernelVersion": kernel}}})).unwrap()
    };
    let mut inventory = running("4.21.1");
    inventory.nodes = Reading::Read(vec![node("old", "4.18.0-1"), node("mute", "")]);
    let found = evaluate(&inventory, &Target { kernel_floor: Some((5, 14)), ..target("4.22.0") });
    let message = |name: &str| &found.risks.iter().find(|risk| risk.name == name).unwrap().message;
    assert!(message("MachineConfigKernelVersionMismatch").contains("old (4.18.0-1)"));
    assert!(message(UNKNOWN).contains("MachineConfigKernelVersionMismatch (because 1 nodes do not tell"));
}

#[test]
fn a_target_of_the_same_minor_release_heeds_less_also_where_it_is_the_one_that_runs() {
    let unknown = |to: &str| {
        let target = Target { kernel_floor: Some((5, 14)), ..target(to) };
        evaluate(&running("4.21.5"), &target).risks[0].message.clone()
    };
    for (to, heeded) in [("4.21.9", false), ("4.21.5", false), ("4.21.1", false), ("4.22.0", true), ("4.23.0", true)] {
        let told = unknown(to);
        for Check { name, minor_only, .. } in CHECKS {
            let is_named = [" (", ","].iter().any(|after| told.contains(&format!("{name}{after}")));
            assert_eq!(is_named, heeded || !minor_only, "{to} {name}");
        }
    }
}

#[test]
fn an_empty_list_is_nothing_read_where_there_has_to_be_something() {
    assert_eq!(Reading::Read(vec![1]).populated("x"), Reading::Read(vec![1]));
    let empty: Reading<Vec<u8>> = Reading::Read(Vec::new());
    assert_eq!(empty.populated("Nodes"), Reading::Failed { reason: "there are no Nodes".to_owned() });
    assert_eq!(Reading::<Vec<u8>>::NotRead.populated("x"), Reading::NotRead);
}

#[test]
fn an_image_is_set_by_what_a_pool_selects_or_was_made_of_but_not_by_the_operator() {
    let pool = read(json!({"metadata": {"name": "infra"}, "spec": {
        "machineConfigSelector": {"matchLabels": {"role": "infra"}},
        "configuration": {"source": [{"name": "source"}]}}}))
    .unwrap();
    let config = |name: &str, role: &str, image: &str, annotations: serde_json::Value| {
        read::<ConfigHead>(json!({"metadata": {"name": name, "labels": {"role": role}, "annotations": annotations},
            "spec": {"osImageURL": image}}))
        .unwrap()
    };
    let generated = json!({"machineconfiguration.openshift.io/generated-by-controller-version": "h"});
    let configs = [
        config("selected", "infra", "i", json!(null)),
        config("source", "", "i", json!(null)),
        config("other", "worker", "i", json!(null)),
        config("plain", "infra", "", json!(null)),
        config("made", "infra", "i", generated),
    ];
    assert_eq!(image_setters(&pool, configs.iter()), ["selected", "source"]);
}

#[test]
fn a_message_is_bounded_and_counts_what_it_leaves_out() {
    let mut objects = Objects::default();
    for number in 0..500 {
        objects.add(&format!("node-{number:03}"), &"x".repeat(1000));
    }
    let message = objects.message("Cause", "Remedy.");
    assert!(message.chars().count() <= MAX_MESSAGE, "{}", message.chars().count());
    let shown = message.matches("node-").count();
    assert!(message.contains(&format!("; and {} more. Remedy.", 500 - shown)), "{message}");
    assert!(message.starts_with("Cause: node-000 (xxx"));
    let mut one = Objects::default();
    for note in 0..9 {
        one.add("a\nb", &format!("note {note}"));
    }
    assert_eq!(one.message("C", "R."), "C: a b (note 0, note 1, note 2, note 3, and 5 more). R.");
}

#[test]
fn the_document_has_its_identity_from_time_and_target() {
    let document = Document::new(&target("5.2.0"), &Findings { risks: Vec::new() }, Execution::Completed);
    assert_eq!(
        serde_json::to_value(&document).unwrap(),
        json!({"format": "preflight-v1-json", "preflightID": "2026-02-06T15:30:00Z-preflight-5.2.0",
            "targetVersion": "5.2.0", "executionStatus": "completed", "risks": []})
    );
    assert!(!document.says_as(&Document::running(&target("5.2.0"))));
}

#[test]
fn targets_stand_side_by_side_with_what_matters_most_first() {
    let risk = |name, severity| Risk { name, severity, message: String::new(), url: String::new() };
    let findings = |risks| Findings { risks };
    let found = compare(&[
        ("a".to_owned(), findings(vec![risk("X", Severity::Info), risk("Y", Severity::Warning)])),
        ("b".to_owned(), findings(vec![risk("X", Severity::Critical)])),
    ]);
    assert_eq!(found.targets, ["a", "b"]);
    assert_eq!(found.rows[0], Row { name: "X", severities: vec![Some(Severity::Info), Some(Severity::Critical)] });
    assert_eq!(found.rows[1], Row { name: "Y", severities: vec![Some(Severity::Warning), None] });
}

fn config(name: &str, ignition: serde_json::Value) -> WholeConfig {
    let object = json!({"kind": "MachineConfig", "metadata": {"name": name, "managedFields": [{"manager": "m"}]},
        "spec": {"config": ignition, "osImageURL": "q/i@sha256:1"}});
    read(object).unwrap()
}

#[test]
fn the_planner_of_the_agent_says_whether_there_is_a_way() {
    use ostler_core::reconcile::Overrides;
    let plain = || config("a", json!({"ignition": {"version": "3.5.0"}}));
    let disks = || {
        let storage = json!({"disks": [{"device": "/dev/sdb"}]});
        config("b", json!({"ignition": {"version": "3.5.0"}, "storage": storage}))
    };
    assert_eq!(passage(&plain(), &plain(), Overrides::default()), Verdict::Passable);
    let refused = passage(&plain(), &disks(), Overrides::default());
    assert!(matches!(&refused, Verdict::Refused { reason, .. } if reason.contains("disks section")), "{refused:?}");
    let allowed = Overrides { disks: true, ..Overrides::default() };
    assert_eq!(passage(&plain(), &disks(), allowed), Verdict::Passable);
    let broken = config("c", json!({"ignition": {"version": "9.0.0"}}));
    assert!(matches!(passage(&plain(), &broken, allowed), Verdict::Unknown { .. }));
}

#[test]
fn a_size_is_counted_as_go_writes_it() {
    let with = config("a", json!({"ignition": {"version": "3.5.0"}, "x": "<>&"}));
    let plain = json!({"kind": "MachineConfig", "metadata": {"name": "a"},
        "spec": {"config": {"ignition": {"version": "3.5.0"}, "x": "\u{e}\u{e}\u{e}"}, "osImageURL": "q/i@sha256:1"}});
    // Each of the three is spelt out in six characters, as a control character is.
    assert_eq!(digest(&with).bytes, serde_json::to_string(&plain).unwrap().len());
}
