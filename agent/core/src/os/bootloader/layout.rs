//! Where boot loaders lie, as `lsblk --json` tells it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{BootloaderError, read};

/// The type of an EFI system partition.
const ESP: &str = "c12a7328-f81f-11d2-ba4b-00a0c93ec93b";

/// Where boot loaders lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Layout {
    /// All EFI system partitions, sorted.
    pub partitions: Vec<String>,
    /// The array that `/boot` is on, if it is on one.
    pub array: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    blockdevices: Vec<Device>,
}

#[derive(Deserialize)]
struct Device {
    name: String,
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    parttype: Option<String>,
    #[serde(default)]
    mountpoint: Option<String>,
    #[serde(default)]
    children: Vec<Device>,
}

impl Layout {
    /// The columns that are read.
    pub const COLUMNS: &'static str = "NAME,TYPE,PARTTYPE,MOUNTPOINT";

    /// Reads what `lsblk --json --paths --output` [`Self::COLUMNS`] writes.
    pub fn parse(document: &[u8]) -> Result<Self, BootloaderError> {
        let document: Document = read("lsblk", document)?;
        let mut partitions = BTreeSet::new();
        let mut mounts: Vec<(&str, Option<&str>)> = Vec::new();
        let mut open: Vec<(&Device, Option<&str>)> =
            document.blockdevices.iter().map(|device| (device, None)).collect();
        while let Some((device, above)) = open.pop() {
            if device.parttype.as_deref().is_some_and(|kind| kind.eq_ignore_ascii_case(ESP)) {
                partitions.insert(device.name.clone());
            }
            let is_array = device.kind.as_deref().is_some_and(|kind| kind.starts_with("raid"));
            let array = if is_array { Some(device.name.as_str()) } else { above };
            mounts.extend(device.mountpoint.as_deref().map(|mount| (mount, array)));
            open.extend(device.children.iter().map(|child| (child, array)));
        }
        // Without a filesystem of its own, /boot is part of the one that holds the deployments.
        let boot =
            ["/boot", "/sysroot", "/"].into_iter().find_map(|path| mounts.iter().find(|(mount, _)| *mount == path));
        let array = boot.and_then(|(_, array)| array.map(str::to_owned));
        Ok(Self { partitions: partitions.into_iter().collect(), array })
    }
}
