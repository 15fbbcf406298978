use serde_json::{Value, json};

use super::*;

const LABELS: &str = "/metadata/annotations/capacity.cluster-autoscaler.kubernetes.io~1labels";

fn told(cluster: &Cluster, machine: &Machine) -> (Decision, String) {
    let item = judged(cluster, machine);
    (item.decision, item.reason)
}

#[test]
fn obstacles_are_met_in_order() {
    let cluster = cluster("GCP");
    let owned =
        |machine: &Machine| edited(machine, "/metadata/ownerReferences", json!([{"kind": "MachinePool", "name": "p"}]));
    let stream = |machine: &Machine, name: &str| edited(machine, "/metadata/labels", json!({STREAM_LABEL: name}));
    let windows = |machine: &Machine| {
        edited(machine, "/spec/template/metadata/labels", json!({"machine.openshift.io/os-id": "Windows"}))
    };
    let authority = |machine: &Machine, name: &str| edited(machine, "/status/authoritativeAPI", name.into());
    let plain = gcp(GCP_OLD);
    for (machine, decision, words) in [
        (plain.clone(), Decision::Patch, "should be"),
        (stream(&plain, "rhel-9"), Decision::Patch, "should be"),
        (owned(&windows(&plain)), Decision::Skipped, "owned by MachinePool p"),
        (stream(&edited(&plain, LABELS, "nothing=x".into()), "rhel-10"), Decision::Ignored, "its stream is rhel-10"),
        (stream(&plain, ""), Decision::Ignored, "its stream is "),
        (windows(&edited(&plain, LABELS, "nothing=x".into())), Decision::Ignored, "Windows"),
        (edited(&plain, LABELS, "nothing=x".into()), Decision::Error, "does not have kubernetes.io/arch="),
        (edited(&plain, LABELS, "kubernetes.io/arch=amd".into()), Decision::Error, "\"amd\""),
        (edited(&plain, LABELS, "kubernetes.io/arch=x86_64".into()), Decision::Error, "\"x86_64\""),
        (edited(&plain, LABELS, " a=b , kubernetes.io/arch=amd64 ,c=d".into()), Decision::Patch, "should be"),
        (authority(&plain, "ClusterAPI"), Decision::Ignored, "authoritativeAPI ClusterAPI"),
        (authority(&plain, "Migrating"), Decision::Ignored, "authoritativeAPI Migrating"),
        (authority(&plain, "MachineAPI"), Decision::Patch, "should be"),
        (edited(&plain, "/metadata/namespace", "elsewhere".into()), Decision::Ignored, "namespace"),
        (edited(&plain, "/metadata/labels", json!({"a": 3})), Decision::Error, "metadata.labels.a is of another type"),
        (edited(&plain, "/spec/template/spec/providerSpec/value", Value::Null), Decision::Error, "no provider spec"),
        (edited(&plain, "/spec/template/spec/providerSpec", json!({"value": 3})), Decision::Error, "no object"),
    ] {
        let (decided, reason) = told(&cluster, &machine);
        assert!(decided == decision && reason.contains(words), "{decided:?} {reason}, and not {decision:?} {words}");
    }
}

#[test]
fn the_architecture_of_a_cluster_with_several_has_to_be_said() {
    let mut cluster = cluster("GCP");
    if let Ok(Some(version)) = &mut cluster.version {
        version.status.desired.architecture = "Multi".to_owned();
    }
    assert_eq!(told(&cluster, &gcp(GCP_OLD)).0, Decision::Skipped);
    assert_eq!(told(&cluster, &edited(&gcp(GCP_OLD), LABELS, "kubernetes.io/arch=amd64".into())).0, Decision::Patch);
    let mut cluster = super::cluster("GCP");
    cluster.control_plane = None;
    assert_eq!(told(&cluster, &gcp(GCP_OLD)).0, Decision::Error);
}

fn opted(cluster: &mut Cluster, spec: Value, status: Value) {
    cluster.configuration =
        Ok(Some(read(json!({"metadata": {"name": "cluster"}, "spec": spec, "status": status})).unwrap()));
}

fn managers(mode: &str, selector: Value) -> Value {
    let partial = (mode == "Partial").then(|| json!({"machineResourceSelector": selector}));
    json!({"machineManagers": [{"resource": "machinesets", "apiGroup": "machine.openshift.io",
        "selection": {"mode": mode, "partial": partial}}]})
}

#[test]
fn what_is_in_force_decides_who_is_enrolled() {
    let machine = edited(&gcp(GCP_OLD), "/metadata/labels", json!({"zone": "a"}));
    let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "zone", "operator": operator, "values": values}]});
    let status = |managers: Value| (json!({}), json!({"managedBootImagesStatus": managers}));
    let spec = |managers: Value| (json!({"managedBootImages": managers}), json!({}));
    for ((spec, status), expected) in [
        ((json!({}), json!({})), Decision::Patch),
        (status(managers("All", Value::Null)), Decision::Patch),
        (status(managers("None", Value::Null)), Decision::Ignored),
        (status(managers("Partial", json!({}))), Decision::Patch),
        (status(managers("Partial", Value::Null)), Decision::Ignored),
        (
            status(json!({"machineManagers": [{"resource": "machinesets", "apiGroup": "machine.openshift.io",
                "selection": {"mode": "Partial"}}]})),
            Decision::Error,
        ),
        (status(managers("Partial", json!({"matchLabels": {"zone": "no value"}}))), Decision::Error),
        (status(managers("Partial", json!({"matchLabels": {"zone": "a"}}))), Decision::Patch),
        (status(managers("Partial", json!({"matchLabels": {"zone": "b"}}))), Decision::Ignored),
        (status(managers("Partial", expression("In", json!(["a", "b"])))), Decision::Patch),
        (status(managers("Partial", expression("In", json!([])))), Decision::Error),
        (status(managers("Partial", expression("Perhaps", json!([])))), Decision::Error),
        (status(json!({"machineManagers": []})), Decision::Ignored),
        (status(json!({})), Decision::Ignored),
        (spec(managers("None", Value::Null)), Decision::Ignored),
        (spec(managers("Partial", json!({"matchLabels": {"zone": "b"}}))), Decision::Ignored),
        (spec(json!({"machineManagers": []})), Decision::Ignored),
        (spec(json!({})), Decision::Patch),
        (
            (
                json!({"managedBootImages": managers("None", Value::Null)}),
                json!({"managedBootImagesStatus": managers("All", Value::Null)}),
            ),
            Decision::Patch,
        ),
    ] {
        let mut cluster = cluster("GCP");
        opted(&mut cluster, spec.clone(), status.clone());
        let (decided, reason) = told(&cluster, &machine);
        assert_eq!(decided, expected, "{spec} {status}: {reason}");
    }
    let mut none = cluster("GCP");
    opted(&mut none, json!({}), json!({"managedBootImagesStatus": managers("None", Value::Null)}));
    let owned = edited(&machine, "/metadata/ownerReferences", json!([{"kind": "MachinePool", "name": "p"}]));
    assert_eq!(told(&none, &owned).0, Decision::Ignored);
}

fn control_plane(image: &str) -> Machine {
    let raw = json!({"metadata": {"name": "cluster", "namespace": "openshift-machine-api"}, "spec": {"template": {
        "machineType": "machines_v1beta1_machine_openshift_io",
        "machines_v1beta1_machine_openshift_io": {"spec": {"providerSpec": {"value": {
            "disks": [{"boot": true, "image": image}], "userDataSecret": {"name": "worker-user-data"}}}}}}}});
    Machine::new(Kind::ControlPlaneMachineSet, raw.into())
}

#[test]
fn the_control_plane_has_to_be_asked_for() {
    let mut cluster = cluster("GCP");
    assert_eq!(told(&cluster, &control_plane(GCP_OLD)).0, Decision::Ignored);
    let all = json!({"machineManagers": [{"resource": "controlplanemachinesets", "apiGroup": "machine.openshift.io", "selection": {"mode": "All"}}]});
    opted(&mut cluster, json!({}), json!({"managedBootImagesStatus": all}));
    let item = judged(&cluster, &control_plane(GCP_OLD));
    assert_eq!(item.decision, Decision::Patch);
    let at = "/spec/template/machines_v1beta1_machine_openshift_io/spec/providerSpec/value/disks/0/image";
    assert_eq!(item.patch.unwrap().pointer(at).unwrap(), GCP_TARGET);
    assert_eq!(told(&cluster, &gcp(GCP_OLD)).0, Decision::Ignored);
    let custom = judged(&cluster, &control_plane("projects/mine/global/images/x"));
    assert_eq!(custom.decision, Decision::Skipped);
    assert_eq!(
        conditions::Tally::of(&[custom], Kind::ControlPlaneMachineSet),
        conditions::Tally { total: 1, ..conditions::Tally::default() }
    );
    let mut vsphere = super::cluster("VSphere");
    vsphere.configuration = cluster.configuration.clone();
    assert_eq!(told(&vsphere, &control_plane(GCP_OLD)).0, Decision::Ignored);
}

#[test]
fn what_was_written_from_here_does_not_outlast_the_administrators_choice() {
    let (all, none) = (managers("All", Value::Null), managers("None", Value::Null));
    let mut cluster = cluster("GCP");
    for (mode, seen, expected) in [
        (Mode::Observe, None, Decision::Patch),
        (Mode::Own, None, Decision::Ignored),
        (Mode::Own, Some(1), Decision::Patch),
    ] {
        cluster.mode = mode;
        let status = json!({"managedBootImagesStatus": all, "observedGeneration": seen});
        opted(&mut cluster, json!({"managedBootImages": none}), status);
        assert_eq!(told(&cluster, &gcp(GCP_OLD)).0, expected, "{mode:?} {seen:?}");
    }
    cluster.mode = Mode::Own;
    opted(&mut cluster, json!({}), json!({}));
    let status = serde_json::to_value(cluster.enrolment(Platform::Gcp).status()).unwrap();
    let entry = |resource: &str, mode: &str| json!({"resource": resource, "apiGroup": "machine.openshift.io", "selection": {"mode": mode}});
    let usual = [entry("machinesets", "All"), entry("controlplanemachinesets", "None")];
    assert_eq!(status, json!({"machineManagers": usual}));
}

#[test]
fn objects_of_the_same_name_elsewhere_are_told_apart() {
    let mut cluster = cluster("GCP");
    cluster.machines = vec![edited(&gcp(GCP_OLD), "/metadata/namespace", "elsewhere".into()), gcp(GCP_OLD)];
    let items = plan(&cluster, &Gate::Open);
    let found: Vec<(&str, Decision)> = items.iter().map(|item| (item.namespace.as_str(), item.decision)).collect();
    assert_eq!(found, [("elsewhere", Decision::Ignored), ("openshift-machine-api", Decision::Patch)]);
}

#[test]
fn nothing_is_changed_while_the_cluster_is_updated() {
    let mut cluster = cluster("GCP");
    let history = |cluster: &mut Cluster, history: Value| {
        cluster.version =
            Ok(Some(read(json!({"metadata": {"name": "version"}, "status": {"history": history}})).unwrap()));
    };
    for (entries, open) in [
        (json!([]), false),
        (json!([{"state": "Partial", "version": "4.22.0"}, {"state": "Completed", "version": "4.21.0"}]), false),
        (json!([{"state": "Completed", "version": "4.22.0"}, {"state": "Partial", "version": "4.21.0"}]), true),
    ] {
        history(&mut cluster, entries.clone());
        assert_eq!(gate(&cluster) == Gate::Open, open, "{entries}");
        assert_eq!(told(&cluster, &gcp(GCP_OLD)).0, if open { Decision::Patch } else { Decision::Ignored });
    }
    for (generation, seen, open) in
        [(Some(2), Some(2), true), (Some(3), Some(2), false), (None, Some(2), true), (Some(3), None, true)]
    {
        let object =
            json!({"metadata": {"name": "cluster", "generation": generation}, "status": {"observedGeneration": seen}});
        cluster.configuration = Ok(Some(read(object).unwrap()));
        assert_eq!(gate(&cluster) == Gate::Open, open, "{generation:?} {seen:?}");
    }
}

#[test]
fn what_is_missing_or_malformed_is_an_error_of_each() {
    for broken in [
        |cluster: &mut Cluster| cluster.shipped = Ok(None),
        |cluster: &mut Cluster| cluster.shipped = Err("ConfigMap is malformed".to_owned()),
        |cluster: &mut Cluster| cluster.shipped = Ok(Some(shipped(json!({"stream": "{"})))),
        |cluster: &mut Cluster| cluster.shipped = Ok(Some(shipped(json!({})))),
        |cluster: &mut Cluster| cluster.infrastructure = Ok(None),
        |cluster: &mut Cluster| cluster.configuration = Err("malformed".to_owned()),
        |cluster: &mut Cluster| cluster.version = Err("malformed".to_owned()),
    ] {
        let mut cluster = cluster("GCP");
        broken(&mut cluster);
        assert_eq!(told(&cluster, &gcp(GCP_OLD)).0, Decision::Error);
    }
}

fn with_secret(cluster: &mut Cluster, data: Value, complete: bool) {
    let secret =
        read(json!({"metadata": {"name": "worker-user-data", "namespace": "openshift-machine-api"}, "data": data}));
    cluster.user_data = UserData::new(vec![secret.unwrap()], complete);
}

#[test]
fn user_data_have_to_be_of_spec_3_or_raised_before_an_image_changes() {
    use base64::Engine as _;
    let encoded = |text: &str| json!({"userData": base64::engine::general_purpose::STANDARD.encode(text)});
    let two = r#"{"ignition":{"version":"2.2.0","config":{"append":[{"source":"https://x:22623/config/worker"}]}}}"#;
    for (data, expected) in [
        (encoded(r#"{"ignition": {"version": "3.1.0"}}"#), Decision::Patch),
        (encoded(r#"{"ignition": {"version": "3.99.0"}}"#), Decision::Patch),
        (encoded(two), Decision::Patch),
        (
            encoded(
                r#"{"ignition": {"version": "2.2.0"}, "storage": {"filesystems": [{"name": "data", "path": "/srv"}]}}"#,
            ),
            Decision::Error,
        ),
        (encoded(r#"{"ignition": {"version": "1.0.0"}}"#), Decision::Error),
        (encoded(r#"{"ignition": {}}"#), Decision::Error),
        (encoded(r#"{"ignition": {"version": 3}}"#), Decision::Error),
        (encoded("#cloud-config"), Decision::Error),
        (encoded("[]"), Decision::Error),
        (json!({"userData": "%%%"}), Decision::Error),
        (json!({"other": ""}), Decision::Error),
    ] {
        let mut cluster = cluster("GCP");
        with_secret(&mut cluster, data.clone(), true);
        let item = judged(&cluster, &gcp(GCP_OLD));
        assert_eq!(item.decision, expected, "{data}: {}", item.reason);
        assert_eq!(item.stub.is_some(), data == encoded(two));
        // It is nobody's business what a current machine resource would start with.
        assert_eq!(judged(&cluster, &gcp(GCP_TARGET)).decision, Decision::Current);
    }
}

#[test]
fn secrets_that_are_not_there_are_told_from_those_that_were_not_read() {
    let mut cluster = cluster("GCP");
    cluster.user_data = UserData::new(Vec::new(), true);
    assert_eq!(told(&cluster, &gcp(GCP_OLD)).0, Decision::Error);
    cluster.user_data = UserData::new(Vec::new(), false);
    let (decided, reason) = told(&cluster, &gcp(GCP_OLD));
    assert!(decided == Decision::Patch && reason.contains("is not checked"), "{reason}");
    cluster.user_data.unreadable("openshift-machine-api", "worker-user-data", "forbidden".to_owned());
    assert_eq!(told(&cluster, &gcp(GCP_OLD)), (Decision::Error, "forbidden".to_owned()));
    let nameless = edited(&gcp(GCP_OLD), "/spec/template/spec/providerSpec/value/userDataSecret", Value::Null);
    assert_eq!(told(&cluster, &nameless).0, Decision::Error);
}

#[test]
fn somebody_who_puts_the_old_image_back_each_time_wins_after_three() {
    let mut cluster = cluster("GCP");
    let machine = gcp(GCP_OLD);
    for _ in 0..HOT_LOOP_LIMIT {
        let item = judged(&cluster, &machine);
        assert_eq!(item.decision, Decision::Patch);
        cluster.attempts.note(&machine.key(), &item.digest);
    }
    let (decided, reason) = told(&cluster, &machine);
    assert!(decided == Decision::Error && reason.contains("three times"), "{reason}");
    let scaled = edited(&machine, "/spec/replicas", 9.into());
    assert_eq!(told(&cluster, &scaled).0, Decision::Error, "who scales it does not make it another change");
    let other = edited(&machine, "/spec/template/spec/providerSpec/value/machineType", "n2-standard-8".into());
    assert_eq!(told(&cluster, &other).0, Decision::Patch);
}

#[test]
fn other_streams_are_updated_where_nobody_else_does() {
    let mut cluster = cluster("GCP");
    let ten = edited(&gcp(GCP_OLD), "/metadata/labels", json!({STREAM_LABEL: "rhel-10"}));
    cluster.mode = Mode::Own;
    assert_eq!(told(&cluster, &ten).0, Decision::Error);
    let streams = json!({"rhel-10": {"architectures": {"x86_64": {"images": {"gcp": {"project": "rhcos-cloud", "name": "ten"}}}}}});
    cluster.shipped = Ok(Some(shipped(json!({"stream": stream().to_string(), "streams": streams.to_string()}))));
    assert_eq!(judged(&cluster, &ten).target, "projects/rhcos-cloud/global/images/ten");
    assert_eq!(judged(&cluster, &gcp(GCP_OLD)).target, GCP_TARGET);
    cluster.mode = Mode::Observe;
    assert_eq!(told(&cluster, &ten).0, Decision::Ignored);
}

#[test]
fn conditions_count_what_is_enrolled() {
    let cluster = cluster("GCP");
    let named = |machine: Machine, name: &str| edited(&machine, "/metadata/name", name.into());
    let mut whole = cluster.clone();
    whole.machines = vec![
        named(gcp(GCP_TARGET), "a"),
        named(gcp("mine"), "b"),
        named(set(json!({"disks": 3})), "c"),
        control_plane(GCP_OLD),
    ];
    let items = plan(&whole, &Gate::Open);
    let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "cluster"]);
    let reason = "ClusterVersionStable";
    let (progressing, degraded) = (conditions::progressing(&items, reason), conditions::degraded(&items, reason));
    assert!(
        progressing.message.starts_with(
            "Reconciled 1 of 3 MAPI MachineSets (1 skipped) | Reconciled 0 of 0 ControlPlaneMachineSets | "
        ),
        "{}",
        progressing.message
    );
    assert_eq!((progressing.status.as_str(), degraded.status.as_str()), ("False", "True"));
    assert!(
        degraded.message.contains("1 Degraded MAPI MachineSets | ")
            && degraded.message.contains("Error(s): MachineSet c: disks"),
        "{}",
        degraded.message
    );
    whole.machines.push(named(gcp(GCP_OLD), "d"));
    let items = plan(&whole, &Gate::Open);
    let progressing = conditions::progressing(&items, reason);
    assert_eq!(progressing.status, "True", "something is still to be changed");
    assert!(
        progressing.message.starts_with("Reconciled 1 of 4 MAPI MachineSets (1 skipped)"),
        "{}",
        progressing.message
    );
}
