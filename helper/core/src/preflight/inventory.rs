//! What was read of a cluster, kind by kind, and what could not be.

use super::configs::Configs;
use super::{Distance, ReleaseVersion, Target, Undecided};
use crate::boot_images::stub::UserData;
use crate::boot_images::{Machine, ShippedImages};
use crate::objects::{
    ClusterVersion, Infrastructure, MachineConfigNode, MachineConfigPool, MachineConfiguration, MachineOSConfig, Node,
    OSImageStream, ValidationSettings,
};
use crate::rollout::{PoolView, views};
use crate::streams::Policy;

/// What became of reading a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reading<T> {
    /// It was read.
    Read(T),
    /// The cluster does not know the kind.
    UnknownKind {
        /// The kind.
        kind: &'static str,
    },
    /// It could not be read.
    Failed {
        /// Why.
        reason: String,
    },
    /// There was no time left to read it.
    #[default]
    NotRead,
}

impl<T> Reading<T> {
    /// What was read; a check that needs it has no answer without it.
    pub fn needed(&self) -> Result<&T, Undecided> {
        match self {
            Self::Read(value) => Ok(value),
            other => Err(Undecided::because(other.trouble())),
        }
    }

    /// What was read, or why it was not.
    pub fn into_needed(self) -> Result<T, String> {
        match self {
            Self::Read(value) => Ok(value),
            other => Err(other.trouble()),
        }
    }

    fn trouble(&self) -> String {
        match self {
            Self::Read(_) => String::new(),
            Self::UnknownKind { kind } => format!("the cluster does not know {kind}"),
            Self::Failed { reason } => reason.clone(),
            Self::NotRead => "the time was over before it was read".to_owned(),
        }
    }

    /// What was read; where the cluster does not know the kind there is none of it.
    pub fn or_none(&self) -> Result<Option<&T>, Undecided> {
        match self {
            Self::UnknownKind { .. } => Ok(None),
            other => other.needed().map(Some),
        }
    }

    /// What was read, made into something else.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Reading<U> {
        match self {
            Self::Read(value) => Reading::Read(make(value)),
            Self::UnknownKind { kind } => Reading::UnknownKind { kind },
            Self::Failed { reason } => Reading::Failed { reason },
            Self::NotRead => Reading::NotRead,
        }
    }
}

impl<T> Reading<Option<T>> {
    /// Where there has to be an object: that there is none is a failure, too.
    pub fn existing(self, what: &str) -> Reading<T> {
        match self {
            Self::Read(Some(value)) => Reading::Read(value),
            Self::Read(None) => Reading::Failed { reason: format!("there is no {what}") },
            Self::UnknownKind { kind } => Reading::UnknownKind { kind },
            Self::Failed { reason } => Reading::Failed { reason },
            Self::NotRead => Reading::NotRead,
        }
    }
}

impl<T> Reading<Vec<T>> {
    /// Where there has to be something: that there is nothing is a failure, too. A directory may hold a part of a cluster.
    pub fn populated(self, what: &str) -> Self {
        match self {
            Self::Read(found) if found.is_empty() => Self::Failed { reason: format!("there are no {what}") },
            other => other,
        }
    }
}

/// What was read of a cluster.
#[derive(Debug, Default)]
pub struct Inventory {
    /// The release that runs.
    pub cluster_version: Reading<ClusterVersion>,
    /// The pools.
    pub pools: Reading<Vec<MachineConfigPool>>,
    /// The nodes.
    pub nodes: Reading<Vec<Node>>,
    /// How far nodes are.
    pub progress: Reading<Vec<MachineConfigNode>>,
    /// Pools that build their own images.
    pub built: Reading<Vec<MachineOSConfig>>,
    /// Which refusals are overridden.
    pub settings: Reading<Option<ValidationSettings>>,
    /// The streams that the cluster offers.
    pub stream: Reading<Option<OSImageStream>>,
    /// Which streams come to their end.
    pub policy: Reading<Policy>,
    /// Rendered configurations.
    pub configs: Reading<Configs>,
    /// What new machines start from.
    pub boot: Boot,
}

/// What new machines start from.
#[derive(Debug, Default)]
pub struct Boot {
    /// Which boot images are managed, and how old they may be.
    pub configuration: Reading<Option<MachineConfiguration>>,
    /// The platform.
    pub infrastructure: Reading<Option<Infrastructure>>,
    /// Whether bare metal machines do not get their OS from the release.
    pub legacy_metal: Reading<bool>,
    /// Machine resources.
    pub machines: Reading<Vec<Machine>>,
    /// What machines are told at their first boot.
    pub user_data: Reading<UserData>,
    /// Boot images of the release that runs.
    pub shipped: Reading<Option<ShippedImages>>,
}

impl Inventory {
    /// How far the update goes.
    pub fn distance(&self, target: &Target) -> Distance {
        self.running().map_or(Distance::Unknown, |running| running.distance(&target.version))
    }

    /// Whether the target is of the minor release that runs.
    pub(super) fn is_within_minor(&self, target: &Target) -> bool {
        self.running().is_some_and(|running| running.minor() == target.version.minor())
    }

    /// The release that was last completed; during an installation the one that is wanted.
    fn running(&self) -> Option<ReleaseVersion> {
        let Reading::Read(version) = &self.cluster_version else { return None };
        let completed = version.status.history.iter().find(|entry| entry.state == "Completed");
        let running = completed.map_or(version.status.desired.version.as_str(), |entry| entry.version.as_str());
        ReleaseVersion::parse(running).ok()
    }

    /// Machines that pools count.
    pub fn counted_machines(&self) -> i64 {
        let pools = self.pools.needed().map(Vec::as_slice).unwrap_or_default();
        pools.iter().map(|pool| pool.status.machine_count.max(0)).fold(0, i64::saturating_add)
    }

    /// Every pool with its nodes.
    pub(super) fn views(&self) -> Result<Vec<PoolView<'_>>, Undecided> {
        let built = self.built.or_none()?.map(Vec::as_slice).unwrap_or_default();
        Ok(views(self.pools.needed()?, self.nodes.needed()?, built).0)
    }
}
