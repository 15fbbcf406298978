//! What can go wrong between a node and its cluster.
//!
//! Owns the meaning of answers that are not what was asked for. No message carries a credential: what cannot be read of
//! the kubelet's files is named, never quoted.

use std::error::Error as StdError;
use std::path::PathBuf;

use http_body_util::LengthLimitError;
use kube::core::Status;
use ostler_core::document;

/// Longest part of the server's own words that is passed on, in characters.
const MAX_WORDS: usize = 1024;

/// What can go wrong between a node and its cluster.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No answer, or one that says to come back later.
    #[error("cannot {what}: the cluster cannot be reached; this is tried again")]
    Unreachable {
        /// What was asked for.
        what: String,
        /// Why.
        #[source]
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// Others kept changing the object at the same time.
    #[error("cannot {what}: the object changes too fast; this is tried again")]
    Conflict {
        /// What was asked for.
        what: String,
    },
    /// The node may not do this.
    #[error("not allowed to {what}: {message}; apply packaging/manifests/rbac.yaml to the cluster")]
    Forbidden {
        /// What was asked for.
        what: String,
        /// The server's words.
        message: String,
    },
    /// The node may not read or write its own Node: the credentials are those of somebody else.
    #[error(
        "cannot {what}: the API server does not accept the credentials as those of this node: {message}\n\
         Fix: give the agent the kubelet's kubeconfig (--kubeconfig) and the name of its Node (--node-name)"
    )]
    NotThisNode {
        /// What was asked for.
        what: String,
        /// The server's words.
        message: String,
    },
    /// The server does not know who we are.
    #[error("cannot {what}: the cluster does not accept the kubelet's credentials; see that the kubelet is healthy")]
    Unauthorized {
        /// What was asked for.
        what: String,
    },
    /// There is no such object, or no such kind.
    #[error("cannot {what}: it does not exist; this is tried again, or desire one that does")]
    NotFound {
        /// What was asked for.
        what: String,
    },
    /// The server refuses what was sent.
    #[error(
        "cannot {what}: the cluster refuses it: {message}; see that its definitions and this agent are of one release"
    )]
    Invalid {
        /// What was asked for.
        what: String,
        /// The server's words.
        message: String,
    },
    /// The answer makes no sense.
    #[error("cannot {what}: the answer {problem}")]
    Answer {
        /// What was asked for.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The kubelet's files are of no use.
    #[error("the credentials in {} {problem}; see that the kubelet is healthy, or name its file with --kubeconfig", path.display())]
    Credentials {
        /// The kubeconfig.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

/// What a server says with a status that means "later".
#[derive(Debug, thiserror::Error)]
#[error("the server answers {code} {message}")]
struct Busy {
    code: u16,
    message: String,
}

impl ClusterError {
    /// Whether the same request may well succeed later, with nobody doing anything about it.
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Conflict { .. } | Self::Unauthorized { .. } => true,
            Self::Forbidden { .. } | Self::NotThisNode { .. } => false,
            Self::NotFound { .. } | Self::Invalid { .. } => false,
            Self::Answer { .. } | Self::Credentials { .. } => false,
        }
    }

    /// Whether the object, or its whole kind, is not there.
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// The same of a request for this node's own Node, which every kubelet may read and write.
    #[must_use]
    pub fn of_own_node(self) -> Self {
        match self {
            Self::Forbidden { what, message } => Self::NotThisNode { what, message },
            other @ (Self::Unreachable { .. }
            | Self::Conflict { .. }
            | Self::NotThisNode { .. }
            | Self::Unauthorized { .. }
            | Self::NotFound { .. }
            | Self::Invalid { .. }
            | Self::Answer { .. }
            | Self::Credentials { .. }) => other,
        }
    }

    /// Says what a failure of the client means; `what` reads after "cannot".
    pub fn new(what: &str, error: kube::Error) -> Self {
        let what = what.to_owned();
        match error {
            kube::Error::Api(status) => Self::from_status(what, &status),
            kube::Error::Service(cause) if is_too_long(&*cause) => {
                Self::Answer { what, problem: format!("has more than {} MiB", document::MAX_BYTES / (1024 * 1024)) }
            }
            kube::Error::Service(cause) => Self::Unreachable { what, cause },
            error @ (kube::Error::HyperError(_) | kube::Error::ReadEvents(_)) => {
                Self::Unreachable { what, cause: Box::new(error) }
            }
            kube::Error::Auth(_) => Self::Unauthorized { what },
            kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => {
                Self::Invalid { what, message: "there can be no such request".to_owned() }
            }
            _ => Self::Answer { what, problem: "is not what was asked for".to_owned() },
        }
    }

    fn from_status(what: String, status: &Status) -> Self {
        let message: String = status.message.chars().take(MAX_WORDS).collect();
        match status.code {
            401 => Self::Unauthorized { what },
            403 => Self::Forbidden { what, message },
            404 => Self::NotFound { what },
            409 => Self::Conflict { what },
            // A watch that starts too far back is begun anew; 0 is an answer of something in between.
            0 | 408 | 410 | 429 | 500.. => {
                Self::Unreachable { what, cause: Box::new(Busy { code: status.code, message }) }
            }
            _ => Self::Invalid { what, message },
        }
    }
}

fn is_too_long(error: &(dyn StdError + Send + Sync + 'static)) -> bool {
    error.is::<LengthLimitError>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: u16) -> ClusterError {
        let status = Status::failure("words", "Reason").with_code(code);
        ClusterError::new("do it", kube::Error::Api(status.boxed()))
    }

    #[test]
    fn every_status_has_its_meaning() {
        for (code, transient, words) in [
            (0, true, "cannot do it: the cluster cannot be reached"),
            (400, false, "refuses it: words"),
            (401, true, "the kubelet's credentials"),
            (403, false, "not allowed to do it: words; apply packaging/manifests/rbac.yaml"),
            (404, false, "does not exist"),
            (409, true, "changes too fast"),
            (410, true, "cannot be reached"),
            (422, false, "refuses it: words"),
            (429, true, "cannot be reached"),
            (500, true, "cannot be reached"),
            (503, true, "cannot be reached"),
        ] {
            let error = of(code);
            assert_eq!(error.is_transient(), transient, "{code}");
            assert!(error.to_string().contains(words), "{code}: {error}");
        }
        assert!(of(404).is_not_found() && !of(403).is_not_found());
    }

    #[test]
    fn the_servers_words_are_cut() {
        let status = Status::failure(&"x".repeat(10_000), "").with_code(422);
        let error = ClusterError::new("do it", kube::Error::Api(status.boxed()));
        assert!(error.to_string().len() < 1200);
    }
}
