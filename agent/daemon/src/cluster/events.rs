//! Events of the node, for people who look at it.
//!
//! Owns their queue and the task that sends them, so that nobody waits for an event. What comes too often is counted
//! instead of repeated; what cannot be sent in time is dropped, and counted too.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use ostler_core::node::EventKind;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::connect::Cluster;
use super::error::ClusterError;
use super::pause;

/// Where events of machine configuration are looked for.
const NAMESPACE: &str = "openshift-machine-config-operator";
/// Who speaks, for those who filter by it.
const COMPONENT: &str = "machineconfigdaemon";
/// Longest message, in characters.
const MAX_MESSAGE: usize = 1024;
/// Longest part of the node's name in that of an event.
const MAX_PREFIX: usize = 230;
/// Most events that wait, and most that are remembered.
const MAX_EVENTS: usize = 32;
/// How long a repetition counts as one.
const SAME: Duration = Duration::from_secs(600);
/// After this long nobody wants to know.
const TOO_OLD: Duration = Duration::from_secs(3600);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Cluster {
    /// Tells an event of the node, which has the given uid; does not wait for it to arrive.
    pub fn event(&self, kind: EventKind, reason: &str, message: &str, uid: &str) {
        let message = message.chars().take(MAX_MESSAGE).collect();
        let subject = Subject { kind, reason: reason.to_owned(), message, uid: uid.to_owned() };
        self.events.queue.push(subject, Timestamp::now());
    }

    /// How many events were dropped since the start.
    #[cfg(test)]
    pub fn events_dropped(&self) -> u64 {
        self.events.queue.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all events are sent, but no longer than `limit`; for the last words before a restart.
    pub async fn flush_events(&self, limit: Duration) {
        let mut pending = self.events.queue.pending.subscribe();
        // Whatever is left then is lost with the process.
        let _ = timeout(limit, pending.wait_for(|pending| *pending == 0)).await;
    }
}

/// What makes two events the same.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Subject {
    kind: EventKind,
    reason: String,
    message: String,
    uid: String,
}

#[derive(Clone, Debug)]
struct Happening {
    subject: Subject,
    times: i32,
    first: Timestamp,
    last: Timestamp,
    heard: Instant,
    /// Which of all since the start: the clock alone may give two the same name.
    serial: u32,
}

/// The queue and its task.
pub struct Events {
    queue: Arc<Queue>,
    task: JoinHandle<()>,
}

impl Events {
    /// Starts the task.
    pub fn start(client: Client, node: &str) -> Self {
        let queue = Arc::new(Queue::new());
        let sender = Sender { api: Api::namespaced(client, NAMESPACE), node: node.to_owned(), sent: VecDeque::new() };
        let task = tokio::spawn(sender.run(Arc::clone(&queue)));
        Self { queue, task }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Queue {
    waiting: Mutex<VecDeque<Happening>>,
    /// How many wait, with the one being sent.
    pending: watch::Sender<usize>,
    dropped: AtomicU64,
    serial: AtomicU32,
}

impl Queue {
    fn new() -> Self {
        Self {
            waiting: Mutex::default(),
            pending: watch::Sender::new(0),
            dropped: AtomicU64::new(0),
            serial: AtomicU32::new(0),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Happening>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, subject: Subject, now: Timestamp) {
        let mut waiting = self.waiting();
        if let Some(same) = waiting.iter_mut().find(|other| other.subject == subject) {
            same.times = same.times.saturating_add(1);
            same.last = now;
            return;
        }
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        waiting.push_back(Happening { subject, times: 1, first: now, last: now, heard: Instant::now(), serial });
        if waiting.len() > MAX_EVENTS {
            waiting.pop_front();
            self.dropped.fetch_add(1, Ordering::Relaxed);
        } else {
            self.pending.send_modify(|pending| *pending += 1);
        }
    }

    async fn next(&self) -> Happening {
        let mut pending = self.pending.subscribe();
        loop {
            if let Some(next) = self.waiting().pop_front() {
                return next;
            }
            // The sender lives as long as we do.
            let _ = pending.changed().await;
        }
    }

    fn done(&self) {
        self.pending.send_modify(|pending| *pending = pending.saturating_sub(1));
    }
}

struct Sent {
    subject: Subject,
    name: String,
    count: i32,
    heard: Instant,
}

struct Sender {
    api: Api<Event>,
    node: String,
    sent: VecDeque<Sent>,
}

impl Sender {
    async fn run(mut self, queue: Arc<Queue>) {
        loop {
            let happening = queue.next().await;
            if let Err(error) = self.deliver(&happening).await {
                queue.dropped.fetch_add(1, Ordering::Relaxed);
                tracing::debug!("an event is dropped: {error}");
            }
            queue.done();
        }
    }

    async fn deliver(&mut self, happening: &Happening) -> Result<(), ClusterError> {
        let mut failures = 0;
        loop {
            match self.send(happening).await.map_err(|error| ClusterError::new("tell an event", error)) {
                Err(error) if error.is_transient() && happening.heard.elapsed() < TOO_OLD => {
                    failures += 1;
                    sleep(pause::after(failures, FIRST_PAUSE, LONGEST_PAUSE)).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn send(&mut self, happening: &Happening) -> kube::Result<()> {
        self.sent.retain(|sent| sent.heard.elapsed() < SAME);
        let same = self.sent.iter().position(|sent| sent.subject == happening.subject);
        if let Some(sent) = same.and_then(|at| self.sent.remove(at)) {
            let count = sent.count.saturating_add(happening.times);
            let patch = Patch::Merge(json!({"count": count, "lastTimestamp": Time(happening.last)}));
            match self.api.patch(&sent.name, &PatchParams::default(), &patch).await {
                Ok(_) => {
                    self.sent.push_back(Sent { count, heard: happening.heard, ..sent });
                    return Ok(());
                }
                // Somebody tidied up.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => {
                    self.sent.push_back(sent);
                    return Err(error);
                }
            }
        }
        self.create(happening).await
    }

    async fn create(&mut self, happening: &Happening) -> kube::Result<()> {
        let event = event(&self.node, happening);
        match self.api.create(&PostParams::default(), &event).await {
            Ok(_) => {}
            // An earlier attempt arrived after all: only its answer was lost.
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(error),
        }
        if self.sent.len() >= MAX_EVENTS {
            self.sent.pop_front();
        }
        let (subject, count, heard) = (happening.subject.clone(), happening.times, happening.heard);
        self.sent.push_back(Sent { subject, name: event.metadata.name.unwrap_or_default(), count, heard });
        Ok(())
    }
}

fn event(node: &str, happening: &Happening) -> Event {
    let prefix: String = node.chars().take(MAX_PREFIX).collect();
    let subject = happening.subject.clone();
    let kind = match subject.kind {
        EventKind::Normal => "Normal",
        EventKind::Warning => "Warning",
    };
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{prefix}.{:x}", happening.first.as_nanosecond() + i128::from(happening.serial))),
            namespace: Some(NAMESPACE.to_owned()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Node".to_owned()),
            name: Some(node.to_owned()),
            // The server wants the namespace of the event here, although a node has none.
            namespace: Some(NAMESPACE.to_owned()),
            uid: Some(subject.uid),
            ..ObjectReference::default()
        },
        type_: Some(kind.to_owned()),
        reason: Some(subject.reason),
        message: Some(subject.message),
        count: Some(happening.times),
        first_timestamp: Some(Time(happening.first)),
        last_timestamp: Some(Time(happening.last)),
        source: Some(EventSource { component: Some(COMPONENT.to_owned()), host: Some(node.to_owned()) }),
        reporting_component: Some(COMPONENT.to_owned()),
        reporting_instance: Some(node.to_owned()),
        ..Event::default()
    }
}

#[cfg(test)]
mod tests;
