//! What can be wrong with a cluster, one thing at a time.

use serde_json::json;

use super::fixture::{Fixture, image, user_data};

/// Spoils a cluster.
type Spoil = fn(&mut Fixture);

/// One for each risk, by its name.
pub const ALONE: &[(&str, Spoil)] = &[
    ("MachineConfigAmbiguousPool", ambiguous),
    ("MachineConfigBootImageMajorMismatch", |fixture| boots(fixture, "rhel-10")),
    ("MachineConfigBootImageSkew", |fixture| {
        let skew = json!({"mode": "Manual", "manual": {"mode": "OCPVersion", "ocpVersion": "4.12.9"}});
        fixture.object("MachineConfiguration", "cluster")["status"]["bootImageSkewEnforcementStatus"] = skew;
    }),
    ("MachineConfigBootImageSkewUnenforced", |fixture| {
        let skew = json!({"mode": "None"});
        fixture.object("MachineConfiguration", "cluster")["status"]["bootImageSkewEnforcementStatus"] = skew;
    }),
    ("MachineConfigBootImageUnmanaged", |fixture| {
        let disks = "/spec/template/spec/providerSpec/value/disks";
        *fixture.object("MachineSet", "worker").pointer_mut(disks).unwrap() =
            json!([{"boot": true, "image": "projects/mine/global/images/own"}]);
    }),
    ("MachineConfigBootImageUpdateFailing", |fixture| {
        let conditions =
            json!([{"type": "BootImageUpdateDegraded", "status": "True", "message": "1 Degraded MAPI MachineSets"}]);
        fixture.object("MachineConfiguration", "cluster")["status"]["conditions"] = conditions;
    }),
    ("MachineConfigControlPlaneMaxUnavailable", |fixture| {
        fixture.object("MachineConfigPool", "master")["spec"]["maxUnavailable"] = json!(2);
    }),
    ("MachineConfigDefaultOSStreamMissing", |fixture| {
        // Pools that choose a stream are none the worse; those that do not, are.
        for pool in ["master", "worker"] {
            fixture.object("MachineConfigPool", pool)["spec"]["osImageStream"] = json!({"name": "rhel-10"});
            fixture.object("MachineConfigPool", pool)["status"]["osImageStream"] = json!({"name": "rhel-10"});
            set_by(fixture, pool, "");
        }
        boots(fixture, "rhel-10");
        fixture.offer(&["rhel-10"]);
    }),
    ("MachineConfigDeprecatedOSStreamInUse", |fixture| {
        let policy = "streams: [{name: rhel-9, deprecatedIn: '4.22', successor: rhel-10}]";
        fixture.add(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ostler-os-stream-policy",
            "namespace": "openshift-machine-config-operator"}, "data": {"policy.yaml": policy}}));
    }),
    ("MachineConfigIrreconcilableChanges", |fixture| {
        let changes = json!([{"fieldPath": "spec.config.storage.disks", "diff": "secret"}]);
        fixture.object("MachineConfigNode", "worker-1")["status"]["irreconcilableChanges"] = changes;
    }),
    ("MachineConfigIrreconcilableOverrides", |fixture| {
        let overrides = json!({"irreconcilableValidationOverrides": {"storage": ["Disks", "Raid"]}});
        fixture.object("MachineConfiguration", "cluster")["spec"] = overrides;
    }),
    ("MachineConfigKernelVersionMismatch", |fixture| {
        let info = &mut fixture.object("Node", "worker-0")["status"]["nodeInfo"];
        info["kernelVersion"] = json!("4.18.0-372.el8.x86_64");
    }),
    ("MachineConfigNoUpdateCapacity", |fixture| {
        fixture.object("Node", "worker-1")["spec"] = json!({"unschedulable": true});
    }),
    ("MachineConfigOSImageURLConflict", |fixture| {
        fixture.object("MachineConfigPool", "worker")["spec"]["osImageStream"] = json!({"name": "rhel-9"});
        set_by(fixture, "worker", "quay.io/me/os@sha256:2");
    }),
    ("MachineConfigOSImageURLOverridden", |fixture| {
        let config = fixture.object("MachineConfig", "rendered-master");
        config["metadata"]["annotations"] =
            json!({"machineconfiguration.openshift.io/os-image-url-overridden": "true"});
        config["spec"]["osImageURL"] = json!("quay.io/me/os:latest");
    }),
    ("MachineConfigOSStreamDiscoveryFailed", |fixture| fixture.offer(&[])),
    ("MachineConfigOSStreamDowngrade", |fixture| {
        fixture.object("MachineConfigPool", "worker")["status"]["osImageStream"] = json!({"name": "rhel-10"});
    }),
    ("MachineConfigOSStreamMissing", |fixture| {
        fixture.object("MachineConfigPool", "worker")["spec"]["osImageStream"] = json!({"name": "special"});
        fixture.object("MachineConfigPool", "worker")["status"]["osImageStream"] = json!({"name": "special"});
        set_by(fixture, "worker", "");
    }),
    ("MachineConfigPausedPoolCertExpiry", |fixture| {
        fixture.object("MachineConfigPool", "worker")["status"]["certExpirys"] =
            json!([{"bundle": "kubelet-ca", "subject": "CN=signer", "expiry": "2026-06-20T00:00:00Z"}]);
        paused(fixture);
    }),
    ("MachineConfigPoolBuildInterrupted", build_interrupted),
    ("MachineConfigPoolDegraded", |fixture| {
        let conditions = json!([{"type": "Updated", "status": "True"}, {"type": "Degraded", "status": "True"},
            {"type": "NodeDegraded", "status": "True", "message": "1 nodes are reporting degraded status"}]);
        fixture.object("MachineConfigPool", "worker")["status"]["conditions"] = conditions;
    }),
    ("MachineConfigPoolPaused", paused),
    ("MachineConfigPoolUpdating", |fixture| {
        fixture.object("MachineConfigPool", "worker")["status"]["conditions"][0]["status"] = json!("False");
        fixture.object("MachineConfigPool", "worker")["status"]["updatedMachineCount"] = json!(1);
    }),
    ("MachineConfigRenderedSizeLimit", |fixture| {
        let large = "x".repeat(1_300_000);
        fixture.object("MachineConfig", "rendered-worker")["spec"]["config"]["ignition"]["padding"] = json!(large);
    }),
    ("MachineConfigRuncOnRHEL10", |fixture| {
        fixture.object("MachineConfigPool", "worker")["spec"]["osImageStream"] = json!({"name": "rhel-10"});
        set_by(fixture, "worker", "");
        boots(fixture, "rhel-10");
        let contents = "data:,%5Bcrio.runtime%5D%0Adefault_runtime%20%3D%20%22runc%22%0A";
        let file = json!({"path": "/etc/crio/crio.conf.d/01-runtime", "contents": {"source": contents}});
        fixture.object("MachineConfig", "rendered-worker")["spec"]["config"]["storage"] = json!({"files": [file]});
    }),
    ("MachineConfigStubIgnitionOutdated", |fixture| {
        *fixture.object("Secret", "worker-user-data") = user_data("worker", "2.2.0");
    }),
    ("MachineConfigUnreconcilable", |fixture| {
        let annotations = &mut fixture.object("Node", "worker-0")["metadata"]["annotations"];
        annotations["machineconfiguration.openshift.io/desiredConfig"] = json!("rendered-other");
        annotations["machineconfiguration.openshift.io/state"] = json!("Unreconcilable");
        annotations["machineconfiguration.openshift.io/reason"] = json!("ignition disks section contains changes");
    }),
];

/// Risks that another one cannot be without.
pub const BESIDE: &[(&str, &str)] = &[("MachineConfigPausedPoolCertExpiry", "MachineConfigPoolPaused")];

/// Those that no cluster has beside all others: without any stream none is missing, and skew is enforced or it is not.
pub const EXCLUSIVE: &[&str] = &["MachineConfigOSStreamDiscoveryFailed", "MachineConfigBootImageSkewUnenforced"];

/// Those whose spoiling undoes that of others; `everything` spoils the cluster in their stead.
const UNDOING: &[&str] = &[
    "MachineConfigDefaultOSStreamMissing",
    "MachineConfigOSStreamDowngrade",
    "MachineConfigOSStreamMissing",
    "MachineConfigNoUpdateCapacity",
    "MachineConfigBootImageMajorMismatch",
    "MachineConfigBootImageUnmanaged",
];

/// Spoils all that can be spoilt at once.
pub fn everything(fixture: &mut Fixture) {
    for (name, spoil) in ALONE {
        if !EXCLUSIVE.contains(name) && !UNDOING.contains(name) {
            spoil(fixture);
        }
    }
    // The control plane was in a newer stream than the default, which the target does not have any more.
    fixture.offer(&["rhel-10"]);
    fixture.object("MachineConfigPool", "master")["status"]["osImageStream"] = json!({"name": "rhel-10"});
    // The workers' next machines boot an image of somebody's own, of the stream that the workers have left.
    let set = fixture.object("MachineSet", "worker");
    set["metadata"]["labels"] = json!({});
    let disks = "/spec/template/spec/providerSpec/value/disks";
    *set.pointer_mut(disks).unwrap() = json!([{"boot": true, "image": "projects/mine/global/images/own"}]);
    fixture.object("Node", "worker-0")["spec"] = json!({"unschedulable": true});
}

/// Makes a pool's own MachineConfig name an OS image, or none.
fn set_by(fixture: &mut Fixture, pool: &str, image: &str) {
    let name = format!("00-{pool}");
    if !fixture.has("MachineConfig", &name) {
        fixture.add(json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {"name": name}, "spec": {"osImageURL": image}}));
    }
}

/// Makes the machine set boot a stream.
fn boots(fixture: &mut Fixture, stream: &str) {
    let label = json!({"machineconfiguration.openshift.io/osstream": stream});
    fixture.object("MachineSet", "worker")["metadata"]["labels"] = label;
}

fn ambiguous(fixture: &mut Fixture) {
    for name in ["infra", "gpu"] {
        let label = format!("node-role.kubernetes.io/{name}");
        fixture.object("Node", "worker-1")["metadata"]["labels"][&label] = json!("");
        let mut pool = fixture.object("MachineConfigPool", "worker").clone();
        pool["metadata"]["name"] = json!(name);
        pool["spec"]["nodeSelector"]["matchLabels"] = json!({label: ""});
        fixture.add(pool);
    }
}

/// A build that was interrupted.
pub fn build_interrupted(fixture: &mut Fixture) {
    let conditions = fixture.object("MachineConfigPool", "master")["status"]["conditions"].as_array_mut().unwrap();
    conditions.push(json!({"type": "BuildInterrupted", "status": "True", "message": "build mosb-1 was stopped"}));
}

/// A pool of workers that is paused.
pub fn paused(fixture: &mut Fixture) {
    fixture.object("MachineConfigPool", "worker")["spec"]["paused"] = json!(true);
}

/// A pool whose next configuration no node can reach.
pub fn refused_plan(fixture: &mut Fixture) {
    let mut next = fixture.object("MachineConfig", "rendered-worker").clone();
    next["metadata"]["name"] = json!("rendered-worker-2");
    next["spec"]["config"]["storage"] = json!({"disks": [{"device": "/dev/sdb"}]});
    next["spec"]["osImageURL"] = json!(image("rhel-9-coreos"));
    fixture.add(next);
    fixture.object("MachineConfigPool", "worker")["spec"]["configuration"]["name"] = json!("rendered-worker-2");
}
