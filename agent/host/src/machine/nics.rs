//! Names of network interfaces that are to stay: asked for once per boot, with kernel arguments that are staged and never
//! restarted for.
//!
//! Owns the record of what was asked for and is yet to be booted: nmstate says it once, and a deployment that is staged by
//! an update, or dropped again, must not lose it. What is asked and what it means for a line is core's.

use ostler_core::kargs::{self, Change};
use ostler_core::machine_config::MachineConfig;
use ostler_core::os::backend::Backend;
use ostler_core::os::goal::Goal;
use ostler_core::os::nics::{self, Manner, NicRecord};
use ostler_core::os::state::{Installed, OsState};
use ostler_core::secret::Secret;

use super::Machine;
use super::observe::read;
use super::place::NICS;
use super::prepare::TAG;
use crate::batch::{self, Batch, Write};
use crate::command::CommandError;
use crate::disk::{Attributes, Disk, RootPath};
use crate::os::OsHost;
use crate::transaction::{Trouble, World};

const PRIVATE: Attributes = Attributes { mode: 0o600, uid: 0, gid: 0 };

/// Whoever knows the names of interfaces.
pub trait NicNames {
    /// Asks; gives the kernel arguments as they were written, or nothing where nobody can be asked.
    fn ask(&self, manner: Manner) -> Result<Option<Vec<u8>>, CommandError>;
}

impl<D: Disk> Machine<'_, D> {
    /// Makes names stay, once per boot, and stages kernel arguments that are missing for it; gives those. Nothing is done
    /// in the middle of a transaction, whose deployment is not to be meddled with.
    pub fn persist_nics(&self, manner: Manner, names: &dyn NicNames) -> Result<Option<Change>, Trouble> {
        self.journal.require_held()?;
        let Some(host) = self.surroundings.os.as_deref() else { return Ok(None) };
        let snapshot = self.observe()?;
        if snapshot.interrupted.is_some() {
            return Ok(None);
        }
        let known = self.nic_record()?;
        let state = host.sysroot().read()?;
        let Some(booted) = &state.booted else { return Ok(None) };
        let asked = known.boot == self.surroundings.boot;
        let news = if asked { Change::default() } else { self.ask(manner, names)? };
        let pending = nics::missing(&nics::together(&known.pending, &news), &booted.kargs);
        let record = NicRecord { boot: self.surroundings.boot.clone(), pending };
        if record != known {
            self.note_nics(&record)?;
        }
        let pending = sparing(record.pending, &snapshot.current.config);
        if pending.is_empty() || !may_stage(host, booted, &state)? {
            return Ok(None);
        }
        let line = &state.staged.as_ref().unwrap_or(booted).kargs;
        let missing = nics::missing(&pending, line);
        if missing.is_empty() {
            return Ok(None);
        }
        host.sysroot().restage(&missing.apply_to(line))?;
        Ok(Some(missing))
    }

    /// Nothing depends on the giving up of notes, so it may fail.
    fn ask(&self, manner: Manner, names: &dyn NicNames) -> Result<Change, Trouble> {
        let written = match (names.ask(manner), manner) {
            (Ok(written), _) => written.unwrap_or_default(),
            (Err(_), Manner::Cleanup) => Vec::new(),
            (Err(source), Manner::Persist) => return Err(Trouble::NicNames { source: source.into() }),
        };
        manner.change(&written).map_err(|source| Trouble::NicNames { source: source.into() })
    }

    /// Puts what is yet to be booted on the line of a deployment that an update makes.
    pub(super) fn with_nics(&self, host: &dyn OsHost, goal: &mut Goal, target: &MachineConfig) -> Result<(), Trouble> {
        let pending = nics::missing(&sparing(self.nic_record()?.pending, target), &goal.kargs);
        if !pending.is_empty() && host.backend(goal)?.backend() != Backend::External {
            goal.kargs = pending.apply_to(&goal.kargs);
        }
        Ok(())
    }

    /// A record that cannot be read is as none: it is made again from what nmstate says.
    fn nic_record(&self) -> Result<NicRecord, Trouble> {
        let text = read(self.disk, NICS)?.unwrap_or_default();
        Ok(serde_json::from_slice(&text).unwrap_or_default())
    }

    fn note_nics(&self, record: &NicRecord) -> Result<(), Trouble> {
        let path = RootPath::new(NICS).map_err(Trouble::path(NICS))?;
        let text = serde_json::to_vec(record).map_err(|_| Trouble::Lost { what: "names of interfaces" })?;
        let write = Write {
            path,
            contents: Secret::new(text).into(),
            attributes: PRIVATE,
            label: None,
            xattrs: Default::default(),
        };
        batch::apply(self.disk, &Batch { writes: vec![write], ..Batch::default() }, TAG)?;
        Ok(())
    }
}

/// What a configuration wants on the line is not taken off it.
fn sparing(mut change: Change, config: &MachineConfig) -> Change {
    let own: Vec<String> = config.kernel_arguments.iter().flat_map(|entry| kargs::split(entry)).collect();
    change.remove.retain(|argument| !own.contains(argument));
    change
}

/// Whether deployments are ours to stage, and the one that would be changed is the one that is booted next.
fn may_stage(host: &dyn OsHost, booted: &Installed, state: &OsState) -> Result<bool, Trouble> {
    let next = state.next();
    let follows = state.staged.is_some() || next == Some(booted);
    Ok(follows && host.backend(&Goal::keeping(booted))?.backend() != Backend::External)
}
