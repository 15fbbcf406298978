//! How a machine differs from the configuration it is in. Data only: never contents, only where and in which way.
//!
//! What is to be done about it is in [`policy`], what has to be listened to in [`watched`], and when in [`rhythm`].

pub mod policy;
pub mod rhythm;
pub mod watched;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Drift {
    /// What differs.
    pub subject: Subject,
    /// In which way.
    pub difference: Difference,
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Subject {
    /// A file.
    File {
        /// Where.
        path: String,
    },
    /// A unit file, or whether the unit starts at boot.
    Unit {
        /// The unit.
        unit: String,
    },
    /// A drop-in of a unit.
    Dropin {
        /// The unit.
        unit: String,
        /// The drop-in.
        dropin: String,
    },
    /// The keys that let a user in.
    SshKeys {
        /// The user.
        user: String,
    },
    /// A user's password.
    Password {
        /// The user.
        user: String,
    },
    /// The image that the machine was booted from.
    OsImage,
}

/// Where units that are configured, and links that start them, are.
pub const UNIT_DIRECTORY: &str = "/etc/systemd/system";
/// Where an image is that is booted.
const OS: &str = "/usr";
/// Where passwords are.
pub const SHADOW: &str = "/etc/shadow";

impl Subject {
    /// Where on the machine it is.
    pub fn path(&self) -> Cow<'_, str> {
        match self {
            Self::File { path } => Cow::Borrowed(path),
            Self::Unit { unit } => Cow::Owned(format!("{UNIT_DIRECTORY}/{unit}")),
            Self::Dropin { unit, dropin } => Cow::Owned(format!("{UNIT_DIRECTORY}/{unit}.d/{dropin}")),
            Self::SshKeys { user } => Cow::Owned(keys_path(user)),
            Self::Password { .. } => Cow::Borrowed(SHADOW),
            Self::OsImage => Cow::Borrowed(OS),
        }
    }
}

/// Where the keys that let a user in are.
fn keys_path(user: &str) -> String {
    format!("/home/{user}/.ssh/authorized_keys.d/ignition")
}

/// In which way something differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "difference", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Difference {
    /// It is not there.
    Missing,
    /// It holds something else.
    Contents,
    /// It is something other than a file.
    Kind {
        /// What it is.
        found: String,
    },
    /// Its permissions differ.
    Mode {
        /// As configured.
        expected: u32,
        /// As found.
        found: u32,
    },
    /// It belongs to somebody else.
    Owner {
        /// User and group as configured.
        expected: (u32, u32),
        /// As found.
        found: (u32, u32),
    },
    /// Its SELinux label differs.
    Label {
        /// By the machine's policy.
        expected: String,
        /// As found.
        found: Option<String>,
    },
    /// It does, or does not, start at boot.
    State {
        /// As configured.
        expected: String,
        /// As found.
        found: String,
    },
    /// It is there and not configured.
    Extra,
}

/// Files that other parts of a node keep current, and that are expected to differ.
pub const UNWATCHED: &[&str] = &[
    "/etc/kubernetes/kubelet-ca.crt",
    "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem",
    "/etc/mco/internal-registry-pull-secret.json",
];
