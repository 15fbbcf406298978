//! Boot images: what new machines start from, kept at what the release ships.
//!
//! A [`Cluster`] is what was read of one; [`plan`] decides for each machine resource whether its boot image is to be
//! changed, by the rules of the machine-config operator, and to what. Nothing is written here, and no cloud is asked.

pub mod capi;
pub mod conditions;
mod eligibility;
mod enrolment;
mod guard;
pub mod history;
mod known;
pub mod merge;
mod plan;
mod platform;
mod platforms;
mod resource;
mod shipped;
pub mod stub;
#[cfg(test)]
mod tests;
mod verdict;

pub use enrolment::{Enrolment, Origin};
pub use guard::{Attempt, HOT_LOOP_LIMIT, HotLoop};
pub use known::KnownImages;
pub use plan::{Cluster, Gate, Mode, decide, gate, plan};
pub use platform::Platform;
pub use platforms::{noted, restored};
pub use resource::{Kind, Machine};
pub use shipped::{BOOT_IMAGES, ShippedImages};
pub use verdict::{Change, Decision, Item, StubAdvice, TemplateClone, Verdict};

/// Label of a machine resource that says which OS stream its machines boot.
pub const STREAM_LABEL: &str = "machineconfiguration.openshift.io/osstream";
/// The stream that machine resources without a label boot.
pub const DEFAULT_STREAM: &str = "rhel-9";
