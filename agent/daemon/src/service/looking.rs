//! Looking at an update before it is begun: what it is about, and what the applier prepares for it.

use ostler_core::node::{ConfigRef, Notice, Outlook, target};
use ostler_core::protocol::{Destination, Failure, Prepare, Reply, Request};

use super::acting::unexpected;
use super::outlook::{self, Look, Ready, Subject};
use super::stopwatch::Stopwatch;
use super::worker::Worker;

impl Worker {
    /// What an update would be about now.
    pub(super) fn subject(&self) -> Option<Subject> {
        let target = target(self.known.node.as_ref()?, &self.machine)?;
        Some(Subject {
            current: self.current(),
            desired: target.config,
            rollback: target.rollback,
            rules: self.known.rules.clone(),
            forced: self.machine.forced,
        })
    }

    pub(super) fn current(&self) -> Option<ConfigRef> {
        ConfigRef::from_texts(self.machine.config.as_deref(), self.machine.image.as_deref())
    }

    /// Has the update to the desired configuration prepared.
    pub(super) async fn plan(&mut self) -> Result<(), Failure> {
        let Some(subject) = self.subject() else { return Ok(()) };
        let mounted = self.known.mounted;
        self.stopwatch = Stopwatch::default();
        let (outlook, ready) = self.prepared(&subject).await?;
        self.look = Some(Look { subject, mounted, outlook, ready });
        Ok(())
    }

    async fn prepared(&mut self, subject: &Subject) -> Result<(Outlook, Option<Ready>), Failure> {
        let to = if subject.rollback {
            Destination::Previous
        } else {
            match self.outside.config(&subject.desired).await {
                Err(missing) if missing.passing => return Ok((Outlook::Blocked(missing.reason), None)),
                Err(missing) => return Ok((Outlook::Refused(outlook::degraded(missing.reason)), None)),
                Ok(target) => Destination::Config(target),
            }
        };
        match self.put(Request::Prepare(Prepare { to, rules: subject.rules.clone() })).await? {
            Reply::Prepared(prepared) => {
                if !prepared.base_known && self.known.gates.irreconcilable {
                    // Later configurations are less and less like the one that the machine was installed with.
                    self.keep_base().await?;
                }
                self.warn(&subject.desired.config, &prepared.warnings);
                let (update, ready) = outlook::ready(subject, *prepared, self.root.connection());
                Ok((Outlook::Ready(update), Some(ready)))
            }
            Reply::Nothing => Ok((outlook::nothing(subject), None)),
            Reply::Unreconcilable(failure) => Ok((outlook::unreconcilable(&failure), None)),
            Reply::Failed(failure) => Ok((outlook::after_check(&failure), None)),
            other => Err(unexpected(&other)),
        }
    }

    /// A configuration is prepared again and again; what is worth knowing of it is told once.
    fn warn(&mut self, config: &str, warnings: &[String]) {
        if self.warned.as_ref().is_some_and(|(warned, told)| warned == config && told == warnings) {
            return;
        }
        if !warnings.is_empty() {
            self.tell(&Notice::ConfigDoubtful { config: config.to_owned(), words: warnings.join("; ") });
        }
        self.warned = Some((config.to_owned(), warnings.to_vec()));
    }
}
