//! Which of several helpers writes: the holder of a Lease.
//!
//! A Lease is judged by when it was last seen to change, on our own clock: clocks of machines differ. Whoever cannot renew
//! stops before anybody else may begin.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// Name of the Lease of those who write streams.
const STREAMS: &str = "ostler-cluster-streams";

/// A standing for the Lease. Dropping it ends the standing without giving the Lease up.
pub struct Leadership {
    leads: watch::Receiver<bool>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Leadership {
    /// Begins to stand for the Lease of those who write streams.
    pub fn start(client: Client, namespace: &str, identity: &str, duration: Duration) -> Self {
        Self::stand(client, STREAMS, namespace, identity, duration)
    }

    /// Begins to stand for a Lease. The identity is made unique: two helpers of one name are two.
    pub fn stand(client: Client, lease: &'static str, namespace: &str, identity: &str, duration: Duration) -> Self {
        let unique = RandomState::new().build_hasher().finish();
        let keeper = Keeper {
            lease,
            api: Api::namespaced(client, namespace),
            identity: format!("{identity}_{unique:016x}"),
            duration,
            seen: None,
            renewed: None,
        };
        let (sender, leads) = watch::channel(false);
        let (stop, stopped) = watch::channel(false);
        Self { leads, stop, task: tokio::spawn(keeper.keep(sender, stopped)) }
    }

    /// Whether we may write now.
    pub fn leads(&self) -> bool {
        *self.leads.borrow()
    }

    /// Waits until we may write.
    pub async fn won(&mut self) {
        // The task ends only with this.
        let _ = self.leads.wait_for(|leads| *leads).await;
    }

    /// Ends it, and lets others begin at once.
    pub async fn give_up(self) {
        self.stop.send_replace(true);
        let _ = self.task.await;
    }
}

/// Who held the Lease when, as it was last seen to change.
type Seen = (Option<String>, Option<MicroTime>);

struct Keeper {
    lease: &'static str,
    api: Api<Lease>,
    identity: String,
    duration: Duration,
    seen: Option<(Seen, Instant)>,
    renewed: Option<Instant>,
}

impl Keeper {
    async fn keep(mut self, sender: watch::Sender<bool>, mut stopped: watch::Receiver<bool>) {
        let pause = self.duration / 5;
        while !*stopped.borrow() {
            // A request that hangs must not outlast what it would renew.
            let _ = timeout(self.duration / 3, self.turn()).await;
            let fresh = self.renewed.is_some_and(|at| at.elapsed() < self.duration * 2 / 3);
            sender.send_if_modified(|leads| std::mem::replace(leads, fresh) != fresh);
            tokio::select! {
                () = sleep(pause) => {}
                _ = stopped.changed() => {}
            }
        }
        if self.renewed.is_some() && sender.send_replace(false) {
            let _ = timeout(self.duration / 3, self.release()).await;
        }
    }

    async fn turn(&mut self) {
        let Ok(lease) = self.api.get_opt(self.lease).await else { return };
        let asked = Instant::now();
        let written = match lease {
            None => self.api.create(&PostParams::default(), &self.renewed_lease(None)).await,
            Some(lease) if self.may_take(&lease) => {
                self.api.replace(self.lease, &PostParams::default(), &self.renewed_lease(Some(lease))).await
            }
            Some(_) => {
                self.renewed = None;
                return;
            }
        };
        match written {
            Ok(_) => self.renewed = Some(asked),
            // Somebody was faster.
            Err(kube::Error::Api(status)) if status.code == 409 => self.renewed = None,
            Err(_) => {}
        }
    }

    /// It is ours, nobody's, or its holder has not renewed it for as long as it said it would.
    fn may_take(&mut self, lease: &Lease) -> bool {
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.clone().filter(|holder| !holder.is_empty());
        let now: Seen = (holder.clone(), spec.renew_time);
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != now) {
            self.seen = Some((now, Instant::now()));
        }
        let Some(holder) = holder else { return true };
        let said = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let lasts = said.map_or(self.duration, Duration::from_secs);
        holder == self.identity || self.seen.as_ref().is_some_and(|(_, since)| since.elapsed() > lasts)
    }

    fn renewed_lease(&self, old: Option<Lease>) -> Lease {
        let now = MicroTime(jiff::Timestamp::now());
        let (metadata, spec) = old.map(|lease| (lease.metadata, lease.spec.unwrap_or_default())).unwrap_or_default();
        let held = spec.holder_identity.as_deref() == Some(&self.identity);
        let transitions = spec.lease_transitions.unwrap_or_default();
        let spec = LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.duration.as_secs()).ok(),
            acquire_time: if held { spec.acquire_time } else { Some(now.clone()) },
            renew_time: Some(now),
            lease_transitions: Some(if held { transitions } else { transitions.saturating_add(1) }),
            ..spec
        };
        let metadata = ObjectMeta { name: Some(self.lease.to_owned()), ..metadata };
        Lease { metadata, spec: Some(spec) }
    }

    async fn release(&self) {
        let Ok(Some(mut lease)) = self.api.get_opt(self.lease).await else { return };
        let Some(spec) = &mut lease.spec else { return };
        if spec.holder_identity.as_deref() == Some(&self.identity) {
            spec.holder_identity = None;
            // Others take it by its age if this fails.
            let _ = self.api.replace(self.lease, &PostParams::default(), &lease).await;
        }
    }
}
