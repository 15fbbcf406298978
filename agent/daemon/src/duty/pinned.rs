//! The images that this node is to keep: pulled when they are named, tried again while they cannot be had, begun anew
//! when others are named.
//!
//! Owns when something is asked of the root half and what is said of it. Nothing is kept here over a restart of the agent:
//! the root half finds out what is there already.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use ostler_core::api::PinnedImageSet;
use ostler_core::node::duties::{Course, Pinned, SetStanding, pin_order};
use ostler_core::node::{Backoff, Notice};
use ostler_core::pinned::{Order, Report, is_control_plane};
use ostler_core::protocol::{Class, Reply, Request};
use tokio::time::sleep;

use super::{Circumstances, Post, State};
use crate::service::clock::Clock;
use crate::service::root_half::{Asking, RootHalf, joined};

const DUTY: &str = "pinned images";
/// Between tries; an image that cannot be had is asked for every few minutes.
const RETRY: Backoff = Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(300) };
/// Failures of the moment in a row before the node is reported.
const TOLERATED: u32 = 3;

type Sets = Arc<Vec<PinnedImageSet>>;

/// Looks after the images, without end.
pub async fn run(post: Post, root: RootHalf) {
    keep(post, move |order| root.ask(Request::Pin(order))).await;
}

async fn keep(post: Post, asks: impl Fn(Order) -> Asking + Send) {
    let mut keeper = Keeper { post, asks, clock: Clock::start(), said: Pinned::default() };
    loop {
        let sets = keeper.wanted().await;
        keeper.look_after(&sets).await;
    }
}

struct Keeper<A> {
    post: Post,
    asks: A,
    clock: Clock,
    said: Pinned,
}

/// What came of asking.
enum Ended {
    /// The root half looked at every image.
    Reported(Report),
    /// It could not.
    Failed { class: Class, reason: String },
    /// Other sets are wanted by now.
    Superseded,
}

impl<A: Fn(Order) -> Asking + Send> Keeper<A> {
    /// What is wanted, once that is known.
    async fn wanted(&mut self) -> Sets {
        let known = |circumstances: &Circumstances| circumstances.pinned_sets.is_some();
        let sets = match self.post.seen.wait_for(known).await {
            Ok(circumstances) => circumstances.pinned_sets.clone(),
            Err(_) => None,
        };
        match sets {
            Some(sets) => sets,
            // Nobody will ever know only when the agent ends.
            None => pending().await,
        }
    }

    /// Until others are wanted.
    async fn look_after(&mut self, sets: &Sets) {
        let mut failures = 0_u32;
        loop {
            let (class, reason) = match self.attempt(sets).await {
                Ended::Superseded => return,
                Ended::Reported(report) if report.failures.is_empty() => {
                    self.complete(sets, &report).await;
                    return self.superseded(sets).await;
                }
                Ended::Reported(report) => {
                    let failed = Pinned::reported(sets, &report);
                    let reason = report.failures.iter().map(|failure| format!("{}: {}", failure.set, failure.reason));
                    let reason = reason.collect::<Vec<_>>().join("; ");
                    self.say(failed, Notice::PrefetchFailed { reason: reason.clone() }).await;
                    (Class::Transient, reason)
                }
                Ended::Failed { class, reason } => (class, reason),
            };
            failures = failures.saturating_add(1);
            let wait = RETRY.wait(failures, self.clock.chance());
            self.delayed(sets, class, reason, (failures, wait)).await;
            tokio::select! {
                () = sleep(wait) => {}
                () = self.superseded(sets) => return,
            }
        }
    }

    /// Asks once. What is pulled is told when something is: a node that has everything is not called busy.
    async fn attempt(&mut self, sets: &Sets) -> Ended {
        let gently = self.post.seen.borrow().config.as_ref().is_some_and(|config| is_control_plane(&config.config));
        let mut asking = (self.asks)(pin_order(sets, gently));
        loop {
            tokio::select! {
                answer = &mut asking.answer => return ended(joined(answer)),
                Ok(()) = asking.progress.changed() => self.pulling(sets).await,
                () = self.superseded(sets) => {
                    asking.give_up();
                    // The next question would find the machine busy with this one.
                    drop(asking.answer.await);
                    return Ended::Superseded;
                }
            }
        }
    }

    /// Waits until other sets are wanted.
    async fn superseded(&self, sets: &Sets) {
        let mut seen = self.post.seen.clone();
        let other = |circumstances: &Circumstances| {
            circumstances.pinned_sets.as_ref().is_some_and(|wanted| !Arc::ptr_eq(wanted, sets) && wanted != sets)
        };
        if seen.wait_for(other).await.is_err() {
            pending::<()>().await;
        }
    }

    /// What has failed is not called under way again before it succeeds or others are wanted.
    async fn pulling(&mut self, sets: &Sets) {
        let pulling = Pinned::pulling(sets);
        let same = self.said.sets.len() == pulling.sets.len()
            && self.said.sets.iter().zip(&pulling.sets).all(|(one, other)| is_same_set(one, other));
        if self.said.course != Course::Failed || !same {
            let images = pin_order(sets, false).images().0.len();
            self.say(pulling, Notice::PrefetchBegun { images }).await;
        }
    }

    async fn complete(&mut self, sets: &Sets, report: &Report) {
        let pinned = Pinned::reported(sets, report);
        for note in &report.notes {
            tracing::warn!("{note}");
        }
        // A node that keeps nothing has nothing to announce.
        if sets.is_empty() && self.said == Pinned::default() {
            self.said = pinned.clone();
            return self.post.stands(State::Pinned(pinned), Vec::new()).await;
        }
        self.say(pinned, Notice::ImagesPinned { images: report.pinned }).await;
    }

    /// Tells a delay, and reports the node where that is no matter of the moment.
    async fn delayed(&mut self, sets: &Sets, class: Class, reason: String, (failures, wait): (u32, Duration)) {
        let lasting = class != Class::Transient || failures >= TOLERATED;
        if lasting && self.said.course != Course::Failed {
            self.say(Pinned::failed(sets, &reason), Notice::PrefetchFailed { reason: reason.clone() }).await;
        }
        let delay = Notice::DutyDelayed { duty: DUTY.to_owned(), reason, attempt: failures, seconds: wait.as_secs() };
        self.post.say(super::Word { state: None, notices: vec![delay] }).await;
    }

    /// Says how it stands, if that is news.
    async fn say(&mut self, pinned: Pinned, notice: Notice) {
        if self.said != pinned {
            self.said = pinned.clone();
            self.post.stands(State::Pinned(pinned), vec![notice]).await;
        }
    }
}

fn is_same_set(one: &SetStanding, other: &SetStanding) -> bool {
    (&one.name, one.generation) == (&other.name, other.generation)
}

fn ended(answer: Result<Reply>) -> Ended {
    match answer {
        Ok(Reply::Pinned(report)) => Ended::Reported(report),
        Ok(Reply::Failed(failure)) => Ended::Failed { class: failure.class, reason: failure.reasons.join(": ") },
        Ok(_) => Ended::Failed { class: Class::Inoperable, reason: "the applier answered something else".to_owned() },
        // It may be restarting.
        Err(error) => Ended::Failed { class: Class::Transient, reason: format!("{error:#}") },
    }
}

#[cfg(test)]
mod tests;
