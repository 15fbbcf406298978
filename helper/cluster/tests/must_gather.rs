//! Every command about streams, answered from a must-gather as `oc adm must-gather` lays it out.
#![cfg(test)]

mod desk;

use desk::{Desk, said};
use serde_json::{Value, json};

const ROOT: &str = "must-gather.local.7/registry-example-com-must-gather-sha256-0123";

fn gathered() -> Desk {
    let desk = Desk::new(&[]);
    let put = |path: &str, text: &str| desk.put(&format!("{ROOT}/{path}"), text);
    let mco = "cluster-scoped-resources/machineconfiguration.openshift.io";
    put("timestamp", "2026-11-17 09:00:00");
    put("event-filter.html", "<p>kind: MachineConfigPool</p>");
    put(
        "namespaces/openshift-machine-config-operator/pods/machine-config-controller-x/logs/current.log",
        "kind: OSImageStream\n",
    );
    put(
        &format!("{mco}/osimagestreams/cluster.yaml"),
        "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: OSImageStream\nmetadata:\n  name: cluster\n  annotations:\n\
         \x20   machineconfiguration.openshift.io/release-image-version: 0123abc\n\
         \x20   machineconfiguration.openshift.io/release-payload-image: registry.example/release@sha256:1\n\
         \x20 managedFields:\n  - {manager: machine-config-controller, operation: Update, subresource: status, fieldsV1: {}}\n\
         spec:\n  defaultStream: rhel-9\nstatus:\n  defaultStream: rhel-9\n  availableStreams:\n\
         \x20 - {name: rhel-10, osImage: registry.example/os@sha256:10, osExtensionsImage: registry.example/ext@sha256:10}\n\
         \x20 - {name: rhel-9, osImage: registry.example/os@sha256:9, osExtensionsImage: registry.example/ext@sha256:9}\n",
    );
    for (name, stream, reported) in
        [("master", "null", "rhel-9"), ("worker", "{name: rhel-9}", "rhel-9"), ("infra", "null", "rhel-10")]
    {
        put(
            &format!("{mco}/machineconfigpools/{name}.yaml"),
            &format!(
                "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata:\n  name: {name}\n\
                 spec:\n  osImageStream: {stream}\n  machineConfigSelector: {{matchLabels: {{role: {name}}}}}\n\
                 status:\n  osImageStream: {{name: {reported}}}\n"
            ),
        );
    }
    put(
        "cluster-scoped-resources/config.openshift.io/clusterversions.yaml",
        "---\napiVersion: config.openshift.io/v1\nkind: ClusterVersionList\nitems:\n- metadata: {name: version}\n  status:\n\
         \x20   desired: {version: 5.1.0, image: registry.example/release@sha256:1}\n    history:\n\
         \x20   - {state: Completed, version: 4.20.0, completionTime: \"2026-01-01T00:00:00Z\"}\n",
    );
    put(
        "namespaces/openshift-machine-config-operator/core/configmaps.yaml",
        "---\napiVersion: v1\nkind: ConfigMapList\nitems:\n\
         - apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: machine-config-osimageurl, namespace: openshift-machine-config-operator}\n\
         \x20 data: {baseOSContainerImage: os-u, baseOSExtensionsContainerImage: ext-u, osImageURL: \"\", releaseVersion: 5.1.0}\n\
         - metadata: {name: ostler-os-stream-policy, namespace: openshift-machine-config-operator}\n\
         \x20 data: {policy.yaml: \"streams: [{name: rhel-9, deprecatedIn: '5.0', successor: rhel-10}]\"}\n",
    );
    desk
}

#[test]
fn every_command_answers_from_a_must_gather() {
    let desk = gathered();
    let from = format!("--from-dir {ROOT}");
    let list = desk.answer(&format!("list {from} -o json"));
    let pools: Vec<(&Value, &Value, &Value)> = list["pools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pool| (&pool["name"], &pool["stream"], &pool["choice"]))
        .collect();
    assert_eq!(pools[0], (&json!("infra"), &json!("rhel-9"), &json!("inherited")));
    assert_eq!(list["pools"][0]["conditions"][0]["reason"], "StreamEndOfLife");
    let text = String::from_utf8(desk.ask(&format!("list {from}")).stdout).unwrap();
    assert!(text.contains("inherited from worker") && text.contains("deprecated"), "{text}");

    let show = desk.answer(&format!("show {from} -o json"));
    assert!(show["writer"].as_str().unwrap().contains("machine-config-controller"), "{show}");
    let plan = desk.answer(&format!("plan worker --stream rhel-10 {from} -o json"));
    assert_eq!(
        (&plan["osImage"], &plan["followers"][0]["pool"]),
        (&json!("registry.example/os@sha256:10"), &json!("infra"))
    );
    let possible = desk.answer(&format!("set worker rhel-10 --dry-run {from} -o json"));
    assert_eq!(possible["outcome"], "possible");

    let reported = desk.ask(&format!("run {from} -o json"));
    assert!(reported.status.success(), "a dump does not change, so one turn is all: {reported:?}");
    let report: Value = serde_json::from_slice(&reported.stdout).unwrap();
    assert_eq!((&report["action"], &report["written"]), (&json!("nothing"), &json!(false)));
    assert!(report["foreignWriter"].as_str().unwrap().contains("machine-config-controller"), "{report}");
    assert_eq!(report["pools"][1]["conditions"][0]["type"], "OSStreamDeprecated");

    let class = |mark: &str| json!({"io.openshift.os.streamclass": "rhel-9", mark: "true"});
    let labels = json!({"os-u": class("containers.bootc"), "ext-u": class("io.openshift.os.extensions")});
    desk.put("labels", &labels.to_string());
    desk.put("references", "{\"kind\": \"ImageStream\"}");
    let found = desk.answer(&format!("discover {from} --image-references references --image-labels labels -o json"));
    assert_eq!(found["availableStreams"][0]["osImage"], "os-u", "the ConfigMap of the dump counts: {found}");
}

/// What `worker` names moves the pools that inherit from it, so what stands in their way stands in its way.
#[test]
fn a_pool_that_is_taken_along_counts() {
    let desk = gathered();
    let from = format!("--from-dir {ROOT}");
    desk.put(
        &format!("{ROOT}/cluster-scoped-resources/machineconfiguration.openshift.io/machineconfigpools/worker.yaml"),
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {name: worker}\nspec: {}\n",
    );
    let refused = desk.ask(&format!("set worker rhel-9 --dry-run {from}"));
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(said(&refused).contains("pool infra would be taken along: the pool is in stream rhel-10"), "{refused:?}");
    assert!(desk.ask(&format!("set worker rhel-9 --dry-run --force {from}")).status.success());
    let json = desk.ask(&format!("set worker rhel-9 --dry-run {from} -o json"));
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((json.status.code(), &document["outcome"]), (Some(3), &json!("refused")));
    let plan = String::from_utf8(desk.ask(&format!("plan worker --stream rhel-9 {from}")).stdout).unwrap();
    assert!(plan.contains("takes along: infra") && plan.contains("blocked: pool infra: "), "{plan}");
}
