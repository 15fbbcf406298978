//! A node among others: what its objects in the cluster say, what it does next, and what it says of itself.
//!
//! Owns the meaning of annotations and conditions and every decision of the daemon's loop. Refuses to fetch, to send and
//! to look at a clock: all of it comes in as values.

pub mod backoff;
pub mod decide;
pub mod duties;
pub mod input;
pub mod keys;
pub mod notice;
pub mod proof;
pub mod publication;
pub mod reboot_policy;
pub mod situation;
pub mod transition;
pub mod view;

pub use backoff::Backoff;
pub use decide::{Abilities, Decision, Facts, Next, Outlook, Target, Wait, decide, target};
pub use duties::Duties;
pub use input::Input;
pub use notice::{EventKind, Notice, Weight};
pub use proof::{HealthCheck, Proof};
pub use publication::{Gates, IrreconcilableWrite, StatusChange, annotations, status};
pub use reboot_policy::{RebootPolicy, RebootWindow};
pub use situation::{DrainRequest, Irreconcilable, Phase, Situation, Trouble, TroubleKind, Update};
pub use view::{ConfigRef, DrainView, NodeView};
