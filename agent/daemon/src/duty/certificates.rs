//! The cluster's certificates and credentials on this machine: delivered when they change, and the kubelet helped when it
//! does not trust the API server any more.
//!
//! Owns when something is delivered and when it is tried again. What is due is worked out in core, and what is written in
//! the root half. Nothing here depends on updates: a node that is held, or whose pool is paused, needs certificates too.

use std::sync::Arc;
use std::time::Duration;

use ostler_core::api::ControllerConfig;
use ostler_core::certificates::{Delivered, Done, Errand, Given, Kubelet, errand};
use ostler_core::node::duties::Certificates;
use ostler_core::node::{Backoff, ConfigRef, NodeView, Notice};
use ostler_core::protocol::{Reply, Request};
use tokio::sync::watch;

use super::{Post, State, Word};
use crate::cluster::Cluster;
use crate::service::clock::Clock;
use crate::service::outlook::{causes, words};
use crate::service::root_half::{RootHalf, joined};

/// How this duty is called.
const DUTY: &str = "certificates";
/// How soon what failed is tried again.
const RETRY: Backoff = Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(120) };
/// A first failure is most often another change of the machine that is under way, and no news.
const UNTOLD: u32 = 1;

const ROTATED: &str = "the API server has a new certificate authority";
const DISTRUSTED: &str = "it did not trust the API server any more, and asked for new credentials";

/// Looks after certificates for as long as the agent runs.
pub async fn run(post: Post, root: RootHalf, cluster: Cluster) {
    let distrust = cluster.distrust();
    let duty = Duty { post, root, cluster, state: Certificates::default(), last: None, settled: false, failures: 0 };
    duty.work(distrust).await;
}

struct Duty {
    post: Post,
    root: RootHalf,
    cluster: Cluster,
    state: Certificates,
    /// What was delivered last.
    last: Option<Done>,
    /// Whether what an earlier agent left is finished.
    settled: bool,
    failures: u32,
}

impl Duty {
    async fn work(mut self, mut distrust: watch::Receiver<bool>) {
        // The machine is looked at first by the loop, and what was interrupted is recovered.
        if self.post.seen.changed().await.is_err() {
            return;
        }
        loop {
            let distrusted = *distrust.borrow_and_update();
            if let Err(reason) = self.turn(distrusted).await {
                let wait = self.delayed(reason).await;
                // Other changes do not make it more likely to work.
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    Ok(()) = distrust.changed() => {}
                }
                continue;
            }
            self.failures = 0;
            tokio::select! {
                changed = self.post.seen.changed() => if changed.is_err() { return },
                Ok(()) = distrust.changed() => {}
            }
        }
    }

    async fn turn(&mut self, distrusted: bool) -> Result<(), String> {
        if distrusted {
            let delivered = self.ask(Request::Rebootstrap).await?;
            self.tell(&delivered, DISTRUSTED).await;
        }
        if !self.settled {
            let left = self.ask(Request::Certificates { given: None }).await?;
            self.tell(&left, ROTATED).await;
            self.settled = true;
        }
        let (config, node, current) = self.seen();
        let (Some(config), Some(node)) = (config, node) else { return Ok(()) };
        match errand(&config, &node, current.as_ref(), self.last.as_ref()) {
            Some(errand) => self.deliver(&config, errand).await,
            None => Ok(()),
        }
    }

    fn seen(&mut self) -> (Option<Arc<ControllerConfig>>, Option<NodeView>, Option<ConfigRef>) {
        let seen = self.post.seen.borrow_and_update();
        (seen.controller_config.clone(), seen.node.clone(), seen.config.clone())
    }

    /// What can be had is delivered though the rest cannot; done it is when all is.
    async fn deliver(&mut self, config: &ControllerConfig, errand: Errand) -> Result<(), String> {
        let authority = if errand.rotates { Some(self.cluster.server_authority().await) } else { None };
        let (authority, missing) = match authority {
            Some(Err(error)) => (None, Some(causes(&error))),
            Some(Ok(authority)) => (Some(authority), None),
            None => (None, None),
        };
        let given = Given::new(config, authority).seal();
        let delivered = self.ask(Request::Certificates { given: Some(given) }).await?;
        self.tell(&delivered, ROTATED).await;
        if let Some(reason) = missing {
            return Err(reason);
        }
        self.conclude(errand.done, &delivered.refused).await;
        Ok(())
    }

    async fn conclude(&mut self, done: Done, refused: &[String]) {
        let mut notices = Vec::new();
        if refused.is_empty() {
            let (synced, rotation) = (Some(done.version.clone()), done.rotation.clone());
            self.state = Certificates { synced, rotation, refused: None };
        } else {
            let reason = refused.join("; ");
            notices.push(Notice::DutyRefused { duty: DUTY.to_owned(), reason: reason.clone() });
            self.state.refused = Some(reason);
        }
        self.last = Some(done);
        self.post.stands(State::Certificates(self.state.clone()), notices).await;
    }

    async fn tell(&self, delivered: &Delivered, reason: &str) {
        let mut notices = Vec::new();
        let count = delivered.written.len().saturating_add(delivered.removed.len());
        if count > 0 {
            notices.push(Notice::CertificatesWritten { count });
        }
        let (notice, line) = of_kubelet(delivered.kubelet, reason);
        notices.extend(notice);
        if let Some(line) = line {
            tracing::info!("{line}");
        }
        note(delivered);
        if !notices.is_empty() {
            self.post.say(Word { state: None, notices }).await;
        }
    }

    async fn delayed(&mut self, reason: String) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let wait = RETRY.wait(self.failures, Clock::start().chance());
        if self.failures > UNTOLD {
            let (attempt, seconds) = (self.failures, wait.as_secs());
            let notice = Notice::DutyDelayed { duty: DUTY.to_owned(), reason, attempt, seconds };
            self.post.say(Word { state: None, notices: vec![notice] }).await;
        } else {
            tracing::debug!("{DUTY}: {reason}; tried again soon");
        }
        wait
    }

    async fn ask(&self, request: Request) -> Result<Delivered, String> {
        match joined(self.root.ask(request).answer.await) {
            Ok(Reply::Certificates(delivered)) => Ok(delivered),
            Ok(Reply::Failed(failure)) => Err(words(&failure)),
            Ok(_) => {
                Err("the applier answered something else; see that both halves of ostler are of one version".into())
            }
            Err(error) => Err(format!("{error:#}")),
        }
    }
}

/// What there is to tell of the kubelet: a notice, or a line for those who wonder.
fn of_kubelet(kubelet: Kubelet, reason: &str) -> (Option<Notice>, Option<String>) {
    match kubelet {
        Kubelet::Unaffected => (None, None),
        Kubelet::Restarted => (Some(Notice::KubeletRestarted { reason: reason.to_owned() }), None),
        Kubelet::Deferred => {
            (None, Some("the kubelet is restarted once it does not trust the API server any more".to_owned()))
        }
        Kubelet::LeftAlone => {
            (None, Some(format!("no kubelet was restarted, since none runs on these files: {reason}")))
        }
    }
}

fn note(delivered: &Delivered) {
    for path in delivered.written.iter().chain(&delivered.removed) {
        tracing::debug!("{path} was renewed or removed");
    }
}
