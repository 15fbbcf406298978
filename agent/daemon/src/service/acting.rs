//! What follows a decision: questions to the root half, and what their answers mean for the next turn.

use anyhow::Error;
use ostler_core::drift::policy::{Judged, judge};
use ostler_core::node::duties::DriftSummary;
use ostler_core::node::{Decision, Next, Notice, Outlook, keys};
use ostler_core::protocol::{Class, Failure, FirstBoot, Reply, Request};
use ostler_core::step::{ServiceAction, Step};
use ostler_core::transaction::{Ending, Finished};

use super::outlook::{Look, Ready, after_check};
use super::root_half::joined;
use super::worker::Worker;
use crate::duty::drift::policy;

/// What came of a decision.
pub enum Done {
    /// There is only something to wait for.
    Waiting,
    /// Something was done, and it is time to look again.
    Acted(String),
    /// It could not be done.
    Hindered(Failure),
}

/// An answer to another question.
pub fn unexpected(reply: &Reply) -> Failure {
    match reply {
        Reply::Failed(failure) => failure.clone(),
        _ => lost(&anyhow::anyhow!("the applier answered another question")),
    }
}

/// The root half that cannot be asked now can be asked later: it is started anew for every question.
fn lost(error: &Error) -> Failure {
    Failure { class: Class::Transient, reasons: vec![format!("{error:#}")], remedy: None, unchanged: false }
}

impl Worker {
    /// Puts a question to the root half. Meanwhile changes are heard, the service manager is kept informed, and every
    /// reason to turn again is kept for the end of the turn.
    pub(super) async fn put(&mut self, request: Request) -> Result<Reply, Failure> {
        let (changes, stages) = (is_change(&request), matches!(request, Request::Stage { .. }));
        if changes {
            self.duties.show_change();
        }
        let mut asking = self.root.ask(request);
        loop {
            let watchdog = self.teller.watchdog();
            tokio::select! {
                biased;
                reply = &mut asking.answer => {
                    self.stopwatch.add(asking.timed());
                    return joined(reply).map_err(|error| lost(&error));
                }
                Ok(()) = asking.progress.changed() => {
                    let step = asking.progress.borrow_and_update().clone();
                    self.teller.progress(step.as_ref());
                }
                change = self.outside.change() => {
                    self.pending = self.take(change).or(self.pending.take());
                    if stages && !self.is_still_desired() {
                        asking.give_up();
                    }
                }
                word = self.duties.word() => {
                    self.pending = self.hear(word).or(self.pending.take());
                }
                () = self.signals.end() => {
                    if changes {
                        self.tell(&Notice::TerminationPostponed);
                    }
                }
                () = pause(watchdog) => self.teller.alive(),
            }
        }
    }

    /// Does what was decided.
    pub(super) async fn act(&mut self, decision: &Decision) -> Done {
        let done = match &decision.next {
            Next::Wait(_) => return Done::Waiting,
            Next::Plan => self.plan().await.map(|()| "the update was looked at".to_owned()),
            Next::TakeOver { introduced } => self.take_over(*introduced).await,
            Next::Recover => self.recover().await,
            Next::Withdraw => self.withdraw().await,
            Next::Stage => self.stage().await,
            Next::Unstage => self.unstage().await,
            Next::Apply => self.apply().await,
            Next::Reboot { late } => return self.restart(*late).await,
            Next::Confirm => self.confirm().await,
            Next::GiveUp { reason } => self.give_up(reason.clone()).await,
        };
        done.map_or_else(Done::Hindered, Done::Acted)
    }

    pub(super) fn tell(&mut self, notice: &Notice) {
        self.teller.tell(notice);
        self.outside.event(notice, self.known.node.as_ref());
    }

    /// Stages what the update brings of the operating system. Where that fails, the node stays in service: what is of the moment
    /// is tried again, anything else is a refusal.
    async fn stage(&mut self) -> Result<String, Failure> {
        let Some(ticket) = self.look.as_ref().and_then(Look::to_stage).cloned() else {
            return Ok("nothing was planned".to_owned());
        };
        let reply = match self.put(Request::Stage { ticket }).await {
            Err(_) if !self.is_still_desired() => {
                return Ok("another update is wanted than the one that was staged".to_owned());
            }
            reply => reply?,
        };
        let Some(look) = &mut self.look else { return Ok("nothing was planned".to_owned()) };
        match reply {
            Reply::Staged | Reply::Nothing => {
                look.staged();
                Ok("the operating system of the update was staged".to_owned())
            }
            Reply::Failed(failure) => {
                (look.outlook, look.ready) = (after_check(&failure), None);
                Ok("the operating system of the update cannot be staged".to_owned())
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Whether the configuration that was prepared is still the desired one. Other rules take no other operating system: what is
    /// pulled for the old ones is found by the update that is prepared for the new ones.
    fn is_still_desired(&self) -> bool {
        let subject = self.subject();
        self.look.as_ref().zip(subject).is_some_and(|(look, now)| look.subject.desired == now.desired)
    }

    async fn unstage(&mut self) -> Result<String, Failure> {
        match self.put(Request::Cancel).await? {
            Reply::Nothing => Ok("what was staged ahead was dropped".to_owned()),
            other => Err(unexpected(&other)),
        }
    }

    async fn apply(&mut self) -> Result<String, Failure> {
        let Some(look) = self.look.take() else { return Ok("nothing was planned".to_owned()) };
        let (Outlook::Ready(update), Some(Ready { ticket, steps, connection, .. })) = (look.outlook, look.ready) else {
            return Ok("nothing was planned".to_owned());
        };
        if connection != self.root.connection() {
            return Ok("the applier that has prepared the update is gone".to_owned());
        }
        let os = update.os;
        self.tell(&Notice::UpdateBegun { config: update.to.config.clone(), os: update.os });
        self.report.begin(update);
        match self.put(Request::Apply { ticket }).await? {
            Reply::Finished(finished) => {
                if os {
                    self.teller.os_changed(!matches!(finished.ending, Ending::Undone { .. }));
                }
                self.tell_times(&finished.to);
                self.tell_end(&finished, &steps);
                Ok("the change ended".to_owned())
            }
            Reply::Nothing => Ok("there was nothing to change".to_owned()),
            other => Err(unexpected(&other)),
        }
    }

    /// Tells how long a change took, with the check before it.
    fn tell_times(&mut self, config: &str) {
        if let Some(words) = std::mem::take(&mut self.stopwatch).words() {
            self.tell(&Notice::Timed { config: config.to_owned(), words });
        }
    }

    /// Tells how a change ended.
    fn tell_end(&mut self, finished: &Finished, steps: &[Step]) {
        let config = finished.to.clone();
        // Files alone cannot be restarted; whoever they belong to will be.
        let reboot = finished.reboot || finished.left_out.contains(&Step::Reboot);
        match &finished.ending {
            Ending::Applied => {
                self.tell(&Notice::Applied { config, changed: finished.changed, reboot });
                let done = steps.iter().filter(|step| !reboot && !finished.left_out.contains(step));
                for (service, restarted) in done.filter_map(service) {
                    self.tell(&Notice::ServiceTold { service: service.to_owned(), restarted });
                }
            }
            Ending::AwaitsReboot { reason: None } => {
                self.tell(&Notice::Applied { config, changed: finished.changed, reboot: true });
            }
            Ending::Undone { reason }
            | Ending::AwaitsReboot { reason: Some(reason) }
            | Ending::Abandoned { reason, .. } => {
                self.tell(&Notice::Failed { config, reason: reason.clone() });
            }
        }
        self.tell_service_failures(finished);
    }

    fn tell_service_failures(&mut self, finished: &Finished) {
        for failure in &finished.service_failures {
            let (config, reload) = (finished.to.clone(), failure.action == "reload");
            self.tell(&Notice::ServiceFailed { config, failure: failure.to_string(), reload });
        }
    }

    async fn recover(&mut self) -> Result<String, Failure> {
        // What waited for its restart, and had it, was not interrupted: that it restarted is told.
        let restarted = self.machine.open.as_ref().is_some_and(|open| open.awaits_end_of.is_some());
        match self.put(Request::Recover).await? {
            Reply::Finished(finished) => {
                self.tell_times(&finished.to);
                let undone =
                    matches!(&finished.ending, Ending::Undone { .. } | Ending::AwaitsReboot { reason: Some(_) });
                let config = if undone { &finished.from } else { &finished.to }.clone();
                if undone || !restarted {
                    self.tell(&Notice::Recovered { config, undone });
                }
                self.tell_service_failures(&finished);
                Ok("what was interrupted came to an end".to_owned())
            }
            Reply::Nothing => Ok("nothing was interrupted".to_owned()),
            other => Err(unexpected(&other)),
        }
    }

    async fn withdraw(&mut self) -> Result<String, Failure> {
        let from = self.machine.open.as_ref().map(|open| open.to.clone()).unwrap_or_default();
        let to = self.known.node.as_ref().and_then(|node| node.desired()).unwrap_or_default().config;
        self.tell(&Notice::Superseded { from, to });
        match self.put(Request::Withdraw).await? {
            Reply::Finished(finished) => {
                self.tell_service_failures(&finished);
                Ok("what waited for the restart was taken back".to_owned())
            }
            Reply::Nothing => Ok("what waited for the restart was taken back".to_owned()),
            other => Err(unexpected(&other)),
        }
    }

    /// Nothing is left to do in this boot once the restart is ordered, whatever becomes of it.
    async fn restart(&mut self, late: Option<u64>) -> Done {
        if let Some(seconds) = late {
            self.tell(&Notice::RestartLate { seconds });
        }
        if let Err(failure) = self.note_first_boot(FirstBoot::Restarts).await {
            return Done::Hindered(failure);
        }
        match self.put(Request::Reboot { check: false, soft: false }).await {
            Ok(Reply::Restart(restart)) => {
                self.tell(&Notice::Restarting { rationale: restart.rationale });
                self.outside.flush().await;
                Done::Acted("the restart was ordered".to_owned())
            }
            Ok(other) => {
                self.teller.restart_failed();
                Done::Hindered(unexpected(&other))
            }
            Err(failure) => {
                self.teller.restart_failed();
                Done::Hindered(failure)
            }
        }
    }

    async fn confirm(&mut self) -> Result<String, Failure> {
        let config = self.machine.config.clone().unwrap_or_default();
        self.require_no_drift(&config).await?;
        match self.put(Request::Confirm).await? {
            Reply::Failed(failure) => Err(failure),
            _ => {
                self.tell(&Notice::Proven { config });
                Ok("the machine has proven itself".to_owned())
            }
        }
    }

    /// A machine that differs from its configuration keeps what it could go back to. What the drift policy has repaired is
    /// repaired first: the search for drift rests until the update is committed.
    async fn require_no_drift(&mut self, config: &str) -> Result<(), Failure> {
        let drift = match self.put(Request::Drift).await? {
            Reply::Drift(drift) => drift,
            other => return Err(unexpected(&other)),
        };
        let annotation = self.known.node.as_ref().and_then(|node| node.annotation(keys::DRIFT_POLICY));
        let (policy, _) = policy::in_force(self.root.directory(), annotation);
        let Judged { reported, repairable, ignored: _ } = judge(&drift, &policy);
        if !repairable.is_empty() {
            let only = repairable.into_iter().map(|drift| drift.subject).collect();
            self.put(Request::Repair { only }).await?;
        }
        let Some(summary) = DriftSummary::new(config, &reported, 0) else { return Ok(()) };
        Err(Failure {
            class: Class::Transient,
            reasons: vec![format!("cannot commit the update to {config}"), summary.report()],
            remedy: Some("run \"ostler drift --repair\", or ignore the path in the drift policy".to_owned()),
            unchanged: true,
        })
    }

    async fn give_up(&mut self, reason: String) -> Result<String, Failure> {
        let config = self.machine.config.clone().unwrap_or_default();
        let rules = self.known.rules.clone();
        match self.put(Request::GiveUp { reason: reason.clone(), rules }).await? {
            Reply::Failed(failure) => Err(failure),
            _ => {
                self.tell(&Notice::GivenUp { config, reason });
                Ok("the machine goes back".to_owned())
            }
        }
    }
}

/// Whether the machine may be in the middle of something while this is answered.
const fn is_change(request: &Request) -> bool {
    matches!(
        request,
        Request::Stage { .. }
            | Request::Apply { .. }
            | Request::Recover
            | Request::Withdraw
            | Request::GiveUp { .. }
            | Request::TakeOver(_)
    )
}

fn service(step: &Step) -> Option<(&str, bool)> {
    step.service().map(|(service, action)| (service, action == ServiceAction::Restart))
}

async fn pause(wait: Option<std::time::Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}
