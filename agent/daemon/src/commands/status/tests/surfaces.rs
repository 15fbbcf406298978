//! Every situation of a node, on every surface that shows its state.

use std::collections::BTreeSet;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

use ostler_core::api::{MachineConfigNode, Time};
use ostler_core::node::duties::DriftSummary;
use ostler_core::node::{
    ConfigRef, Decision, Duties, Gates, HealthCheck, Input, Irreconcilable, Next, NodeView, Phase, Situation, Trouble,
    TroubleKind, Wait, annotations, keys,
};
use ostler_core::os::behind::Behind;
use ostler_core::rollback::RollbackHold;
use ostler_core::status::Inherited;
use ostler_core::transaction::{Ending, Rejected, ServiceFailure, Trial};
use ostler_core::verdict::{AgentReport, ConfigSource, Lost, Reason, State};
use tokio::sync::watch;

use super::*;
use crate::account::tests::{account, report};
use crate::service::{Seen, Teller};
use crate::telling::manager::Manager;
use crate::telling::metrics::Metrics;

const NOW: u64 = 1_791_000_240;

/// A situation: a machine, its agent, and what is expected of every surface.
struct Row {
    machine: Status,
    agent: Beside,
    /// First line of `ostler status`.
    first: &'static str,
    /// StatusText, where it is not the first line: it outlasts the moment, and says no spans of time.
    status_text: Option<&'static str>,
    exit: u8,
    state: State,
    /// The `state` annotation; none where it is kept, or where nothing is published.
    annotation: Option<&'static str>,
}

enum Beside {
    Absent,
    Stopped,
    Silent,
    Starting,
    Running(Box<AgentReport>),
}

fn running(report: AgentReport) -> Beside {
    Beside::Running(Box::new(report))
}

/// Rows of one state.
fn row(machine: Status, agent: Beside, first: &'static str, state: State) -> Row {
    let (exit, annotation) = match state {
        State::UpToDate => (0, Some("Done")),
        State::Updating | State::Waiting => (4, Some("Working")),
        State::NeedsAttention => (4, Some("Degraded")),
        State::Unknown => (6, None),
    };
    Row { machine, agent, first, status_text: None, exit, state, annotation }
}

fn up_to_date() -> AgentReport {
    AgentReport {
        desired: Some(ConfigRef::new("rendered-worker-1")),
        ..doing(Next::Wait(Wait::Settled), Phase::Settled)
    }
}

fn doing(next: Next, phase: Phase) -> AgentReport {
    AgentReport { decision: Decision { next, phase, trouble: None, drain: None }, ..report() }
}

fn failing(phase: Phase, kind: TroubleKind) -> AgentReport {
    let mut report = doing(Next::Wait(Wait::Help), phase);
    report.decision.trouble = Some(Trouble { kind, reason: "no such file".to_owned() });
    report
}

fn why() -> String {
    "why".to_owned()
}

#[allow(clippy::too_many_lines, reason = "one row per situation")]
fn attention() -> Vec<Row> {
    let row = |machine, agent, first| row(machine, agent, first, State::NeedsAttention);
    let beside = |machine| (machine, running(up_to_date()));
    let rejected = vec![Rejected { config: "rendered-worker-2".to_owned(), reason: why(), at: 1 }];
    let rows = [
        (
            beside(Status { rival: Some(Rival { pid: 7, task: Task::Node }), ..settled() }),
            "machine-config-daemon runs on this node as process 7, so nothing is changed here",
        ),
        (
            beside(Status {
                inherited: Some(Inherited { unreadable: Some(why()) }),
                damaged: vec![why()],
                ..settled()
            }),
            "the current configuration cannot be read: why",
        ),
        (beside(Status { damaged: vec!["a: torn".to_owned()], ..settled() }), "damaged journal records: a: torn"),
        (beside(Status { os_unknown: Some(why()), ..settled() }), "the deployments cannot be read: why"),
        (
            beside(Status { last: Some(unrestored()), ..settled() }),
            "1 service not in the current configuration: cannot restart app.service: why",
        ),
        (
            beside(Status {
                os: OsState { finalization_failure: Some(why()), ..OsState::default() },
                behind: Some(Behind { lacking: Vec::new(), words: why() }),
                ..settled()
            }),
            "a staged deployment was not finalized: why",
        ),
        (
            beside(Status { last: Some(abandoned()), ..settled() }),
            "the change from rendered-worker-1 to rendered-worker-2 was abandoned: 1 difference from rendered-worker-1: /a",
        ),
        ((open(), Beside::Absent), "the update to rendered-worker-2 was interrupted"),
        (
            (Status { behind: Some(Behind { lacking: Vec::new(), words: why() }), ..settled() }, Beside::Absent),
            "the operating system is not that of the configuration: why",
        ),
        (
            (Status { rejected, ..settled() }, running(failing(Phase::Considering, TroubleKind::Degraded))),
            "rendered-worker-2 was tried on this node and given up: why",
        ),
        ((settled(), running(failing(Phase::Executing, TroubleKind::Degraded))), "no such file"),
        (
            (
                settled(),
                running(AgentReport {
                    source: ConfigSource::Directory,
                    lost: Some(Lost { since: 1, reason: why() }),
                    ..up_to_date()
                }),
            ),
            "desired configurations cannot be read: why",
        ),
        (
            (settled(), running(AgentReport { certificates: Some(why()), ..up_to_date() })),
            "certificates cannot be delivered: why",
        ),
        ((settled(), running(drifted())), "1 difference from rendered-worker-1: content mismatch for file \"/a\""),
    ];
    let refused = "Needs attention: update to rendered-worker-2 refused: no such file.";
    let refusals = [(TroubleKind::Degraded, "Degraded"), (TroubleKind::Unreconcilable, "Unreconcilable")];
    let refusals = refusals.map(|(kind, annotation)| Row {
        annotation: Some(annotation),
        ..row(settled(), running(failing(Phase::Refused, kind)), refused)
    });
    let first = |words: &str| -> &'static str { format!("Needs attention: {words}.").leak() };
    let rows = rows.into_iter().map(|((machine, agent), words)| row(machine, agent, first(words)));
    rows.chain(refusals).collect()
}

fn unrestored() -> Finished {
    let failure = ServiceFailure { unit: "app.service".to_owned(), action: "restart".to_owned(), cause: why() };
    Finished { service_failures: vec![failure], ..undone(Purpose::Update) }
}

fn abandoned() -> Finished {
    let differs = vec!["1 difference from rendered-worker-1: /a".to_owned()];
    let (from, to) = ("rendered-worker-1".to_owned(), "rendered-worker-2".to_owned());
    Finished { ending: Ending::Abandoned { reason: why(), differs }, from, to, ..undone(Purpose::Update) }
}

fn drifted() -> AgentReport {
    let words = "content mismatch for file \"/a\"".to_owned();
    let drift = DriftSummary { config: "rendered-worker-1".to_owned(), count: 1, words, since: 1 };
    AgentReport { drift: Some(drift), ..up_to_date() }
}

fn updating() -> Vec<Row> {
    let under_way = |machine: Status| (machine, doing(Next::Wait(Wait::Turn), Phase::Executing));
    [
        ((settled(), doing(Next::Plan, Phase::Considering)), "evaluating the update to rendered-worker-2"),
        // Somebody applied another configuration, and the agent has not looked since.
        (
            (Status { config: Some("other".to_owned()), ..settled() }, up_to_date()),
            "evaluating the update to rendered-worker-1",
        ),
        ((settled(), doing(Next::Apply, Phase::Executing)), "applying rendered-worker-2"),
        ((settled(), doing(Next::Stage, Phase::Staging)), "staging the operating system of rendered-worker-2"),
        (under_way(Status { busy: true, ..open() }), "rolling back from rendered-worker-2: no space left\\u{1b}[2J"),
        ((open(), doing(Next::Recover, Phase::Executing)), "finishing or undoing an interrupted transaction"),
        ((settled(), doing(Next::Withdraw, Phase::Executing)), "taking back the update to "),
        (
            (settled(), doing(Next::TakeOver { introduced: false }, Phase::Considering)),
            "checking rendered-worker-1, which ostler did not apply",
        ),
        ((settled(), doing(Next::Reboot { late: None }, Phase::Restarting)), "restarting for rendered-worker-1"),
        ((settled(), doing(Next::Confirm, Phase::Proving)), "finishing the update to rendered-worker-1"),
        (
            (settled(), doing(Next::GiveUp { reason: why() }, Phase::Proving)),
            "rolling back from rendered-worker-1: why",
        ),
    ]
    .into_iter()
    .map(|((machine, agent), words)| {
        row(machine, running(agent), format!("Updating: {words}.").leak(), State::Updating)
    })
    .collect()
}

#[allow(clippy::too_many_lines, reason = "one row per situation")]
fn waiting_for() -> Vec<Row> {
    let row = |machine, agent, first| row(machine, agent, first, State::Waiting);
    let wait = |wait, phase| running(doing(Next::Wait(wait), phase));
    let held = |source, reason: &str| {
        let agent = doing(Next::Wait(Wait::Release { reason: reason.to_owned() }), Phase::Held);
        running(AgentReport { source, ..agent })
    };
    let trial = Trial { config: why(), before: "a".to_owned().into(), os: false, since: 1 };
    let proof = Wait::Proof { missing: vec![HealthCheck::Kubelet, HealthCheck::ApiServer], until: NOW + 1080 };
    let retry = AgentReport {
        retry_at: Some(NOW + 30),
        ..doing(Next::Wait(Wait::Chance { reason: why() }), Phase::Considering)
    };
    let request = || "drain-rendered-worker-2".to_owned();
    vec![
        row(
            Status { awaits_reboot: true, ..settled() },
            running(up_to_date()),
            "Waiting for a restart, with which rendered-worker-1 takes effect.",
        ),
        row(
            waiting(),
            wait(Wait::Restart, Phase::Restarting),
            "Waiting for a restart, with which rendered-worker-2 takes effect.",
        ),
        Row {
            status_text: Some("Waiting for health checks (kubelet, API server)."),
            ..row(
                Status { boot: "b".to_owned().into(), trial: Some(trial), ..settled() },
                wait(proof, Phase::Proving),
                "Waiting for health checks (kubelet, API server), 18 min left.",
            )
        },
        row(
            settled(),
            wait(Wait::Controller { request: request() }, Phase::Draining),
            "Waiting for the drain controller (drain-rendered-worker-2).",
        ),
        row(
            settled(),
            wait(Wait::Controller { request: "uncordon-b".to_owned() }, Phase::Completing),
            "Waiting for the drain controller to let workloads in (uncordon-b).",
        ),
        row(
            settled(),
            wait(Wait::Unread { inputs: vec![Input::MachineConfiguration, Input::FeatureGate] }, Phase::Considering),
            "Waiting for MachineConfiguration, FeatureGate to be read, on which the update to rendered-worker-2 depends.",
        ),
        row(
            settled(),
            wait(Wait::MergedPolicies, Phase::Considering),
            "Waiting for the machine-config-operator to merge the disruption policies of MachineConfiguration cluster, on \
             which the update to rendered-worker-2 depends (status.observedGeneration is behind).",
        ),
        row(
            settled(),
            held(ConfigSource::Cluster, ""),
            "Waiting for the hold on the update to rendered-worker-2 to be released.",
        ),
        row(
            settled(),
            held(ConfigSource::Directory, "Easter"),
            "Waiting for the hold on the update to rendered-worker-2 to be released (Easter).",
        ),
        row(
            Status { rollback_hold: Some(rolled_back()), ..settled() },
            wait(Wait::RollbackRelease { hold: rolled_back() }, Phase::Held),
            "Waiting for the hold on the update to rendered-worker-2 to be released (rolled back from rendered-worker-2 to \
             rendered-worker-1).",
        ),
        row(
            Status { busy: true, ..settled() },
            wait(Wait::Turn, Phase::Executing),
            "Waiting for another process that changes the machine.",
        ),
        Row {
            status_text: Some("Waiting for the next try: why."),
            ..row(settled(), running(retry), "Waiting for the next try in 30 s: why.")
        },
        row(
            Status { inherited: Some(Inherited::default()), ..settled() },
            Beside::Absent,
            "Waiting for an agent to check rendered-worker-1, which ostler did not apply.",
        ),
    ]
}

fn rolled_back() -> RollbackHold {
    let (from, to) = ("rendered-worker-2".to_owned(), "rendered-worker-1".to_owned());
    RollbackHold { from, to, desired: None, since: NOW }
}

fn unknown() -> Vec<Row> {
    let row = |agent, first| row(settled(), agent, first, State::Unknown);
    let unobserved =
        AgentReport { retry_at: Some(NOW + 30), ..doing(Next::Wait(Wait::Chance { reason: why() }), Phase::Settled) };
    let lost = Some(Lost { since: NOW - 300, reason: why() });
    vec![
        row(
            Beside::Stopped,
            "Unknown: the agent is enabled but not running, so the desired configuration is not known.",
        ),
        row(Beside::Silent, "Unknown: the agent's state is not known: the daemon did not answer: timed out."),
        row(Beside::Starting, "Unknown: the desired configuration is not known yet."),
        row(
            running(AgentReport { denied: Some(why()), ..up_to_date() }),
            "Unknown: the API server does not accept the credentials as those of this node: why.",
        ),
        Row {
            status_text: Some("Unknown: the cluster cannot be reached, so the desired configuration is not known."),
            ..row(
                running(AgentReport { lost, ..up_to_date() }),
                "Unknown: the cluster cannot be reached for 5 min, so the desired configuration is not known.",
            )
        },
        row(
            running(AgentReport { desired: None, ..doing(Next::Wait(Wait::Target), Phase::Settled) }),
            "Unknown: the desired configuration is not known yet.",
        ),
        Row {
            status_text: Some("Unknown: the machine could not be checked (next try): why."),
            ..row(running(unobserved), "Unknown: the machine could not be checked (next try in 30 s): why.")
        },
        Row { machine: Status::default(), ..row(Beside::Absent, "Unknown: no configuration was ever applied here.") },
    ]
}

fn rows() -> Vec<Row> {
    let fine = [
        row(settled(), running(up_to_date()), "Up to date.", State::UpToDate),
        row(
            Status { os: OsState { finalization_failure: Some(why()), ..OsState::default() }, ..settled() },
            running(up_to_date()),
            "Up to date.",
            State::UpToDate,
        ),
        row(settled(), Beside::Absent, "Up to date. No agent runs on this machine.", State::UpToDate),
    ];
    fine.into_iter().chain(attention()).chain(updating()).chain(waiting_for()).chain(unknown()).collect()
}

/// A number for every reason: a new one does not compile until it has one, and fails until it has a row.
const fn number(reason: &Reason) -> usize {
    match reason {
        Reason::ConflictingAgent(_) => 0,
        Reason::Refused { .. } => 1,
        Reason::Rejected { .. } => 2,
        Reason::Failed { .. } => 3,
        Reason::SourceUnreadable { .. } => 4,
        Reason::ConfigUnreadable { .. } => 5,
        Reason::Interrupted { .. } => 6,
        Reason::DamagedRecords { .. } => 7,
        Reason::FinalizationFailed { .. } => 8,
        Reason::DeploymentsUnreadable { .. } => 9,
        Reason::OsDiffers { .. } => 10,
        Reason::CertificatesRefused { .. } => 11,
        Reason::Drift(_) => 12,
        Reason::Evaluating { .. } => 13,
        Reason::Applying { .. } => 14,
        Reason::Recovering => 15,
        Reason::Withdrawing { .. } => 16,
        Reason::Adopting { .. } => 17,
        Reason::Restarting { .. } => 18,
        Reason::Committing { .. } => 19,
        Reason::RollingBack { .. } => 20,
        Reason::Restart { .. } => 21,
        Reason::HealthChecks { .. } => 22,
        Reason::Drain { .. } => 23,
        Reason::Uncordon { .. } => 24,
        Reason::Hold { .. } => 25,
        Reason::OtherProcess => 26,
        Reason::Retry { .. } => 27,
        Reason::Adoption { .. } => 28,
        Reason::AgentStopped => 29,
        Reason::AgentSilent { .. } => 30,
        Reason::ClusterUnreachable { .. } => 31,
        Reason::DesiredUnknown => 32,
        Reason::Unobserved { .. } => 33,
        Reason::NoConfiguration => 34,
        Reason::NoAgent => 35,
        Reason::RollbackHold(_) => 36,
        Reason::ServicesFailed { .. } => 37,
        Reason::Abandoned { .. } => 38,
        Reason::Staging { .. } => 39,
        Reason::Unread { .. } => 40,
        Reason::CredentialsRefused { .. } => 41,
        Reason::PoliciesUnmerged { .. } => 42,
    }
}
const REASONS: usize = 43;

fn heard(agent: &Beside) -> Heard {
    let account = match agent {
        Beside::Absent | Beside::Stopped => Ok(None),
        Beside::Silent => Err(AskError::Silent(std::io::ErrorKind::TimedOut.into())),
        Beside::Starting => Ok(Some(Account { report: None, ..account() })),
        Beside::Running(report) => Ok(Some(Account { report: Some((**report).clone()), ..account() })),
    };
    Heard { account, enabled: matches!(agent, Beside::Stopped), now: NOW }
}

/// The command, for a person and for a program.
fn check_command(row: &Row) {
    let reply = || Reply::Status(Box::new(row.machine.clone()));
    let played = run_beside(SCRIPT, reply(), |_| heard(&row.agent));
    assert_eq!(played.stdout.lines().next(), Some(row.first), "{}", played.stdout);
    assert_eq!(played.outcome.code(), row.exit, "{}", row.first);
    let document = run_beside(PROGRAM, reply(), |_| heard(&row.agent)).json();
    assert_eq!(document["verdict"]["state"], row.state.name(), "{}", row.first);
    assert_eq!(document["verdict"]["summary"], row.first);
    assert_eq!(document["settled"], row.state == State::UpToDate, "{}", row.first);
}

/// What the agent itself shows: to systemd, to Prometheus, to the cluster.
fn check_agent(row: &Row, report: &AgentReport) {
    let seen = || Seen { machine: row.machine.clone(), report: report.clone() };
    let situation = situation(report, seen().verdict());
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let metrics = Arc::new(Metrics::default());
    let (sender, _receiver) = watch::channel(account());
    let mut teller = Teller::new("worker-0", Manager::reading(ours), Arc::clone(&metrics), sender);
    teller.stands(&situation, seen(), false);
    let mut buffer = [0; 4096];
    let length = theirs.recv(&mut buffer).unwrap();
    let text = format!("STATUS={}\n", row.status_text.unwrap_or(row.first));
    assert_eq!(String::from_utf8_lossy(&buffer[..length]), text);
    for state in State::ALL {
        let sample = format!("ostler_verdict{{verdict=\"{}\"}} {}\n", state.name(), i32::from(state == row.state));
        assert!(metrics.text().contains(&sample), "{}: {sample}", row.first);
    }
    let state = annotations(&situation, &NodeView::default()).remove(keys::STATE).flatten();
    assert_eq!(state.as_deref(), row.annotation, "{}", row.first);
    if let Some(state) = row.annotation {
        assert!(metrics.text().contains(&format!("mcd_state{{state=\"{state}\"")), "{}", row.first);
    }
    check_conditions(row, &situation);
}

fn check_conditions(row: &Row, situation: &Situation) {
    let now: Time = serde_json::from_value(json!("2026-10-03T04:00:00Z")).unwrap();
    let object = MachineConfigNode::new(&situation.node, Default::default());
    let change = ostler_core::node::status(situation, &object, Gates::default(), &now);
    let conditions = change.own.map(|own| own.conditions).unwrap_or_default();
    let is_true = |type_: &str| conditions.iter().any(|one| one.type_ == type_ && one.status == "True");
    assert_eq!(is_true("Updated"), row.state == State::UpToDate, "{}", row.first);
    assert_eq!(is_true("NodeDegraded"), row.state == State::NeedsAttention, "{}", row.first);
}

fn situation(report: &AgentReport, verdict: Verdict) -> Situation {
    Situation {
        node: "worker-0".to_owned(),
        current: report.current.clone(),
        desired: report.desired.clone(),
        phase: report.decision.phase,
        update: None,
        verdict,
        drain: report.decision.drain.clone(),
        irreconcilable: Irreconcilable::Untold,
        finalization_failure: None,
        bootstrap: None,
        boot_image: None,
        staged_for: None,
        duties: Duties::default(),
    }
}

#[test]
fn every_situation_is_the_same_on_every_surface() {
    let mut covered = BTreeSet::new();
    for row in rows() {
        check_command(&row);
        let verdict = Verdict::new(&row.machine, &heard(&row.agent).agent());
        assert_eq!(verdict.state(), row.state, "{}", row.first);
        covered.extend(verdict.reasons().first().map(number));
        if let Beside::Running(report) = &row.agent {
            check_agent(&row, report);
        }
    }
    assert_eq!(covered, (0..REASONS).collect(), "every reason has a row in which it comes first");
}
