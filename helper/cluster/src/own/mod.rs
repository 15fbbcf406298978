//! Writing to a cluster in the place of the machine-config controller: who may, and what.
//!
//! Everything is written by server-side apply under one name, so that the API server knows what is ours, and only by the
//! holder of a Lease. What is written is decided in the core.

mod lease;
mod writer;

pub use lease::Leadership;
pub use writer::Writer;

/// The name under which the helper writes.
pub const MANAGER: &str = "ostler-cluster";
/// The same for statuses. Older API servers do not tell parts of an object apart: under one name, writing the object would
/// disown its status, and streams that are gone would stay.
pub const STATUS_MANAGER: &str = "ostler-cluster-status";
