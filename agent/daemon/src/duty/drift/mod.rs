//! Configuration drift: what differs from the machine's configuration is noticed soon, and told or put right as the policy
//! says.
//!
//! Owns when the root half is asked to look and to repair. Refuses to compare files (the root half does), to decide what
//! is to be done (the policy does) and to publish. A machine that changes by itself is left alone until it is at rest.

mod inside;
pub mod policy;
mod repair;
mod told;
mod watch;

use std::collections::BTreeSet;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use ostler_core::drift::policy::{DriftPolicy, Judged, judge};
use ostler_core::drift::rhythm::{Pace, Rhythm};
use ostler_core::drift::watched::Interest;
use ostler_core::drift::{Drift, Subject};
use ostler_core::node::duties::DriftSummary;
use ostler_core::node::{ConfigRef, NodeView, Notice, keys};
use ostler_core::protocol::{Reply, Request};
use tokio::time::Instant;

use self::told::{Moment, Told};
use self::watch::Watch;
use super::{Circumstances, Post, State, Word};
use crate::service::clock::Clock;
use crate::service::root_half::{RootHalf, joined};

/// Who looks at the machine and repairs it.
pub trait Asks {
    /// The answer to a request.
    fn answer(&self, request: Request) -> impl Future<Output = Result<Reply>> + Send;
}

impl Asks for RootHalf {
    async fn answer(&self, request: Request) -> Result<Reply> {
        joined(self.ask(request).answer.await)
    }
}

/// Looks after drift below a root until the agent ends.
pub async fn run(post: Post, root_half: RootHalf, root: PathBuf) {
    Keeper::new(post, root_half, &root).keep().await;
}

/// Why a look came to nothing.
#[derive(Debug)]
enum Unlooked {
    /// The machine is not at rest any more.
    Moved,
    /// This is in the way.
    Hindered(String),
}

struct Keeper<A> {
    post: Post,
    asks: A,
    root: PathBuf,
    clock: Clock,
    started: Instant,
    watch: Option<Watch>,
    /// What to listen for, by the configuration that it belongs to.
    interest: Option<(ConfigRef, Interest)>,
    /// By what drift is judged besides the machine's own policy.
    annotation: Option<String>,
    rhythm: Rhythm,
    repairs: Pace,
    told: Told,
}

impl<A: Asks> Keeper<A> {
    fn new(post: Post, asks: A, root: &Path) -> Self {
        Self {
            post,
            asks,
            root: root.to_owned(),
            clock: Clock::start(),
            started: Instant::now(),
            watch: None,
            interest: None,
            annotation: None,
            rhythm: Rhythm::default(),
            repairs: Pace::default(),
            told: Told::default(),
        }
    }

    async fn keep(mut self) {
        loop {
            let due = self.rhythm.due().map(|due| self.started + due);
            tokio::select! {
                biased;
                seen = self.post.seen.changed() => match seen {
                    Ok(()) => self.see().await,
                    // The agent ends.
                    Err(_) => return,
                },
                () = sleep_until(due) => self.look().await,
                () = change(self.watch.as_mut()) => self.rhythm.changed(self.now()),
            }
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn moment(&self) -> Moment {
        Moment { now: self.now(), seconds: self.clock.seconds(), chance: self.clock.chance() }
    }

    /// Takes in what is known of the node.
    async fn see(&mut self) {
        let seen = self.post.seen.borrow_and_update().clone();
        let now = self.now();
        self.rhythm.rest(seen.at_rest, now);
        let annotation = annotation(&seen);
        let other_policy = std::mem::replace(&mut self.annotation, annotation.clone()) != annotation;
        let other_config = self.interest.as_ref().map(|(config, _)| config) != seen.config.as_ref();
        if other_policy || other_config {
            self.rhythm.other_measure(now);
        }
        let config = seen.config.as_ref().map(|config| config.config.as_str());
        if let Some(saying) = self.told.other_config(config) {
            self.say(saying.state, saying.notices).await;
        }
    }

    /// Looks for drift, and does what is to be done about it.
    async fn look(&mut self) {
        let Some(config) = self.post.seen.borrow().config.clone() else {
            // A machine without a configuration does not differ from it.
            self.rhythm.begin();
            return;
        };
        let began = self.now();
        self.rhythm.begin();
        match self.look_at(&config).await {
            Ok(()) => {
                let (now, chance) = (self.now(), self.clock.chance());
                self.rhythm.looked(now, now.saturating_sub(began), chance);
            }
            // The machine is looked at when it is seen to rest again; a failure of the applier meanwhile is one of the change.
            Err(Unlooked::Hindered(_)) if self.unmoved(&config).is_err() => self.rhythm.rest(false, began),
            Err(Unlooked::Moved) => self.rhythm.rest(false, began),
            Err(Unlooked::Hindered(reason)) => {
                let now = self.now();
                self.rhythm.failed(now, self.clock.chance());
                let seconds = self.rhythm.due().unwrap_or(now).saturating_sub(now).as_secs();
                let notice = self.told.hindered(Some((reason, self.rhythm.failures(), seconds)));
                self.say(None, notice.into_iter().collect()).await;
            }
        }
    }

    async fn look_at(&mut self, config: &ConfigRef) -> Result<(), Unlooked> {
        self.listen(config).await?;
        let (policy, trouble) = policy::in_force(&self.root, self.annotation.as_deref());
        let notice = self.told.policy(trouble.map(|error| format!("{:#}", anyhow::Error::new(error))));
        self.say(None, notice.into_iter().collect()).await;
        let judged = judge(&self.drift(config).await?, &policy);
        let (left, mut notices) = self.put_right(config, judged, &policy).await?;
        let moment = self.moment();
        let saying = self.told.found(&config.config, &left, moment);
        if let Some(again) = saying.again {
            self.rhythm.wake(again);
        }
        notices.extend(saying.notices);
        self.say(saying.state, notices).await;
        Ok(())
    }

    /// Repairs what is to be repaired and may be by now; what is left to report.
    async fn put_right(
        &mut self,
        config: &ConfigRef,
        judged: Judged,
        policy: &DriftPolicy,
    ) -> Result<(Vec<Drift>, Vec<Notice>), Unlooked> {
        let Judged { mut reported, repairable, .. } = judged;
        let mut notices = Vec::new();
        if repairable.is_empty() {
            notices.extend(self.told.hindered(None));
            return Ok((reported, notices));
        }
        if self.now() < self.repairs.due() {
            self.rhythm.wake(self.repairs.due());
            reported.extend(repairable);
            return Ok((reported, notices));
        }
        let subjects: Vec<Subject> = repairable.iter().map(|drift| drift.subject.clone()).collect();
        let hindrance = repair::repair(&self.asks, subjects).await.err();
        let now = self.now();
        let fought = self.repairs.tried(now, self.clock.chance());
        // What the repair has written is covered by the look that follows it.
        let Judged { mut reported, repairable: still, .. } = judge(&self.drift(config).await?, policy);
        let count = repairable.iter().collect::<BTreeSet<_>>().difference(&still.iter().collect()).count();
        let config = config.config.clone();
        let seconds = self.repairs.due().saturating_sub(now).as_secs();
        if count > 0 {
            notices.push(Notice::DriftRepaired { config: config.clone(), count });
        }
        if fought && hindrance.is_none() {
            notices.push(Notice::DriftFought { config, repairs: self.repairs.count(), seconds });
        }
        let hindrance = hindrance.map(|reason| (reason, self.repairs.count(), seconds));
        notices.extend(self.told.hindered(hindrance));
        if !still.is_empty() {
            self.rhythm.wake(self.repairs.due());
        }
        reported.extend(still);
        Ok((reported, notices))
    }

    /// Listens before it looks, so that nothing happens unheard in between.
    async fn listen(&mut self, config: &ConfigRef) -> Result<(), Unlooked> {
        if self.interest.as_ref().is_none_or(|(of, _)| of != config) {
            let interest = self.interest().await?;
            self.unmoved(config)?;
            self.interest = Some((config.clone(), interest));
        }
        let trouble = self.arm().err();
        self.rhythm.hearing(trouble.is_none());
        let notice = self.told.listening(&config.config, trouble);
        self.say(None, notice.into_iter().collect()).await;
        Ok(())
    }

    fn arm(&mut self) -> Result<(), String> {
        let watch = match &mut self.watch {
            Some(watch) => watch,
            none => {
                let hint = "raise the sysctl fs.inotify.max_user_instances";
                none.insert(Watch::new(&self.root).map_err(|error| format!("{error}; {hint}"))?)
            }
        };
        let Some((_, interest)) = &self.interest else { return Ok(()) };
        watch.listen(interest).map_err(|error| error.to_string())
    }

    async fn interest(&self) -> Result<Interest, Unlooked> {
        match self.asked(Request::DriftInterest).await? {
            Reply::DriftInterest(interest) => Ok(interest),
            _ => Err(Unlooked::Hindered(UNEXPECTED.to_owned())),
        }
    }

    /// How the machine differs, unless it has begun to change: then that is no drift.
    async fn drift(&mut self, config: &ConfigRef) -> Result<Vec<Drift>, Unlooked> {
        if let Some(watch) = &mut self.watch {
            let _ = watch.take_waiting();
        }
        let reply = self.asked(Request::Drift).await;
        self.unmoved(config)?;
        match reply? {
            Reply::Drift(drift) => Ok(drift),
            _ => Err(Unlooked::Hindered(UNEXPECTED.to_owned())),
        }
    }

    fn unmoved(&self, config: &ConfigRef) -> Result<(), Unlooked> {
        let seen = self.post.seen.borrow();
        if seen.at_rest && seen.config.as_ref() == Some(config) { Ok(()) } else { Err(Unlooked::Moved) }
    }

    async fn asked(&self, request: Request) -> Result<Reply, Unlooked> {
        repair::told(self.asks.answer(request).await).map_err(Unlooked::Hindered)
    }

    async fn say(&self, state: Option<Option<DriftSummary>>, notices: Vec<Notice>) {
        if state.is_some() || !notices.is_empty() {
            self.post.say(Word { state: state.map(State::Drift), notices }).await;
        }
    }
}

const UNEXPECTED: &str = "the applier answered something else; are both programs of one version?";

fn annotation(seen: &Circumstances) -> Option<String> {
    seen.node.as_ref().and_then(|node: &NodeView| node.annotation(keys::DRIFT_POLICY)).map(str::to_owned)
}

async fn change(watch: Option<&mut Watch>) {
    match watch {
        Some(watch) => watch.change().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
