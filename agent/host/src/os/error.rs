//! Why the operating system could not be changed or looked at, in the classes that say what to do next.

use ostler_core::os::backend::{Backend, CHOICE_PATH, NoBackend};
use ostler_core::protocol::Class;

use super::auth::AuthError;
use super::extensions::ExtensionsError;
use crate::disk::is_full;

/// What came in the way.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OsError {
    /// The backend says that it cannot ever be done.
    #[error("{backend} refuses to {action}: {message}")]
    Refused {
        /// Which.
        backend: Backend,
        /// What was asked.
        action: &'static str,
        /// What it said.
        message: String,
    },
    /// The backend tried and did not succeed.
    #[error("{backend} could not {action}: {message}")]
    Failed {
        /// Which.
        backend: Backend,
        /// What was asked.
        action: &'static str,
        /// What it said.
        message: String,
    },
    /// Somebody else is changing the operating system.
    #[error("{occupant} is changing the operating system, and did not end within {seconds} seconds")]
    Busy {
        /// Who.
        occupant: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// It took too long.
    #[error("{backend} did not {action} within {seconds} seconds")]
    TooSlow {
        /// Which.
        backend: Backend,
        /// What was asked.
        action: &'static str,
        /// How long it was waited for.
        seconds: u64,
    },
    /// Nobody waits for it any more.
    #[error("{backend} was stopped while it was to {action}: another update is wanted meanwhile")]
    GivenUp {
        backend: Backend,
        /// What was asked.
        action: &'static str,
    },
    /// It went away in the middle of its work, and nobody knows how that ended.
    #[error("{backend} went away while it was to {action}")]
    Vanished {
        /// Which.
        backend: Backend,
        /// What was asked.
        action: &'static str,
        /// How that was noticed.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// It cannot be reached.
    #[error("{backend} cannot be asked to {action}")]
    Unreachable {
        /// Which.
        backend: Backend,
        /// What was to be asked.
        action: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// This backend cannot do that.
    #[error("{backend} cannot {what}")]
    Unable {
        /// Which.
        backend: Backend,
        /// What.
        what: String,
    },
    /// bootc before 1.11 cuts kernel arguments at blanks, and libostree aborts on the pieces.
    #[error("bootc cannot take over the kernel argument {argument}: before 1.11 it aborts on blanks in quotes")]
    QuotedArgument {
        /// Of the booted deployment.
        argument: String,
    },
    /// Nothing here changes the operating system.
    #[error(transparent)]
    NoBackend(#[from] NoBackend),
    /// The packages of an image of extensions cannot be had.
    #[error(transparent)]
    Extensions(#[from] ExtensionsError),
    /// The credentials for registries cannot be put in place.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// What every question to a registry needs cannot be put in place.
    #[error("could not prepare to ask registries")]
    Skopeo(#[source] std::io::Error),
    /// The deployments cannot be read or changed.
    #[error("could not {action} the deployments of this machine")]
    Sysroot {
        /// What was being done.
        action: &'static str,
        /// What libostree said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl OsError {
    /// Whose fault it is.
    pub fn class(&self) -> Class {
        match self {
            Self::Refused { .. } | Self::Unable { .. } | Self::QuotedArgument { .. } | Self::NoBackend(_) => {
                Class::Refusal
            }
            Self::Extensions(error) => error.class(),
            Self::Failed { .. }
            | Self::Busy { .. }
            | Self::TooSlow { .. }
            | Self::GivenUp { .. }
            | Self::Vanished { .. }
            | Self::Unreachable { .. } => Class::Transient,
            Self::Sysroot { .. } if is_full(self) => Class::Transient,
            Self::Sysroot { .. } | Self::Auth(_) | Self::Skopeo(_) => Class::Inoperable,
        }
    }

    /// What a person can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Failed { backend: Backend::External, .. } | Self::Unable { backend: Backend::External, .. } => {
                "see to it that the controller which stages deployments here does it".to_owned()
            }
            Self::Refused { .. } => "correct the MachineConfig that brings it in".to_owned(),
            Self::Failed { backend: Backend::Bootc, .. } | Self::TooSlow { backend: Backend::Bootc, .. } => {
                "see \"journalctl -u 'ostler-bootc*'\"; it is tried again".to_owned()
            }
            Self::Failed { backend, .. } | Self::TooSlow { backend, .. } | Self::Vanished { backend, .. } => {
                format!("see \"journalctl -u {}\"; it is tried again", service(*backend))
            }
            Self::GivenUp { .. } => "nothing needs to be done: the update that is wanted now is prepared".to_owned(),
            Self::Busy { .. } => "wait for it, or end it; then try again".to_owned(),
            Self::Unreachable { backend, .. } => format!("see \"journalctl -u {}\"", service(*backend)),
            Self::Unable { .. } => "build what it needs into the OS image instead".to_owned(),
            Self::QuotedArgument { .. } => {
                format!("remove the argument first, update bootc, or write rpm-ostree into {CHOICE_PATH}")
            }
            Self::NoBackend(_) => {
                "apply a config with the machine's own osImageURL, kernelArguments, kernelType and extensions"
                    .to_owned()
            }
            Self::Extensions(_) => {
                "see whether the node can pull baseOSExtensionsContainerImage: \"skopeo inspect docker://IMAGE\""
                    .to_owned()
            }
            Self::Auth(_) | Self::Skopeo(_) => "look at /run and /etc: full or read-only?".to_owned(),
            Self::Sysroot { .. } => "see \"ostree admin status\": is /sysroot full, read-only or damaged?".to_owned(),
        }
    }
}

const fn service(backend: Backend) -> &'static str {
    match backend {
        Backend::RpmOstree => "rpm-ostreed",
        Backend::Bootc => "'ostler-bootc*'",
        Backend::External => "dbus",
    }
}
