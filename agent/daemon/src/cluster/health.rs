//! Whether the cluster can be reached at all, as the requests of the whole client tell.
//!
//! Owns the one bit that is derived from them. Refuses to probe: it only hears of requests that were made anyway.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::watch;

/// Failures in a row, with no success between them, that count as a loss: one alone may be a connection that went stale.
const STREAK: u32 = 2;

/// Whether the cluster can be reached.
#[derive(Debug)]
pub struct Health {
    lost: watch::Sender<Option<String>>,
    streak: AtomicU32,
    distrusted: watch::Sender<bool>,
}

impl Health {
    /// Good until the contrary is heard.
    pub fn new() -> Self {
        Self { lost: watch::Sender::new(None), streak: AtomicU32::new(0), distrusted: watch::Sender::new(false) }
    }

    /// A request was answered.
    pub fn worked(&self) {
        self.streak.store(0, Ordering::Relaxed);
        self.distrusted.send_if_modified(std::mem::take);
        self.lost.send_if_modified(|lost| lost.take().is_some());
    }

    /// A request was not answered, or only by something in the way.
    pub fn failed(&self, reason: &str) {
        let streak = self.streak.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        self.lost.send_if_modified(|lost| {
            let begins = streak >= STREAK && lost.is_none();
            if begins {
                *lost = Some(reason.to_owned());
            }
            begins
        });
    }

    /// A server answered whose certificate nobody we trust vouches for.
    pub fn distrusted(&self) {
        self.distrusted.send_if_modified(|distrusted| !std::mem::replace(distrusted, true));
    }

    /// Whether the server is not trusted, as it changes.
    pub fn distrust(&self) -> watch::Receiver<bool> {
        self.distrusted.subscribe()
    }

    /// The state as it changes: a reason while the cluster is lost.
    pub fn follow(&self) -> watch::Receiver<Option<String>> {
        self.lost.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distrust_is_told_once_and_ends_with_an_answer() {
        let health = Health::new();
        let mut distrust = health.distrust();
        health.worked();
        assert!(!distrust.has_changed().unwrap());
        health.distrusted();
        assert!(*distrust.borrow_and_update());
        health.distrusted();
        assert!(!distrust.has_changed().unwrap());
        health.worked();
        assert!(!*distrust.borrow_and_update());
    }

    #[test]
    fn a_loss_takes_two_failures_in_a_row_and_is_told_once() {
        let health = Health::new();
        let mut state = health.follow();
        health.worked();
        health.failed("a");
        health.worked();
        health.failed("b");
        assert!(!state.has_changed().unwrap());
        health.failed("c");
        assert_eq!(state.borrow_and_update().as_deref(), Some("c"));
        health.failed("d");
        assert!(!state.has_changed().unwrap());
        health.worked();
        assert_eq!(*state.borrow_and_update(), None);
        health.worked();
        assert!(!state.has_changed().unwrap());
    }
}
