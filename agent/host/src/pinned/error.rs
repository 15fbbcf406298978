//! What can go wrong with all images at once; what goes wrong with one is told of its sets.

use std::error::Error;
use std::io;

use ostler_core::pinned::OrderError;
use ostler_core::protocol::Class;

use crate::batch::BatchError;
use crate::cri::CriError;
use crate::disk::is_full;

/// Why images could not be looked after.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// It is too much.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// Somebody else is at it.
    #[error("images are pulled for another request already")]
    Busy,
    /// Nobody waits for it any more.
    #[error("pulling images was interrupted")]
    Unwanted,
    /// CRI-O cannot be asked.
    #[error("images cannot be pulled")]
    Cri(#[from] CriError),
    /// CRI-O does not read its configuration.
    #[error("CRI-O could not be made to read which images to keep: {0}")]
    Reload(String),
    /// Its configuration cannot be written.
    #[error("which images to keep could not be written down")]
    Batch(#[from] BatchError),
    /// Something of our own cannot be used.
    #[error("could not {action} {path}")]
    Disk {
        /// What was being done.
        action: &'static str,
        /// To what.
        path: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Nothing can be asked at all.
    #[error("no connection can be made")]
    Runtime(#[source] io::Error),
}

impl PinError {
    /// An error of the disk.
    pub(super) fn at(action: &'static str, path: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Disk { action, path, source }
    }

    /// Whose fault it is.
    pub fn class(&self) -> Class {
        match self {
            _ if is_full(self) => Class::Transient,
            Self::Batch(BatchError::Space { .. } | BatchError::Files { .. }) => Class::Transient,
            Self::Order(_) => Class::Refusal,
            Self::Busy | Self::Unwanted | Self::Cri(_) | Self::Reload(_) => Class::Transient,
            Self::Batch(_) | Self::Disk { .. } | Self::Runtime(_) => Class::Inoperable,
        }
    }

    /// What a person can do.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Order(_) => "take sets or images out of the pool",
            Self::Busy | Self::Unwanted => "nothing is needed: it goes on by itself",
            Self::Cri(_) | Self::Reload(_) => "see \"systemctl status crio\"",
            Self::Batch(_) | Self::Disk { .. } => "look at the disk: full, read-only or failing? It is tried again",
            Self::Runtime(_) => "see whether this machine has memory and processes left; it is tried again",
        }
    }
}

/// An error with its causes, in one line.
pub(super) fn told(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
