//! Everything that the loop tells, and to whom: the journal, the service manager, the metrics and the local socket.
//!
//! What others are told in the cluster is published elsewhere.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_core::node::transition::{Stand, transitions};
use ostler_core::node::{ConfigRef, Decision, Input, Next, Notice, Situation, Wait};
use ostler_core::os::state::OsState;
use ostler_core::protocol::Rules;
use ostler_core::rollback::RELEASE;
use ostler_core::status::Status;
use ostler_core::transaction::{OwedRestart, Progress};
use ostler_core::verdict::{Agent, AgentReport, Lost, State, Verdict};
use tokio::sync::watch;

use super::clock::Clock;
use crate::account::{Account, Api};
use crate::cluster::Change;
use crate::show;
use crate::telling::journal;
use crate::telling::manager::Manager;
use crate::telling::metrics::Metrics;

/// How long the service manager is asked to wait for an agent that is told to end in the middle of a change.
const PATIENCE: Duration = Duration::from_secs(3600);

/// What a verdict rests on.
pub struct Seen {
    pub machine: Status,
    /// The agent's part.
    pub report: AgentReport,
}

impl Seen {
    /// The verdict on it.
    pub fn verdict(&self) -> Verdict {
        Verdict::new(&self.machine, &Agent::Running(&self.report))
    }
}

/// Who tells.
pub struct Teller {
    node: String,
    manager: Manager,
    metrics: Arc<Metrics>,
    account: watch::Sender<Account>,
    clock: Clock,
    before: Option<Situation>,
    entered: Instant,
    lived: Instant,
    is_ready: bool,
    reachable: Option<bool>,
    lost: Option<Lost>,
    seen: Option<Seen>,
    os_failures: u32,
}

impl Teller {
    /// One that has told nothing yet.
    pub fn new(node: &str, manager: Manager, metrics: Arc<Metrics>, account: watch::Sender<Account>) -> Self {
        Self {
            node: node.to_owned(),
            manager,
            metrics,
            account,
            clock: Clock::start(),
            before: None,
            entered: Instant::now(),
            lived: Instant::now(),
            is_ready: false,
            reachable: None,
            lost: None,
            seen: None,
            os_failures: 0,
        }
    }

    /// Tells the journal.
    pub fn tell(&mut self, notice: &Notice) {
        journal::tell(&self.node, notice);
        match notice {
            Notice::UpdateBegun { .. } => self.metrics.count_attempt(),
            Notice::Retrying { .. } => self.metrics.count_retry("transient"),
            Notice::Failed { .. } | Notice::GivenUp { .. } | Notice::Refused { .. } => {
                self.metrics.set_last_error(self.clock.seconds());
            }
            Notice::TerminationPostponed => self.manager.extend(PATIENCE),
            _ => {}
        }
    }

    /// Tells what a turn was for and where it leads.
    pub fn turned(&mut self, reason: &str, decision: &Decision) {
        self.tell(&Notice::Turn { reason: reason.to_owned(), next: intention(&decision.next) });
        self.account.send_modify(|account| reason.clone_into(&mut account.reason));
    }

    /// Since when, and why, the source of configurations cannot be read.
    pub fn lost(&self) -> Option<Lost> {
        self.lost.clone()
    }

    /// Tells where the node stands; what of it is worth a notice comes back.
    pub fn stands(&mut self, situation: &Situation, seen: Seen, known_done: bool) -> Vec<Notice> {
        let boot = seen.machine.boot.to_string();
        let stand = Stand { situation, boot: &boot, known_done };
        let notices = transitions(self.before.as_ref(), &stand);
        let now = self.clock.seconds();
        if self.before.as_ref().is_none_or(|before| before.phase != situation.phase) {
            if let Some(before) = &self.before {
                self.metrics.observe_phase(before.phase, self.entered.elapsed());
            }
            self.entered = Instant::now();
            self.account.send_modify(|account| account.since = now);
        }
        self.measure(situation, now);
        self.before = Some(situation.clone());
        self.show(seen);
        notices
    }

    /// Tells that another agent has the node. What was told before of the node is not ours to know any more.
    pub fn stands_back(&mut self, seen: Seen) {
        if self.before.take().is_some() {
            let now = self.clock.seconds();
            self.account.send_modify(|account| account.since = now);
        }
        self.show(seen);
    }

    fn show(&mut self, seen: Seen) {
        self.seen = Some(seen);
        self.assess();
    }

    /// Shows the verdict on what was seen last, wherever the agent itself is asked for it.
    fn assess(&self) {
        let Some(seen) = &self.seen else { return };
        let (verdict, report) = (seen.verdict(), &seen.report);
        let headline = verdict.headline(None);
        self.manager.status(&headline);
        self.metrics.set_verdict(&verdict, self.clock.seconds());
        let blocked = matches!(verdict.state(), State::Waiting | State::NeedsAttention);
        self.account.send_modify(|account| {
            account.doing = headline;
            account.phase = report.decision.phase;
            account.next = intention(&report.decision.next);
            account.blocked_by = verdict.reasons().first().filter(|_| blocked).map(|reason| reason.message(None));
            account.current.clone_from(&report.current);
            account.desired.clone_from(&report.desired);
            account.trouble = verdict.trouble().map(|trouble| trouble.reason);
            account.report = Some(report.clone());
        });
    }

    fn measure(&self, situation: &Situation, now: u64) {
        let reason = situation.trouble().map(|trouble| trouble.reason).unwrap_or_default();
        self.metrics.set_phase(situation.phase);
        self.metrics.set_drift(situation.duties.drift.as_ref().map_or(0, |drift| drift.since));
        if let Some(config) = &situation.current {
            self.metrics.set_update(&label(config), &reason, now);
        }
    }

    /// Tells how the attempts go.
    pub fn attempts(&mut self, attempt: u32, retry_in: Option<Duration>) {
        let retry_at = retry_in.map(|wait| self.clock.seconds().saturating_add(wait.as_secs()));
        self.account.send_modify(|account| {
            account.attempt = attempt;
            account.retry_at = retry_at;
        });
        if let Some(seen) = &mut self.seen {
            seen.report.retry_at = retry_at;
            self.assess();
        }
    }

    /// Tells what only a new installation could bring.
    pub fn irreconcilable(&mut self, count: usize, base_kept: bool) {
        self.account.send_modify(|account| {
            account.irreconcilable = count;
            account.base_kept = base_kept;
        });
    }

    /// Tells when the cluster goes and comes.
    pub fn heard(&mut self, change: &Change) {
        let (reachable, reason) = match change {
            Change::Mounted => return,
            Change::Lost(reason) => (false, reason.as_str()),
            _ => (true, ""),
        };
        let before = self.reachable.replace(reachable);
        if before == Some(reachable) {
            return;
        }
        let since = self.clock.seconds();
        self.account.send_modify(|account| account.api = Some(Api { reachable, since }));
        self.lost = (!reachable).then(|| Lost { since, reason: reason.to_owned() });
        if let Some(seen) = &mut self.seen {
            seen.report.lost.clone_from(&self.lost);
            self.assess();
        }
        match (before, reachable) {
            (_, false) => self.tell(&Notice::ApiLost { reason: reason.to_owned() }),
            (Some(_), true) => self.tell(&Notice::ApiBack),
            (None, true) => {}
        }
    }

    /// Tells how far a change is.
    pub fn progress(&self, progress: Option<&Progress>) {
        let Some(progress) = progress else { return };
        let doing = match &progress.subject {
            Some(subject) => format!("{}: {}", show::phase(progress.phase), show::printable(subject)),
            None => show::phase(progress.phase).to_owned(),
        };
        let doing = match &self.seen {
            Some(seen) => format!("{} {doing}", seen.verdict().headline(None)),
            None => doing,
        };
        self.manager.status(&doing);
        self.account.send_modify(|account| account.doing = doing);
    }

    /// The operating system was changed, or could not be.
    pub fn os_changed(&mut self, succeeded: bool) {
        self.os_failures = if succeeded { 0 } else { self.os_failures.saturating_add(1) };
        self.metrics.set_pivot_errors(self.os_failures);
    }

    /// What the cluster says is to be done about drift.
    pub fn drift_policy(&self, policy: Option<&str>) {
        self.account.send_if_modified(|account| {
            let news = account.drift_policy.as_deref() != policy;
            account.drift_policy = policy.map(str::to_owned);
            news
        });
    }

    /// The rules that changes are planned by.
    pub fn rules(&self, rules: &Rules) {
        self.account.send_if_modified(|account| {
            let news = account.rules.as_ref() != Some(rules);
            if news {
                account.rules = Some(rules.clone());
            }
            news
        });
    }

    /// What the machine has to restart for.
    pub fn owed_restarts(&self, owed: &[OwedRestart]) {
        self.metrics.set_restart_owed(owed.first().map_or(0, |owed| owed.since));
    }

    /// What the machine runs beyond its image.
    pub fn packages(&self, os: &OsState) {
        if let Some(booted) = &os.booted {
            self.metrics.set_unsupported_packages(&self.node, booted.local.len());
        }
    }

    /// How often in a row the kubelet was not well.
    pub fn kubelet(&self, failures: u32) {
        self.metrics.set_kubelet(failures);
    }

    /// A restart could not be ordered.
    pub fn restart_failed(&self) {
        self.metrics.count_failed_reboot();
    }

    /// The service manager learns, once, that the agent works.
    pub fn ready(&mut self) {
        if !std::mem::replace(&mut self.is_ready, true) {
            self.manager.ready();
        }
    }

    /// The service manager learns that the agent ends.
    pub fn stopping(&self) {
        self.manager.stopping();
    }

    /// How soon the service manager wants to hear from the worker, however busy that is with others.
    pub fn watchdog(&self) -> Option<Duration> {
        self.manager.watchdog_interval().map(|interval| interval.saturating_sub(self.lived.elapsed()))
    }

    /// The worker works.
    pub fn alive(&mut self) {
        self.lived = Instant::now();
        self.manager.alive();
    }
}

/// A configuration as the metric has it.
fn label(config: &ConfigRef) -> String {
    match &config.image {
        Some(image) => format!("MachineConfig: {} / Image: {image}", config.config),
        None => format!("MachineConfig: {}", config.config),
    }
}

fn intention(next: &Next) -> String {
    match next {
        Next::Wait(wait) => format!("wait for {}", awaited(wait)),
        Next::Recover => "finish or undo what was interrupted".to_owned(),
        Next::Withdraw => "take back what is not wanted any more".to_owned(),
        Next::TakeOver { .. } => "take over what another agent has left".to_owned(),
        Next::Plan => "look at the update".to_owned(),
        Next::Stage => "stage the operating system of the update".to_owned(),
        Next::Unstage => "drop what was staged for another update".to_owned(),
        Next::Apply => "change the machine".to_owned(),
        Next::Reboot { .. } => "restart the machine".to_owned(),
        Next::Confirm => "commit the update".to_owned(),
        Next::GiveUp { reason } => format!("go back: {reason}"),
    }
}

fn awaited(wait: &Wait) -> String {
    match wait {
        Wait::Settled => "another configuration to be desired".to_owned(),
        Wait::Target => "a configuration to be desired".to_owned(),
        Wait::MergedPolicies => "the operator to merge the disruption policies".to_owned(),
        Wait::Unread { inputs } => format!("{} to be read", Input::list(inputs)),
        Wait::Turn => "another process that is at work on the machine".to_owned(),
        Wait::Rival(rival) => format!("process {} to end: {}", rival.pid, rival.what()),
        Wait::Release { .. } => "the hold to be released".to_owned(),
        Wait::RollbackRelease { .. } => format!("the hold after the rollback to be released: {RELEASE}"),
        Wait::Controller { request } => format!("the drain controller to do {request}"),
        Wait::Restart => "the machine to restart".to_owned(),
        Wait::RestartPermission { opens: None, .. } => "somebody to run \"ostler reboot\"".to_owned(),
        Wait::RestartPermission { opens: Some(opens), .. } => {
            format!("the restart window, open from {}, or somebody to run \"ostler reboot\"", show::moment::utc(*opens))
        }
        Wait::Proof { missing, .. } => {
            let names: Vec<&str> = missing.iter().map(|check| check.name()).collect();
            format!("health checks: {}", names.join(", "))
        }
        Wait::Help => "somebody to help".to_owned(),
        Wait::Chance { .. } => "the next try".to_owned(),
    }
}
