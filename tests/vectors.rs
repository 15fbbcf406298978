//! Ostler's decisions against those the machine-config-daemon took on the same pairs of MachineConfigs.
//!
//! Compared as the README beside the recorded decisions says. Where Ostler may differ, the rule stands at its check.
#![cfg(test)]

#[path = "vectors/compare.rs"]
mod compare;
#[path = "vectors/leaves.rs"]
mod leaves;

use std::io::Write as _;

use compare::disagreements;
use ostler_core::desired::{Desired, Rules};
use ostler_core::disruption::Policies;
use ostler_core::machine_config::MachineConfig;
use ostler_core::observed::Observed;
use ostler_core::plan::{Assessment, assess};
use ostler_core::reconcile::Overrides;
use ostler_tests::shared;
use serde_json::Value;

/// One recorded decision, and Ostler's on the same pair.
struct Case {
    id: String,
    old: Value,
    new: Value,
    expect: Value,
    current: MachineConfig,
    target: MachineConfig,
    running: Assessment,
    first_boot: Assessment,
}

impl Case {
    fn read(line: &str) -> Self {
        let mut record: Value = serde_json::from_str(line).expect("a case is JSON");
        let [old, new, expect] = ["old", "new", "expect"].map(|key| record[key].take());
        let [current, target] =
            [&old, &new].map(|config| MachineConfig::from_document(config.clone()).expect("a case's config is read"));
        let overrides = overrides(&record["overrides"]);
        let observed = Observed::configured(current.clone());
        let decide = |rules, overrides| assess(&observed, &Desired { target: target.clone().into(), overrides, rules });
        Self {
            id: record["id"].as_str().expect("a case has an id").to_owned(),
            running: decide(Rules::Policies(policies(&record["policy"])), overrides),
            first_boot: decide(Rules::FirstBoot, overrides),
            old,
            new,
            expect,
            current,
            target,
        }
    }
}

fn overrides(names: &Value) -> Overrides {
    let given = |name: &str| names.as_array().is_some_and(|names| names.iter().any(|given| given == name));
    Overrides { disks: given("Disks"), filesystems: given("FileSystems"), raid: given("Raid") }
}

fn policies(user: &Value) -> Policies {
    if user.is_null() {
        return Policies::default();
    }
    let user = serde_json::from_value(user.clone()).expect("a case's policy is one");
    Policies::with_user(&user).expect("a case's policy can be used")
}

#[test]
fn every_recorded_decision_is_taken_again() {
    let Some(path) = shared("vectors/decisions.jsonl") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let cases: Vec<Case> = text.lines().map(Case::read).collect();
    assert!(!cases.is_empty(), "the file of decisions is empty");
    let disagreements: Vec<(String, Vec<String>)> = cases
        .iter()
        .map(|case| (case.id.clone(), disagreements(case)))
        .filter(|(_, complaints)| !complaints.is_empty())
        .collect();
    let agreed = cases.len() - disagreements.len();
    // Written to the stream itself: the test harness would swallow what the print macros write.
    let _ = writeln!(std::io::stderr(), "vectors: {agreed} of {} decisions agree", cases.len());
    let lines = disagreements.iter().map(|(id, complaints)| format!("{id}\n    {}", complaints.join("\n    ")));
    assert!(disagreements.is_empty(), "\n{}\n", lines.collect::<Vec<_>>().join("\n"));
}
