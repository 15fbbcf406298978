//! How an attempt to change a machine went, as one value: commands bring it about, `show` tells it.

use ostler_core::protocol::{Failure, Forecast};
use ostler_core::transaction::Finished;

/// How an attempt went.
#[derive(Clone, Debug, PartialEq)]
pub enum Course {
    /// The plan itself is refused; the machine was not asked.
    Refused,
    /// There was nothing to do.
    Nothing,
    /// Nothing stands in the way, and no more than that was wanted.
    Checked(Forecast),
    /// A person was asked and did not agree.
    Declined,
    /// The agent that runs on the machine was asked to make it.
    Delegated,
    /// A transaction ran to one of its two ends.
    Finished(Finished),
    /// It could not be done.
    Failed(Failure),
}
