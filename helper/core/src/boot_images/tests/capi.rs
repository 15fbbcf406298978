use serde_json::{Value, json};

use super::*;
use crate::objects::Whole;

fn machine(kind: Kind, template: &str) -> Machine {
    let raw = json!({"metadata": {"name": "worker-a", "namespace": "openshift-cluster-api"}, "spec": {"template": {"spec": {
        "bootstrap": {"dataSecretName": "worker-user-data"},
        "infrastructureRef": {"kind": template, "name": "worker-a"}}}}});
    Machine::new(kind, raw.into())
}

fn cluster_with(platform: &str, kind: &str, spec: Value) -> Cluster {
    let mut cluster = cluster(platform);
    let template = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": kind,
        "metadata": {"name": "worker-a", "namespace": "openshift-cluster-api", "uid": "u", "labels": {"a": "b"}},
        "spec": {"template": {"spec": spec}}});
    cluster.templates = vec![Whole::from(template)];
    cluster.user_data = UserData::new(Vec::new(), false);
    cluster.with_capi = true;
    cluster
}

#[test]
fn a_template_is_cloned_under_a_name_of_its_contents() {
    let cluster = cluster_with("GCP", "GCPMachineTemplate", json!({"image": GCP_OLD, "instanceType": "n1"}));
    for kind in [Kind::ClusterMachineSet, Kind::MachineDeployment] {
        let item = judged(&cluster, &machine(kind, "GCPMachineTemplate"));
        assert_eq!(item.decision, Decision::Patch, "{}", item.reason);
        let clone = item.template.unwrap();
        let name = clone.create["metadata"]["name"].as_str().unwrap();
        assert!(name.starts_with("worker-a-") && name.len() == "worker-a-".len() + 8, "{name}");
        assert_eq!(clone.create["spec"]["template"]["spec"], json!({"image": GCP_TARGET, "instanceType": "n1"}));
        assert_eq!(clone.create["metadata"]["uid"], Value::Null);
        assert_eq!(item.patch.unwrap(), json!({"spec": {"template": {"spec": {"infrastructureRef": {"name": name}}}}}));
        assert_eq!(clone.replaces, "worker-a");
    }
    let current = cluster_with("GCP", "GCPMachineTemplate", json!({"image": GCP_TARGET}));
    assert_eq!(judged(&current, &machine(Kind::ClusterMachineSet, "GCPMachineTemplate")).decision, Decision::Current);
}

#[test]
fn each_platform_has_its_template() {
    let azure = |publisher: &str, version: &str| json!({"image": {"marketplace": {"publisher": publisher, "offer": "aro4", "sku": "419-v2", "version": version}}});
    for (platform, kind, spec, expected) in [
        ("AWS", "AWSMachineTemplate", json!({"ami": {"id": "ami-0old", "eksLookupType": "x"}}), Decision::Patch),
        ("AWS", "AWSMachineTemplate", json!({"ami": {"id": "ami-0new"}}), Decision::Current),
        ("AWS", "AWSMachineTemplate", json!({"ami": {"id": "ami-0mine"}}), Decision::Skipped),
        ("AWS", "AWSMachineTemplate", json!({}), Decision::Skipped),
        ("Azure", "AzureMachineTemplate", azure("azureopenshift", "1"), Decision::Patch),
        ("Azure", "AzureMachineTemplate", azure("azureopenshift", "419.6.20260101"), Decision::Current),
        ("Azure", "AzureMachineTemplate", azure("me", "1"), Decision::Error),
        ("Azure", "AzureMachineTemplate", json!({"image": {"id": "x"}}), Decision::Skipped),
        ("GCP", "GCPMachineTemplate", json!({"imageFamily": "x"}), Decision::Skipped),
        ("GCP", "GCPMachineTemplate", json!({"image": "mine"}), Decision::Skipped),
        ("GCP", "AWSMachineTemplate", json!({}), Decision::Error),
        ("VSphere", "VSphereMachineTemplate", json!({}), Decision::Ignored),
    ] {
        let cluster = cluster_with(platform, kind, spec.clone());
        let item = judged(&cluster, &machine(Kind::ClusterMachineSet, kind));
        assert_eq!(item.decision, expected, "{platform} {spec}: {}", item.reason);
    }
}

#[test]
fn who_has_the_say_is_respected() {
    let mut cluster = cluster_with("GCP", "GCPMachineTemplate", json!({"image": GCP_OLD}));
    let capi = machine(Kind::ClusterMachineSet, "GCPMachineTemplate");
    let owned = |kind: &str| edited(&capi, "/metadata/ownerReferences", json!([{"kind": kind, "name": "d"}]));
    assert!(judged(&cluster, &owned("MachineDeployment")).reason.contains("follows MachineDeployment d"));
    assert_eq!(judged(&cluster, &owned("Something")).decision, Decision::Skipped);
    for (authority, expected) in
        [("MachineAPI", Decision::Ignored), ("Migrating", Decision::Ignored), ("ClusterAPI", Decision::Patch)]
    {
        cluster.machines = vec![edited(&gcp(GCP_OLD), "/status/authoritativeAPI", authority.into()), capi.clone()];
        assert_eq!(judged(&cluster, &capi).decision, expected, "{authority}");
    }
    cluster.with_capi = false;
    assert_eq!(judged(&cluster, &capi).decision, Decision::Ignored);
}

#[test]
fn templates_go_when_others_stand_in_for_them_and_nothing_uses_them() {
    let cluster = cluster_with("GCP", "GCPMachineTemplate", json!({"image": GCP_OLD}));
    let set = machine(Kind::ClusterMachineSet, "GCPMachineTemplate");
    let item = judged(&cluster, &set);
    let first = Whole::from(item.template.unwrap().create);
    let patched = Machine::new(set.kind, merge::applied(&set.object.raw, &item.patch.unwrap()).into());
    let follower = edited(&set, "/metadata/name", "old-revision".into());
    let made = first.metadata.name.as_str();
    let names = |templates: &[Whole], machines: &[Machine]| -> Vec<String> {
        let orphans = super::super::capi::orphans(templates, machines);
        orphans.into_iter().map(|template| template.metadata.name.clone()).collect()
    };
    let (original, mut templates) = (cluster.templates[0].clone(), vec![cluster.templates[0].clone(), first.clone()]);
    assert_eq!(names(&templates, std::slice::from_ref(&set)), [made], "it was made in vain");
    assert_eq!(names(&templates, &[patched.clone(), follower.clone()]), [""; 0], "both are in use");
    assert_eq!(names(&templates, std::slice::from_ref(&patched)), ["worker-a"]);
    // A second change, while the first template is still in use by somebody.
    let leaf = json!({"image": "newer"});
    let (second, patch) = super::super::capi::cloned(&patched, &first, &leaf);
    let latest = Machine::new(set.kind, merge::applied(&patched.object.raw, &patch).into());
    templates.push(Whole::from(second.create));
    assert_eq!(names(&templates, &[latest.clone(), follower]), [made]);
    assert_eq!(names(&templates, std::slice::from_ref(&latest)), ["worker-a", made]);
    let stranger = edited(&set, "/spec/template/spec/infrastructureRef/name", "other".into());
    assert_eq!(names(&[original], &[stranger]), [""; 0], "nobody stands in for it");
}
