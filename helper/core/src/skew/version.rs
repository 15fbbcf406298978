//! Versions of releases, and the oldest that boot images may be of.

use std::fmt;

use ostler_core::os::release::Base;

use crate::streams::Version;

/// The oldest release that boot images may come from.
pub const OCP_LIMIT: OcpVersion = OcpVersion { major: 4, minor: 13, patch: 0 };
/// The oldest RHEL that boot images may be made of, by major and minor version.
pub const RHCOS_LIMIT: (u32, u32) = (9, 2);

/// A version of a release, without what comes after the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct OcpVersion {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
}

impl OcpVersion {
    /// Reads `4.13.0`. What follows the numbers is ignored, as in `4.13.0-rc.1`, and a number that is missing is 0.
    pub fn parse(text: &str) -> Option<Self> {
        let version = Version::parse(text).ok()?.to_string();
        let mut numbers = version.split('.').map(|number| number.parse().ok());
        Some(Self { major: numbers.next()??, minor: numbers.next()??, patch: numbers.next().unwrap_or(Some(0))? })
    }
}

impl fmt::Display for OcpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The RHEL that a boot image is made of, from its version in either shape.
pub(super) fn rhel(rhcos: &str) -> Option<(u32, u32)> {
    Base::of_version(rhcos).and_then(|base| Some((base.major, base.minor?)))
}
