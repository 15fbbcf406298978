//! What a machine's sysroot holds, as plain data.

use serde::{Deserialize, Serialize};

use super::backend::Backend;

/// The deployments of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OsState {
    /// What changes the operating system here; none where nothing does.
    pub backend: Option<Backend>,
    /// The deployment that runs. None in a sysroot that is only looked at.
    pub booted: Option<Installed>,
    /// The deployment that the next reboot finishes and then boots.
    pub staged: Option<Installed>,
    /// The deployment the boot loader offers next to the default one.
    pub rollback: Option<Installed>,
    /// All of them, in the order of the boot loader.
    pub deployments: Vec<Installed>,
    /// What the machine said when a staged deployment could not be finished at the end of the previous boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalization_failure: Option<String>,
}

impl OsState {
    /// What the boot loader starts next if nobody interferes.
    pub fn next(&self) -> Option<&Installed> {
        self.staged.as_ref().or_else(|| self.deployments.first())
    }
}

/// One deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Installed {
    /// The pull specification it was made from, without transport.
    pub image: Option<String>,
    /// The digest of that image's manifest.
    pub digest: Option<String>,
    /// The version it calls itself.
    pub version: Option<String>,
    /// The ostree commit.
    pub checksum: String,
    /// The checksum of its kernel and initramfs: two deployments that share it share those.
    #[serde(default)]
    pub boot_checksum: String,
    /// Which of several deployments of that commit.
    #[serde(default)]
    pub serial: u32,
    /// The state root it belongs to.
    #[serde(default)]
    pub stateroot: String,
    /// Kernel arguments, without those that only locate the deployment.
    pub kargs: Vec<String>,
    /// Those that its image lists in [`image_kargs::DIRECTORY`](super::image_kargs::DIRECTORY), on the line or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_kargs: Vec<String>,
    /// Whether a person has asked for it to be kept.
    pub pinned: bool,
    /// Packages layered on the image by request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// Packages of the image removed by request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removals: Vec<String>,
    /// Packages that somebody put in or replaced from files of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local: Vec<String>,
}
