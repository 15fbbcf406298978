//! Every turn that the course of a node can take, as a table of what is known and what follows.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::bootstrap::Bootstrap;
use crate::node::keys;
use crate::os::behind::Behind;
use crate::os::boot_mark::BootMark;
use crate::rival::Task;
use crate::status::Inherited;
use crate::transaction::{OrderedRestart, OwedRestart, Rejected, Trial};

const BOOT: &str = "boot-2";
const NOW: u64 = 100_000;

fn mark(boot: &str) -> BootMark {
    boot.to_owned().into()
}

/// What is known, to be varied.
struct Case {
    node: NodeView,
    machine: Status,
    outlook: Option<Outlook>,
    proof: Proof,
    abilities: Abilities,
    heard: bool,
    staged: bool,
    unread: Vec<Input>,
    unmerged: bool,
}

impl Case {
    /// A node in `a` that is to be in `desired`.
    fn to(desired: &str) -> Self {
        let annotations = BTreeMap::from([(keys::DESIRED_CONFIG.to_owned(), desired.to_owned())]);
        let limit = Duration::from_secs(1200);
        Self {
            node: NodeView::new("worker-0", "uid", false, &annotations),
            machine: Status { config: Some("a".to_owned()), boot: mark(BOOT), ..Status::default() },
            outlook: None,
            proof: Proof { limit, ..Proof::default() },
            abilities: Abilities { drains: true, restarts: Some(RebootPolicy::Auto) },
            heard: true,
            staged: true,
            unread: Vec::new(),
            unmerged: false,
        }
    }

    fn annotated(mut self, key: &str, value: &str) -> Self {
        self.node.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    fn drain(self, asked: &str, done: &str) -> Self {
        self.annotated(keys::DESIRED_DRAIN, asked).annotated(keys::LAST_APPLIED_DRAIN, done)
    }

    fn cordoned(mut self) -> Self {
        self.node.cordoned = true;
        self
    }

    fn machine(mut self, change: impl FnOnce(&mut Status)) -> Self {
        change(&mut self.machine);
        self
    }

    fn ready(mut self, drain: bool) -> Self {
        let to = ConfigRef::new("b");
        let actions = Vec::new();
        let update = Update { from: "a".to_owned(), to, actions, drain, os: false, keys: false, reboot: drain };
        self.outlook = Some(Outlook::Ready(update));
        self
    }

    fn outlook(mut self, outlook: Outlook) -> Self {
        self.outlook = Some(outlook);
        self
    }

    fn proof(mut self, kubelet: bool, elapsed: u64) -> Self {
        self.proof = Proof { kubelet: Some(kubelet), elapsed: Duration::from_secs(elapsed), ..self.proof };
        self
    }

    fn decided(&self) -> Decision {
        let (outlook, abilities, heard) = (self.outlook.as_ref(), self.abilities, self.heard);
        let Self { node, machine, proof, unread, unmerged, .. } = self;
        let unmerged = *unmerged;
        decide(&Facts {
            staged: self.staged,
            node,
            machine,
            outlook,
            proof,
            abilities,
            heard,
            unread,
            unmerged,
            now: NOW,
        })
    }

    /// The decision in a line: next, phase, drain request, trouble.
    fn line(&self) -> String {
        let Decision { next, phase, trouble, drain } = self.decided();
        let drain = drain.map(|drain| format!(" ask {}", drain.text())).unwrap_or_default();
        let trouble = trouble.map(|trouble| format!(" {:?}", trouble.kind)).unwrap_or_default();
        format!("{next:?} {phase:?}{drain}{trouble}")
    }
}

fn open(purpose: Purpose, to: &str, awaits: Option<&str>) -> Open {
    Open {
        purpose,
        direction: Direction::Forward,
        from: "a".to_owned(),
        to: to.to_owned(),
        steps: Vec::new(),
        undo: Vec::new(),
        boot: mark(BOOT),
        began: 1,
        reason: None,
        target_failed: false,
        blameless: false,
        os: None,
        awaits_end_of: awaits.map(mark),
        restart_for: Vec::new(),
    }
}

fn trial(before: &str) -> Option<Trial> {
    Some(Trial { config: "a".to_owned(), before: mark(before), os: true, since: 1 })
}

fn rejected(config: &str) -> Vec<Rejected> {
    vec![Rejected { config: config.to_owned(), reason: "no".to_owned(), at: 1 }]
}

fn ordered(at: u64) -> Option<OrderedRestart> {
    Some(OrderedRestart { boot: mark(BOOT), ordered: at, rationale: "r".to_owned() })
}

fn trouble() -> Trouble {
    Trouble { kind: TroubleKind::Unreconcilable, reason: "disks".to_owned() }
}

fn check(cases: Vec<(Case, &str)>) {
    for (case, expected) in cases {
        assert_eq!(case.line(), expected);
    }
}

#[test]
fn a_node_without_work_waits() {
    check(vec![
        (Case::to("a"), "Wait(Settled) Settled"),
        (Case::to(""), "Wait(Target) Settled"),
        (Case::to("b").machine(|machine| machine.busy = true), "Wait(Turn) Executing"),
        (Case::to("a").drain("uncordon-a", "uncordon-a"), "Wait(Settled) Settled"),
    ]);
}

#[test]
fn whatever_there_is_to_do_waits_for_another_agent_to_go() {
    let rival = Rival { pid: 7, task: Task::Node };
    let with = |case: Case| case.machine(|machine| machine.rival = Some(rival.clone()));
    let interrupted = Case::to("b").machine(|machine| machine.open = Some(open(Purpose::Update, "b", None)));
    for case in [Case::to("a"), Case::to("b").ready(false), interrupted] {
        assert_eq!(with(case).decided().next, Next::Wait(Wait::Rival(rival.clone())));
    }
}

#[test]
fn what_another_agent_has_left_is_taken_over_before_anything_is_made_of_it() {
    let left = |machine: &mut Status| machine.inherited = Some(Inherited::default());
    let take = "TakeOver { introduced: false } Considering";
    let interrupted = Case::to("b").machine(|machine| machine.open = Some(open(Purpose::Update, "b", None)));
    check(vec![
        (Case::to("a").machine(left), take),
        (Case::to("b").ready(false).machine(left), take),
        (Case::to("").machine(left), take),
        (interrupted.machine(left), "Recover Executing"),
    ]);
    let unheard = Case { heard: false, ..Case::to("b").machine(left) };
    assert_eq!(unheard.line(), "Wait(Target) Considering");
}

#[test]
fn a_node_is_introduced_only_when_its_cluster_knows_it_where_it_should_be() {
    let told = |machine: &mut Status| machine.bootstrap = Some(Bootstrap::default());
    let known = |case: Case| case.annotated(keys::CURRENT_CONFIG, "a").machine(told);
    check(vec![
        (Case::to("a").machine(told), "Wait(Settled) Settled"),
        (known(Case::to("a")), "TakeOver { introduced: true } Settled"),
        (known(Case::to("b")), "Plan Considering"),
    ]);
}

#[test]
fn a_machine_whose_operating_system_is_not_its_configurations_is_not_in_place() {
    let behind = Behind { lacking: Vec::new(), words: "it runs another".to_owned() };
    let behind = |machine: &mut Status| machine.behind = Some(behind.clone());
    check(vec![
        (Case::to("a").machine(behind), "Plan Considering"),
        (Case::to("a").ready(true).machine(behind), "Wait(Controller { request: \"drain-a\" }) Draining ask drain-a"),
    ]);
}

#[test]
fn an_update_is_looked_at_then_drained_for_then_made() {
    check(vec![
        (Case::to("b"), "Plan Considering"),
        (Case::to("a").machine(|machine| machine.forced = true), "Plan Considering"),
        (Case::to("a").annotated(keys::DESIRED_IMAGE, "i@sha256:1"), "Plan Considering"),
        (Case::to("b").ready(false), "Apply Executing"),
        (Case::to("b").ready(true), "Wait(Controller { request: \"drain-b\" }) Draining ask drain-b"),
        (
            Case::to("b").ready(true).drain("drain-b", ""),
            "Wait(Controller { request: \"drain-b\" }) Draining ask drain-b",
        ),
        (Case::to("b").ready(true).drain("drain-b", "drain-b").cordoned(), "Apply Executing"),
        (Case::to("b").ready(true).annotated(keys::CONTROL_PLANE_TOPOLOGY, "SingleReplica"), "Apply Executing"),
    ]);
    let mut alone = Case::to("b").ready(true);
    alone.abilities.drains = false;
    assert_eq!(alone.line(), "Apply Executing");
}

#[test]
fn an_old_answer_to_a_drain_does_not_count() {
    check(vec![
        (
            Case::to("b").ready(true).drain("drain-b", "drain-b"),
            "Wait(Controller { request: \"uncordon-a\" }) Draining ask uncordon-a",
        ),
        (
            Case::to("b").ready(true).drain("uncordon-a", "uncordon-a"),
            "Wait(Controller { request: \"drain-b\" }) Draining ask drain-b",
        ),
    ]);
}

#[test]
fn another_target_is_honoured_while_waiting_for_a_drain() {
    check(vec![
        (
            Case::to("c").ready(true).drain("drain-b", "drain-b").cordoned(),
            "Wait(Controller { request: \"drain-c\" }) Draining ask drain-c",
        ),
        (Case::to("c").ready(false).drain("drain-b", ""), "Apply Executing"),
        (Case::to("a").drain("drain-b", ""), "Wait(Controller { request: \"uncordon-a\" }) Completing ask uncordon-a"),
    ]);
}

/// A cancelled drain may have cordoned the node, whether or not it was acknowledged.
#[test]
fn a_drain_that_nothing_comes_of_is_followed_by_an_uncordon_that_the_controller_carries_out() {
    let held = |case: Case| case.annotated(keys::HOLD, "Easter");
    let refused = |case: Case| case.outlook(Outlook::Refused(trouble()));
    check(vec![
        (
            Case::to("a").drain("drain-b", "drain-b").cordoned(),
            "Wait(Controller { request: \"uncordon-a\" }) Completing ask uncordon-a",
        ),
        (
            Case::to("a").drain("drain-b", "uncordon-a").cordoned(),
            "Wait(Controller { request: \"uncordon-a-again\" }) Completing ask uncordon-a-again",
        ),
        (
            Case::to("a").drain("uncordon-a-again", "uncordon-a").cordoned(),
            "Wait(Controller { request: \"uncordon-a-again\" }) Completing ask uncordon-a-again",
        ),
        (Case::to("a").drain("uncordon-a-again", "uncordon-a-again"), "Wait(Settled) Settled"),
        (
            Case::to("").drain("drain-b", "uncordon-a").cordoned(),
            "Wait(Controller { request: \"uncordon-a-again\" }) Completing ask uncordon-a-again",
        ),
        (
            held(Case::to("c").ready(true).drain("drain-b", "uncordon-a").cordoned()),
            "Wait(Release { reason: \"Easter\" }) Held ask uncordon-a-again",
        ),
        (
            refused(Case::to("c").drain("drain-b", "uncordon-a").cordoned()),
            "Wait(Help) Refused ask uncordon-a-again Unreconcilable",
        ),
        (
            Case::to("b").ready(true).drain("uncordon-a-again", "uncordon-a").cordoned(),
            "Wait(Controller { request: \"uncordon-a-again\" }) Draining ask uncordon-a-again",
        ),
        (
            Case::to("b").ready(true).drain("uncordon-a-again", "uncordon-a-again"),
            "Wait(Controller { request: \"drain-b\" }) Draining ask drain-b",
        ),
    ]);
}

#[test]
fn a_cordon_of_somebody_elses_survives() {
    let cordoned = |case: &Case| match case.decided().drain {
        Some(DrainRequest::Drain { cordoned, .. }) => cordoned,
        other => panic!("{other:?}"),
    };
    assert!(!cordoned(&Case::to("b").ready(true)));
    assert!(cordoned(&Case::to("b").ready(true).cordoned()));
    assert!(!cordoned(&Case::to("c").ready(true).drain("drain-b", "drain-b").cordoned()));
    let before = |case: Case| case.annotated(keys::CORDONED_BEFORE, "true");
    let refused = |case: Case| case.outlook(Outlook::Refused(trouble()));
    assert!(cordoned(&before(Case::to("c").ready(true).drain("drain-b", "drain-b").cordoned())));
    assert!(!cordoned(&before(Case::to("c").ready(true).drain("drain-b", "drain-b"))));
    check(vec![
        (Case::to("a").cordoned(), "Wait(Settled) Settled"),
        (before(Case::to("a").drain("drain-a", "drain-a").cordoned()), "Wait(Settled) Settled"),
        (before(Case::to("").drain("drain-a", "drain-a").cordoned()), "Wait(Target) Settled"),
        (
            before(Case::to("a").drain("drain-b", "uncordon-a").cordoned()),
            "Wait(Settled) Settled ask drain-b/withdrawn",
        ),
        (
            before(refused(Case::to("c").drain("drain-b", "uncordon-a").cordoned())),
            "Wait(Help) Refused ask drain-b/withdrawn Unreconcilable",
        ),
        (before(Case::to("a").drain("drain-b/withdrawn", "drain-b/withdrawn").cordoned()), "Wait(Settled) Settled"),
        (
            before(Case::to("b").ready(true).drain("drain-b/withdrawn", "drain-b/withdrawn").cordoned()),
            "Wait(Controller { request: \"drain-b\" }) Draining ask drain-b",
        ),
        (
            Case::to("a").drain("drain-a", "drain-a").cordoned(),
            "Wait(Controller { request: \"uncordon-a\" }) Completing ask uncordon-a",
        ),
        (
            Case::to("a").drain("uncordon-a", "drain-a").cordoned(),
            "Wait(Controller { request: \"uncordon-a\" }) Completing ask uncordon-a",
        ),
    ]);
}

#[test]
fn an_operating_system_is_staged_before_the_drain_and_while_the_update_is_held() {
    let unstaged = |case: Case| Case { staged: false, ..case };
    let abandoned = |case: Case| case.machine(|machine| machine.staged_for = Some("b".to_owned()));
    check(vec![
        (unstaged(Case::to("b")), "Plan Considering"),
        (unstaged(Case::to("b").ready(true)), "Stage Staging"),
        (unstaged(Case::to("b").ready(true).annotated(keys::HOLD, "Easter")), "Stage Staging"),
        (unstaged(Case::to("b").outlook(Outlook::Refused(trouble()))), "Wait(Help) Refused Unreconcilable"),
        (Case::to("b").ready(true), "Wait(Controller { request: \"drain-b\" }) Draining ask drain-b"),
        (abandoned(Case::to("a")), "Unstage Settled"),
        (abandoned(Case::to("b").ready(false)), "Apply Executing"),
    ]);
}

#[test]
fn a_hold_stops_before_the_drain_and_not_after() {
    let held = |case: Case| case.annotated(keys::HOLD, "Easter");
    check(vec![
        (held(Case::to("b")), "Plan Considering"),
        (held(Case::to("b").ready(false)), "Wait(Release { reason: \"Easter\" }) Held"),
        (held(Case::to("b").ready(true)), "Wait(Release { reason: \"Easter\" }) Held"),
        (held(Case::to("b").ready(true).drain("drain-b", "drain-b").cordoned()), "Apply Executing"),
        (held(Case::to("a")), "Wait(Settled) Settled"),
    ]);
}

/// A person's rollback from `a` to `z` is made like an update and then holds; a third configuration is a new wish.
#[test]
fn a_rollback_is_made_by_the_rules_of_updates_and_held_until_it_is_released() {
    let hold = |desired: Option<&str>| {
        let (from, to, desired) = ("a".to_owned(), "z".to_owned(), desired.map(str::to_owned));
        Some(RollbackHold { from, to, desired, since: 1 })
    };
    let asked = |to: &str| Case::to(to).machine(|machine| machine.rollback_hold = hold(Some("c")));
    let reached = |to: &str| asked(to).machine(|machine| machine.config = Some("z".to_owned()));
    let drain = "Wait(Controller { request: \"drain-z\" }) Draining ask drain-z";
    check(vec![
        (asked("a"), "Plan Considering"),
        (asked("c"), "Plan Considering"),
        (asked("a").ready(false), "Apply Executing"),
        (asked("a").ready(true), drain),
        (asked("a").ready(true).annotated(keys::HOLD, "Easter"), drain),
        (asked("a").ready(true).drain("drain-z", "drain-z").cordoned(), "Apply Executing"),
        (asked("a").machine(|machine| machine.trial = trial("boot-1")), "Plan Considering"),
        (asked("a").outlook(Outlook::Refused(trouble())), "Wait(Help) Refused Unreconcilable"),
        (
            asked("a").machine(|machine| machine.open = Some(open(Purpose::Update, "a", Some(BOOT)))),
            "Withdraw Executing",
        ),
        (asked("z"), "Plan Considering"),
        (reached("z"), "Wait(Settled) Settled"),
        (reached("b"), "Plan Considering"),
        (reached("a").machine(|machine| machine.awaits_reboot = true), "Reboot { late: None } Restarting"),
    ]);
    for desired in ["a", "c"] {
        let held = reached(desired).ready(true).decided();
        assert!(matches!(&held.next, Next::Wait(Wait::RollbackRelease { hold }) if hold.from == "a"), "{held:?}");
        assert_eq!((held.phase, held.trouble, held.drain), (Phase::Held, None, None));
        let drained = reached(desired).drain("drain-z", "drain-z").cordoned().decided().drain;
        assert_eq!(drained.map(|request| request.text()).as_deref(), Some("uncordon-z"));
    }
    let empty = asked("a").machine(|machine| {
        machine.config = None;
        machine.rollback_hold = Some(RollbackHold { to: "mco-empty-mc".to_owned(), ..hold(None).unwrap() });
    });
    assert_eq!(empty.decided().phase, Phase::Held, "a machine that had no configuration");
}

#[test]
fn what_cannot_be_had_is_told_and_workloads_come_back() {
    let chance = || Outlook::Blocked("registry".to_owned());
    check(vec![
        (Case::to("b").outlook(Outlook::Refused(trouble())), "Wait(Help) Refused Unreconcilable"),
        (
            Case::to("b").outlook(Outlook::Refused(trouble())).drain("drain-b", "drain-b").cordoned(),
            "Wait(Help) Refused ask uncordon-a Unreconcilable",
        ),
        (Case::to("b").outlook(chance()), "Wait(Chance { reason: \"registry\" }) Considering"),
        (Case::to("b").machine(|machine| machine.rejected = rejected("b")), "Wait(Help) Considering Degraded"),
        (Case::to("c").machine(|machine| machine.rejected = rejected("b")), "Plan Considering"),
        (
            Case::to("b").machine(|machine| {
                machine.rejected = rejected("b");
                machine.forced = true;
            }),
            "Plan Considering",
        ),
    ]);
}

#[test]
fn what_was_begun_is_brought_to_an_end_first() {
    let case = |to: &str, opened: Open| Case::to(to).machine(|machine| machine.open = Some(opened));
    check(vec![
        (case("b", open(Purpose::Update, "b", None)), "Recover Executing"),
        (case("b", open(Purpose::Update, "b", Some("boot-1"))), "Recover Executing"),
        (case("b", open(Purpose::Update, "b", Some(BOOT))), "Reboot { late: None } Restarting"),
        (case("c", open(Purpose::Update, "b", Some(BOOT))), "Withdraw Executing"),
        (case("c", open(Purpose::Rollback, "b", Some(BOOT))), "Reboot { late: None } Restarting"),
    ]);
    let going_down =
        case("c", open(Purpose::Update, "b", Some(BOOT))).machine(|machine| machine.restart = ordered(NOW));
    assert_eq!(going_down.line(), "Wait(Restart) Restarting");
}

#[test]
fn a_restart_is_ordered_once_and_again_when_it_does_not_happen() {
    let waits = |to: &str| Case::to(to).machine(|machine| machine.awaits_reboot = true);
    let late = NOW - RESTART_LIMIT - 1;
    check(vec![
        (waits("a"), "Reboot { late: None } Restarting"),
        (waits("a").machine(|machine| machine.restart = ordered(NOW - 5)), "Wait(Restart) Restarting"),
        (waits("a").machine(|machine| machine.restart = ordered(late)), "Reboot { late: Some(901) } Restarting"),
        (waits("a").machine(|machine| machine.restart = ordered(NOW + 9)), "Wait(Restart) Restarting"),
        (waits("b"), "Plan Considering"),
        (waits("b").outlook(Outlook::Refused(trouble())), "Reboot { late: None } Restarting"),
        (waits("b").machine(|machine| machine.rejected = rejected("b")), "Reboot { late: None } Restarting"),
    ]);
    let mut files_only = waits("a");
    files_only.abilities.restarts = None;
    assert_eq!(files_only.line(), "Wait(Restart) Restarting");
}

#[test]
fn a_machine_that_may_not_restart_by_itself_says_what_waits_for_it() {
    let owed =
        OwedRestart { config: "a".to_owned(), reasons: vec!["/etc/motd".to_owned()], since: 1, boot: mark(BOOT) };
    let waits = |to: &str, policy| {
        let mut case = Case::to(to).machine(|machine| {
            machine.awaits_reboot = true;
            machine.owed_restarts = vec![owed.clone()];
        });
        case.abilities.restarts = Some(policy);
        case
    };
    // 1970-01-01 was a Thursday.
    let window = |text: &str| RebootPolicy::Window(text.parse().unwrap());
    let permission = "Wait(RestartPermission { causes: [\"a (/etc/motd)\"], opens: None }) Restarting";
    check(vec![
        (waits("a", RebootPolicy::Manual), permission),
        (waits("a", window("00:00 24h")), "Reboot { late: None } Restarting"),
        (
            waits("a", RebootPolicy::Manual).machine(|machine| machine.restart = ordered(NOW)),
            "Wait(Restart) Restarting",
        ),
        (
            waits("a", RebootPolicy::Manual).machine(|machine| machine.restart = ordered(NOW - RESTART_LIMIT - 1)),
            permission,
        ),
        (waits("b", RebootPolicy::Manual), "Plan Considering"),
        (
            waits("a", window("Sat 00:00 1h")),
            "Wait(RestartPermission { causes: [\"a (/etc/motd)\"], opens: Some(172800) }) Restarting",
        ),
    ]);
    let stuck = waits("b", RebootPolicy::Manual).outlook(Outlook::Refused(trouble())).line();
    assert!(stuck.starts_with("Wait(Help) Refused"), "{stuck}");
}

#[test]
fn a_machine_proves_itself_in_time_or_goes_back() {
    let tried = |to: &str| Case::to(to).machine(|machine| machine.trial = trial("boot-1"));
    let missing = "Wait(Proof { missing: [Kubelet], until: 101195 }) Proving";
    let gave_up = "GiveUp { reason: \"the kubelet is not healthy 20 minutes after the restart\" } Proving";
    check(vec![
        (tried("a"), "Confirm Proving"),
        (tried("a").proof(true, 5), "Confirm Proving"),
        (tried("a").proof(false, 5), missing),
        (tried("a").proof(false, 1200), gave_up),
        (tried("b").proof(false, 5), "Plan Considering"),
        (Case::to("a").machine(|machine| machine.trial = trial(BOOT)), "Reboot { late: None } Restarting"),
        (
            Case::to("a").machine(|machine| {
                machine.trial = trial(BOOT);
                machine.awaits_reboot = true;
            }),
            "Reboot { late: None } Restarting",
        ),
    ]);
}

/// The network may be what a configuration has broken; but an agent that has just started has yet to listen.
#[test]
fn a_machine_that_hears_of_nobody_ends_what_was_begun_and_goes_back_by_itself() {
    let alone = |heard: bool, change: fn(&mut Status)| {
        let case = Case::to("b").machine(change).proof(false, 1200);
        Case { node: NodeView::default(), heard, ..case }
    };
    let interrupted = |machine: &mut Status| machine.open = Some(open(Purpose::Update, "b", None));
    let tried = |machine: &mut Status| machine.trial = trial("boot-1");
    let waiting = |machine: &mut Status| machine.open = Some(open(Purpose::Update, "b", Some(BOOT)));
    check(vec![
        (alone(false, |_| {}), "Wait(Target) Settled"),
        (alone(false, interrupted), "Recover Executing"),
        (alone(false, tried), "Wait(Target) Proving"),
        (alone(true, tried), "GiveUp { reason: \"the kubelet is not healthy 20 minutes after the restart\" } Proving"),
        (alone(false, waiting), "Wait(Target) Restarting"),
        (alone(true, waiting), "Reboot { late: None } Restarting"),
    ]);
}

#[test]
fn no_update_is_evaluated_before_everything_that_decides_it_was_read() {
    let unread = |case: Case| Case { unread: vec![Input::MachineConfiguration, Input::FeatureGate], ..case };
    let waits = Next::Wait(Wait::Unread { inputs: vec![Input::MachineConfiguration, Input::FeatureGate] });
    let decided = unread(Case::to("b")).decided();
    assert_eq!((decided.next, decided.phase, decided.drain), (waits, Phase::Considering, None));
    assert_eq!(Case::to("b").decided().next, Next::Plan);
    // Neither a node at rest nor a transaction that was begun waits for it.
    assert_eq!(unread(Case::to("a")).decided().next, Next::Wait(Wait::Settled));
    assert_eq!(unread(Case::to("b").machine(|machine| machine.busy = true)).decided().next, Next::Wait(Wait::Turn));
}

#[test]
fn an_update_waits_for_policies_to_be_merged_and_a_restart_that_is_owed_does_not() {
    let unmerged = |case: Case| Case { unmerged: true, ..case };
    assert_eq!(unmerged(Case::to("b")).decided().next, Next::Wait(Wait::MergedPolicies));
    assert_eq!(unmerged(Case::to("b").ready(false)).decided().next, Next::Apply);
    let owed = unmerged(Case::to("b").machine(|machine| machine.awaits_reboot = true));
    assert_eq!(owed.decided().next, Next::Reboot { late: None });
}
