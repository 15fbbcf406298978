//! A machine is up to date only if nothing at all says otherwise. Which reason has which words is tested with the surfaces.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::node::decide::{Decision, Next, Wait};
use crate::node::duties::DriftSummary;
use crate::node::situation::Phase;
use crate::node::view::ConfigRef;
use crate::os::behind::Behind;
use crate::os::state::OsState;
use crate::rival::{Rival, Task};
use crate::rollback::RollbackHold;
use crate::status::Inherited;
use crate::transaction::{Open, OrderedRestart, Trial};

fn at_rest(next: Next) -> AgentReport {
    AgentReport {
        source: ConfigSource::Cluster,
        current: Some(ConfigRef::new("a")),
        desired: Some(ConfigRef::new("a")),
        decision: Decision { next, phase: Phase::Settled, trouble: None, drain: None },
        retry_at: None,
        lost: None,
        denied: None,
        drift: None,
        certificates: None,
    }
}

fn in_a() -> Status {
    Status { config: Some("a".to_owned()), ..Status::default() }
}

fn text() -> String {
    "x".to_owned()
}

type Fault = fn(&mut Status, &mut AgentReport);

/// Everything that keeps a node at rest from being up to date.
const FAULTS: [Fault; 16] = [
    |machine, _| machine.rival = Some(Rival { pid: 1, task: Task::Node }),
    |machine, _| machine.damaged.push(text()),
    |machine, _| machine.os_unknown = Some(text()),
    |machine, _| {
        machine.os.finalization_failure = Some(text());
        machine.behind = Some(Behind { lacking: Vec::new(), words: text() });
    },
    |machine, _| machine.awaits_reboot = true,
    |machine, _| {
        machine.restart = Some(OrderedRestart { boot: text().into(), ordered: 1, rationale: text() });
    },
    |machine, _| machine.busy = true,
    |machine, _| machine.trial = Some(Trial { config: text(), before: text().into(), os: false, since: 1 }),
    |machine, _| machine.inherited = Some(Inherited { unreadable: Some(text()) }),
    |machine, _| machine.config = None,
    |machine, _| machine.image = Some(text()),
    |_, agent| agent.lost = Some(Lost { since: 1, reason: text() }),
    |_, agent| agent.certificates = Some(text()),
    |_, agent| agent.drift = Some(DriftSummary { config: "a".to_owned(), count: 1, words: text(), since: 1 }),
    |_, agent| agent.desired = Some(ConfigRef::new("b")),
    |_, agent| agent.decision.trouble = Some(Trouble { kind: TroubleKind::Degraded, reason: text() }),
];

#[test]
fn a_node_at_rest_is_up_to_date_and_drift_of_another_configuration_is_not_its_own() {
    let (machine, mut agent) = (in_a(), at_rest(Next::Wait(Wait::Settled)));
    agent.drift = Some(DriftSummary { config: "z".to_owned(), count: 1, words: text(), since: 1 });
    let verdict = Verdict::new(&machine, &Agent::Running(&agent));
    assert_eq!((verdict.state(), verdict.headline(None)), (State::UpToDate, "Up to date.".to_owned()));
    let alone = Verdict::new(&machine, &Agent::Absent);
    assert_eq!(alone.headline(None), "Up to date. No agent runs on this machine.");
    assert_eq!(Verdict::new(&Status::default(), &Agent::Absent).state(), State::Unknown);
    for other in [Agent::Stopped, Agent::Starting, Agent::Silent { reason: text() }] {
        assert_eq!(Verdict::new(&machine, &other).state(), State::Unknown, "{other:?}");
    }
}

#[test]
fn the_hold_after_a_rollback_is_waited_for_with_and_without_an_agent() {
    let (from, to, desired) = ("b".to_owned(), "a".to_owned(), None);
    let hold = RollbackHold { from, to, desired, since: 1 };
    let machine = Status { rollback_hold: Some(hold.clone()), ..in_a() };
    let agent = at_rest(Next::Wait(Wait::RollbackRelease { hold }));
    for agent in [Agent::Running(&agent), Agent::Stopped, Agent::Absent] {
        let verdict = Verdict::new(&machine, &agent);
        let expected = "Waiting for the hold on the update to b to be released (rolled back from b to a).";
        assert!(verdict.headline(None).starts_with(expected), "{}", verdict.headline(None));
        assert!(verdict.reasons()[0].fix().unwrap().contains("ostler rollback --release"));
    }
}

#[test]
fn what_only_an_agent_would_finish_is_not_up_to_date_without_one() {
    let behind = Behind { lacking: Vec::new(), words: text() };
    let boots = |boot: &str| Status { boot: boot.to_owned().into(), ..in_a() };
    let trial = Trial { config: "a".to_owned(), before: "1".to_owned().into(), os: false, since: 1 };
    for (machine, expected) in [
        (Status { inherited: Some(Inherited::default()), ..in_a() }, "Waiting for an agent to check a, which"),
        (Status { behind: Some(behind), ..in_a() }, "Needs attention: the operating system is not that"),
        (Status { trial: Some(trial.clone()), ..boots("2") }, "Waiting for health checks."),
        (Status { trial: Some(trial), ..boots("1") }, "Waiting for a restart, with which a takes effect."),
    ] {
        let headline = Verdict::new(&machine, &Agent::Stopped).headline(None);
        assert!(headline.starts_with(expected), "{headline}");
        // Without an agent nobody checks a boot.
        let alone = Verdict::new(&machine, &Agent::Absent);
        assert_eq!(alone.state() == State::UpToDate, machine.trial.is_some(), "{alone:?}");
    }
}

#[test]
fn a_deployment_that_was_not_finalized_needs_attention_only_while_it_is_missing() {
    let os = OsState { finalization_failure: Some(text()), ..OsState::default() };
    let machine = Status { os, boot: "2".to_owned().into(), ..in_a() };
    let begun = |boot: &str| {
        serde_json::from_value::<Open>(json!({
            "purpose": "update", "direction": "forward", "from": "a", "to": "b", "steps": [], "undo": [],
            "boot": boot, "began": 1,
        }))
        .unwrap()
    };
    let behind = Some(Behind { lacking: Vec::new(), words: text() });
    for (name, machine, lost) in [
        ("nothing is missing", machine.clone(), false),
        ("of a transaction that is open", Status { open: Some(begun("1")), ..machine.clone() }, true),
        ("before the open transaction", Status { open: Some(begun("2")), ..machine.clone() }, false),
        ("before a restart that is owed", Status { awaits_reboot: true, ..machine.clone() }, false),
        ("the operating system is another", Status { behind, ..machine }, true),
    ] {
        let agent = at_rest(Next::Wait(Wait::Settled));
        let verdict = Verdict::new(&machine, &Agent::Running(&agent));
        let failed = verdict.reasons().contains(&Reason::FinalizationFailed { reason: text() });
        assert_eq!((failed, verdict.state() == State::NeedsAttention), (lost, lost), "{name}: {verdict:?}");
    }
}

#[test]
fn all_that_needs_attention_is_reported_and_a_refusal_decides_the_state() {
    let refused =
        Reason::Refused { config: "b".to_owned(), kind: TroubleKind::Unreconcilable, reason: "no".to_owned() };
    let verdict = Verdict::from_reasons([Reason::OtherProcess, Reason::Failed { reason: text() }, refused]);
    assert_eq!(verdict.node_state(), Some(keys::STATE_UNRECONCILABLE));
    assert_eq!(verdict.trouble().unwrap().reason, "x; no");
    assert_eq!(verdict.headline(None), "Needs attention: x.");
}

proptest! {
    #[test]
    fn no_fault_and_no_set_of_faults_is_up_to_date(faults in proptest::sample::subsequence(FAULTS.to_vec(), 1..FAULTS.len())) {
        let (mut machine, mut agent) = (in_a(), at_rest(Next::Wait(Wait::Settled)));
        for fault in faults {
            fault(&mut machine, &mut agent);
        }
        let verdict = Verdict::new(&machine, &Agent::Running(&agent));
        prop_assert_ne!(verdict.state(), State::UpToDate);
        prop_assert!(!verdict.headline(None).starts_with("Up to date"));
        prop_assert_ne!(verdict.node_state(), Some(keys::STATE_DONE));
    }
}

#[test]
fn each_fault_alone_is_enough() {
    for (index, fault) in FAULTS.iter().enumerate() {
        let (mut machine, mut agent) = (in_a(), at_rest(Next::Wait(Wait::Settled)));
        fault(&mut machine, &mut agent);
        let verdict = Verdict::new(&machine, &Agent::Running(&agent));
        assert_ne!(verdict.state(), State::UpToDate, "{index}");
    }
}
