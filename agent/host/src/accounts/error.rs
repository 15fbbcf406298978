//! Why owners could not be found.

use std::io;

/// A file of users or groups could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}, which says who can own files")]
pub struct AccountsError {
    /// The file.
    pub path: &'static str,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// An owner that the machine does not have.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownOwner {
    /// No such user.
    #[error("the machine has no user {name:?}; create it in the OS image or correct the config")]
    User {
        /// Its name.
        name: String,
    },
    /// No such group.
    #[error("the machine has no group {name:?}; create it in the OS image or correct the config")]
    Group {
        /// Its name.
        name: String,
    },
    /// The system did not say whether there is such a user.
    #[error("user {name:?} is in no file of the machine and its other sources of users cannot be asked")]
    UnaskedUser {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The system did not say whether there is such a group.
    #[error("group {name:?} is in no file of the machine and its other sources of groups cannot be asked")]
    UnaskedGroup {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}
