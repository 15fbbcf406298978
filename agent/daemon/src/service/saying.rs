//! Saying where the node stands: one value, projected to the journal, the service manager and whoever is outside.
//!
//! Owns when something is said. What is said is worked out in core; how it gets there is the outside's business.

use ostler_core::node::{
    ConfigRef, Decision, Irreconcilable, Next, NodeView, Notice, Outlook, Phase, Situation, Wait, keys,
};
use ostler_core::rival::Rival;
use ostler_core::verdict::{AgentReport, Verdict};

use super::teller::Seen;
use super::worker::{RETRY, Worker};
use crate::cluster::ClusterError;

impl Worker {
    /// What the verdict rests on now.
    fn seen(&self, decision: &Decision) -> Seen {
        let duties = &self.known.duties;
        let report = AgentReport {
            source: self.outside.source(),
            current: self.current(),
            desired: self.known.node.as_ref().and_then(NodeView::desired),
            decision: decision.clone(),
            retry_at: None,
            lost: self.teller.lost(),
            denied: self.known.denied.clone(),
            drift: duties.drift.clone(),
            certificates: duties.certificates.refused.clone(),
        };
        Seen { machine: self.machine.clone(), report }
    }

    fn situation(&self, decision: &Decision, verdict: Verdict) -> Situation {
        let update = self.look.as_ref().and_then(|look| match &look.outlook {
            Outlook::Ready(update) => Some(update.clone()),
            _ => None,
        });
        let node = self.known.node.as_ref();
        Situation {
            node: node.map(|node| node.name.clone()).unwrap_or_default(),
            current: ConfigRef::in_effect(&self.machine, node.and_then(NodeView::current)),
            desired: node.and_then(NodeView::desired),
            phase: decision.phase,
            update: update.or_else(|| self.report.update()),
            staged_for: self.machine.staged_for.clone(),
            verdict,
            drain: decision.drain.clone(),
            irreconcilable: if self.known.gates.irreconcilable {
                self.report.changes()
            } else {
                Irreconcilable::Untold
            },
            finalization_failure: self.machine.os.finalization_failure.clone(),
            // Without a cluster there is nobody to be introduced to.
            bootstrap: self.machine.bootstrap.clone().filter(|_| self.outside.drains()),
            boot_image: self.machine.boot_image.clone(),
            duties: self.known.duties.clone(),
        }
    }

    /// A node is called done only after what it cannot have was told.
    pub(super) async fn publish(&mut self, decision: &Decision) {
        if let Next::Wait(Wait::Rival(rival)) = &decision.next {
            return self.stand_back(rival.clone(), decision);
        }
        if self.rival.take().is_some() {
            self.tell(&Notice::RivalGone);
        }
        if decision.phase.is_at_rest() {
            self.compare().await;
        }
        let busy = |last: &Decision| (Phase::Executing..=Phase::Proving).contains(&last.phase);
        if decision.phase == Phase::Settled && self.last.as_ref().is_some_and(busy) {
            // What an update has done is told before it is called done, where nobody has to be waited for in between.
            let completing = Decision { phase: Phase::Completing, ..decision.clone() };
            self.say(&completing).await;
        }
        self.say(decision).await;
    }

    /// Two who write a node's annotations would undo each other's: whoever finds the other is silent.
    fn stand_back(&mut self, rival: Rival, decision: &Decision) {
        if self.rival.as_ref() != Some(&rival) {
            self.tell(&Notice::RivalFound { pid: rival.pid, what: rival.what().to_owned() });
        }
        let seen = self.seen(decision);
        self.teller.stands_back(seen);
        self.rival = Some(rival);
        self.last = None;
    }

    async fn say(&mut self, decision: &Decision) {
        let seen = self.seen(decision);
        let situation = self.situation(decision, seen.verdict());
        let state = self.known.node.as_ref().and_then(|node| node.annotation(keys::STATE));
        let known_done = state == Some(keys::STATE_DONE);
        let notices = self.teller.stands(&situation, seen, known_done);
        notices.iter().for_each(|notice| self.tell(notice));
        match self.outside.publish(&situation, &self.known, self.clock.time()).await {
            Ok(published) => {
                self.unpublished = 0;
                if published.node.is_some() {
                    self.known.denied = None;
                }
                self.known.node = published.node.or(self.known.node.take());
                self.known.object = published.object.or(self.known.object.take());
            }
            Err(error) => {
                self.unpublished = self.unpublished.saturating_add(1);
                if let Some(ClusterError::NotThisNode { message, .. }) = error.downcast_ref() {
                    self.known.denied = Some(message.clone());
                }
                let wait = RETRY.wait(self.unpublished, self.clock.chance());
                self.teller.tell(&Notice::Retrying {
                    reason: format!("what the node is doing could not be published: {error:#}"),
                    attempt: self.unpublished,
                    seconds: wait.as_secs(),
                });
                self.rouse(wait, "publishing again");
            }
        }
        self.last = Some(decision.clone());
    }
}
