//! How much each risk matters, which the document does not tell.

use std::collections::BTreeMap;
use std::time::Duration;

use ostler_cluster_core::preflight::{Severity, evaluate};
use serde_json::json;
use tokio::time::Instant;

use super::cases::{self, ALONE};
use super::fixture::Fixture;
use super::{gather, target};

async fn found(spoil: impl Fn(&mut Fixture)) -> BTreeMap<&'static str, Severity> {
    let mut fixture = Fixture::in_order();
    spoil(&mut fixture);
    let (_directory, source) = fixture.saved().await;
    let (inventory, _) = gather::inventory(&source, Instant::now() + Duration::from_secs(30)).await;
    let findings = evaluate(&inventory, &target("4.22.0", &fixture).await);
    findings.risks.iter().map(|risk| (risk.name, risk.severity)).collect()
}

const WARNINGS: [&str; 11] = [
    "MachineConfigBootImageUnmanaged",
    "MachineConfigDeprecatedOSStreamInUse",
    "MachineConfigIrreconcilableChanges",
    "MachineConfigKernelVersionMismatch",
    "MachineConfigNoUpdateCapacity",
    "MachineConfigOSImageURLOverridden",
    "MachineConfigOSStreamDowngrade",
    "MachineConfigPoolPaused",
    "MachineConfigPoolUpdating",
    "MachineConfigRenderedSizeLimit",
    "MachineConfigStubIgnitionOutdated",
];
const INFOS: [&str; 2] = ["MachineConfigBootImageSkewUnenforced", "MachineConfigIrreconcilableOverrides"];

#[tokio::test]
async fn each_risk_matters_as_much_as_it_should() {
    for (name, spoil) in ALONE {
        let expected = match (WARNINGS.contains(name), INFOS.contains(name)) {
            (true, _) => Severity::Warning,
            (_, true) => Severity::Info,
            _ => Severity::Critical,
        };
        assert_eq!(found(spoil).await.get(name), Some(&expected), "{name}");
    }
}

#[tokio::test]
async fn what_makes_it_worse_or_better_counts() {
    let paused = found(|fixture| fixture.object("MachineConfigPool", "master")["spec"]["paused"] = json!(true)).await;
    assert_eq!(paused["MachineConfigPoolPaused"], Severity::Critical);

    let blocked = found(|fixture| {
        let policy = "streams: [{name: rhel-9, deprecatedIn: '4.20', blockedIn: '4.22'}]";
        fixture.add(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ostler-os-stream-policy",
            "namespace": "openshift-machine-config-operator"}, "data": {"policy.yaml": policy}}));
    });
    assert_eq!(blocked.await["MachineConfigDeprecatedOSStreamInUse"], Severity::Critical);

    let by_hand = found(|fixture| {
        let status = &mut fixture.object("MachineConfiguration", "cluster")["status"];
        status["bootImageSkewEnforcementStatus"] =
            json!({"mode": "Manual", "manual": {"mode": "OCPVersion", "ocpVersion": "4.21.0"}});
        status["conditions"] = json!([{"type": "BootImageUpdateDegraded", "status": "True", "message": "m"}]);
    });
    assert_eq!(by_hand.await["MachineConfigBootImageUpdateFailing"], Severity::Warning);

    let giant = found(|fixture| {
        let ignition = &mut fixture.object("MachineConfig", "rendered-worker")["spec"]["config"]["ignition"];
        ignition["padding"] = json!("x".repeat(1_572_864));
    });
    assert_eq!(giant.await["MachineConfigRenderedSizeLimit"], Severity::Critical);

    let five = found(|fixture| {
        for number in 3..5 {
            let mut node = fixture.object("Node", "master-0").clone();
            node["metadata"]["name"] = json!(format!("master-{number}"));
            fixture.add(node);
        }
        fixture.object("MachineConfigPool", "master")["spec"]["maxUnavailable"] = json!("40%");
    });
    assert_eq!(five.await["MachineConfigControlPlaneMaxUnavailable"], Severity::Warning);
    let one = found(|fixture| {
        fixture.object("MachineConfigPool", "master")["spec"]["maxUnavailable"] = json!("65%");
    });
    assert_eq!(one.await.get("MachineConfigControlPlaneMaxUnavailable"), None, "65 % of three is one");
}

#[tokio::test]
async fn edges_of_the_predicates_are_where_they_should_be() {
    // Neither on a single node nor on bare metal does it matter that nobody watches.
    for (at, value) in [("/status/controlPlaneTopology", "SingleReplica"), ("/status/platformStatus/type", "BareMetal")]
    {
        let found = found(|fixture| {
            let skew = json!({"mode": "None"});
            fixture.object("MachineConfiguration", "cluster")["status"]["bootImageSkewEnforcementStatus"] = skew;
            *fixture.object("Infrastructure", "cluster").pointer_mut(at).unwrap() = json!(value);
        });
        assert!(!found.await.contains_key("MachineConfigBootImageSkewUnenforced"), "{value}");
    }
    // Thirty days from noon on the first of June.
    for (expiry, expected) in
        [("2026-07-01T12:00:00Z", true), ("2026-07-01T12:00:01Z", false), ("2020-01-01T00:00:00Z", true)]
    {
        let found = found(|fixture| {
            cases::paused(fixture);
            fixture.object("MachineConfigPool", "worker")["status"]["certExpirys"] =
                json!([{"bundle": "b", "subject": "s", "expiry": expiry}]);
        });
        assert_eq!(found.await.contains_key("MachineConfigPausedPoolCertExpiry"), expected, "{expiry}");
    }
    // An image of somebody's own whose stream nobody knows may have runc or not.
    let unknown = found(|fixture| {
        let contents = "data:,%5Bcrio.runtime%5D%0Adefault_runtime%20%3D%20%22runc%22%0A";
        let file = json!({"path": "/etc/crio/crio.conf.d/01-runtime", "contents": {"source": contents}});
        let config = fixture.object("MachineConfig", "rendered-worker");
        config["spec"]["config"]["storage"] = json!({"files": [file]});
        config["spec"]["osImageURL"] = json!("quay.io/me/os@sha256:2");
        config["metadata"]["annotations"] =
            json!({"machineconfiguration.openshift.io/os-image-url-overridden": "true"});
    });
    let unknown = unknown.await;
    assert_eq!(
        unknown.keys().copied().collect::<Vec<_>>(),
        ["MachineConfigCompatibilityUnknown", "MachineConfigOSImageURLOverridden"]
    );
    // A MachineConfig that the pool selects conflicts, though the pool could not be rendered with it yet.
    let conflict = found(|fixture| {
        let pool = fixture.object("MachineConfigPool", "worker");
        pool["spec"]["osImageStream"] = json!({"name": "rhel-9"});
        pool["spec"]["machineConfigSelector"] = json!({"matchLabels": {"role": "worker"}});
        fixture.add(json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {"name": "99-own", "labels": {"role": "worker"}}, "spec": {"osImageURL": "quay.io/me/os:1"}}));
    });
    assert_eq!(conflict.await.keys().copied().collect::<Vec<_>>(), ["MachineConfigOSImageURLConflict"]);
}
