//! Why objects cannot be read, told apart by what can be done about it.

use std::error::Error as StdError;
use std::path::PathBuf;

use kube::core::Status;
use ostler_cluster_core::objects::Misshapen;

/// Longest part of the server's own words that is passed on, in characters.
const MAX_WORDS: usize = 1024;

/// Why objects cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The server does not know the kind: its definition is not installed, or the release is older than it.
    #[error("the cluster does not know {kind} ({group}): its release has none, or the definition is not installed")]
    UnknownKind {
        /// The kind.
        kind: &'static str,
        /// Its group.
        group: &'static str,
    },
    /// The user may not read it.
    #[error(
        "not allowed to read {what}: {message}; log in as somebody who may, or apply packaging/manifests/cluster-helper"
    )]
    Forbidden {
        /// What was asked for.
        what: String,
        /// The server's words.
        message: String,
    },
    /// No answer, or one that says to come back later.
    #[error("cannot read {what}: the cluster cannot be reached")]
    Unreachable {
        /// What was asked for.
        what: String,
        /// Why.
        #[source]
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// The answer or the request makes no sense.
    #[error("cannot read {what}: {problem}")]
    Answer {
        /// What was asked for.
        what: String,
        /// What is wrong.
        problem: String,
    },
    /// An object does not have the shape of its kind.
    #[error("{kind} {name} is malformed")]
    Malformed {
        /// The kind.
        kind: &'static str,
        /// Namespace and name.
        name: String,
        /// Where.
        #[source]
        cause: Misshapen,
    },
    /// The directory cannot be read.
    #[error("cannot read the directory {}", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The directory holds more than is read.
    #[error("{} holds more than {most}; name a directory further down", path.display())]
    TooMuch {
        /// Which.
        path: PathBuf,
        /// What there may be.
        most: String,
    },
}

impl ReadError {
    /// Whether the kind does not exist there, so that there can be no objects of it either.
    pub const fn is_unknown_kind(&self) -> bool {
        matches!(self, Self::UnknownKind { .. })
    }

    /// What a failure of the client means; a missing kind is told apart before.
    pub(super) fn new(what: &str, error: kube::Error) -> Self {
        let what = what.to_owned();
        match error {
            kube::Error::Api(status) => Self::from_status(what, &status),
            kube::Error::Service(cause) => Self::Unreachable { what, cause },
            kube::Error::Auth(cause) => {
                Self::Answer { what, problem: format!("the credentials cannot be used: {cause}") }
            }
            error @ (kube::Error::HyperError(_) | kube::Error::ReadEvents(_)) => {
                Self::Unreachable { what, cause: Box::new(error) }
            }
            _ => Self::Answer { what, problem: "the answer is not what was asked for".to_owned() },
        }
    }

    fn from_status(what: String, status: &Status) -> Self {
        let message: String = status.message.chars().take(MAX_WORDS).collect();
        match status.code {
            401 => {
                Self::Answer { what, problem: "the cluster does not accept the credentials; log in anew".to_owned() }
            }
            403 => Self::Forbidden { what, message },
            0 | 408 | 429 | 500.. => Self::Unreachable { what, cause: message.into() },
            code => Self::Answer { what, problem: format!("the server answers {code}: {message}") },
        }
    }
}
