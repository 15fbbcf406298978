//! Node disruption policies: which change of a running node causes which action.
//!
//! Owns the default policies, the user's merged over them, and the choice of a policy for a path. Refuses to know how an
//! action is carried out.

mod action;
mod decide;
mod defaults;
mod document;
mod policy;

pub use action::{Action, CRIO};
pub(crate) use decide::os_causes;
pub use decide::{Cause, Decision, Subject, decide};
pub use document::{PolicyFile, PolicyFileError};
pub use policy::{FilePolicy, Origin, Policies, PolicyError, UnitPolicy};
