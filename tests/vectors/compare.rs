//! One case: every point on which the two decisions differ.

use std::collections::BTreeSet;
use std::fmt::Debug;

use ostler_core::kargs;
use ostler_core::plan::{Assessment, Plan};
use ostler_core::refusal::Refusal;
use ostler_core::step::Step;
use serde_json::{Value, to_value};

use crate::Case;
use crate::leaves;

/// Everything on which Ostler and the record disagree.
pub(crate) fn disagreements(case: &Case) -> Vec<String> {
    let mut found = Vec::new();
    verdict(case, &mut found);
    diff(case, &mut found);
    changes(case, &mut found);
    if let (Ok(running), Ok(first_boot)) = (&case.running.verdict, &case.first_boot.verdict) {
        plans(case, running, first_boot, &mut found);
        kernel_line(case, running, &mut found);
    }
    found.extend(leaves::disagreements(&case.old, &case.new, &case.running.irreconcilable));
    found
}

fn same<T: PartialEq + Debug>(what: &str, recorded: &T, ours: &T, found: &mut Vec<String>) {
    if recorded != ours {
        found.push(format!("{what}: recorded {recorded:?}, ours {ours:?}"));
    }
}

/// The verdict and the reason's text. Where the recorded daemon would have failed only later, it is reconcilable.
fn verdict(case: &Case, found: &mut Vec<String>) {
    let refusal = |assessment: &Assessment| assessment.verdict.as_ref().err().map(Refusal::reason);
    let recorded = case.expect["reason"].as_str().map(str::to_owned);
    same("reconcilable", &case.expect["reconcilable"], &Value::Bool(recorded.is_none()), found);
    same("reason", &recorded, &refusal(&case.running), found);
    same("reason at first boot", &recorded, &refusal(&case.first_boot), found);
}

/// The daemon counts a mere reordering of files or units as a change of the part; Ostler does not.
fn diff(case: &Case, found: &mut Vec<String>) {
    let ours = to_value(case.running.parts).expect("parts are JSON");
    let recorded = case.expect["diff"].as_object().expect("a case has a diff");
    for (part, recorded) in recorded {
        let changed = match part.as_str() {
            "files" => &case.expect["changedFiles"],
            "units" => &case.expect["changedUnits"],
            _ => &Value::Null,
        };
        let only_reordered = matches!(part.as_str(), "files" | "units") && names(changed).is_empty();
        let expected = if only_reordered { &Value::Bool(false) } else { recorded };
        same(&format!("diff.{part}"), expected, &ours[part], found);
    }
}

fn names(list: &Value) -> BTreeSet<String> {
    let name = |name: &Value| name.as_str().expect("a name is text").to_owned();
    list.as_array().map(|list| list.iter().map(name).collect()).unwrap_or_default()
}

fn changes(case: &Case, found: &mut Vec<String>) {
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    same("changedFiles", &names(&case.expect["changedFiles"]), &set(&case.running.changed_files), found);
    same("changedUnits", &names(&case.expect["changedUnits"]), &set(&case.running.changed_units), found);
}

/// The daemon's order across paths is random and duplicates occur; `None` means nothing beside another action, and it
/// has no action at all where files are merely reordered.
fn actions(list: &Value) -> BTreeSet<String> {
    let list = list.as_array().cloned().unwrap_or_default();
    let found: BTreeSet<_> = list.iter().filter(|action| action["type"] != "None").map(Value::to_string).collect();
    if found.is_empty() { BTreeSet::from(["None".to_owned()]) } else { found }
}

fn plans(case: &Case, running: &Plan, first_boot: &Plan, found: &mut Vec<String>) {
    let [ours, ours_first] = [running, first_boot].map(|plan| to_value(&plan.actions).expect("actions are JSON"));
    same("actions", &actions(&case.expect["actions"]), &actions(&ours), found);
    same("drain", &case.expect["drain"], &Value::Bool(running.drain.is_needed()), found);
    same("firstBootActions", &names(&case.expect["firstBootActions"]), &names(&ours_first), found);
    same("firstBootDrain", &case.expect["firstBootDrain"], &Value::Bool(first_boot.drain.is_needed()), found);
}

/// The command is not binding, the line it leaves is: what was there, then the new arguments in their order.
fn kernel_line(case: &Case, plan: &Plan, found: &mut Vec<String>) {
    const BASE: &str = "root=UUID=x rw";
    let line = |entries: &[String]| {
        let arguments = entries.iter().flat_map(|entry| kargs::split(entry));
        std::iter::once(BASE.to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
    };
    let staged = plan.steps.iter().find_map(|step| match step {
        Step::StageOs(deployment) => Some(&deployment.kernel_arguments),
        _ => None,
    });
    let before = line(&case.current.kernel_arguments);
    let after = staged.map_or_else(|| before.clone(), |change| change.apply(&before));
    same("kernel line", &line(&case.target.kernel_arguments), &after, found);
}
