//! Why a target cannot be applied to a running node: the configuration's fault, never retried, with the remedy.
//!
//! The texts of the first group are the machine-config-daemon's, which controllers and runbooks match on. Ostler's own
//! refusals are of things the daemon would find out only after it had drained the node.

use crate::ignition::{ContentsError, Invalid, ParseError};
use crate::registries::RegistriesError;
use crate::root_path::PathError;
use crate::unit_name::NameProblem;

/// A target that is refused as a whole; nothing of it is applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The current config cannot be parsed.
    #[error("parsing old Ignition config from machineconfig {name:?} failed")]
    UnreadableCurrent {
        /// The MachineConfig.
        name: String,
        /// What is wrong with it.
        #[source]
        source: ParseError,
    },
    /// The target cannot be parsed.
    #[error("parsing new Ignition config from machineconfig {name:?} failed")]
    UnreadableTarget {
        /// The MachineConfig.
        name: String,
        /// What is wrong with it.
        #[source]
        source: ParseError,
    },
    /// Ignition or the daemon would refuse the target on any machine.
    #[error("validating new Ignition config from machineconfig {name:?} failed")]
    Invalid {
        /// The MachineConfig.
        name: String,
        /// What is wrong with it.
        #[source]
        source: Invalid,
    },
    /// Groups differ.
    #[error("invalid passwd change(s): ignition Passwd Groups section contains changes")]
    Groups,
    /// A user other than `core`.
    #[error("invalid passwd change(s): ignition passwd user section contains unsupported changes: non-core user")]
    NonCoreUser,
    /// `core` without keys or password.
    #[error(
        "invalid passwd change(s): ignition passwd user section contains unsupported changes: user must be core and \
         have 1 or more sshKeys"
    )]
    UserWithoutCredentials,
    /// `core` with fields that only Ignition can apply.
    #[error("invalid passwd change(s): SSH keys and password hash are not reconcilable")]
    UserFields,
    /// A section that only Ignition can apply, at first boot.
    #[error("ignition {} section contains changes", .0.name())]
    Section(InstallTimeSection),
    /// A file that appends.
    #[error("ignition file {path} includes append")]
    Append {
        /// The file.
        path: String,
    },
    /// The file by which a person forces an update.
    #[error("cannot create {path} via Ignition")]
    ForceFile {
        /// The file.
        path: String,
    },
    /// The FIPS flag.
    #[error("detected change to FIPS flag; refusing to modify FIPS on a running cluster")]
    Fips,

    /// Contents that cannot be had on the node.
    #[error("could not decode file {path:?}")]
    Contents {
        /// The file.
        path: String,
        /// What is wrong with them.
        #[source]
        source: ContentsError,
    },
    /// All contents together are more than a node should be given.
    #[error("the files hold more than {most} bytes in all")]
    TooLarge {
        /// The limit.
        most: u64,
    },
    /// A user or group that cannot exist.
    #[error("file {path:?} has the owner {id}, which no user or group can have")]
    OwnerId {
        /// The file.
        path: String,
        /// The number.
        id: i64,
    },
    /// A path that is not plain, and could mean something else than it says.
    #[error("file {path:?} cannot be placed")]
    Path {
        /// The file.
        path: String,
        /// What is wrong with it.
        #[source]
        source: PathError,
    },
    /// A file or unit that the agent itself stands on.
    #[error("{name:?} belongs to the node agent and cannot be changed by a config")]
    Reserved {
        /// The path or unit.
        name: String,
    },
    /// A file where the kernel keeps its own.
    #[error("file {path:?} lies below {tree}, where files cannot be replaced, kept or put back")]
    KernelPath {
        path: String,
        /// The directory of the kernel's.
        tree: &'static str,
    },
    /// A kernel that does not exist.
    #[error("kernelType={name} is invalid")]
    KernelType {
        /// As written.
        name: String,
    },
    /// Extensions that do not exist.
    #[error("invalid extensions found: {names:?}")]
    Extensions {
        /// As written.
        names: Vec<String>,
    },
    /// A unit that systemd would not load.
    #[error("systemd would reject the unit name {name:?}")]
    UnitName {
        /// The unit.
        name: String,
        /// Why.
        #[source]
        source: NameProblem,
    },
    /// A drop-in that systemd would not read.
    #[error("systemd would not read the drop-in {dropin:?} of unit {unit:?}")]
    DropinName {
        /// The unit.
        unit: String,
        /// The drop-in.
        dropin: String,
        /// Why.
        #[source]
        source: NameProblem,
    },
    /// Whether CRI-O's registries can be reloaded under running workloads cannot be told.
    #[error("cannot judge the change of registries.conf in machineconfig {name:?}")]
    Registries {
        /// The MachineConfig that holds the unreadable text.
        name: String,
        /// Why.
        #[source]
        source: Box<RegistriesProblem>,
    },
}

/// What is wrong with a `registries.conf`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistriesProblem {
    /// The contents cannot be had.
    #[error("the file cannot be decoded")]
    Contents(#[source] ContentsError),
    /// The contents are no text.
    #[error("the file is not UTF-8 text")]
    NotText,
    /// The contents are no such file.
    #[error(transparent)]
    Syntax(#[from] RegistriesError),
}

/// A part of the Ignition config that is applied only when the machine is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallTimeSection {
    /// `kernelArguments` of Ignition.
    KernelArguments,
    /// `storage.disks`.
    Disks,
    /// `storage.filesystems`.
    Filesystems,
    /// `storage.raid`.
    Raid,
    /// `storage.directories`.
    Directories,
    /// `storage.links`.
    Links,
}

impl InstallTimeSection {
    const fn name(self) -> &'static str {
        match self {
            Self::KernelArguments => "kargs",
            Self::Disks => "disks",
            Self::Filesystems => "filesystems",
            Self::Raid => "raid",
            Self::Directories => "directories",
            Self::Links => "links",
        }
    }
}

impl Refusal {
    /// The whole reason on one line, causes included.
    pub fn reason(&self) -> String {
        let mut reason = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            reason.push_str(": ");
            reason.push_str(&error.to_string());
            cause = error.source();
        }
        reason
    }

    /// What a person can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::UnreadableCurrent { .. } => {
                "the configuration recorded on the node is damaged; give the node's rendered MachineConfig from the \
                 cluster instead"
            }
            Self::UnreadableTarget { source: ParseError::Empty, .. } => {
                "put an Ignition config into spec.config: without it everything that the node has from its configuration \
                 would go; a config of one's own has at least {\"ignition\": {\"version\": \"3.5.0\"}}"
            }
            Self::UnreadableTarget { .. } | Self::Invalid { .. } => {
                "correct the MachineConfig that brings this in; the pool then renders a new one"
            }
            Self::Groups => "groups are created at installation only: remove the change from passwd.groups",
            Self::NonCoreUser => "only the user \"core\" can be changed on a running node: remove other users",
            Self::UserWithoutCredentials => "give the user \"core\" an SSH key or a password hash, or leave it out",
            Self::UserFields => "leave only name, sshAuthorizedKeys and passwordHash on the user \"core\"",
            Self::Section(section) => return section.remedy(),
            Self::Append { .. } => "give the file its whole contents in contents.source instead of append",
            Self::ForceFile { .. } => {
                "create this file by hand on the one node that is to be forced, never by a config"
            }
            Self::Fips => "FIPS is chosen at installation: set spec.fips back, or install the machine again",
            Self::Contents { .. } => "write the contents as a data: URL, compressed with gzip or not at all",
            Self::TooLarge { .. } => "ship large data in a container image and keep files for configuration",
            Self::OwnerId { .. } => "give a number from 0 to 4294967294, or a name",
            Self::Path { .. } => {
                "give an absolute path without empty, \".\" or \"..\" elements and without a slash at its end"
            }
            Self::Reserved { .. } => "remove it from the MachineConfig that brings it in",
            Self::KernelPath { .. } => {
                "remove the file, and set such values through sysctl.d, tmpfiles.d, udev or a systemd unit"
            }
            Self::KernelType { .. } => "use \"default\", \"realtime\" or, on aarch64, \"64k-pages\"",
            Self::Extensions { .. } => return extensions_remedy(),
            Self::UnitName { .. } | Self::DropinName { .. } => "rename it in the MachineConfig that brings it in",
            Self::Registries { .. } => "correct the file, or set a node disruption policy for it",
        }
        .to_owned()
    }
}

impl InstallTimeSection {
    fn remedy(self) -> String {
        let overriding = |name| {
            format!(
                "install the machine again, or allow the change for new machines only: add {name} to \
                 spec.irreconcilableValidationOverrides.storage of MachineConfiguration \"cluster\""
            )
        };
        match self {
            Self::Disks => overriding("Disks"),
            Self::Filesystems => overriding("FileSystems"),
            Self::Raid => overriding("Raid"),
            Self::KernelArguments => "use spec.kernelArguments of the MachineConfig instead of Ignition's".to_owned(),
            Self::Directories => "create directories with a systemd unit or tmpfiles.d, or install again".to_owned(),
            Self::Links => "create links with tmpfiles.d, or remove all links from the target".to_owned(),
        }
    }
}

fn extensions_remedy() -> String {
    format!("use only these: {}", crate::extensions::supported().collect::<Vec<_>>().join(", "))
}
