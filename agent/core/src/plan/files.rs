//! Steps for files.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::desired::Rules;
use crate::diff::Diff;
use crate::ignition::{Config, File, Unit};
use crate::machine_config::MachineConfig;
use crate::refusal::Refusal;
use crate::reserved;
use crate::root_path::RootPath;
use crate::step::{OwnerRef, Step};

/// The kubelet's certificates are kept current by their own reconciler on a node that has joined.
const KUBELET_CA: &str = "/etc/kubernetes/kubelet-ca.crt";

/// Certificates that stay on the node when a config no longer has them.
const KEPT: &[&str] = &[
    "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt",
    KUBELET_CA,
    "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem",
];
const KEPT_BELOW: &str = "/etc/docker/certs.d";

const UNITS: &str = "/etc/systemd/system/";

/// What a plan does about changed files.
#[derive(Debug, Default)]
pub(super) struct FileSteps {
    pub(super) writes: Vec<Step>,
    pub(super) removals: Vec<Step>,
    pub(super) left_alone: Vec<LeftAlone>,
}

/// A changed file that no step touches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftAlone {
    /// The file.
    pub path: String,
    /// Why.
    pub why: Exemption,
}

/// Why a changed file is not touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Exemption {
    /// Certificates are kept current by a reconciler of their own, and stay when a config drops them.
    Certificate,
    /// The target has a drop-in at the same path.
    BecomesDropin,
    /// The target has a unit at the same path.
    BecomesUnit,
}

/// Sorts every changed file into those to write, those to remove and those to leave alone.
pub(super) fn steps(diff: &Diff<'_>, target: &MachineConfig, sizes: &HashMap<&str, u64>, rules: &Rules) -> FileSteps {
    let mut steps = FileSteps::default();
    if diff.files.is_empty() {
        return steps;
    }
    let joined = matches!(rules, Rules::Policies(_));
    let dropins = dropin_paths(target);
    for (path, pair) in &diff.files {
        let why = match pair.new {
            Some(_) if joined && *path == KUBELET_CA => Some(Exemption::Certificate),
            Some(_) => None,
            None if is_kept(path) => Some(Exemption::Certificate),
            None if dropins.contains(*path) => Some(Exemption::BecomesDropin),
            None => becomes_unit(path, target).then_some(Exemption::BecomesUnit),
        };
        match (why, pair.new) {
            (Some(why), _) => steps.left_alone.push(LeftAlone { path: (*path).to_owned(), why }),
            (None, Some(file)) => steps.writes.push(write(file, sizes)),
            (None, None) => steps.removals.push(Step::RemoveFile { path: (*path).to_owned() }),
        }
    }
    steps
}

fn write(file: &File, sizes: &HashMap<&str, u64>) -> Step {
    Step::WriteFile {
        path: file.path.clone(),
        mode: file.permissions(),
        user: OwnerRef::from(&file.user),
        group: OwnerRef::from(&file.group),
        bytes: sizes.get(file.path.as_str()).copied().unwrap_or_default(),
    }
}

/// No user or group can have these numbers: the kernel takes the last one for "leave it as it is".
pub(super) fn check_owners(target: &Config) -> Result<(), Refusal> {
    for file in &target.files {
        let ids = [file.user.id, file.group.id].into_iter().flatten();
        if let Some(id) = ids.into_iter().find(|id| !(0..i64::from(u32::MAX)).contains(id)) {
            return Err(Refusal::OwnerId { path: file.path.clone(), id });
        }
    }
    Ok(())
}

/// A path is refused rather than made plain: nobody writes one with `..` by accident, and what the node would end up with
/// has to be what was reviewed.
pub(super) fn check_paths(target: &Config) -> Result<(), Refusal> {
    for file in &target.files {
        let path = || file.path.clone();
        RootPath::new(path()).map_err(|source| Refusal::Path { path: path(), source })?;
        if reserved::is_reserved_path(&file.path) {
            return Err(Refusal::Reserved { name: path() });
        }
        if let Some(tree) = reserved::kernel_tree(&file.path) {
            return Err(Refusal::KernelPath { path: path(), tree });
        }
    }
    Ok(())
}

fn is_kept(path: &str) -> bool {
    KEPT.contains(&path) || crate::path::parent(path).is_some_and(|directory| directory.contains(KEPT_BELOW))
}

fn becomes_unit(path: &str, target: &MachineConfig) -> bool {
    let has_file = |unit: &Unit| unit.mask == Some(true) || super::units::has_text(unit);
    let unit = path.strip_prefix(UNITS);
    unit.is_some_and(|name| target.ignition.units.iter().any(|unit| unit.name == name && has_file(unit)))
}

fn dropin_paths(target: &MachineConfig) -> HashSet<String> {
    let units = target.ignition.units.iter();
    units.flat_map(|unit| unit.dropins.iter().map(|dropin| dropin_path(&unit.name, &dropin.name))).collect()
}

/// Where a drop-in of a unit lives.
pub(super) fn dropin_path(unit: &str, dropin: &str) -> String {
    format!("{UNITS}{unit}.d/{dropin}")
}

/// Where a unit lives.
pub(super) fn unit_path(unit: &str) -> String {
    format!("{UNITS}{unit}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::disruption::Policies;
    use crate::fixture::{files, units};

    fn written(file: &Value, rules: &Rules) -> Vec<Step> {
        let (old, new) = (files(&json!([])), files(&json!([file])));
        let path = file["path"].as_str().unwrap();
        steps(&Diff::between(&old, &new), &new, &HashMap::from([(path, 3)]), rules).writes
    }

    #[test]
    fn mode_and_owner_have_the_daemons_defaults_and_a_number_wins_over_a_name() {
        let id = OwnerRef::Id;
        let name = |name: &str| OwnerRef::Name(name.to_owned());
        for (rest, mode, user, group) in [
            (json!({}), 0o644, id(0), id(0)),
            (json!({"mode": 0o400}), 0o400, id(0), id(0)),
            (json!({"mode": 0}), 0, id(0), id(0)),
            (json!({"user": {"name": "app"}}), 0o644, name("app"), id(0)),
            (json!({"user": {"name": ""}}), 0o644, id(0), id(0)),
            (json!({"user": {"name": "app", "id": 7}, "group": {"id": 8}}), 0o644, id(7), id(8)),
        ] {
            let mut file = rest.clone();
            file["path"] = json!("/etc/a");
            let expected = Step::WriteFile { path: "/etc/a".to_owned(), mode, user, group, bytes: 3 };
            assert_eq!(written(&file, &Rules::FirstBoot), [expected], "{rest}");
        }
    }

    #[test]
    fn the_kubelets_certificates_are_written_until_the_node_has_joined() {
        let file = json!({"path": KUBELET_CA});
        assert_eq!(written(&file, &Rules::FirstBoot).len(), 1);
        assert_eq!(written(&file, &Rules::Policies(Policies::default())), []);
    }

    #[test]
    fn certificates_and_new_dropins_stay_when_their_file_goes() {
        let target = units(&json!([
            {"name": "u.service", "contents": "a", "dropins": [{"name": "x.conf", "contents": "a"}]},
            {"name": "enabled-only.service", "enabled": true},
        ]));
        for (path, left_alone) in [
            ("/etc/motd", None),
            (KUBELET_CA, Some(Exemption::Certificate)),
            ("/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt", Some(Exemption::Certificate)),
            ("/etc/pki/ca-trust/source/anchors/other.crt", None),
            ("/etc/docker/certs.d/example.com/ca.crt", Some(Exemption::Certificate)),
            ("/etc/docker/certs.d", None),
            ("/etc/systemd/system/u.service.d/x.conf", Some(Exemption::BecomesDropin)),
            ("/etc/systemd/system/u.service.d/y.conf", None),
            ("/etc/systemd/system/u.service", Some(Exemption::BecomesUnit)),
            ("/etc/systemd/system/enabled-only.service", None),
        ] {
            let old = files(&json!([{"path": path}]));
            let steps = steps(&Diff::between(&old, &target), &target, &HashMap::new(), &Rules::FirstBoot);
            assert_eq!(steps.left_alone.first().map(|left| left.why), left_alone, "{path}");
            assert_eq!(steps.removals.len(), usize::from(left_alone.is_none()), "{path}");
        }
    }

    #[test]
    fn paths_that_are_not_plain_or_belong_to_the_agent_are_refused() {
        for (path, valid) in [
            ("/etc/motd", true),
            ("/etc//motd", false),
            ("/etc/../motd", false),
            ("/etc/motd/", false),
            ("/etc/mo\0td", false),
            ("/var/lib/ostler/journal/plan", false),
            ("/etc/systemd/system/ostler.service", false),
        ] {
            assert_eq!(check_paths(&files(&json!([{"path": path}])).ignition).is_ok(), valid, "{path:?}");
        }
    }

    #[test]
    fn numbers_that_no_owner_can_have_are_refused() {
        for (id, valid) in [(0, true), (4_294_967_294_i64, true), (4_294_967_295, false), (-1, false)] {
            for whose in ["user", "group"] {
                let config = files(&json!([{"path": "/etc/a", whose: {"id": id}}]));
                assert_eq!(check_owners(&config.ignition).is_ok(), valid, "{whose} {id}");
            }
        }
    }
}
