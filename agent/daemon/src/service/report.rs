//! What only a new installation could bring: worked out once for every configuration that the machine reaches.

use ostler_core::api::IrreconcilableChange;
use ostler_core::node::{ConfigRef, Irreconcilable, Notice, Update, keys};
use ostler_core::protocol::{Class, Comparison, Failure, Reply, Request, Sealed};

use super::outside::Unavailable;
use super::worker::Worker;

/// What is known to tell about a configuration beyond the turn in which it was found out.
#[derive(Debug, Default)]
pub struct Report {
    told: Option<(ConfigRef, Vec<IrreconcilableChange>)>,
    update: Option<Update>,
    missing: bool,
}

impl Report {
    /// An update begins: its plan is what the rest of it is told from.
    pub fn begin(&mut self, update: Update) {
        self.update = Some(update);
    }

    /// The update that was begun last.
    pub fn update(&self) -> Option<Update> {
        self.update.clone()
    }

    /// What to say about the configuration that the machine is in.
    pub fn changes(&self) -> Irreconcilable {
        self.told.as_ref().map_or(Irreconcilable::Untold, |(_, changes)| Irreconcilable::Changes(changes.clone()))
    }

    /// How many there were when it was last told.
    fn count(&self) -> usize {
        self.told.as_ref().map_or(0, |(_, changes)| changes.len())
    }
}

impl Worker {
    /// Compares the present configuration with the one the machine was installed with, once.
    pub(super) async fn compare(&mut self) {
        // Neither which gates are open nor what the node was installed with is known before.
        if self.known.node.is_none() || !self.known.unread.is_empty() {
            return;
        }
        let Some(current) = self.current() else { return };
        if self.report.told.as_ref().is_some_and(|(told, _)| *told == current) || !self.known.gates.irreconcilable {
            return;
        }
        match self.compare_with_base(current).await {
            // It is compared on the next turn.
            Err(failure) if failure.class == Class::Transient => {}
            Err(failure) => self.say_missing(failure.reasons.join(": ")),
            Ok(()) => {}
        }
    }

    async fn compare_with_base(&mut self, current: ConfigRef) -> Result<(), Failure> {
        let mut comparison = self.comparison().await?;
        if comparison.changes.is_none() {
            self.keep_base().await?;
            comparison = self.comparison().await?;
        }
        let Some(changes) = comparison.changes else {
            self.say_missing("the machine keeps no record of it".to_owned());
            return Ok(());
        };
        if !changes.is_empty() && self.report.count() != changes.len() {
            self.tell(&Notice::IrreconcilableFound { count: changes.len() });
        }
        self.teller.irreconcilable(changes.len(), comparison.base_kept);
        self.report.told = Some((current, changes));
        Ok(())
    }

    async fn comparison(&mut self) -> Result<Comparison, Failure> {
        match self.put(Request::Irreconcilable).await? {
            Reply::Irreconcilable(comparison) => Ok(comparison),
            other => Err(super::acting::unexpected(&other)),
        }
    }

    /// The configuration that was served when the machine was installed, where the cluster still has it; else the present.
    pub(super) async fn keep_base(&mut self) -> Result<(), Failure> {
        let served = self.known.node.as_ref().and_then(|node| node.annotation(keys::FIRST_PIVOT_CONFIG));
        let config = match served.map(ConfigRef::new) {
            Some(served) => served_config(self.outside.config(&served).await)?,
            None => None,
        };
        match self.put(Request::KeepBase { config }).await? {
            Reply::BaseKept { config } => {
                self.tell(&Notice::BaseKept { config });
                Ok(())
            }
            Reply::Nothing => Ok(()),
            other => Err(super::acting::unexpected(&other)),
        }
    }

    /// Once is enough: it does not get better by itself.
    fn say_missing(&mut self, reason: String) {
        if !std::mem::replace(&mut self.report.missing, true) {
            self.tell(&Notice::BaseMissing { reason });
        }
    }
}

/// The configuration that the machine was installed with, if the cluster has it. One that cannot be read now is not gone: what
/// is kept in its place is kept for good.
fn served_config(read: Result<Sealed, Unavailable>) -> Result<Option<Sealed>, Failure> {
    match read {
        Ok(config) => Ok(Some(config)),
        Err(Unavailable { gone: true, .. }) => Ok(None),
        Err(Unavailable { reason, .. }) => {
            let reasons = vec!["cannot tell what this node was installed with".to_owned(), reason];
            Err(Failure { class: Class::Transient, reasons, remedy: None, unchanged: true })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_cannot_be_read_now_is_not_taken_for_one_that_is_gone() {
        let missing = |gone, passing| Err(Unavailable { reason: "timed out".to_owned(), passing, gone });
        assert_eq!(served_config(missing(true, true)).unwrap(), None);
        for passing in [true, false] {
            let failure = served_config(missing(false, passing)).unwrap_err();
            assert_eq!((failure.class, failure.reasons[1].as_str()), (Class::Transient, "timed out"));
        }
    }
}
