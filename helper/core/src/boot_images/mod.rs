//! Boot images: what new machines start from, kept at what the release ships.
//!
//! A [`Cluster`] is what was read of one; [`plan`] decides for each machine resource whether its boot image is to be
//! changed, by the rules of the machine-config operator, and to what. Nothing is written here, and no cloud is asked.

pub mod capi;
mod cluster;
pub mod conditions;
mod eligibility;
mod enrolment;
pub mod events;
mod guard;
pub mod history;
mod known;
mod labels;
pub mod merge;
mod plan;
mod platform;
mod platforms;
mod resource;
mod shipped;
pub mod stub;
#[cfg(test)]
pub(crate) mod tests;
mod verdict;

pub use cluster::{Cluster, Gate, Mode, Shipment, gate};
pub use enrolment::{Enrolment, Origin};
pub use guard::{Attempt, HOT_LOOP_LIMIT, HotLoop};
pub use known::KnownImages;
pub use plan::{decide, plan};
pub use platform::Platform;
pub use platforms::{noted, restored};
pub use resource::{Kind, Machine};
pub use shipped::{BOOT_IMAGES, ShippedImages};
pub use verdict::{Change, Decision, Item, Report, StubAdvice, TemplateClone, Verdict};

/// Label of a machine resource that says which OS stream its machines boot.
pub const STREAM_LABEL: &str = "machineconfiguration.openshift.io/osstream";
/// The stream that machine resources without a label boot.
pub const DEFAULT_STREAM: &str = "rhel-9";
