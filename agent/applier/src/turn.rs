//! Whose turn it is: peers are heard at the same time, but what they ask of the machine is done one after the other.
//!
//! The lock of the journal keeps other processes out; this one keeps requests of the same process from finding it taken.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use ostler_core::protocol::Class;
use ostler_core::transaction::{Direction, Phase, Progress};

use crate::machine::Refused;

static TURN: Mutex<()> = Mutex::new(());

/// Waits for the turn, which lasts until the answer is dropped. Whoever waits is told so; a turn that comes when nobody
/// waits for its answer any more is not taken.
pub(crate) fn take(
    progress: &mut dyn FnMut(Progress),
    wanted: &dyn Fn() -> bool,
) -> Result<MutexGuard<'static, ()>, Refused> {
    // A request that panicked has left nothing behind that the next one would trust.
    let taken = match TURN.try_lock() {
        Ok(turn) => return Ok(turn),
        Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => {
            let subject = Some("waiting for another request to end".to_owned());
            progress(Progress { direction: Direction::Forward, phase: Phase::Check, subject });
            TURN.lock().unwrap_or_else(PoisonError::into_inner)
        }
    };
    if wanted() {
        return Ok(taken);
    }
    let remedy = "try again; the applier starts by itself when it is asked for something";
    Err(Refused::early(Class::Transient, vec!["the applier is stopping".to_owned()], remedy))
}
