//! What the status of the `MachineConfiguration` says of boot images after a pass over the machine resources.

use super::enforcement::{Enforcement, install_version};
use super::version::OcpVersion;
use crate::boot_images::{Cluster, Decision, Enrolment, Item, Kind};
use crate::objects::{ClusterVersion, RecordedBootImage, SkewEnforcement};

/// How skew is enforced after a pass; nothing where that is not ours to say. An operator that runs chooses the mode, and only
/// with `Automatic` the boot image is for whoever updates boot images to record. Without one the mode is worked out here.
pub fn enforced_after(cluster: &Cluster, items: &[Item]) -> Option<SkewEnforcement> {
    let configuration = cluster.choice()?;
    let said = configuration.status.boot_image_skew_enforcement_status.as_ref();
    let said = said.filter(|said| said.mode == "Automatic");
    let version = cluster.version.as_ref().ok().and_then(Option::as_ref);
    let shipped = cluster.shipped.as_ref().ok().and_then(Option::as_ref);
    let release = shipped.map(|shipped| shipped.release_version.as_str()).unwrap_or_default();
    let passed = recorded_after(items, release, version);
    let automatic = |recorded| SkewEnforcement { mode: "Automatic".to_owned(), automatic: recorded, manual: None };
    if configuration.status.observed_generation.is_some() {
        return said.and(passed).map(|passed| automatic(Some(of_release(passed))));
    }
    let infrastructure = cluster.infrastructure.as_ref().ok().and_then(Option::as_ref);
    let enrolment = cluster.platform().map(|platform| Enrolment::owned(Some(configuration), platform));
    let Enforcement { mode, recorded, .. } =
        Enforcement::derived(Some(configuration), infrastructure, version, false, enrolment.as_ref());
    Some(match mode.as_str() {
        "Automatic" => {
            let before = said.and_then(|said| said.automatic.clone());
            automatic(Some(passed.map(of_release).or(before).unwrap_or(recorded)))
        }
        "Manual" => {
            let named = if recorded.ocp_version.is_some() { "OCPVersion" } else { "RHCOSVersion" };
            let mode_of = recorded.mode.clone().unwrap_or_else(|| named.to_owned());
            let recorded = RecordedBootImage { mode: Some(mode_of), ..recorded };
            SkewEnforcement { mode, automatic: None, manual: Some(recorded) }
        }
        _ => SkewEnforcement { mode, automatic: None, manual: None },
    })
}

fn of_release(release: OcpVersion) -> RecordedBootImage {
    RecordedBootImage { ocp_version: Some(release.to_string()), ..RecordedBootImage::default() }
}

/// The oldest boot image after a pass. After a clean one all are those of the release; where one was skipped, it may be as
/// old as the cluster; where something went wrong, nothing is known anew. The control plane does not count.
fn recorded_after(items: &[Item], release: &str, version: Option<&ClusterVersion>) -> Option<OcpVersion> {
    let counts = |item: &&Item| item.enrolled && item.kind != Kind::ControlPlaneMachineSet.name();
    let any = |decision: Decision| items.iter().filter(counts).any(|item| item.decision == decision);
    if any(Decision::Error) {
        return None;
    }
    if any(Decision::Skipped) {
        return Some(install_version(version));
    }
    OcpVersion::parse(release)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::boot_images::tests::{GCP_OLD, GCP_TARGET, cluster, edited, gcp};
    use crate::boot_images::{Gate, Machine, plan};
    use crate::objects::read;

    fn after(status: Value, spec: Value, machines: Vec<Machine>) -> Option<Value> {
        let mut cluster = cluster("GCP");
        cluster.configuration =
            Ok(Some(read(json!({"metadata": {"name": "cluster"}, "spec": spec, "status": status})).unwrap()));
        if let Ok(Some(version)) = &mut cluster.version {
            let old = json!({"metadata": {}, "status": {"history": [{"state": "Completed", "version": "4.21.0"},
                {"state": "Completed", "version": "4.12.7"}]}});
            *version = read(old).unwrap();
        }
        cluster.machines = machines;
        let mut items = plan(&cluster, &Gate::Open);
        items.iter_mut().filter(|item| item.decision == Decision::Patch).for_each(|item| {
            item.decision = Decision::Current;
        });
        enforced_after(&cluster, &items).map(|kept| serde_json::to_value(kept).unwrap())
    }

    #[test]
    fn an_operator_that_runs_chooses_the_mode_and_the_pass_the_version() {
        let said = |mode: &str| {
            json!({"observedGeneration": 1, "bootImageSkewEnforcementStatus":
            {"mode": mode, "automatic": {"ocpVersion": "4.15.0"}},
            "managedBootImagesStatus": {"machineManagers": [{"resource": "machinesets", "apiGroup": "machine.openshift.io",
                "selection": {"mode": "All"}}]}})
        };
        let recorded = |version: &str| Some(json!({"mode": "Automatic", "automatic": {"ocpVersion": version}}));
        assert_eq!(after(said("Automatic"), json!({}), vec![gcp(GCP_OLD)]), recorded("4.21.0"));
        assert_eq!(after(said("Automatic"), json!({}), vec![gcp(GCP_TARGET), gcp("mine")]), recorded("4.12.7"));
        let broken = edited(
            &gcp(GCP_OLD),
            "/metadata/annotations",
            json!({
            "capacity.cluster-autoscaler.kubernetes.io/labels": "kubernetes.io/arch=vax"}),
        );
        assert_eq!(after(said("Automatic"), json!({}), vec![broken, gcp("mine")]), None);
        assert_eq!(after(said("Manual"), json!({}), vec![gcp(GCP_OLD)]), None);
        assert_eq!(after(json!({"observedGeneration": 1}), json!({}), vec![gcp(GCP_OLD)]), None);
    }

    #[test]
    fn without_an_operator_the_mode_is_worked_out() {
        let sets = || vec![gcp(GCP_OLD)];
        assert_eq!(
            after(json!({}), json!({}), sets()),
            Some(json!({"mode": "Automatic", "automatic": {"ocpVersion": "4.21.0"}}))
        );
        let none = json!({"bootImageSkewEnforcement": {"mode": "None"}});
        assert_eq!(after(json!({}), none, sets()), Some(json!({"mode": "None"})));
        let partial = json!({"managedBootImages": {"machineManagers": [{"resource": "machinesets",
            "apiGroup": "machine.openshift.io", "selection": {"mode": "None"}}]}});
        assert_eq!(
            after(json!({}), partial, sets()),
            Some(json!({"mode": "Manual", "manual": {"mode": "OCPVersion", "ocpVersion": "4.12.7"}}))
        );
        let manual = json!({"bootImageSkewEnforcement":
            {"mode": "Manual", "manual": {"mode": "RHCOSVersion", "rhcosVersion": "9.6.20250930-0"}}});
        assert_eq!(
            after(json!({}), manual, sets()),
            Some(json!({"mode": "Manual", "manual": {"mode": "RHCOSVersion", "rhcosVersion": "9.6.20250930-0"}}))
        );
    }
}
