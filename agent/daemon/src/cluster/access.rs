//! The way every request takes: who we are, how long it may last, how large its answer may be, whether it worked.
//!
//! Owns the client beneath and replaces it when the kubelet's credentials are, or stop working. Refuses to know where those
//! come from, and to repeat a request: whoever asks decides when to ask again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::header::{HeaderValue, USER_AGENT};
use hyper::{Request, Response, StatusCode, Uri};
use kube::Client;
use kube::client::Body;
use ostler_core::document;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};
use tower::BoxError;

use super::credentials::{Credentials, Made, Stamp};
use super::error::ClusterError;
use super::health::Health;

/// How we call ourselves.
const AGENT: HeaderValue = HeaderValue::from_static(concat!("ostler/", env!("CARGO_PKG_VERSION")));
/// Longest time of a request with its answer; of a watch, until its answer begins.
pub const REQUEST_LIMIT: Duration = Duration::from_secs(15);
/// Shortest time between two readings of files that changed.
const CHANGED_PAUSE: Duration = Duration::from_secs(1);
/// Shortest time between two readings of files that did not change but do not work.
const SUSPECT_PAUSE: Duration = Duration::from_secs(30);
/// Shortest time between two readings while there is nothing to work with.
const ABSENT_PAUSE: Duration = Duration::from_secs(2);

/// Where Nodes are. Only this node's own is ever asked for.
const NODES: &str = "/api/v1/nodes";

/// Whom a server names that has not recognised anybody.
const ANONYMOUS: &[u8] = b"system:anonymous";

/// What the TLS library says of a server whose certificate it does not accept. The connection's own error is not the cause
/// that can be looked at, so its words have to do.
const UNTRUSTED: &str = "invalid peer certificate";

/// No answer came in time.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {} s", REQUEST_LIMIT.as_secs())]
struct Silence;

/// The way every request takes.
pub struct Access {
    credentials: Box<dyn Credentials>,
    held: Mutex<Held>,
    health: Arc<Health>,
    /// What was made last may be the reason of failures.
    suspect: AtomicBool,
}

/// What was made of the credentials when they were last to be had.
#[derive(Default)]
struct Held {
    client: Option<Client>,
    stamp: Stamp,
    /// When they were last asked for.
    tried: Option<Instant>,
    /// When they are asked for again though nothing is wrong.
    renewal: Option<Instant>,
    /// Why there is no client.
    trouble: String,
}

impl Access {
    /// Reads the credentials for the first time. Where there are none yet, the requests that need them are what asks again.
    pub async fn open(credentials: Box<dyn Credentials>, health: Arc<Health>) -> (Self, Option<ClusterError>) {
        let held = Mutex::new(Held::default());
        let access = Self { credentials, held, health, suspect: AtomicBool::new(false) };
        let trouble = access.ask(&mut *access.held.lock().await).await.err();
        (access, trouble)
    }

    /// A client of which every request comes this way.
    pub fn client(self: &Arc<Self>) -> Client {
        let access = Arc::clone(self);
        let service = tower::service_fn(move |request| {
            let access = Arc::clone(&access);
            async move { access.call(request).await }
        });
        Client::new(service, "default")
    }

    async fn call(&self, mut request: Request<Body>) -> Result<Response<Body>, BoxError> {
        request.headers_mut().insert(USER_AGENT, AGENT);
        let own_node = request.uri().path().starts_with(NODES);
        let exchange = async { exchange(self.current().await?, request).await };
        let answer = timeout(REQUEST_LIMIT, exchange).await.unwrap_or_else(|_| Err(Silence.into()));
        self.note(&answer);
        if own_node && answer.as_ref().is_ok_and(|answer| answer.status() == StatusCode::FORBIDDEN) {
            // These may be the credentials of somebody else.
            self.suspect.store(true, Ordering::Relaxed);
        }
        answer
    }

    /// Waits until the files of the credentials are not those any more that the client was made of.
    pub async fn replaced(&self) {
        loop {
            sleep(CHANGED_PAUSE).await;
            if self.credentials.stamp() != self.held.lock().await.stamp {
                return;
            }
        }
    }

    fn note(&self, answer: &Result<Response<Body>, BoxError>) {
        match answer.as_ref().map(Response::status) {
            Err(error) => {
                let reason = innermost(&**error);
                if reason.contains(UNTRUSTED) {
                    self.health.distrusted();
                }
                self.health.failed(&reason);
                self.suspect.store(true, Ordering::Relaxed);
            }
            Ok(StatusCode::UNAUTHORIZED) => self.not_accepted(),
            // A server that lets nobody in particular in takes credentials that have ended for none.
            Ok(StatusCode::FORBIDDEN) if is_nobody(answer) => self.not_accepted(),
            Ok(status) if status.is_server_error() => self.health.failed(&format!("the server answers {status}")),
            // Somebody is there, and asks us to slow down.
            Ok(StatusCode::TOO_MANY_REQUESTS) => {}
            Ok(_) => self.health.worked(),
        }
    }

    fn not_accepted(&self) {
        self.health.failed("the kubelet's credentials are not accepted");
        self.suspect.store(true, Ordering::Relaxed);
    }

    async fn current(&self) -> Result<Client, BoxError> {
        let mut held = self.held.lock().await;
        if self.is_due(&held)
            && let Err(error) = self.ask(&mut held).await
            && held.client.is_some()
        {
            tracing::warn!("the old credentials stay in use: {error}");
        }
        held.client.clone().ok_or_else(|| BoxError::from(held.trouble.clone()))
    }

    /// Whether the credentials are to be asked for again.
    fn is_due(&self, held: &Held) -> bool {
        let changed = self.credentials.stamp() != held.stamp;
        let pause = match () {
            () if held.client.is_none() => ABSENT_PAUSE,
            () if changed => CHANGED_PAUSE,
            () if self.suspect.load(Ordering::Relaxed) => SUSPECT_PAUSE,
            () => return held.renewal.is_some_and(|at| Instant::now() >= at),
        };
        held.tried.is_none_or(|tried| tried.elapsed() >= pause)
    }

    async fn ask(&self, held: &mut Held) -> Result<(), ClusterError> {
        // Before the answer: whoever gives up waiting for it has tried too.
        held.tried = Some(Instant::now());
        match self.credentials.client().await {
            Ok(Made { client, stamp, renewal }) => {
                let renewal = renewal.map(|after| Instant::now() + after);
                *held = Held { client: Some(client), stamp, tried: held.tried, renewal, trouble: String::new() };
                self.suspect.store(false, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                let trouble = error.to_string();
                // The first one is told of; another one would otherwise hide behind it.
                if held.client.is_none() && !held.trouble.is_empty() && held.trouble != trouble {
                    tracing::warn!("{trouble}");
                }
                held.trouble = trouble;
                held.renewal = held.renewal.map(|_| Instant::now() + SUSPECT_PAUSE);
                Err(error)
            }
        }
    }
}

/// An answer that was refused to nobody in particular.
#[derive(Clone, Copy, Debug)]
struct Nobody;

fn is_nobody(answer: &Result<Response<Body>, BoxError>) -> bool {
    answer.as_ref().is_ok_and(|answer| answer.extensions().get::<Nobody>().is_some())
}

/// Sends a request and takes in its answer, but for that of a watch, which goes on.
async fn exchange(client: Client, request: Request<Body>) -> Result<Response<Body>, BoxError> {
    let endless = is_watch(request.uri());
    let answer = client.send(request).await?;
    if endless && answer.status().is_success() {
        return Ok(answer);
    }
    let (mut head, body) = answer.into_parts();
    let bytes = Limited::new(body, document::MAX_BYTES).collect().await?.to_bytes();
    if head.status == StatusCode::FORBIDDEN && bytes.windows(ANONYMOUS.len()).any(|part| part == ANONYMOUS) {
        head.extensions.insert(Nobody);
    }
    Ok(Response::from_parts(head, Body::from(bytes)))
}

fn is_watch(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"))
}

/// The first cause, which says the most: "connection refused" and the like.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut deepest = error;
    for _ in 0..16 {
        let Some(cause) = deepest.source() else { break };
        deepest = cause;
    }
    deepest.to_string()
}

#[cfg(test)]
mod tests;
