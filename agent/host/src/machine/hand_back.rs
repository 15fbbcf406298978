//! Handing a machine back to the machine-config-daemon: in a state that it starts from without a complaint.
//!
//! Owns what has to be true before, and what is left of us afterwards. Refuses to mend anything on the way: what is in the
//! way is told, with what mends it. That the machine is not ours any more is the last thing that becomes true.

use ostler_core::drift::{Difference, Drift, Subject};
use ostler_core::protocol::Handed;
use ostler_core::reconcile::FORCE_FILE;

use super::Machine;
use super::place::{CURRENT_CONFIG, CURRENT_IMAGE};
use super::prepare::TAG;
use crate::batch::{self, Batch};
use crate::disk::{Disk, RootPath};
use crate::journal::Slot;
use crate::transaction::{Snapshot, Trouble, settled};

/// Differences that are named in a refusal; more say nothing more.
const MOST_NAMED: usize = 5;

impl<D: Disk> Machine<'_, D> {
    /// Hands the machine back, or only says whether it could be. May be asked for again at any time.
    pub fn hand_back(&self, check: bool) -> Result<Handed, Trouble> {
        let snapshot = settled(self)?;
        self.check_settled(&snapshot)?;
        let config = snapshot.current.config.name.clone();
        let mut done = Vec::new();
        if check {
            return Ok(Handed { config, done });
        }
        self.journal.require_held()?;
        if self.write_record(&snapshot.current, snapshot.current.config.built_image.as_deref())? {
            done.push(format!(
                "{CURRENT_CONFIG} and {CURRENT_IMAGE} were written as machine-config-daemon writes them"
            ));
        }
        if snapshot.forced {
            let removals = vec![RootPath::new(FORCE_FILE).map_err(Trouble::path(FORCE_FILE))?];
            batch::apply(self.disk, &Batch { removals, ..Batch::default() }, TAG)?;
            done.push(format!("{FORCE_FILE} was removed"));
        }
        if self.forget()? {
            done.push("what ostler remembered of earlier configurations was removed".to_owned());
        }
        Ok(Handed { config, done })
    }

    /// Whether the daemon would find everything as it expects it.
    fn check_settled(&self, snapshot: &Snapshot) -> Result<(), Trouble> {
        if snapshot.current.is_empty() {
            return Err(Trouble::NothingToHandBack);
        }
        let config = &snapshot.current.config.name;
        if !self.owed(config)?.is_empty() {
            return Err(Trouble::NotRestarted { config: config.clone() });
        }
        if let Some(trial) = &snapshot.trial {
            return Err(Trouble::OnTrial { config: trial.config.clone() });
        }
        if let Some(behind) = self.behind_now(&snapshot.current)? {
            return Err(Trouble::Behind { config: config.clone(), words: behind.words });
        }
        let found: Vec<Drift> = self.drift()?.into_iter().filter(is_minded).collect();
        if found.is_empty() {
            return Ok(());
        }
        let named: Vec<&str> = found.iter().take(MOST_NAMED).map(|drift| name(&drift.subject)).collect();
        Err(Trouble::Drifted { config: config.clone(), count: found.len(), named: named.join(", ") })
    }

    /// Removes the journal's records, the one that says whose the machine is at the very end; whether there were any.
    fn forget(&self) -> Result<bool, Trouble> {
        let known = self.charge()?.is_some() || self.last()?.is_some();
        let ours = [Slot::Trial, Slot::Restart, Slot::Owed, Slot::Failed, Slot::Rejected, Slot::Hold, Slot::Previous];
        for slot in ours.into_iter().chain([Slot::Deployment]) {
            self.journal.clear(slot)?;
        }
        self.journal.sweep(&[])?;
        self.journal.clear(Slot::Last)?;
        self.journal.clear(Slot::Charge)?;
        Ok(known)
    }
}

/// Whether the daemon would degrade the node for it.
const fn is_minded(drift: &Drift) -> bool {
    let compared = matches!(drift.subject, Subject::File { .. } | Subject::Unit { .. } | Subject::Dropin { .. });
    let differs = !matches!(drift.difference, Difference::Owner { .. } | Difference::Label { .. } | Difference::Extra);
    compared && differs
}

fn name(subject: &Subject) -> &str {
    match subject {
        Subject::File { path } => path,
        Subject::Unit { unit } => unit,
        Subject::Dropin { dropin, .. } => dropin,
        Subject::SshKeys { user } | Subject::Password { user } => user,
        Subject::OsImage => "the OS image",
    }
}
