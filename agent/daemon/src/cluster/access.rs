//! The way every request takes: who we are, how long it may last, how large its answer may be, whether it worked.
//!
//! Owns the client beneath and replaces it when the kubelet's files do. Refuses to repeat a request: whoever asks decides
//! when to ask again.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Limited};
use hyper::header::{HeaderValue, USER_AGENT};
use hyper::{Request, Response, StatusCode, Uri};
use kube::Client;
use kube::client::Body;
use kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError};
use ostler_core::document;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tower::BoxError;

use super::error::ClusterError;
use super::health::Health;

/// How we call ourselves.
const AGENT: HeaderValue = HeaderValue::from_static(concat!("ostler/", env!("CARGO_PKG_VERSION")));
/// Longest time of a request with its answer; of a watch, until its answer begins.
pub const REQUEST_LIMIT: Duration = Duration::from_secs(15);
/// Longest time to connect.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Shortest time between two readings of files that changed.
const CHANGED_PAUSE: Duration = Duration::from_secs(1);
/// Shortest time between two readings of files that did not change but do not work.
const SUSPECT_PAUSE: Duration = Duration::from_secs(30);

/// What the TLS library says of a server whose certificate it does not accept. The connection's own error is not the cause
/// that can be looked at, so its words have to do.
const UNTRUSTED: &str = "invalid peer certificate";

/// Makes clients from what is on disk now.
pub trait Credentials: Send + Sync {
    /// A new client, and what the files looked like before it was made from them.
    fn client(&self) -> BoxFuture<'_, Result<(Client, Stamp), ClusterError>>;
    /// What the files look like now; another answer than before means other files.
    fn stamp(&self) -> Stamp;
}

/// What files look like from outside: device, inode and time of each, nothing where there is none.
pub type Stamp = Vec<Option<(u64, u64, i64, i64)>>;

/// No answer came in time.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {} s", REQUEST_LIMIT.as_secs())]
struct Silence;

/// The kubelet's kubeconfig and the files it names.
pub struct Files {
    path: PathBuf,
    named: std::sync::Mutex<Vec<PathBuf>>,
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Files").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Files {
    /// The kubeconfig at `path`; nothing is read yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), named: std::sync::Mutex::new(Vec::new()) }
    }

    fn problem(&self, problem: &'static str) -> ClusterError {
        ClusterError::Credentials { path: self.path.clone(), problem }
    }

    async fn read(&self) -> Result<(Client, Stamp), ClusterError> {
        // The causes stay here: they may quote the file.
        let kubeconfig = Kubeconfig::read_from(&self.path).map_err(|error| match error {
            KubeconfigError::ReadConfig(..) => self.problem("cannot be read"),
            _ => self.problem("are not a kubeconfig"),
        })?;
        *self.named.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = named(&kubeconfig);
        let stamp = self.stamp();
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(|_| self.problem("name no cluster and user to use, or files that cannot be read"))?;
        config.connect_timeout = Some(CONNECT_LIMIT);
        config.default_retry = false;
        // The kubelet's server is always reached directly; a proxy in the environment is for images.
        config.proxy_url = None;
        let client = Client::try_from(config).map_err(|_| self.problem("hold no usable certificate, key or token"))?;
        Ok((client, stamp))
    }
}

impl Credentials for Files {
    fn client(&self) -> BoxFuture<'_, Result<(Client, Stamp), ClusterError>> {
        Box::pin(self.read())
    }

    fn stamp(&self) -> Stamp {
        let named = self.named.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let look = |path: &PathBuf| {
            let file = std::fs::metadata(path).ok()?;
            Some((file.dev(), file.ino(), file.mtime(), file.mtime_nsec()))
        };
        std::iter::once(&self.path).chain(named.iter()).map(look).collect()
    }
}

fn named(kubeconfig: &Kubeconfig) -> Vec<PathBuf> {
    let clusters = kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref());
    let users = kubeconfig.auth_infos.iter().filter_map(|named| named.auth_info.as_ref());
    let of_clusters = clusters.filter_map(|cluster| cluster.certificate_authority.as_ref());
    let of_users = users.flat_map(|user| [&user.client_certificate, &user.client_key, &user.token_file]).flatten();
    of_clusters.chain(of_users).map(PathBuf::from).collect()
}

/// The way every request takes.
pub struct Access {
    credentials: Box<dyn Credentials>,
    held: Mutex<Held>,
    health: Arc<Health>,
    /// What was made last may be the reason of failures.
    suspect: AtomicBool,
}

struct Held {
    client: Client,
    stamp: Stamp,
    made: Instant,
}

impl Access {
    /// Reads the credentials for the first time.
    pub async fn open(credentials: Box<dyn Credentials>, health: Arc<Health>) -> Result<Self, ClusterError> {
        let (client, stamp) = credentials.client().await?;
        let held = Held { client, stamp, made: Instant::now() };
        Ok(Self { credentials, held: Mutex::new(held), health, suspect: AtomicBool::new(false) })
    }

    /// A client of which every request comes this way.
    pub fn client(self) -> Client {
        let access = Arc::new(self);
        let service = tower::service_fn(move |request| {
            let access = Arc::clone(&access);
            async move { access.call(request).await }
        });
        Client::new(service, "default")
    }

    async fn call(&self, mut request: Request<Body>) -> Result<Response<Body>, BoxError> {
        request.headers_mut().insert(USER_AGENT, AGENT);
        let exchange = async { exchange(self.current().await, request).await };
        let answer = timeout(REQUEST_LIMIT, exchange).await.unwrap_or_else(|_| Err(Silence.into()));
        self.note(&answer);
        answer
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
            Ok(StatusCode::UNAUTHORIZED) => {
                self.health.failed("the kubelet's credentials are not accepted");
                self.suspect.store(true, Ordering::Relaxed);
            }
            Ok(status) if status.is_server_error() => self.health.failed(&format!("the server answers {status}")),
            // Somebody is there, and asks us to slow down.
            Ok(StatusCode::TOO_MANY_REQUESTS) => {}
            Ok(_) => self.health.worked(),
        }
    }

    async fn current(&self) -> Client {
        let mut held = self.held.lock().await;
        let changed = self.credentials.stamp() != held.stamp;
        let pause = if changed { CHANGED_PAUSE } else { SUSPECT_PAUSE };
        if (changed || self.suspect.load(Ordering::Relaxed)) && held.made.elapsed() >= pause {
            match self.credentials.client().await {
                Ok((client, stamp)) => {
                    *held = Held { client, stamp, made: Instant::now() };
                    self.suspect.store(false, Ordering::Relaxed);
                }
                Err(error) => {
                    held.made = Instant::now();
                    tracing::warn!("the old credentials stay in use: {error}");
                }
            }
        }
        held.client.clone()
    }
}

/// Sends a request and takes in its answer, but for that of a watch, which goes on.
async fn exchange(client: Client, request: Request<Body>) -> Result<Response<Body>, BoxError> {
    let endless = is_watch(request.uri());
    let answer = client.send(request).await?;
    if endless && answer.status().is_success() {
        return Ok(answer);
    }
    let (head, body) = answer.into_parts();
    let bytes = Limited::new(body, document::MAX_BYTES).collect().await?.to_bytes();
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
