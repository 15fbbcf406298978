//! Steps that make changes take effect in services, and those that are dropped because their unit goes.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::disruption::{Action, CRIO};
use crate::machine_config::MachineConfig;
use crate::step::{ServiceAction, Step};
use crate::unit_name;

/// A restart or reload that a policy asks for and that is left out, because it could only fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dropped {
    pub service: String,
    /// The action that the policy asks for.
    pub action: ServiceAction,
    /// Why it could only fail.
    pub why: Gone,
}

/// What becomes of a unit that cannot be started any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Gone {
    /// The change removes it.
    Removed,
    /// The change masks it.
    Masked,
}

/// The steps that make changes take effect. systemd reads its units first, whatever the policies' order: no service may
/// be restarted from a text that is no longer on disk.
pub(super) fn steps(actions: &[Action]) -> Vec<Step> {
    let reload = actions.contains(&Action::DaemonReload).then_some(Step::DaemonReload);
    let rest = actions.iter().filter_map(|action| match action {
        Action::None | Action::Drain | Action::DaemonReload => None,
        Action::Reload(service) => Some(Step::ReloadService { service: service.clone() }),
        Action::Restart(service) => Some(Step::RestartService { service: service.clone() }),
        Action::Special => Some(Step::ReloadService { service: CRIO.to_owned() }),
        Action::Reboot => Some(Step::Reboot),
    });
    let mut steps: Vec<Step> = Vec::new();
    for step in reload.into_iter().chain(rest) {
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    steps
}

/// Why a service will not be there to be told. One that the operating system has too is there again when the
/// configuration's own unit is removed. A removed or masked service that runs goes on running until it is stopped, or until
/// the machine restarts: the machine-config-daemon does not stop it either.
pub(super) fn gone(
    step: &Step,
    steps: &[Step],
    target: &MachineConfig,
    os_units: &BTreeSet<String>,
) -> Option<Dropped> {
    let (service, action) = step.service()?;
    let template = unit_name::template(service);
    let names: Vec<&str> = [Some(service), template.as_deref()].into_iter().flatten().collect();
    let masked = |name: &&str| target.ignition.units.iter().any(|unit| unit.name == *name && unit.mask == Some(true));
    let removed = |name: &&str| steps.iter().any(|step| matches!(step, Step::RemoveUnit { unit } if unit == name));
    let stays = |name: &&str| {
        let path = super::files::unit_path(name);
        let units = target.ignition.units.iter();
        let configured = units.filter(|unit| unit.name == *name).any(super::units::has_text);
        configured || os_units.contains(*name) || target.ignition.files.iter().any(|file| file.path == path)
    };
    let why = if names.iter().any(masked) {
        Gone::Masked
    } else if names.iter().any(removed) && !names.iter().any(stays) {
        Gone::Removed
    } else {
        return None;
    };
    Some(Dropped { service: service.to_owned(), action, why })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fixture::units;

    fn dropped(target: &Value, removed: &[&str], os_units: &[&str]) -> Option<Gone> {
        let steps: Vec<Step> = removed.iter().map(|unit| Step::RemoveUnit { unit: (*unit).to_owned() }).collect();
        let os_units = os_units.iter().map(|unit| (*unit).to_owned()).collect();
        let step = Step::RestartService { service: "u@1.service".to_owned() };
        gone(&step, &steps, &units(target), &os_units).map(|dropped| dropped.why)
    }

    #[test]
    fn a_service_is_told_only_where_its_unit_will_be_there() {
        let text = |name: &str| json!([{"name": name, "contents": "[Service]"}]);
        for (target, removed, os_units, expected) in [
            (json!([]), &[][..], &[][..], None),
            (json!([]), &["u@1.service"], &[], Some(Gone::Removed)),
            (json!([]), &["u@.service"], &[], Some(Gone::Removed)),
            (json!([]), &["other.service"], &[], None),
            (json!([]), &["u@1.service"], &["u@1.service"], None),
            (json!([]), &["u@1.service"], &["u@.service"], None),
            (text("u@.service"), &["u@1.service"], &[], None),
            (text("u@1.service"), &["u@.service"], &[], None),
            (json!([{"name": "u@1.service", "mask": true}]), &[], &["u@1.service"], Some(Gone::Masked)),
            (json!([{"name": "u@.service", "mask": true}]), &[], &[], Some(Gone::Masked)),
            (json!([{"name": "u@1.service", "mask": false}]), &[], &[], None),
        ] {
            assert_eq!(dropped(&target, removed, os_units), expected, "{target} without {removed:?}");
        }
    }
}
