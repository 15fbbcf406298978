//! Who we are to the cluster: the kubelet, by its own files, or by what the root half reads of them for us.
//!
//! Owns how a client is made from them and when they are to be asked for again by themselves. No error quotes what is in
//! them.

use std::fmt;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use kube::Client;
use kube::config::{AuthInfo, Config, KubeConfigOptions, Kubeconfig};
use ostler_core::credentials::{Unusable, check_server, expiry};
use ostler_core::protocol::Sealed;

use super::error::ClusterError;

/// Longest time to connect.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Shortest time after which credentials that work are asked for again.
const RENEWAL: Duration = Duration::from_secs(300);

/// Makes clients from what there is now.
pub trait Credentials: Send + Sync {
    /// A new client.
    fn client(&self) -> BoxFuture<'_, Result<Made, ClusterError>>;
    /// What the files look like now; another answer than before means other files.
    fn stamp(&self) -> Stamp;
}

/// A client that was made.
pub struct Made {
    /// It.
    pub client: Client,
    /// What the files looked like before it was made from them.
    pub stamp: Stamp,
    /// After which time to make another where nobody can see that there are new files.
    pub renewal: Option<Duration>,
}

/// What files look like from outside: device, inode and time of each, nothing where there is none.
pub type Stamp = Vec<Option<(u64, u64, i64, i64)>>;

/// Who can read the kubelet's credentials where we cannot.
pub trait Keeper: Send + Sync {
    /// A kubeconfig with everything in it that it needs; or why not, in words.
    fn credentials(&self) -> BoxFuture<'_, Result<Sealed, String>>;
}

/// The kubelet's kubeconfig and the files it names.
pub struct Files {
    path: PathBuf,
    named: Mutex<Vec<PathBuf>>,
    keeper: Option<Box<dyn Keeper>>,
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Files").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Files {
    /// The kubeconfig at `path`, or of the keeper where it is not for us to read; nothing is read yet.
    pub fn new(path: &Path, keeper: Option<Box<dyn Keeper>>) -> Self {
        Self { path: path.to_owned(), named: Mutex::new(Vec::new()), keeper }
    }

    fn problem(&self, problem: impl Into<String>) -> ClusterError {
        ClusterError::Credentials { path: self.path.clone(), problem: problem.into() }
    }

    async fn read(&self) -> Result<Made, ClusterError> {
        match self.read_files() {
            Ok((kubeconfig, stamp)) => Ok(Made { client: self.connected(kubeconfig).await?, stamp, renewal: None }),
            Err(Unread::Forbidden) => match &self.keeper {
                Some(keeper) => self.read_kept(keeper.as_ref()).await,
                None => Err(self.problem("are not for this user to read")),
            },
            Err(Unread::Useless(problem)) => Err(self.problem(problem)),
        }
    }

    fn read_files(&self) -> Result<(Kubeconfig, Stamp), Unread> {
        readable(&self.path)?;
        // The cause stays here: it may quote the file.
        let kubeconfig = Kubeconfig::read_from(&self.path).map_err(|_| Unread::Useless("are not a kubeconfig"))?;
        let named = named(&kubeconfig);
        // One that is missing or broken is told of when it is used.
        if named.iter().any(|path| matches!(readable(path), Err(Unread::Forbidden))) {
            return Err(Unread::Forbidden);
        }
        *self.named.lock().unwrap_or_else(PoisonError::into_inner) = named;
        Ok((kubeconfig, self.stamp()))
    }

    async fn read_kept(&self, keeper: &dyn Keeper) -> Result<Made, ClusterError> {
        let stamp = self.stamp();
        let refused = |words| self.problem(format!("are not for this user to read, and the root half says: {words}"));
        let document = keeper.credentials().await.map_err(refused)?.open();
        let renewal = expiry(&document).map(renewal);
        let kubeconfig = serde_json::from_value(document).map_err(|_| self.problem("are not a kubeconfig"))?;
        Ok(Made { client: self.connected(kubeconfig).await?, stamp, renewal })
    }

    async fn connected(&self, kubeconfig: Kubeconfig) -> Result<Client, ClusterError> {
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(|_| self.problem("name no cluster and user to use, or files that cannot be read"))?;
        let refused =
            |unusable: Unusable| self.problem(format!("are not used: {unusable}. Fix: {}", unusable.remedy()));
        check_server(&config.cluster_url.to_string(), config.accept_invalid_certs).map_err(refused)?;
        if let Some(key) = program(&config.auth_info) {
            return Err(refused(Unusable::Program { key }));
        }
        config.connect_timeout = Some(CONNECT_LIMIT);
        config.default_retry = false;
        // The kubelet's server is always reached directly; a proxy in the environment is for images.
        config.proxy_url = None;
        Client::try_from(config).map_err(|_| self.problem("hold no usable certificate, key or token"))
    }
}

impl Credentials for Files {
    fn client(&self) -> BoxFuture<'_, Result<Made, ClusterError>> {
        Box::pin(self.read())
    }

    fn stamp(&self) -> Stamp {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let look = |path: &PathBuf| {
            let file = std::fs::metadata(path).ok()?;
            Some((file.dev(), file.ino(), file.mtime(), file.mtime_nsec()))
        };
        std::iter::once(&self.path).chain(named.iter()).map(look).collect()
    }
}

/// Why files are not read here.
enum Unread {
    Forbidden,
    Useless(&'static str),
}

fn readable(path: &Path) -> Result<(), Unread> {
    match std::fs::File::open(path).map_err(|error| error.kind()) {
        Ok(_) => Ok(()),
        Err(ErrorKind::PermissionDenied) => Err(Unread::Forbidden),
        Err(ErrorKind::NotFound) => Err(Unread::Useless("are not there yet")),
        Err(_) => Err(Unread::Useless("cannot be read")),
    }
}

/// The kubelet gets a new certificate before the old one ends: half of what is left is never too late.
fn renewal(expiry: u64) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    RENEWAL.max(Duration::from_secs(expiry.saturating_sub(now) / 2))
}

/// What of a user would have a program run.
const fn program(user: &AuthInfo) -> Option<&'static str> {
    match (&user.exec, &user.auth_provider) {
        (Some(_), _) => Some("exec"),
        (None, Some(_)) => Some("auth-provider"),
        (None, None) => None,
    }
}

fn named(kubeconfig: &Kubeconfig) -> Vec<PathBuf> {
    let clusters = kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref());
    let users = kubeconfig.auth_infos.iter().filter_map(|named| named.auth_info.as_ref());
    let of_clusters = clusters.filter_map(|cluster| cluster.certificate_authority.as_ref());
    let of_users = users.flat_map(|user| [&user.client_certificate, &user.client_key, &user.token_file]).flatten();
    of_clusters.chain(of_users).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests;
