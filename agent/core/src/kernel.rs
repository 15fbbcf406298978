//! Kernel types and the packages that make them up.
//!
//! Owns names and package lists. Which architecture a node has is observed, so 64k pages on x86_64 are refused where
//! that is known, not here.

use serde::{Deserialize, Serialize};

/// Which kernel a node runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum KernelType {
    /// The kernel of the image.
    #[default]
    #[serde(rename = "default")]
    Default,
    /// The real-time kernel.
    #[serde(rename = "realtime")]
    Realtime,
    /// The kernel with 64 KiB pages, aarch64 only.
    #[serde(rename = "64k-pages")]
    Pages64k,
}

/// A kernel type nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernelType={name} is invalid")]
pub struct UnknownKernelType {
    /// The name as written.
    pub name: String,
}

impl KernelType {
    /// Reads `spec.kernelType`.
    pub fn parse(name: &str) -> Result<Self, UnknownKernelType> {
        match name {
            "" | "default" => Ok(Self::Default),
            "realtime" => Ok(Self::Realtime),
            "64k-pages" => Ok(Self::Pages64k),
            _ => Err(UnknownKernelType { name: name.to_owned() }),
        }
    }

    /// The name used in a MachineConfig.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Realtime => "realtime",
            Self::Pages64k => "64k-pages",
        }
    }

    /// The packages layered on the image for this kernel, after [`DEFAULT_PACKAGES`] have been removed from it.
    pub const fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Default => &[],
            Self::Realtime => &["kernel-rt-core", "kernel-rt-modules", "kernel-rt-modules-extra"],
            Self::Pages64k => {
                &["kernel-64k-core", "kernel-64k-modules", "kernel-64k-modules-core", "kernel-64k-modules-extra"]
            }
        }
    }
}

/// The packages of the image's own kernel.
pub const DEFAULT_PACKAGES: &[&str] =
    &["kernel", "kernel-core", "kernel-modules", "kernel-modules-core", "kernel-modules-extra"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_alike() {
        for kernel in [KernelType::Default, KernelType::Realtime, KernelType::Pages64k] {
            assert_eq!(KernelType::parse(kernel.name()), Ok(kernel));
            assert_eq!(serde_json::to_value(kernel).unwrap(), kernel.name());
        }
        assert_eq!(KernelType::parse(""), Ok(KernelType::Default));
    }

    #[test]
    fn an_unknown_name_is_refused_by_name() {
        assert_eq!(KernelType::parse("Realtime").unwrap_err().to_string(), "kernelType=Realtime is invalid");
    }
}
