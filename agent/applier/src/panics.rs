//! What becomes known of a panic: where it was. Its text may quote a configuration, so nobody ever sees it.

use std::io::Write;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

/// Makes panics say where they were and nothing else.
pub fn keep_quiet() {
    std::panic::set_hook(Box::new(|info| tell(info, &mut std::io::stderr())));
}

fn tell(info: &PanicHookInfo<'_>, log: &mut dyn Write) {
    let place = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    // A panic in here would abort the process, so a log that is gone is no reason for one.
    let _ = writeln!(log, "ostler-applier: internal error at {place}");
}

/// Runs something that may panic. `None` when it did; whatever it was working on is not to be used again.
pub(crate) fn contain<T>(run: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).map_err(drop_quietly).ok()
}

/// What was thrown may panic again when it is dropped.
fn drop_quietly(payload: Box<dyn std::any::Any + Send>) {
    std::mem::forget(payload);
}
