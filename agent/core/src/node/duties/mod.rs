//! What the duties beside updates have to say of a node. Each is looked after by itself; what they say is published with
//! everything else, by the one who publishes.

mod certificates;
mod drift;
mod kubelet;
mod pinned;

pub use certificates::Certificates;
pub use drift::DriftSummary;
pub use kubelet::KubeletTally;
pub use pinned::{Course, Pinned, SetOutcome, SetStanding, order as pin_order};

/// What all duties have to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Duties {
    /// How the machine differs from its configuration, where that is to be reported.
    pub drift: Option<DriftSummary>,
    /// Which certificates the machine has.
    pub certificates: Certificates,
    /// How far the pinned images are.
    pub pinned: Pinned,
}
