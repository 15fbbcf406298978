//! Looking at an update before it is begun: what it is about, what the machine is in, and what the root half makes of it.

use ostler_core::node::{ConfigRef, Notice, Outlook, target};
use ostler_core::protocol::{Failure, Observation, Reply, Request};
use ostler_core::warning::Warning;

use super::outlook::{self, Look, Planned, Subject};
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

    /// Looks at the update to the desired configuration.
    pub(super) async fn plan(&mut self) -> Result<(), Failure> {
        let Some(subject) = self.subject() else { return Ok(()) };
        let mounted = self.known.mounted;
        self.stopwatch = Stopwatch::default();
        let observation = self.observation().await?;
        if observation.install_time.is_none() && self.known.gates.irreconcilable {
            // Later configurations are less and less like the one that the machine was installed with.
            self.keep_base(&observation).await?;
        }
        let (outlook, change) = match self.planned(&subject, &observation).await {
            Err(outlook) => (outlook, None),
            Ok(Planned { change, update, warnings }) => {
                self.warn(&update.to.config, warnings);
                match self.put(change.check.clone()).await? {
                    Reply::Failed(failure) => (outlook::after_check(&failure), None),
                    _ => (Outlook::Ready(update), Some(change)),
                }
            }
        };
        self.look = Some(Look { subject, mounted, outlook, change });
        Ok(())
    }

    async fn planned(&self, subject: &Subject, observation: &Observation) -> Result<Planned, Outlook> {
        if subject.rollback {
            return outlook::plan_rollback(subject, observation).map_err(Outlook::Refused);
        }
        match self.outside.config(&subject.desired).await {
            Err(missing) if missing.passing => Err(Outlook::Blocked(missing.reason)),
            Err(missing) => Err(Outlook::Refused(outlook::degraded(missing.reason))),
            Ok(target) => outlook::plan(subject, observation, target).map_err(Outlook::Refused),
        }
    }

    /// A configuration is looked at again and again; what is worth knowing of it is told once.
    fn warn(&mut self, config: &str, warnings: Vec<Warning>) {
        let told = (config.to_owned(), warnings);
        if self.warned.as_ref() == Some(&told) {
            return;
        }
        if !told.1.is_empty() {
            let words: Vec<_> = told.1.iter().map(Warning::message).collect();
            self.tell(&Notice::ConfigDoubtful { config: told.0.clone(), words: words.join("; ") });
        }
        self.warned = Some(told);
    }

    pub(super) async fn observation(&mut self) -> Result<Observation, Failure> {
        match self.put(Request::Observe).await? {
            Reply::Observed(observation) => Ok(observation),
            other => Err(super::acting::unexpected(&other)),
        }
    }
}
