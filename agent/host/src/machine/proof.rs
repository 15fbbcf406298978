//! What has yet to prove itself, and what was given up: the records of a trial and of rejected configurations.
//!
//! An update that takes effect with a restart is on trial from its end on; one that needs no restart and comes on top of a
//! trial goes on with it under its own name; a rollback that is applied ends it; what is undone, and a repair, leave it.
//! Refuses to judge whether a machine has proven itself: that is told.

use ostler_core::node::keys::MAX_REASON;
use ostler_core::os::boot_mark::BootMark;
use ostler_core::os::goal::Goal;
use ostler_core::os::preflight::FailedTarget;
use ostler_core::step::Step;
use ostler_core::transaction::{Ending, Finished, Open, Purpose, Rejected, Trial};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Machine;
use super::save::MOST_FAILED;
use crate::disk::Disk;
use crate::journal::{Loaded, Slot};
use crate::os::OsError;
use crate::transaction::{self, Trouble};

/// More rejections than these say nothing more.
const MOST_REJECTED: usize = 16;

/// A trial as the journal keeps it, with the one that counts until the transaction that brought it is closed: both ends
/// come with the removal of the plan, at once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Held {
    trial: Option<Trial>,
    earlier: Option<Trial>,
    from: String,
    to: String,
    began: u64,
}

impl Held {
    /// The trial, while this transaction is open.
    pub(super) fn beside(self, open: Option<&Open>) -> Option<Trial> {
        let own = |open: &Open| open.began == self.began && open.from == self.from && open.to == self.to;
        if open.is_some_and(own) { self.earlier } else { self.trial }
    }
}

/// The trial after the end of a transaction.
pub(super) fn after(earlier: Option<Trial>, open: &Open, finished: &Finished) -> Option<Trial> {
    let config = finished.to.clone();
    match (finished.purpose, &finished.ending, takes_effect_after(open, finished)) {
        (Purpose::Update, Ending::Applied, Some(before)) => {
            let os = open.os.is_some() || earlier.is_some_and(|earlier| earlier.os);
            Some(Trial { config, before, os, since: finished.ended })
        }
        (Purpose::Update, Ending::Applied, None) => earlier.map(|earlier| Trial { config, ..earlier }),
        (Purpose::Rollback, Ending::Applied, _) => None,
        _ => earlier,
    }
}

/// The boot before the restart that an applied transaction needs, or has had; none where it needs none.
fn takes_effect_after(open: &Open, finished: &Finished) -> Option<BootMark> {
    // The files of a machine cannot be restarted, and the machine whose they are will be.
    if finished.reboot || finished.left_out.contains(&Step::Reboot) {
        return Some(finished.boot.clone());
    }
    let restarted = open.os.is_some() && !open.boot.lasts(&finished.boot);
    restarted.then(|| open.awaits_end_of.clone().unwrap_or_else(|| open.boot.clone()))
}

impl<D: Disk> Machine<'_, D> {
    /// The trial that is on.
    pub(super) fn trial(&self, open: Option<&Open>) -> Result<Option<Trial>, Trouble> {
        Ok(self.record::<Held>(Slot::Trial)?.unwrap_or_default().beside(open))
    }

    /// What the end of a transaction means for the configuration it was to lead to. The plan is still there.
    pub(super) fn judge(&self, finished: &Finished) -> Result<(), Trouble> {
        let Some(open) = self.record::<Open>(Slot::Plan)? else { return Ok(()) };
        let earlier = self.trial(Some(&open))?;
        let trial = after(earlier.clone(), &open, finished);
        if trial != self.trial(None)? {
            let (from, to, began) = (open.from.clone(), open.to.clone(), open.began);
            self.put(Slot::Trial, &Held { trial, earlier, from, to, began })?;
        }
        match (&finished.ending, finished.purpose) {
            (Ending::Applied, Purpose::Update) => self.forgive(&finished.to),
            (Ending::Undone { reason }, Purpose::Update) if !open.blameless => self.reject_end(finished, reason),
            // To try it again by itself would lead to the same dead end.
            (Ending::Abandoned { reason, .. }, Purpose::Update) => self.reject_end(finished, reason),
            (
                Ending::Applied | Ending::Undone { .. } | Ending::AwaitsReboot { .. } | Ending::Abandoned { .. },
                Purpose::Update | Purpose::Rollback | Purpose::Repair,
            ) => Ok(()),
        }
    }

    fn rejected(&self) -> Result<Vec<Rejected>, Trouble> {
        Ok(self.record(Slot::Rejected)?.unwrap_or_default())
    }

    fn reject(&self, mut rejection: Rejected) -> Result<(), Trouble> {
        rejection.reason = rejection.reason.chars().take(MAX_REASON).collect();
        let mut rejected = self.rejected()?;
        rejected.retain(|other| other.config != rejection.config);
        rejected.insert(0, rejection);
        rejected.truncate(MOST_REJECTED);
        self.put(Slot::Rejected, &rejected)
    }

    fn reject_end(&self, finished: &Finished, reason: &str) -> Result<(), Trouble> {
        self.reject(Rejected { config: finished.to.clone(), reason: reason.to_owned(), at: finished.ended })
    }

    fn forgive(&self, config: &str) -> Result<(), Trouble> {
        let mut rejected = self.rejected()?;
        let known = rejected.len();
        rejected.retain(|other| other.config != config);
        if rejected.len() == known { Ok(()) } else { self.put(Slot::Rejected, &rejected) }
    }

    /// A trial is given up, and its image with it, where it brought one.
    pub(super) fn give_up(&self, rejection: &Rejected, digest: Option<String>) -> Result<(), Trouble> {
        self.reject(rejection.clone())?;
        let Some(digest) = digest else { return Ok(()) };
        let mut failed = self.failed()?;
        failed.retain(|other| other.digest != digest);
        let reason = rejection.reason.chars().take(MAX_REASON).collect();
        failed.insert(0, FailedTarget { config: Some(rejection.config.clone()), digest, reason });
        failed.truncate(MOST_FAILED);
        self.put(Slot::Failed, &failed)
    }

    /// The machine has proven itself: nothing is kept to go back to. Gives the configuration; `None` without a trial.
    ///
    /// Cut off in between, the trial is still on and can be confirmed again.
    pub fn confirm(&self) -> Result<Option<String>, Trouble> {
        let Some(Trial { config, before, .. }) = transaction::settled(self)?.trial else { return Ok(None) };
        if before.lasts(&self.surroundings.boot) {
            return Err(Trouble::NotRestarted { config });
        }
        self.forget_rollback()?;
        self.forgive(&config)?;
        self.journal.clear(Slot::Trial)?;
        Ok(Some(config))
    }

    /// What the boot loader would start by itself is never dropped: where that is not what runs, all stay.
    fn forget_rollback(&self) -> Result<(), Trouble> {
        let Some(host) = self.surroundings.os.as_deref().filter(|_| self.surroundings.live) else { return Ok(()) };
        let state = host.sysroot().read()?;
        let default = state.deployments.iter().find(|other| Some(*other) != state.staged.as_ref());
        let Some(booted) = state.booted.as_ref().filter(|booted| default == Some(*booted)) else { return Ok(()) };
        if state.rollback.as_ref().is_none_or(|rollback| rollback.pinned) {
            return Ok(());
        }
        match host.backend(&Goal::keeping(booted)) {
            // Where nothing changes deployments, nothing is kept by us either.
            Err(OsError::NoBackend(_)) => Ok(()),
            backend => Ok(backend?.forget()?),
        }
    }

    /// A record that cannot be read is none.
    pub(super) fn record<T: DeserializeOwned>(&self, slot: Slot) -> Result<Option<T>, Trouble> {
        match self.journal.load(slot)? {
            Loaded::Intact(payload) => Ok(serde_json::from_slice(payload.expose()).ok()),
            Loaded::Absent | Loaded::Damaged { .. } => Ok(None),
        }
    }
}
