//! The image service of CRI-O, asked over its Unix socket.
//!
//! Owns the connection, the bounds on every call and what goes wrong with it. Refuses to try a call again and to judge
//! what failed: it only tells a full disk from the rest. The messages are generated from `image.proto` beside this.

mod channel;
#[allow(missing_docs, unused_qualifications, clippy::all)]
#[rustfmt::skip]
mod generated;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::error::Error as _;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Uri;
use ostler_core::os::complaint;
use ostler_core::pinned::Login;
use tonic::{Code, Status};

use self::channel::Channel;
use self::generated::image_service_client::ImageServiceClient;
use self::generated::{AuthConfig, ImageFsInfoRequest, ImageSpec, ImageStatusRequest, PullImageRequest};

/// Where CRI-O listens.
pub const SOCKET: &str = "/run/crio/crio.sock";
/// The longest message, in either direction.
pub const MOST_BYTES: usize = 16 * 1024 * 1024;

const STATUS: &str = "say whether it has an image";
const PULL: &str = "pull an image";
const FILESYSTEM: &str = "say where images are stored";

/// How long to wait for CRI-O.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For its socket to be there, all tries together.
    pub connect: Duration,
    /// Between the first two tries to connect; later waits double.
    pub pause: Duration,
    /// Between two tries to connect, at most.
    pub longest_pause: Duration,
    /// For an answer that needs no network.
    pub call: Duration,
    /// For one image.
    pub pull: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(3),
            call: Duration::from_secs(30),
            pull: Duration::from_secs(30 * 60),
        }
    }
}

/// Why CRI-O did not answer as it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CriError {
    /// Nobody listens.
    #[error("CRI-O does not answer at {}", .path.display())]
    Unreachable {
        /// Where.
        path: PathBuf,
        /// Why the last try failed.
        #[source]
        source: io::Error,
    },
    /// It takes too long.
    #[error("CRI-O did not {what} within {seconds} seconds")]
    TooSlow {
        /// What it was asked.
        what: &'static str,
        /// How long it was waited for.
        seconds: u64,
    },
    /// There is no room for more images.
    #[error("there is no space left for images: {message}")]
    Full {
        /// In its words.
        message: String,
    },
    /// It went away while it was asked.
    #[error("CRI-O ended the connection when it was to {what}: {message}")]
    Lost {
        /// What it was asked.
        what: &'static str,
        /// How that was noticed.
        message: String,
    },
    /// It said no.
    #[error("CRI-O could not {what}: {message}")]
    Failed {
        /// What it was asked.
        what: &'static str,
        /// In its words, without secrets.
        message: String,
    },
}

/// CRI-O. For the runtime that it was made on, and no other.
#[derive(Debug)]
pub struct Cri {
    path: PathBuf,
    limits: Limits,
    channel: RefCell<Option<Channel>>,
}

impl Cri {
    /// At a socket, to which it connects when it is first asked.
    pub fn at(path: impl Into<PathBuf>, limits: Limits) -> Self {
        Self { path: path.into(), limits, channel: RefCell::new(None) }
    }

    /// Whether it has an image.
    pub async fn has(&self, image: &str) -> Result<bool, CriError> {
        let mut client = self.client().await?;
        let request = ImageStatusRequest { image: Some(named(image)) };
        let answer = self.bounded(STATUS, self.limits.call, client.image_status(request)).await?;
        Ok(answer.image.is_some_and(|image| !image.id.is_empty()))
    }

    /// Pulls an image, however long that takes within the limit. One that is there is looked at again and is no work.
    pub async fn pull(&self, image: &str, login: Option<&Login>) -> Result<(), CriError> {
        let mut client = self.client().await?;
        let auth =
            login.map(|login| AuthConfig { username: login.user.clone(), password: login.password.expose().clone() });
        let request = PullImageRequest { image: Some(named(image)), auth };
        self.bounded(PULL, self.limits.pull, client.pull_image(request)).await.map(drop)
    }

    /// The directory on whose filesystem images are stored.
    pub async fn storage(&self) -> Result<Option<String>, CriError> {
        let mut client = self.client().await?;
        let answer = self.bounded(FILESYSTEM, self.limits.call, client.image_fs_info(ImageFsInfoRequest {})).await?;
        let first = answer.image_filesystems.into_iter().next();
        Ok(first.and_then(|usage| usage.fs_id).map(|id| id.mountpoint).filter(|path| !path.is_empty()))
    }

    async fn client(&self) -> Result<ImageServiceClient<Channel>, CriError> {
        let standing = self.channel.borrow().clone().filter(|channel| !channel.is_lost());
        let channel = match standing {
            Some(channel) => channel,
            None => self.connect().await?,
        };
        let client = ImageServiceClient::with_origin(channel, Uri::from_static("http://localhost"));
        Ok(client.max_decoding_message_size(MOST_BYTES).max_encoding_message_size(MOST_BYTES))
    }

    /// A CRI-O that restarts is away for some seconds.
    async fn connect(&self) -> Result<Channel, CriError> {
        let began = tokio::time::Instant::now();
        let mut pause = self.limits.pause;
        loop {
            match connect_once(&self.path, self.limits.call).await {
                Ok(channel) => {
                    *self.channel.borrow_mut() = Some(channel.clone());
                    return Ok(channel);
                }
                Err(source) if began.elapsed().saturating_add(pause) >= self.limits.connect => {
                    return Err(CriError::Unreachable { path: self.path.clone(), source });
                }
                Err(_) => tokio::time::sleep(pause).await,
            }
            pause = pause.saturating_mul(2).min(self.limits.longest_pause);
        }
    }

    async fn bounded<T>(
        &self,
        what: &'static str,
        within: Duration,
        call: impl Future<Output = Result<tonic::Response<T>, Status>>,
    ) -> Result<T, CriError> {
        match tokio::time::timeout(within, call).await {
            Err(_) => Err(CriError::TooSlow { what, seconds: within.as_secs() }),
            Ok(Err(status)) => Err(said(what, &status)),
            Ok(Ok(answer)) => Ok(answer.into_inner()),
        }
    }
}

async fn connect_once(path: &Path, within: Duration) -> io::Result<Channel> {
    tokio::time::timeout(within, Channel::connect(path)).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn named(image: &str) -> ImageSpec {
    ImageSpec { image: image.to_owned() }
}

/// A full disk is told by words and not by a code.
fn said(what: &'static str, status: &Status) -> CriError {
    let message = complaint::reason(status.message());
    if status.message().to_lowercase().contains("no space left on device") {
        return CriError::Full { message };
    }
    // What the other side says has no cause on this one.
    if status.code() == Code::Unavailable || status.source().is_some() {
        return CriError::Lost { what, message };
    }
    CriError::Failed { what, message }
}

impl fmt::Debug for AuthConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("[redacted]")
    }
}
