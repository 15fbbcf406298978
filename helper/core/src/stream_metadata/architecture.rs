//! Architectures, by the names that RPM and Go have for them.

use serde::Serialize;

/// An architecture that OpenShift runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Architecture {
    /// 64-bit x86.
    #[serde(rename = "x86_64")]
    X86_64,
    /// 64-bit Arm.
    #[serde(rename = "aarch64")]
    Aarch64,
    /// 64-bit POWER, little endian.
    #[serde(rename = "ppc64le")]
    Ppc64le,
    /// IBM Z.
    #[serde(rename = "s390x")]
    S390x,
}

impl Architecture {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::X86_64, Self::Aarch64, Self::Ppc64le, Self::S390x];

    /// By the name that Go and Kubernetes have for it.
    pub fn of_go(name: &str) -> Option<Self> {
        match name {
            "amd64" => Some(Self::X86_64),
            "arm64" => Some(Self::Aarch64),
            "ppc64le" => Some(Self::Ppc64le),
            "s390x" => Some(Self::S390x),
            _ => None,
        }
    }

    /// By any name.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            other => Self::of_go(other),
        }
    }

    /// The name that RPM and stream metadata have for it.
    pub const fn rpm(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
            Self::Ppc64le => "ppc64le",
            Self::S390x => "s390x",
        }
    }
}
