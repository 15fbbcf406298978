//! How old boot images may be before updates of the cluster stop, and whether new machines fit the pools they join.
//!
//! The limits and the rules are the machine-config operator's. What it enforces, it says in a status; where it has not,
//! the same is worked out. Nothing is enforced here.

mod enforcement;
mod evaluate;
mod majors;
mod record;
#[cfg(test)]
mod tests;
mod version;

pub use enforcement::{Enforcement, SkewOrigin, install_version};
pub use evaluate::{Evaluation, Evidence, Question, Reading, evaluate};
pub use majors::{Mismatch, Pools, mismatches};
pub use record::enforced_after;
pub use version::{OCP_LIMIT, OcpVersion, RHCOS_LIMIT};

/// Annotation of a node with the version of the boot image that it was installed from, as its agent found it.
pub const BOOT_IMAGE_ANNOTATION: &str = "ostler.dev/boot-image-version";
