//! What holds for every plan, whatever the two configs.

mod configs;

use std::collections::{BTreeMap, HashSet};

use configs::{CANARY, config, request};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::{Plan, assess, plan};
use crate::desired::{Desired, Rules};
use crate::diff::Diff;
use crate::disruption::{Action, Policies};
use crate::ignition::Unit;
use crate::observed::Observed;
use crate::reconcile::Overrides;
use crate::secret::Secret;
use crate::step::Step;

fn path(step: &Step) -> Option<&str> {
    match step {
        Step::WriteFile { path, .. } | Step::RemoveFile { path } => Some(path),
        _ => None,
    }
}

fn unit(step: &Step) -> Option<&str> {
    match step {
        Step::WriteUnit { unit, .. }
        | Step::WriteDropin { unit, .. }
        | Step::RemoveUnit { unit }
        | Step::RemoveDropin { unit, .. }
        | Step::MaskUnit { unit }
        | Step::UnmaskUnit { unit }
        | Step::EnableUnit { unit }
        | Step::DisableUnit { unit }
        | Step::PresetUnit { unit } => Some(unit),
        _ => None,
    }
}

const fn is_service_step(step: &Step) -> bool {
    matches!(step, Step::DaemonReload | Step::ReloadService { .. } | Step::RestartService { .. } | Step::Reboot)
}

/// What a unit entry asks of the node: of a masked one only its drop-ins, and an empty text is none.
type Meaning<'a> = (bool, Option<&'a str>, Option<Option<bool>>, BTreeMap<&'a str, &'a str>);

fn text(text: Option<&Secret<String>>) -> Option<&str> {
    text.map(|text| text.expose().as_str()).filter(|text| !text.is_empty())
}

fn meaning(unit: &Unit) -> Meaning<'_> {
    let masked = unit.mask == Some(true);
    let dropins =
        unit.dropins.iter().filter_map(|dropin| Some((dropin.name.as_str(), text(dropin.contents.as_ref())?)));
    (masked, text(unit.contents.as_ref()).filter(|_| !masked), (!masked).then_some(unit.enabled), dropins.collect())
}

/// Changed files that no step has to follow: certificates with their own rotation, and what has become a drop-in.
fn is_exempt(path: &str, removed: bool, desired: &Desired) -> bool {
    let dropin = |unit: &Unit, name: &str| format!("/etc/systemd/system/{}.d/{name}", unit.name);
    let dropins =
        desired.target.ignition.units.iter().flat_map(|unit| unit.dropins.iter().map(move |d| dropin(unit, &d.name)));
    let is_dropin = dropins.into_iter().any(|known| known == path);
    let joined = matches!(desired.rules, Rules::Policies(_));
    match path {
        "/etc/kubernetes/kubelet-ca.crt" => removed || joined,
        "/etc/docker/certs.d/example.com/ca.crt" => removed,
        _ => removed && is_dropin,
    }
}

fn check_coverage(observed: &Observed, desired: &Desired, plan: &Plan) -> Result<(), TestCaseError> {
    let diff = Diff::between(&observed.current, &desired.target);
    let paths: HashSet<&str> = plan.steps.iter().filter_map(path).collect();
    let units: HashSet<&str> = plan.steps.iter().filter_map(unit).collect();
    for (path, pair) in &diff.files {
        let exempt = is_exempt(path, pair.new.is_none(), desired);
        prop_assert_ne!(paths.contains(path), exempt, "{}", path);
    }
    for (name, pair) in &diff.units {
        let differs = pair.old.map(meaning) != pair.new.map(meaning);
        // A drop-in that is a plain file from now on is a change of the file.
        let moved = desired.target.ignition.files.iter().any(|file| file.path.contains(&format!("/{name}.d/")));
        prop_assert!(!differs || units.contains(name) || moved, "{} changes without a step", name);
    }
    prop_assert!(paths.iter().all(|path| diff.files.contains_key(path)), "a step for an unchanged file");
    prop_assert!(units.iter().all(|name| diff.units.contains_key(name)), "a step for an unchanged unit");
    Ok(())
}

fn check_order(plan: &Plan) -> Result<(), TestCaseError> {
    let steps = &plan.steps;
    let positions = |wanted: fn(&Step) -> bool| -> Vec<usize> {
        steps.iter().enumerate().filter(|(_, step)| wanted(step)).map(|(at, _)| at).collect()
    };
    let staged = positions(|step| matches!(step, Step::StageOs(_)));
    let drains = positions(|step| *step == Step::Drain);
    let records = positions(|step| matches!(step, Step::RecordConfig { .. }));
    let services = positions(is_service_step);
    prop_assert!(staged.is_empty() || staged == [0], "{:?}", steps);
    prop_assert!(drains.is_empty() || drains == [staged.len()], "only staging may come before the drain: {:?}", steps);
    prop_assert_eq!(records.len(), usize::from(!steps.is_empty()));
    let after_record: Vec<usize> = records.first().map_or(0..0, |at| at + 1..steps.len()).collect();
    prop_assert_eq!(services, after_record, "what takes effect comes last, and nothing else does");
    let reboots = positions(|step| *step == Step::Reboot);
    prop_assert!(reboots.is_empty() || reboots == [steps.len() - 1]);
    prop_assert_eq!(!reboots.is_empty(), plan.reboots());
    prop_assert_eq!(plan.actions.list().contains(&Action::Reboot), plan.reboots());
    prop_assert_eq!(!drains.is_empty(), plan.drain.is_needed());
    prop_assert!(!plan.reboots() || plan.drain.is_needed(), "a reboot without a drain");
    Ok(())
}

proptest! {
    #[test]
    fn a_machine_in_its_configuration_has_nothing_to_do(config in config()) {
        let observed = Observed::configured(config.clone());
        for rules in [Rules::Policies(Policies::default()), Rules::FirstBoot] {
            let desired = Desired { target: config.clone().into(), overrides: Overrides::default(), rules };
            if let Ok(plan) = plan(&observed, &desired) {
                prop_assert_eq!(&plan.steps, &[]);
                prop_assert_eq!(plan.actions.list(), &[Action::None]);
                prop_assert!(!plan.drain.is_needed());
            }
        }
    }

    #[test]
    fn planning_is_deterministic_and_agrees_with_assessing((observed, desired) in request()) {
        let assessed = assess(&observed, &desired);
        prop_assert_eq!(format!("{assessed:?}"), format!("{:?}", assess(&observed, &desired)));
        match (plan(&observed, &desired), assessed.verdict) {
            (Ok(planned), Ok(assessed)) => prop_assert_eq!(planned, assessed),
            (Err(planned), Err(assessed)) => {
                prop_assert_eq!(planned.reason(), assessed.reason());
                prop_assert!(!planned.remedy().is_empty());
            }
            (planned, assessed) => prop_assert!(false, "{:?} but {:?}", planned, assessed),
        }
    }

    #[test]
    fn steps_come_back_from_the_journal_as_they_went((observed, desired) in request()) {
        if let Ok(plan) = plan(&observed, &desired) {
            let stored = serde_json::to_string(&plan.steps).unwrap();
            prop_assert_eq!(serde_json::from_str::<Vec<Step>>(&stored).unwrap(), plan.steps);
        }
    }

    #[test]
    fn every_change_has_a_step_and_every_step_a_change((observed, desired) in request()) {
        if let Ok(plan) = plan(&observed, &desired) {
            check_coverage(&observed, &desired, &plan)?;
        }
    }

    #[test]
    fn steps_come_in_an_order_that_can_be_carried_out((observed, desired) in request()) {
        if let Ok(plan) = plan(&observed, &desired) {
            check_order(&plan)?;
        }
    }

    #[test]
    fn nothing_that_is_logged_holds_a_secret((observed, desired) in request()) {
        let assessed = assess(&observed, &desired);
        let logged = format!("{observed:?} {desired:?} {assessed:?}");
        prop_assert!(!logged.contains(CANARY), "{}", logged);
        let said = assessed.verdict.map_or_else(|refusal| refusal.reason(), |plan| serde_json::to_string(&plan.steps).unwrap());
        prop_assert!(!said.contains(CANARY), "{}", said);
    }
}

/// The properties above say little about refused pairs: enough of them must be accepted.
#[test]
fn enough_pairs_are_accepted_and_some_refused() {
    let mut runner = TestRunner::deterministic();
    let accepted = (0..300).filter(|_| {
        let (observed, desired) = request().new_tree(&mut runner).unwrap().current();
        plan(&observed, &desired).is_ok()
    });
    let accepted = accepted.count();
    assert!((120..290).contains(&accepted), "{accepted} of 300 pairs are accepted");
}
