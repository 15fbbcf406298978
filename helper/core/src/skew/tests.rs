use serde_json::{Value, json};

use super::*;
use crate::boot_images::stub::UserData;
use crate::boot_images::{Kind, Machine};
use crate::objects::{
    ClusterVersion, Infrastructure, MachineConfigPool, MachineConfiguration, Node, OSImageStream, Secret, read,
};

fn infrastructure(platform: &str, topology: &str) -> Infrastructure {
    read(json!({"status": {"platformStatus": {"type": platform}, "controlPlaneTopology": topology}})).unwrap()
}

fn release(history: Value) -> ClusterVersion {
    read(json!({"metadata": {"name": "version"}, "status": {"desired": {"version": "4.21.3"}, "history": history}}))
        .unwrap()
}

fn configuration(spec: Value, status: Value) -> MachineConfiguration {
    read(json!({"metadata": {"name": "cluster"}, "spec": spec, "status": status})).unwrap()
}

#[test]
fn releases_are_read_without_what_follows_the_numbers() {
    for (text, expected) in [
        ("4.13.0", Some((4, 13, 0))),
        ("4.13.0-rc.1", Some((4, 13, 0))),
        (" 4.20.10+build ", Some((4, 20, 10))),
        ("4.13", Some((4, 13, 0))),
        ("v4.13.2", Some((4, 13, 2))),
        ("4.13.0.1", Some((4, 13, 0))),
        ("4", None),
        ("4.x.0", None),
        ("4.+1.0", None),
        ("", None),
        ("99999999999.0.0", None),
    ] {
        let expected = expected.map(|(major, minor, patch)| OcpVersion { major, minor, patch });
        assert_eq!(OcpVersion::parse(text), expected, "{text}");
    }
}

#[test]
fn the_cluster_was_installed_with_the_oldest_release_that_was_completed() {
    for (history, expected) in [
        (json!([]), "0.0.0"),
        (json!([{"state": "Partial", "version": "4.20.1"}]), "4.20.1"),
        (
            json!([{"state": "Completed", "version": "4.21.0"}, {"state": "Completed", "version": "4.12.3-rc.0"},
                {"state": "Partial", "version": "4.11.0"}]),
            "4.12.3",
        ),
        (json!([{"state": "Completed", "version": "nonsense"}]), "0.0.0"),
    ] {
        assert_eq!(install_version(Some(&release(history.clone()))).to_string(), expected, "{history}");
    }
    assert_eq!(install_version(None), OcpVersion::default());
}

#[test]
fn the_mode_is_chosen_as_the_operator_does() {
    let old = release(json!([{"state": "Completed", "version": "4.12.0"}]));
    let manual = json!({"bootImageSkewEnforcement": {"mode": "Manual", "manual": {"mode": "OCPVersion", "ocpVersion": "4.15.0"}}});
    let none = json!({"bootImageSkewEnforcement": {"mode": "None"}});
    let partial = json!({"managedBootImages": {"machineManagers": [{"resource": "machinesets",
        "apiGroup": "machine.openshift.io", "selection": {"mode": "Partial", "partial": {"machineResourceSelector": {}}}}]}});
    for (spec, platform, topology, legacy, mode, ocp) in [
        (&manual, "GCP", "", false, "Manual", Some("4.15.0")),
        (&none, "GCP", "", false, "None", None),
        (&json!({}), "BareMetal", "", false, "None", None),
        (&json!({}), "BareMetal", "", true, "Manual", Some("4.12.0")),
        (&json!({}), "AWS", "SingleReplica", false, "None", None),
        (&json!({}), "AWS", "HighlyAvailable", false, "Automatic", Some("4.12.0")),
        (&partial, "AWS", "HighlyAvailable", false, "Manual", Some("4.12.0")),
        (&json!({}), "OpenStack", "HighlyAvailable", false, "Manual", Some("4.12.0")),
    ] {
        let configuration = configuration(spec.clone(), json!({}));
        let chosen =
            Enforcement::of(Some(&configuration), Some(&infrastructure(platform, topology)), Some(&old), legacy);
        assert_eq!((chosen.mode.as_str(), chosen.recorded.ocp_version.as_deref()), (mode, ocp), "{spec} {platform}");
    }
}

fn enforced(status: Value) -> Evaluation {
    let configuration = configuration(json!({}), status);
    let release = release(json!([]));
    evaluate(&Question { configuration: Some(&configuration), version: Some(&release), ..Question::default() })
}

fn manual(image: Value) -> Evaluation {
    enforced(json!({"bootImageSkewEnforcementStatus": {"mode": "Manual", "manual": image}}))
}

#[test]
fn boot_images_are_compared_with_the_limits() {
    for (image, expected) in [
        (json!({"ocpVersion": "4.12.9"}), Reading::TooOld),
        (json!({"ocpVersion": "4.13.0"}), Reading::Within),
        (json!({"ocpVersion": "4.13.0-rc.1"}), Reading::Within),
        (json!({"ocpVersion": "4.9.0"}), Reading::TooOld),
        (json!({"ocpVersion": "4.20.0", "rhcosVersion": "8.4.20200101-0"}), Reading::Within),
        (json!({"rhcosVersion": "9.2.20230601-0"}), Reading::Within),
        (json!({"rhcosVersion": "9.10.20270101-0"}), Reading::Within),
        (json!({"rhcosVersion": "9.0.20220601-0"}), Reading::TooOld),
        (json!({"rhcosVersion": "48.84.202110270303-0"}), Reading::TooOld),
        (json!({"rhcosVersion": "412.86.202301061548-0"}), Reading::TooOld),
        (json!({"rhcosVersion": "418.94.202501071309-0"}), Reading::Within),
        (json!({"rhcosVersion": "417.810.202501071309-0"}), Reading::TooOld),
        (json!({"rhcosVersion": "what"}), Reading::Unclear),
        (json!({}), Reading::Unclear),
    ] {
        let evaluation = manual(image.clone());
        assert_eq!(evaluation.reading, expected, "{image}");
        let blocked = expected == Reading::TooOld;
        assert_eq!(evaluation.upgradeable.status, if blocked { "False" } else { "True" }, "{image}");
    }
    let condition = manual(json!({"ocpVersion": "4.12.9"})).upgradeable;
    assert_eq!(condition.reason, "ClusterBootImageSkewError");
    assert!(condition.message.contains("/openshift_container_platform/4.21/"), "{}", condition.message);
}

#[test]
fn automatic_enforcement_waits_for_a_pass_and_minds_failures() {
    let with = |conditions: Value| {
        enforced(json!({
            "bootImageSkewEnforcementStatus": {"mode": "Automatic", "automatic": {"ocpVersion": "4.10.0"}},
            "conditions": conditions,
        }))
        .reading
    };
    let condition =
        |type_: &str, status: &str, reason: &str| json!({"type": type_, "status": status, "reason": reason});
    let (progressing, degraded) = ("BootImageUpdateProgressing", "BootImageUpdateDegraded");
    assert_eq!(with(json!([])), Reading::Pending);
    assert_eq!(with(json!([condition(progressing, "False", "NA")])), Reading::Pending);
    assert_eq!(with(json!([condition(progressing, "True", "ClusterVersionStable")])), Reading::Pending);
    assert_eq!(with(json!([condition(progressing, "False", "ClusterVersionStable")])), Reading::TooOld);
    assert_eq!(with(json!([condition(degraded, "True", "ClusterVersionStable")])), Reading::Degraded);
    assert_eq!(enforced(json!({"bootImageSkewEnforcementStatus": {"mode": "None"}})).reading, Reading::NotEnforced);
    assert_eq!(enforced(json!({"bootImageSkewEnforcementStatus": {"mode": "Novel"}})).reading, Reading::Unclear);
}

#[test]
fn what_nodes_say_is_evidence_oldest_first_and_only_warns() {
    let node = |name: &str, version: &str| -> Node {
        read(json!({"metadata": {"name": name, "annotations": {BOOT_IMAGE_ANNOTATION: version}}})).unwrap()
    };
    let nodes = [node("a", "9.6.20250930-0"), node("b", "what"), node("c", "412.86.202301061548-0")];
    let configuration = configuration(
        json!({}),
        json!({"bootImageSkewEnforcementStatus": {"mode": "Manual", "manual": {"ocpVersion": "4.20.0"}}}),
    );
    let evaluation = evaluate(&Question { configuration: Some(&configuration), nodes: &nodes, ..Question::default() });
    let order: Vec<&str> = evaluation.evidence.iter().map(|evidence| evidence.node.as_str()).collect();
    assert_eq!((order, evaluation.reading), (vec!["c", "a", "b"], Reading::Within));
    assert!(evaluation.warnings[0].contains("node c"), "{:?}", evaluation.warnings);
}

fn set(name: &str, label: Option<&str>, secret: &str) -> Machine {
    let labels = label.map(|label| json!({crate::boot_images::STREAM_LABEL: label})).unwrap_or_default();
    let raw = json!({"metadata": {"name": name, "labels": labels},
        "spec": {"template": {"spec": {"providerSpec": {"value": {"userDataSecret": {"name": secret}}}}}}});
    Machine::new(Kind::MachineSet, raw.into())
}

#[test]
fn machines_that_boot_another_major_version_than_their_pool_are_found() {
    let pool = |name: &str, stream: Option<&str>| -> MachineConfigPool {
        let stream = stream.map(|name| json!({"name": name}));
        read(json!({"metadata": {"name": name}, "spec": {"osImageStream": stream}})).unwrap()
    };
    let pools = [pool("worker", Some("rhel-10")), pool("infra", None), pool("master", None)];
    let streams: OSImageStream =
        read(json!({"metadata": {"name": "cluster"}, "status": {"defaultStream": "rhel-9"}})).unwrap();
    let pointer =
        json!({"ignition": {"version": "3.5.0", "config": {"merge": [{"source": "https://x:22623/config/infra"}]}}});
    let secret: Secret = read(json!({"metadata": {"name": "odd", "namespace": "openshift-machine-api"},
        "stringData": {"userData": pointer.to_string()}}))
    .unwrap();
    let machines = [
        set("old", None, "worker-user-data"),
        set("new", Some("rhel-10"), "worker-user-data-managed"),
        set("infra", None, "odd"),
        set("control", None, "master-user-data"),
        set("strange", Some("fedora"), "worker-user-data"),
        set("unknown", None, "mine"),
    ];
    let user_data = UserData::new(vec![secret], false);
    let found = mismatches(&machines, &user_data, &Pools { pools: &pools, streams: Some(&streams) });
    let names: Vec<&str> = found.iter().map(|mismatch| mismatch.name.as_str()).collect();
    assert_eq!(names, ["old", "infra"]);
    assert!(found[1].to_string().contains("join the pool infra, which runs rhel-10"), "{}", found[1]);
}
