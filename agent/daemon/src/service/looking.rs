//! Looking at an update before it is begun: what it is about, what the machine is in, and what the root half makes of it.

use ostler_core::node::{ConfigRef, Outlook};
use ostler_core::protocol::{Failure, Observation, Reply, Request};

use super::outlook::{self, Look, Subject};
use super::stopwatch::Stopwatch;
use super::worker::Worker;

impl Worker {
    /// What an update would be about now.
    pub(super) fn subject(&self) -> Option<Subject> {
        Some(Subject {
            current: self.current(),
            desired: self.known.node.as_ref()?.desired()?,
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
        if self.known.rules_pending {
            let outlook = Outlook::Blocked("the operator has yet to merge the disruption policies".to_owned());
            self.look = Some(Look { subject, mounted, outlook, change: None });
            return Ok(());
        }
        let observation = self.observation().await?;
        if observation.install_time.is_none() && self.known.gates.irreconcilable {
            // Later configurations are less and less like the one that the machine was installed with.
            self.keep_base(&observation).await?;
        }
        let (outlook, change) = match self.outside.config(&subject.desired).await {
            Err(missing) if missing.passing => (Outlook::Blocked(missing.reason), None),
            Err(missing) => (Outlook::Refused(outlook::degraded(missing.reason)), None),
            Ok(target) => match outlook::plan(&subject, &observation, target) {
                Err(trouble) => (Outlook::Refused(trouble), None),
                Ok((change, update)) => match self.put(Request::Check(change.clone())).await? {
                    Reply::Failed(failure) => (outlook::after_check(&failure), None),
                    _ => (Outlook::Ready(update), Some(change)),
                },
            },
        };
        self.look = Some(Look { subject, mounted, outlook, change });
        Ok(())
    }

    pub(super) async fn observation(&mut self) -> Result<Observation, Failure> {
        match self.put(Request::Observe).await? {
            Reply::Observed(observation) => Ok(observation),
            other => Err(super::acting::unexpected(&other)),
        }
    }
}
