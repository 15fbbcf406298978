//! Taking over what a machine-config-daemon has left: its record, its leftovers, and an update that it did not finish.
//!
//! Owns the order in which a machine becomes ours: that it has is recorded last, so whoever is cut off begins again.
//! Refuses to decide when: that is asked for. What differs from the configuration is put right as a transaction; what only
//! an update can put right, the operating system and a restart, is noted for the next plan.

use std::sync::Arc;

use ostler_core::bootstrap::{self, Bootstrap};
use ostler_core::document;
use ostler_core::drift::Difference;
use ostler_core::ignition::Invalid;
use ostler_core::machine_config::set_built_image;
use ostler_core::os::behind::Behind;
use ostler_core::os::state::OsState;
use ostler_core::protocol::{Handed, TakeOver};
use ostler_core::recorded::Recorded;
use ostler_core::secret::Secret;
use ostler_core::shared_text::shared_text;
use ostler_core::transaction::{Ending, Finished};
use ostler_core::words;

use super::charge::{self, Charge};
use super::first_boot::is_first_boot;
use super::observe;
use super::place::{
    CURRENT_CONFIG, CURRENT_IMAGE, DAEMON_OF_THIS_BOOT, ENCAPSULATED, ENCAPSULATED_DONE, IGNITION_PRESET,
    NODE_ANNOTATIONS, NODE_ANNOTATIONS_DONE,
};
use super::prepare::TAG;
use super::record;
use super::wanted::Wanted;
use super::{Machine, labels, log};
use crate::batch::{self, Batch};
use crate::disk::{Disk, Kind, RootPath};
use crate::journal::{Loaded, Slot, View};
use crate::transaction::{self, Listener, Snapshot, Trouble, settled};

/// What the machine is to be introduced to its cluster with, while that file is there.
pub(super) fn bootstrap(disk: &impl Disk) -> Result<Option<Bootstrap>, Trouble> {
    let path = RootPath::new(NODE_ANNOTATIONS).map_err(Trouble::path(NODE_ANNOTATIONS))?;
    if disk.stat(&path).map_err(Trouble::disk("inspect", &path))?.is_none() {
        return Ok(None);
    }
    // That it is there is what counts.
    let text = disk.read(&path, bootstrap::MAX_BYTES).unwrap_or_default();
    Ok(Some(Bootstrap::parse(&text)))
}

/// How the operating system is not the one of the configuration, on a machine that was taken over like that.
pub fn behind(disk: &impl Disk, state: &OsState) -> Result<Option<Behind>, Trouble> {
    let view = View::new(disk, &log::directory()?);
    let Loaded::Intact(payload) = view.load(Slot::Charge)? else { return Ok(None) };
    let charge: Charge = serde_json::from_slice(payload.expose()).unwrap_or_default();
    if !charge.os && !charge.again {
        return Ok(None);
    }
    Ok(charge.behind(&observe::current(disk)?.config, state))
}

/// What is done in the course of taking over.
struct Course {
    /// Whether the record had to be made anew from what others know.
    restored: bool,
    done: Vec<String>,
}

impl<D: Disk> Machine<'_, D> {
    /// Takes the machine over; where it is ours already, only what may have been left over is cleared away.
    pub fn take_over(&self, order: TakeOver, listener: Listener<'_>) -> Result<Handed, Trouble> {
        self.journal.require_held()?;
        let mut course = Course { restored: false, done: Vec::new() };
        let restart = order.restart;
        if self.open_transaction()?.is_some() {
            // What is recorded then is the open transaction's business.
            settled(self)?;
        }
        self.restore_record(order, &mut course)?;
        let snapshot = settled(self)?;
        let config = snapshot.current.config.name.clone();
        let ours = charge::is_ours(&config, self.charge()?.as_ref(), self.last()?.as_ref());
        self.clear_leftovers(&mut course)?;
        if !ours && !snapshot.current.is_empty() {
            self.settle(snapshot, restart, &mut course, listener)?;
        }
        Ok(Handed { config, done: course.done })
    }

    /// The introduction of the node to its cluster is over.
    pub fn introduced(&self) -> Result<bool, Trouble> {
        self.journal.require_held()?;
        self.move_aside(NODE_ANNOTATIONS, NODE_ANNOTATIONS_DONE)
    }

    pub(super) fn charge(&self) -> Result<Option<Charge>, Trouble> {
        self.record(Slot::Charge)
    }

    pub(super) fn last(&self) -> Result<Option<Finished>, Trouble> {
        self.record(Slot::Last)
    }

    /// How the operating system is not the one of this configuration, where that was found when it was taken over.
    pub(super) fn behind(&self, current: &Recorded) -> Result<Option<Behind>, Trouble> {
        match self.charge()? {
            Some(charge) if charge.os || charge.again => Ok(charge.behind(&current.config, &self.os_state()?)),
            _ => Ok(None),
        }
    }

    /// The same for a machine of which nothing is known.
    pub(super) fn behind_now(&self, current: &Recorded) -> Result<Option<Behind>, Trouble> {
        Ok(Behind::of(&current.config, &self.os_state()?))
    }

    pub(super) fn os_state(&self) -> Result<OsState, Trouble> {
        match self.surroundings.os.as_deref().filter(|_| self.surroundings.live) {
            Some(host) => Ok(host.sysroot().read()?),
            None => Ok(OsState::default()),
        }
    }

    fn settle(
        &self,
        snapshot: Snapshot,
        restart: bool,
        course: &mut Course,
        listener: Listener<'_>,
    ) -> Result<(), Trouble> {
        let config = snapshot.current.config.name.clone();
        let begun = self.charge()?.filter(|charge| charge.config == config).unwrap_or_default();
        let behind = self.behind_now(&snapshot.current)?;
        // What the daemon announced, it did in the boot it ran in; in another one it has had its restart.
        let announced = restart && self.is_there(DAEMON_OF_THIS_BOOT)?;
        let due = announced || !self.owed(&config)?.is_empty();
        let due = due.then(|| self.surroundings.boot.clone());
        let charge = Charge {
            since: (self.surroundings.now)(),
            settling: true,
            restart: begun.restart.or(due),
            os: begun.os || behind.is_some(),
            again: begun.again || course.restored,
            config,
        };
        self.forget_older()?;
        self.put(Slot::Charge, &charge)?;
        self.put_right(snapshot, course, listener)?;
        if charge.restart.is_some() {
            course.done.push("a restart is due".to_owned());
        }
        course.done.extend(behind.map(|behind| behind.words));
        self.put(Slot::Charge, &Charge { settling: false, ..charge })
    }

    /// What we knew of the machine before another agent had it is of no use any more.
    fn forget_older(&self) -> Result<(), Trouble> {
        if self.charge()?.is_none() && self.last()?.is_some() {
            for slot in [Slot::Previous, Slot::Trial, Slot::Restart, Slot::Owed, Slot::Last] {
                self.journal.clear(slot)?;
            }
        }
        Ok(())
    }

    /// Makes the machine agree with its configuration. Drop-ins that somebody added are not the daemon's work, and stay.
    fn put_right(&self, snapshot: Snapshot, course: &mut Course, listener: Listener<'_>) -> Result<(), Trouble> {
        let mut drift = self.drift()?;
        drift.retain(|drift| drift.difference != Difference::Extra);
        let count = drift.len();
        let Some(proposal) = Self::propose_repair_of(snapshot, &drift)? else { return Ok(()) };
        match transaction::run(self, &proposal, listener)?.ending {
            Ending::Undone { reason } | Ending::Abandoned { reason, .. } => Err(Trouble::NotTakenOver { reason }),
            Ending::Applied | Ending::AwaitsReboot { .. } => {
                course.done.push(format!("{} from its configuration repaired", words::count(count, "difference")));
                Ok(())
            }
        }
    }

    /// The record of the configuration, where there is none of any use: what the cluster says, or what was served when the
    /// machine was installed.
    fn restore_record(&self, order: TakeOver, course: &mut Course) -> Result<(), Trouble> {
        let current = match (observe::current(self.disk), order.config) {
            (Err(trouble @ Trouble::Record { .. }), Some(config)) => {
                let config = Recorded::from_text(config.into_text())?;
                if config.config.validity == Err(Invalid::Empty) {
                    return Err(trouble);
                }
                course.restored = true;
                course.done.push("its record could not be read, and was made anew".to_owned());
                config
            }
            (current, _) => current?,
        };
        let own = observe::read(self.disk, CURRENT_CONFIG)?.and_then(|text| observe::recorded(text).ok());
        let is_whole = own.is_some_and(|own| own.config.ignition == current.config.ignition);
        // A hosted cluster's record is elsewhere, and whole.
        if current.is_empty() || current.config.hosted.is_some() || (is_whole && !course.restored) {
            return Ok(());
        }
        let image = current.config.built_image.clone().or_else(|| self.first_image(&current));
        self.write_record(&current, image.as_deref())?;
        if !course.restored {
            course.done.push("its record was completed from what it was installed with".to_owned());
        }
        Ok(())
    }

    /// The image that the machine was installed with, while it is told.
    fn first_image(&self, current: &Recorded) -> Option<String> {
        let first = bootstrap(self.disk).ok()??.current()?;
        first.image.filter(|_| first.config == current.config.name)
    }

    /// Writes the record as the other agent does; whether anything was not so already.
    pub(super) fn write_record(&self, current: &Recorded, image: Option<&str>) -> Result<bool, Trouble> {
        let mut document = document::parse(current.json.expose())
            .map_err(|source| Trouble::Record { path: CURRENT_CONFIG, source: source.into() })?;
        set_built_image(&mut document, None);
        let image = Secret::new(image.unwrap_or_default().as_bytes().to_vec());
        let (accounts, labels) = (self.accounts()?, labels::load(self.disk)?);
        let wanted = Wanted::new(&current.config, &accounts, labels.as_ref());
        let writes = vec![
            record::whole(self.disk, &wanted, CURRENT_CONFIG, Arc::new(Secret::new(shared_text(&document))))?,
            wanted.record(CURRENT_IMAGE, Arc::new(image))?,
        ];
        let counts = batch::apply(self.disk, &Batch { writes, ..Batch::default() }, TAG)?;
        Ok(counts.written > 0)
    }

    /// What the daemon does when it starts: the first boot is over, and presets of the installer say nothing any more.
    fn clear_leftovers(&self, course: &mut Course) -> Result<(), Trouble> {
        // While the first boot lasts, it says when it is over.
        if !is_first_boot(self.disk)? && self.move_aside(ENCAPSULATED, ENCAPSULATED_DONE)? {
            course.done.push(format!("{ENCAPSULATED} was set aside"));
        }
        if self.is_there(IGNITION_PRESET)? {
            let removals = vec![RootPath::new(IGNITION_PRESET).map_err(Trouble::path(IGNITION_PRESET))?];
            batch::apply(self.disk, &Batch { removals, ..Batch::default() }, TAG)?;
            course.done.push(format!("{IGNITION_PRESET} was removed"));
        }
        Ok(())
    }

    /// Whether a file or link is there.
    fn is_there(&self, path: &'static str) -> Result<bool, Trouble> {
        let path = RootPath::new(path).map_err(Trouble::path(path))?;
        let stat = self.disk.stat(&path).map_err(Trouble::disk("inspect", &path))?;
        Ok(stat.is_some_and(|stat| matches!(stat.kind, Kind::File | Kind::Link)))
    }

    /// Gives a file another name beside it, durably; whether it was there.
    pub(super) fn move_aside(&self, from: &'static str, to: &'static str) -> Result<bool, Trouble> {
        if !self.is_there(from)? {
            return Ok(false);
        }
        let (source, target) =
            (RootPath::new(from).map_err(Trouble::path(from))?, RootPath::new(to).map_err(Trouble::path(to))?);
        self.disk.rename(&source, &target).map_err(Trouble::disk("rename", &source))?;
        self.disk.sync_directory(target.parent().as_ref()).map_err(Trouble::disk("sync the directory of", &target))?;
        Ok(true)
    }
}
