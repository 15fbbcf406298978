//! The boot loader as bootupd keeps it: what is installed, what could be, and whether to touch it.
//!
//! Owns the judgement. A boot loader is written in place, so being interrupted can cost the machine its boot: what can be
//! foreseen is an [`Obstacle`], and the rest is told as a risk before anything is started.

mod layout;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::malformed::Malformed;

pub use layout::Layout;

/// Far more than two components take.
pub const MOST: usize = 1 << 20;

/// What `bootupctl status --json` says; unknown members are left alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BootloaderStatus {
    /// Those that bootupd has installed or adopted, by name: `EFI`, `BIOS`.
    pub components: BTreeMap<String, Component>,
    /// Those that are there but not bootupd's yet.
    #[serde(default)]
    pub adoptable: BTreeMap<String, Adoptable>,
}

/// A boot loader that bootupd keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Component {
    /// What is there.
    pub installed: Version,
    /// What was being written when something came in between.
    #[serde(default)]
    pub interrupted: Option<Version>,
    /// What the booted image brings.
    #[serde(default)]
    pub update: Option<Version>,
    /// How the two compare.
    pub updatable: Updatable,
}

/// A boot loader that was there before bootupd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Adoptable {
    /// What is believed to be there.
    pub version: Version,
    /// Whether bootupd is sure.
    #[serde(default)]
    pub confident: bool,
}

/// What something calls itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// When it was made.
    #[serde(default)]
    pub timestamp: String,
    /// Its packages.
    pub version: String,
}

/// How what is installed compares with what the image brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Updatable {
    /// The image brings none.
    NoUpdateAvailable,
    /// The same.
    AtLatestVersion,
    /// The image's is newer.
    Upgradable,
    /// The image's is older.
    WouldDowngrade,
    /// A word that is not known here.
    #[serde(other)]
    Unknown,
}

/// How the boot loader is, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Writing it was interrupted.
    Interrupted,
    /// There is a newer one.
    UpdateAvailable,
    /// It is not bootupd's yet.
    Adoptable,
    /// Nothing newer.
    UpToDate,
    /// bootupd knows of none.
    Unmanaged,
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Interrupted => "interrupted",
            Self::UpdateAvailable => "outdated",
            Self::Adoptable => "not adopted",
            Self::UpToDate => "up to date",
            Self::Unmanaged => "unmanaged",
        })
    }
}

/// How the boot loader is, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// In a word.
    pub verdict: Verdict,
    /// As bootupd says it.
    pub status: BootloaderStatus,
    /// Where it lies.
    pub layout: Layout,
}

/// What can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Bring what bootupd keeps to the image's version.
    Update,
    /// Let bootupd take over what it does not keep yet, and update it.
    Adopt,
}

/// What will be done, and what that risks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Intent {
    /// What.
    pub action: Action,
    /// To which components.
    pub components: Vec<String>,
    /// What can happen, for a person to read before agreeing.
    pub risk: String,
}

/// Why nothing is to be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "obstacle", rename_all = "camelCase")]
pub enum Obstacle {
    /// Nothing to do.
    #[error("there is nothing to {}", if *.action == Action::Update { "update" } else { "adopt" })]
    Nothing {
        /// What was asked for.
        action: Action,
    },
    /// An earlier attempt did not end.
    #[error("writing {version} of {component} was interrupted, and nobody knows what is on the disk now")]
    Interrupted {
        /// Which.
        component: String,
        /// What was being written.
        version: String,
    },
    /// The image brings an older one.
    #[error("the image has {offered} of {component}, which is older than {installed}")]
    Older {
        /// Which.
        component: String,
        /// What is there.
        installed: String,
        /// What the image brings.
        offered: String,
    },
    /// Only one of several would be written.
    #[error("there are {} EFI system partitions ({}), and bootupd may write only one of them", .partitions.len(), .partitions.join(", "))]
    ManyPartitions {
        /// Which.
        partitions: Vec<String>,
    },
    /// The disks of an array would come to differ.
    #[error("/boot is on the array {array}, whose disks have boot loaders of their own")]
    Array {
        /// Which.
        array: String,
    },
}

impl Obstacle {
    /// What a person can do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Nothing { .. } => "see \"ostler bootloader status\"",
            Self::Interrupted { .. } => {
                "do not restart; see \"bootupctl validate\", then run \"bootupctl update\" with a console and rescue media at hand"
            }
            Self::Older { .. } => "keep it: a newer boot loader starts an older system",
            Self::ManyPartitions { .. } | Self::Array { .. } => {
                "update each by hand with \"bootupctl update\" of a release that knows arrays, with rescue media at hand"
            }
        }
    }
}

/// Why a document is no status.
#[derive(Debug, thiserror::Error)]
pub enum BootloaderError {
    /// Too much.
    #[error("{what} is longer than {MOST} bytes")]
    TooLong {
        /// What.
        what: &'static str,
    },
    /// Not the form of one.
    #[error("{what} is not what was expected")]
    Malformed {
        /// What.
        what: &'static str,
        /// Where.
        #[source]
        source: Malformed,
    },
}

impl BootloaderStatus {
    /// Reads what `bootupctl status --json` writes.
    pub fn parse(document: &[u8]) -> Result<Self, BootloaderError> {
        read("bootupctl status", document)
    }

    /// How it is, the worst first.
    pub fn verdict(&self) -> Verdict {
        let any = |updatable| self.components.values().any(|component| component.updatable == updatable);
        match () {
            () if self.components.values().any(|component| component.interrupted.is_some()) => Verdict::Interrupted,
            () if any(Updatable::Upgradable) => Verdict::UpdateAvailable,
            () if !self.adoptable.is_empty() => Verdict::Adoptable,
            () if self.components.is_empty() => Verdict::Unmanaged,
            () => Verdict::UpToDate,
        }
    }

    /// Whether to do something, and what that risks.
    pub fn judge(&self, layout: &Layout, action: Action) -> Result<Intent, Obstacle> {
        for (name, component) in &self.components {
            if let Some(version) = &component.interrupted {
                let (component, version) = (name.clone(), version.version.clone());
                return Err(Obstacle::Interrupted { component, version });
            }
        }
        let changes = self.changes(action)?;
        if let Some(array) = &layout.array {
            return Err(Obstacle::Array { array: array.clone() });
        }
        if changes.iter().any(|(name, ..)| *name == "EFI") && layout.partitions.len() > 1 {
            return Err(Obstacle::ManyPartitions { partitions: layout.partitions.clone() });
        }
        let risk = changes.iter().map(|(name, from, to)| risk(name, from, to)).collect::<Vec<_>>().join("\n");
        Ok(Intent { action, components: changes.iter().map(|(name, ..)| (*name).to_owned()).collect(), risk })
    }

    /// Name, old and new version of what would be written. An update takes over what bootupd is sure of, too.
    fn changes(&self, action: Action) -> Result<Vec<(&str, &str, &str)>, Obstacle> {
        let mut changes = Vec::new();
        let mut older = None;
        for (name, component) in self.components.iter().filter(|_| action == Action::Update) {
            let installed = &component.installed.version;
            match (component.updatable, &component.update) {
                (Updatable::Upgradable, Some(update)) => {
                    changes.push((name.as_str(), installed.as_str(), update.version.as_str()))
                }
                (Updatable::WouldDowngrade, Some(update)) => {
                    let [component, installed, offered] = [name, installed, &update.version].map(Clone::clone);
                    older = Some(Obstacle::Older { component, installed, offered });
                }
                _ => {}
            }
        }
        for (name, adoptable) in &self.adoptable {
            if action == Action::Adopt || adoptable.confident {
                changes.push((name.as_str(), adoptable.version.version.as_str(), "the version of the booted image"));
            }
        }
        if changes.is_empty() { Err(older.unwrap_or(Obstacle::Nothing { action })) } else { Ok(changes) }
    }
}

fn risk(name: &str, from: &str, to: &str) -> String {
    let place = match name {
        "EFI" => "the files of the EFI system partition are replaced",
        "BIOS" => "the boot sector and the boot loader behind it are overwritten",
        _ => "the boot loader is replaced",
    };
    format!(
        "{name}: {from} becomes {to}. While {place}, a loss of power or a hard reset can leave this machine unable to boot \
         until it is repaired from rescue media. An orderly shutdown and the end of Ostler do not interrupt it. It is not undone \
         by a rollback."
    )
}

fn read<'d, T: Deserialize<'d>>(what: &'static str, document: &'d [u8]) -> Result<T, BootloaderError> {
    if document.len() > MOST {
        return Err(BootloaderError::TooLong { what });
    }
    serde_json::from_slice(document).map_err(|error| BootloaderError::Malformed { what, source: error.into() })
}

#[cfg(test)]
mod tests;
