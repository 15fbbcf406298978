//! The loop: wait for a reason, observe, decide, publish, act.
//!
//! Owns the turning and its timers. Refuses to decide (core does), to change the machine (the root half does) and to word
//! anything (notices and publications do). There is one worker, so there is one writer of the node's status.

use std::time::{Duration, Instant};

use anyhow::Result;
use ostler_core::hosted;
use ostler_core::node::{
    Abilities, Backoff, Decision, Facts, Input, Next, Notice, Phase, Proof, RebootPolicy, TroubleKind, Wait, decide,
};
use ostler_core::protocol::{Class, Failure, Reply, Request};
use ostler_core::rival::Rival;
use ostler_core::status::Status;

use super::acting::Done;
use super::clock::Clock;
use super::ending::{Ending, after_once, when_told};
use super::health::Health;
use super::known::{Grounds, Known};
use super::outlook::{self, Look};
use super::outside::Outside;
use super::report::Report;
use super::root_half::RootHalf;
use super::signals::Signals;
use super::stopwatch::Stopwatch;
use super::teller::Teller;
use crate::cluster::Change;
use crate::duty::Duties;

/// How soon what failed is tried again.
pub(super) const RETRY: Backoff = Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(300) };
/// How often the proof of a boot is looked for.
const PROOF_INTERVAL: Duration = Duration::from_secs(5);
/// A process that is at work on the machine is looked at again after this.
const BUSY_INTERVAL: Duration = Duration::from_secs(5);
/// A node that needs help is looked at again now and then: somebody may have helped without telling.
const HELP_INTERVAL: Duration = Duration::from_secs(600);
/// What for.
const HELPED: &str = "looking whether somebody has helped";
/// How often another agent on the node is looked for again.
const RIVAL_INTERVAL: Duration = Duration::from_secs(30);
/// How often a restart that was ordered is looked at.
const RESTART_INTERVAL: Duration = Duration::from_secs(60);
/// How long an agent listens for a cluster that does not answer before it goes on by itself.
const LISTENING: Duration = Duration::from_secs(120);
/// Changes that follow each other sooner than this are taken together.
const LULL: Duration = Duration::from_millis(20);
/// For how long.
const LONGEST_GATHERING: Duration = Duration::from_millis(250);
/// Turns in a row without a pause, after which something is wrong with the deciding.
const MAX_STEPS: usize = 16;

/// How the worker is to work.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Whether to end as soon as nothing is left to do.
    pub once: bool,
    /// When the machine may be restarted; none where it cannot be.
    pub restarts: Option<RebootPolicy>,
    /// How long a machine has to prove itself.
    pub prove_within: Duration,
    /// Whether an operating system is staged before the drain.
    pub stages_first: bool,
}

/// Everything that the loop holds.
pub struct Worker {
    pub(super) outside: Outside,
    pub(super) root: RootHalf,
    pub(super) teller: Teller,
    pub(super) signals: Signals,
    pub(super) known: Known,
    pub(super) clock: Clock,
    pub(super) machine: Status,
    pub(super) look: Option<Look>,
    /// The configuration that was looked at last, and what was told of it.
    pub(super) warned: Option<(String, Vec<String>)>,
    pub(super) report: Report,
    pub(super) duties: Duties,
    health: Health,
    manner: Manner,
    /// Whether the names of network interfaces are yet to be looked at.
    pub(super) nics: bool,
    /// Whether the machine remembers that its first boot has begun.
    pub(super) begun: bool,
    /// How long the parts of the change took that is looked at or made.
    pub(super) stopwatch: Stopwatch,
    failures: u32,
    pub(super) unpublished: u32,
    /// When to turn without another reason, and what for.
    alarm: Option<(Instant, &'static str)>,
    /// The newest reason to turn that was heard in the middle of a turn, after its decision.
    pub(super) pending: Option<String>,
    pub(super) last: Option<Decision>,
    /// The other agent that was found, and told of, last.
    pub(super) rival: Option<Rival>,
}

/// What a worker is made of.
pub struct Parts {
    /// Where desired state comes from.
    pub outside: Outside,
    /// The root half.
    pub root: RootHalf,
    /// Who tells.
    pub teller: Teller,
    /// What ends the loop.
    pub signals: Signals,
    /// What is known at the start.
    pub known: Known,
    /// What proves a boot.
    pub health: Health,
    /// What there is to do beside updates.
    pub duties: Duties,
    /// How to work.
    pub manner: Manner,
}

impl Worker {
    /// A worker that has not begun.
    pub fn new(parts: Parts) -> Self {
        let Parts { outside, root, teller, signals, known, health, duties, manner } = parts;
        Self {
            outside,
            root,
            teller,
            signals,
            known,
            health,
            duties,
            nics: manner.restarts.is_some(),
            begun: false,
            stopwatch: Stopwatch::default(),
            manner,
            clock: Clock::start(),
            machine: Status::default(),
            look: None,
            warned: None,
            report: Report::default(),
            failures: 0,
            unpublished: 0,
            alarm: None,
            pending: None,
            last: None,
            rival: None,
        }
    }

    /// Works until it is told to end, or once until nothing is left to do.
    pub async fn work(mut self) -> Ending {
        let mut reason = "the agent started".to_owned();
        let ending = loop {
            let decision = match self.begin_first_boot().await {
                Ok(()) => self.turn(&reason).await,
                Err(failure) => self.hindered(&failure),
            };
            if let Some(ending) = self.ended(&decision).await {
                break ending;
            }
            match self.reason().await {
                Some(next) => reason = next,
                None => break when_told(&decision, self.outside.is_first_boot()),
            }
        };
        self.teller.tell(&Notice::Stopped);
        self.teller.stopping();
        ending
    }

    async fn ended(&mut self, decision: &Decision) -> Option<Ending> {
        let first_boot = self.outside.is_first_boot();
        if self.signals.told_to_end() {
            return Some(when_told(decision, first_boot));
        }
        if first_boot {
            return self.end_first_boot(decision).await;
        }
        // A cluster that has not answered yet may desire something.
        let answered = self.known.node.is_some() || !self.outside.drains();
        after_once(decision).filter(|_| self.manner.once && answered)
    }

    /// Waits until there is a reason to turn; none when the agent is to end.
    async fn reason(&mut self) -> Option<String> {
        if let Some(reason) = self.pending.take() {
            return Some(reason);
        }
        loop {
            self.show();
            let alarm = self.alarm;
            let watchdog = self.teller.watchdog();
            tokio::select! {
                biased;
                signal = self.signals.next() => match signal {
                    super::signals::Signal::End => return None,
                    super::signals::Signal::Look => {
                        self.outside.watch_again();
                        return Some("somebody asked to look again".to_owned());
                    }
                },
                change = self.outside.change() => {
                    if let Some(reason) = self.take(change) {
                        self.take_waiting().await;
                        return Some(reason);
                    }
                }
                word = self.duties.word() => {
                    if let Some(reason) = self.hear(word) {
                        return Some(reason);
                    }
                }
                () = sleep_until(alarm.map(|(at, _)| at)) => {
                    self.alarm = None;
                    return Some(alarm.map_or("", |(_, reason)| reason).to_owned());
                }
                () = sleep_until(watchdog.map(|wait| Instant::now() + wait)) => self.teller.alive(),
            }
        }
    }

    /// Takes in a change; whether it is a reason to turn. Credentials that are accepted end the pauses of all watches.
    pub(super) fn take(&mut self, change: Change) -> Option<String> {
        self.teller.heard(&change);
        let denied = self.known.denied.is_some();
        let reason = self.known.take(change);
        if denied && self.known.denied.is_none() {
            self.outside.watch_again();
        }
        reason
    }

    /// Several changes often come together; one turn does for all of them. Where they never end, it does for some.
    async fn take_waiting(&mut self) {
        let all = async {
            while let Ok(change) = tokio::time::timeout(LULL, self.outside.change()).await {
                let _ = self.take(change);
            }
        };
        let _ = tokio::time::timeout(LONGEST_GATHERING, all).await;
    }

    /// Observes, decides, publishes and acts, until there is something to wait for.
    async fn turn(&mut self, reason: &str) -> Decision {
        let mut why = reason.to_owned();
        for _ in 0..MAX_STEPS {
            let observed = self.observe().await;
            if observed.is_ok() {
                self.persist_nics().await;
                // The decision below rests on all that was heard so far.
                self.pending = None;
            }
            let grounds = self.known.grounds();
            let decision = match observed {
                Ok(()) => self.decided().await,
                Err(failure) => self.hindered(&failure),
            };
            self.teller.turned(&why, &decision);
            // Until the update was looked at there is nothing new to say, and what was said of the last look stays true.
            if !matches!(decision.next, Next::Plan | Next::TakeOver { introduced: false }) {
                self.publish(&decision).await;
            }
            if self.signals.told_to_end() {
                return decision;
            }
            // Those who start after us find what was interrupted at its end; an update is not what they wait for.
            if decision.next != Next::Recover {
                self.teller.ready();
            }
            match self.act(&decision).await {
                Done::Waiting => match self.heard_since(&grounds) {
                    Some(reason) => why = reason,
                    None => return self.wait(decision),
                },
                Done::Acted(what) => {
                    self.acted(&decision.next);
                    why = what;
                }
                Done::Hindered(failure) => {
                    let decision = self.hindered(&failure);
                    self.publish(&decision).await;
                    return decision;
                }
            }
        }
        self.retry("the node did not come to rest", "looking again")
    }

    /// Why to decide again: a change that came since the decision, or the answer to a write, is not reported once more.
    fn heard_since(&mut self, grounds: &Grounds) -> Option<String> {
        let answered = self.known.grounds() != *grounds;
        self.pending.take().or_else(|| answered.then(|| "the API's answer differs from what was known".to_owned()))
    }

    /// That an update could be looked at says nothing of what was found.
    fn acted(&mut self, did: &Next) {
        if *did != Next::Plan {
            self.succeeded();
        }
    }

    async fn observe(&mut self) -> Result<(), Failure> {
        match self.put(Request::Status).await? {
            Reply::Status(status) => {
                self.machine = *status;
                self.teller.packages(&self.machine.os);
                self.teller.owed_restarts(&self.machine.owed_restarts);
                if self.outside.is_hosted() {
                    self.machine.config = hosted::known_as(&self.machine, self.known.node.as_ref());
                }
                Ok(())
            }
            other => Err(super::acting::unexpected(&other)),
        }
    }

    async fn decided(&mut self) -> Decision {
        // A node that nobody has spoken of wants nothing; what was begun is ended, and a boot has to prove itself anyway.
        let heard = self.known.node.is_some() || self.is_unheard();
        let node = self.known.node.clone().unwrap_or_default();
        let proof = self.proof().await;
        let subject = self.subject();
        self.look = self.look.take().filter(|look| look.holds(subject.as_ref(), self.known.mounted));
        let unread: Vec<Input> = self.known.unread.iter().copied().collect();
        decide(&Facts {
            node: &node,
            machine: &self.machine,
            outlook: self.look.as_ref().map(|look| &look.outlook),
            staged: !self.manner.stages_first || self.look.as_ref().and_then(Look::to_stage).is_none(),
            proof: &proof,
            abilities: Abilities { drains: self.outside.drains(), restarts: self.manner.restarts },
            heard,
            unread: &unread,
            unmerged: self.known.rules_pending,
            now: self.clock.seconds(),
        })
    }

    /// Whether the cluster had its chance to speak of the node since the agent started.
    fn is_unheard(&self) -> bool {
        let patience = LISTENING.min(self.manner.prove_within);
        self.known.lost && self.clock.running() >= patience
    }

    /// Only a machine on trial is asked how it is.
    async fn proof(&self) -> Proof {
        let limit = self.manner.prove_within;
        if self.machine.trial.is_none() {
            return Proof { limit, ..Proof::default() };
        }
        let cluster = self.outside.drains().then_some(self.known.reached);
        let (boot_complete, kubelet) = (self.health.boot_complete().await, self.health.kubelet().await);
        // Files alone have no boot of their own.
        let elapsed = self.health.since_boot().await.unwrap_or_else(|| self.clock.running());
        Proof { boot_complete, kubelet, cluster, elapsed, limit }
    }

    /// Sets the alarm for what is waited for.
    fn wait(&mut self, decision: Decision) -> Decision {
        let Next::Wait(wait) = &decision.next else { return decision };
        // What was prepared is kept for as long as workloads take to leave, and prepared again after any other wait.
        if !matches!(wait, Wait::Controller { .. }) {
            self.root.rest();
        }
        match wait {
            Wait::Target if self.machine.open.is_some() || self.machine.trial.is_some() => {
                self.rouse(PROOF_INTERVAL, "looking whether the cluster answers");
            }
            Wait::Proof { .. } => self.rouse(PROOF_INTERVAL, "looking for the proof of the boot"),
            Wait::Rival(_) => self.rouse(RIVAL_INTERVAL, "looking whether the other agent has gone"),
            Wait::Turn => self.rouse(BUSY_INTERVAL, "looking whether the machine is free"),
            Wait::Restart if self.manner.restarts.is_some() => self.rouse(RESTART_INTERVAL, "looking for the restart"),
            Wait::RestartPermission { .. } => self.rouse(RESTART_INTERVAL, "looking whether a restart is allowed"),
            Wait::Help => {
                self.look = None;
                let told = decision.trouble.as_ref().filter(|trouble| trouble.kind != TroubleKind::Unreconcilable);
                match told.map(|trouble| trouble.reason.clone()).filter(|_| self.outside.is_first_boot()) {
                    // Nobody is there to be told but whoever reads the console: when it is tried again is said as well.
                    Some(reason) => drop(self.retry(&reason, HELPED)),
                    None => self.rouse(HELP_INTERVAL, HELPED),
                }
            }
            Wait::Chance { reason } => {
                let reason = reason.clone();
                self.look = None;
                let _ = self.retry(&reason, "trying again");
            }
            _ => self.succeeded(),
        }
        decision
    }

    fn succeeded(&mut self) {
        if std::mem::take(&mut self.failures) > 0 {
            self.teller.attempts(0, None);
        }
    }

    /// What failed is tried again later; only what a person has to look at is trouble.
    pub(super) fn hindered(&mut self, failure: &Failure) -> Decision {
        let mut decision = self.retry(&outlook::words(failure), "trying again");
        if failure.class != Class::Transient {
            decision.trouble = Some(outlook::degraded(outlook::words(failure)));
        }
        decision
    }

    fn retry(&mut self, reason: &str, what: &'static str) -> Decision {
        self.failures = self.failures.saturating_add(1);
        let wait = RETRY.wait(self.failures, self.clock.chance());
        let notice = Notice::Retrying { reason: reason.to_owned(), attempt: self.failures, seconds: wait.as_secs() };
        self.teller.tell(&notice);
        self.teller.attempts(self.failures, Some(wait));
        self.rouse(wait, what);
        let phase = self.last.as_ref().map_or(Phase::Considering, |last| last.phase);
        let next = Next::Wait(Wait::Chance { reason: reason.to_owned() });
        Decision { next, phase, trouble: None, drain: None }
    }

    /// The earliest alarm rings; a later one is set again by the turn that it causes.
    pub(super) fn rouse(&mut self, after: Duration, reason: &'static str) {
        let at = Instant::now() + after;
        if self.alarm.is_none_or(|(set, _)| at < set) {
            self.alarm = Some((at, reason));
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
