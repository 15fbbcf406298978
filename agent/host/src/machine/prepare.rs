//! A journey worked out and checked: everything that can fail without changing anything fails here.

use std::collections::{BTreeMap, BTreeSet};

use nix::errno::Errno;
use ostler_core::certificates;
use ostler_core::machine_config::MachineConfig;
use ostler_core::os::boot_mark::Restarted;
use ostler_core::os::goal::OsChange;
use ostler_core::protocol::Forecast;
use ostler_core::secret::Secret;
use ostler_core::step::Step;
use ostler_core::transaction::{Direction, Finished, Phase, Purpose};

use super::draft::{Action, Draft};
use super::forward::{Drafting, MASK};
use super::origin::{Kept, Origin};
use super::place;
use super::wanted::Wanted;
use super::{Machine, labels, left, log, progress, record};
use crate::accounts::{Accounts, KnownOwners};
use crate::batch;
use crate::disk::{Disk, Obstacle, RootPath};
use crate::journal::{Loaded, Slot};
use crate::originals::{self, NoPackages, PackageDatabase, PackageOwners, Standing};
use crate::systemd::offline;
use crate::transaction::{Journey, Trouble};

/// Names the temporaries of all transactions: there is never more than one.
pub(super) const TAG: &str = "tx";

/// What a transaction may displace and keep for its undo.
pub(super) const MOST_DISPLACED: u64 = 32 << 20;

/// One direction of a transaction, ready to run.
#[derive(Debug)]
pub struct Way {
    pub(super) draft: Draft,
    /// What it takes to come back, on a way that has not begun.
    pub(super) origin: Option<Origin>,
    /// Directories that the way takes away again where nothing is left in them, outermost first.
    pub(super) unmake: Vec<RootPath>,
    /// Directories to be swept of temporaries first.
    pub(super) sweep: Vec<RootPath>,
    /// What the undo before this could not remove.
    pub(super) leftovers: Vec<RootPath>,
    pub(super) accounts: Accounts,
    /// What happens to the operating system.
    pub(super) os: Option<OsChange>,
    pub(super) direction: Direction,
    /// What has restarted since the transaction began.
    pub(super) restarted: Restarted,
    /// The paths of the target, where the operating system changes.
    pub(super) managed: BTreeSet<RootPath>,
    forecast: Forecast,
}

/// What is known of the machine before its current configuration.
#[derive(Default)]
struct Previous {
    displaced: BTreeMap<RootPath, Option<Standing>>,
    made: Vec<RootPath>,
    owners: KnownOwners,
}

impl Way {
    /// What it would do, beyond its steps.
    pub fn forecast(&self) -> &Forecast {
        &self.forecast
    }
}

impl<D: Disk> Machine<'_, D> {
    pub(super) fn way(&self, journey: &Journey<'_>) -> Result<Way, Trouble> {
        let repairs = self.merge_repairs(journey)?;
        let mut steps = self.with_repairs(journey)?;
        if !repairs.is_empty() && journey.direction == Direction::Forward {
            left::add_missing(steps.to_mut(), repairs.clone());
        }
        let journey = &Journey { steps: &steps, ..*journey };
        let (saved, previous) = (self.saved_origin(journey)?, self.before(journey)?);
        let accounts =
            self.accounts_of(journey, saved.as_ref().map(|origin| &origin.owners))?.knowing(&previous.owners);
        let labels = labels::load(self.disk)?;
        let written = journey.steps.iter().chain(&repairs);
        let wanted = Wanted::new(&journey.target.config, &accounts, labels.as_ref()).with_files_of(written);
        let (os, mut notes) = self.os_change(journey)?;
        let mut draft = match (journey.direction, &saved) {
            (Direction::Back, Some(origin)) => self.back(journey, origin, &repairs, &wanted)?,
            (Direction::Back, None) => return Err(Trouble::Lost { what: "origin" }),
            (Direction::Forward, saved) => {
                let mut draft = self.forward(journey, &wanted, &previous.displaced)?;
                saved.iter().try_for_each(|origin| self.redraft(&mut draft, origin))?;
                self.pass_over_blocked(&mut draft, journey, os.is_some())?;
                draft
            }
        };
        self.spare(&mut draft, journey)?;
        let mut remarks = self.check_services(&draft, journey)?;
        if self.surroundings.manager.is_none() {
            self.leave_untold(&mut draft, journey)?;
        }
        notes.append(&mut remarks);
        let managed = os.as_ref().map(|_| left::managed(&journey.target.config)).unwrap_or_default();
        let mut way = Way {
            draft,
            origin: None,
            unmake: previous.made,
            sweep: saved.as_ref().map(|origin| origin.directories.clone()).unwrap_or_default(),
            leftovers: self.leftovers(journey)?,
            accounts,
            os,
            direction: journey.direction,
            restarted: self.restarted(journey),
            managed,
            forecast: Forecast { notes, ..Forecast::default() },
        };
        way.sweep.extend(way.draft.links.paths().flat_map(RootPath::ancestors));
        match (journey.direction, saved) {
            (Direction::Forward, None) => way.origin = Some(self.first_origin(journey, &mut way)?),
            (Direction::Back, Some(origin)) => way.unmake = origin.made,
            _ => {}
        }
        Ok(way)
    }

    /// What has restarted since the transaction began.
    pub(super) fn restarted(&self, journey: &Journey<'_>) -> Restarted {
        journey.boot.map(|began| began.since(&self.surroundings.boot)).unwrap_or_default()
    }

    /// Directories in which the last transaction left something behind.
    fn leftovers(&self, journey: &Journey<'_>) -> Result<Vec<RootPath>, Trouble> {
        let Loaded::Intact(last) = self.journal.load(Slot::Last)? else { return Ok(Vec::new()) };
        let last: Option<Finished> = serde_json::from_slice(last.expose()).ok();
        let last = last.filter(|_| journey.direction == Direction::Forward);
        let paths = last.map(|last| last.leftovers).unwrap_or_default();
        Ok(paths.into_iter().filter_map(|path| RootPath::new(path).ok()?.parent()).collect())
    }

    /// What was saved of this transaction when it began; nothing when it has not.
    fn saved_origin(&self, journey: &Journey<'_>) -> Result<Option<Origin>, Trouble> {
        if journey.boot.is_none() { Ok(None) } else { self.origin(Slot::Origin) }
    }

    fn forward(
        &self,
        journey: &Journey<'_>,
        wanted: &Wanted<'_>,
        remembered: &BTreeMap<RootPath, Option<Standing>>,
    ) -> Result<Draft, Trouble> {
        let packages = self.packages(journey.steps)?;
        let drafting =
            Drafting { disk: self.disk, wanted, packages: &*packages, live: self.surroundings.live, remembered };
        let mut draft = drafting.draft(journey.steps, journey.target)?;
        self.put_back_left(&mut draft, &drafting, journey)?;
        if !self.surroundings.live {
            if journey.purpose == Purpose::Rollback {
                // Presets would guess at links that are remembered.
                draft.enablement.retain(|enablement| enablement.wish != offline::Wish::Preset);
            }
            let links = self.links(&draft, &journey.target.config)?;
            links.into_iter().for_each(|(path, action)| draft.write.set(path, action));
        }
        for (path, standing) in remembered.iter().filter(|(path, _)| !originals::is_kept(path)) {
            draft.write.replace(path.clone(), Action::put_back(path, standing.clone()));
        }
        Ok(draft)
    }

    /// What an earlier run made or removed, and drafting takes for granted now, is drafted again: whether it, and the
    /// directories made for it, are durable is not known.
    fn redraft(&self, draft: &mut Draft, origin: &Origin) -> Result<(), Trouble> {
        let drafted = draft.touched();
        for (path, before) in origin.displaced.iter().filter(|(path, _)| !drafted.contains(path)) {
            let kept = originals::is_kept(path);
            match originals::read_standing(self.disk, path, MOST_DISPLACED)? {
                Some(standing) => {
                    let phase = if kept { &mut draft.preserve } else { &mut draft.write };
                    phase.set(path.clone(), Action::put_back(path, Some(standing)));
                }
                None if before.is_none() => {}
                None if kept => drop(draft.tidy.insert(path.clone())),
                None => draft.write.set(path.clone(), Action::Remove),
            }
        }
        Ok(())
    }

    /// On the way to the configuration before, what that one never knew is put back too, and directories that were made
    /// for the current one are taken away.
    fn before(&self, journey: &Journey<'_>) -> Result<Previous, Trouble> {
        match (journey.purpose, journey.direction) {
            (Purpose::Rollback, Direction::Forward) => {
                let origin = self.origin(Slot::Previous)?;
                let mut before =
                    origin.map(|Origin { displaced, made, owners, .. }| Previous { displaced, made, owners });
                if let Some(before) = &mut before {
                    // The cluster may have handed out others since, and would not be trusted with what was.
                    before.displaced.retain(|path, _| !certificates::is_delivered(path.as_str()));
                }
                Ok(before.unwrap_or_default())
            }
            _ => Ok(Previous::default()),
        }
    }

    /// Phases that are done are not drafted again: what they looked at has changed since. Services that were not told of
    /// the change need not be told of its end, and those of a machine that is booting start by themselves.
    fn spare(&self, draft: &mut Draft, journey: &Journey<'_>) -> Result<(), Trouble> {
        if journey.done.contains(&Phase::Preserve) {
            draft.preserve = Default::default();
        }
        if journey.done.contains(&Phase::Write) {
            draft.write = Default::default();
            draft.passwords.clear();
            draft.directories.clear();
        }
        if journey.direction == Direction::Back && !self.may_have_told_services()? {
            draft.services.clear();
        }
        let another_boot = self.restarted(journey) != Restarted::Nothing;
        if let Some(manager) = self.surroundings.manager.as_ref().filter(|_| another_boot)
            && manager.is_booting().or_else(|error| match journey.direction {
                Direction::Forward => Err(error),
                // They are told, or it is recorded that they could not be.
                Direction::Back => Ok(false),
            })?
        {
            draft.services.clear();
        }
        Ok(())
    }

    /// Whether the way forward got as far as its services. Where its first phase is not noted, the notes do not tell.
    fn may_have_told_services(&self) -> Result<bool, Trouble> {
        let Loaded::Intact(completed) = self.journal.completed()? else { return Ok(true) };
        let forward = progress::phases(Direction::Forward, &completed);
        Ok(!forward.contains(&Phase::Preserve) || forward.contains(&Phase::Units))
    }

    fn packages(&self, steps: &[Step]) -> Result<Box<dyn PackageOwners>, Trouble> {
        if !self.surroundings.live {
            return Ok(Box::new(NoPackages));
        }
        let files = steps.iter().filter_map(|step| match step {
            Step::WriteFile { path, .. } | Step::RemoveFile { path } => RootPath::new(path.as_str()).ok(),
            _ => None,
        });
        let mut standing = Vec::new();
        for path in files {
            if self.disk.stat(&path).map_err(Trouble::disk("inspect", &path))?.is_some() {
                standing.push(path);
            }
        }
        Ok(Box::new(PackageDatabase::query(&standing)?))
    }

    /// Services that nobody can tell are left out. On a running machine they, and systemd itself, go on with what they
    /// know, so it has to restart; and what starts then is decided by links.
    fn leave_untold(&self, draft: &mut Draft, journey: &Journey<'_>) -> Result<(), Trouble> {
        let services = std::mem::take(&mut draft.services);
        let live = self.surroundings.live;
        if live || journey.direction == Direction::Forward {
            let left_out = |step: &&Step| draft.left_out.contains(step) || services.contains(step);
            draft.left_out = journey.steps.iter().filter(left_out).cloned().collect();
        }
        draft.reboot |= live && (draft.reloads || !services.is_empty());
        if live && !journey.done.contains(&Phase::Units) {
            let links = self.links(draft, &journey.target.config)?;
            links.into_iter().for_each(|(path, action)| draft.links.set(path, action));
        }
        Ok(())
    }

    /// The links by which units start at boot or do not.
    pub(super) fn links(&self, draft: &Draft, config: &MachineConfig) -> Result<Vec<(RootPath, Action)>, Trouble> {
        let texts = self.texts(draft, config)?;
        let changes: Vec<_> = draft
            .enablement
            .iter()
            .map(|enablement| offline::Change { unit: &enablement.unit, wish: enablement.wish })
            .collect();
        let links = offline::links(self.disk, &texts, &changes)?;
        let removed = links.remove.into_iter().map(|path| (path, Action::Remove));
        Ok(removed.chain(links.add.into_iter().map(|(path, target)| (path, Action::Link(target)))).collect())
    }

    /// Units as they will be: those of the target, and those that stay or come to light again below.
    fn texts(&self, draft: &Draft, config: &MachineConfig) -> Result<offline::DiskTexts<'_, D>, Trouble> {
        let mut overlay = BTreeMap::new();
        let units = config.ignition.units.iter().map(|unit| unit.name.as_str());
        let named = draft.enablement.iter().map(|enablement| enablement.unit.as_str());
        for unit in units.chain(named) {
            let path = place::unit(unit).map_err(Trouble::path(unit))?;
            match draft.write.get(&path) {
                None => {}
                Some(Action::Write(write)) => {
                    let text = String::from_utf8_lossy(write.contents.expose()).into_owned();
                    overlay.insert(unit.to_owned(), Some(offline::UnitText::File { path, text: Secret::new(text) }));
                }
                Some(Action::Link(target)) if target == MASK => {
                    overlay.insert(unit.to_owned(), Some(offline::UnitText::Masked));
                }
                Some(Action::Link(target)) => {
                    overlay.insert(unit.to_owned(), Some(offline::UnitText::Link(target.clone())));
                }
                Some(Action::Remove) => {
                    overlay.insert(unit.to_owned(), None);
                }
            }
        }
        Ok(offline::DiskTexts { disk: self.disk, overlay })
    }

    /// Checks the whole way and gathers what it takes to come back.
    fn first_origin(&self, journey: &Journey<'_>, way: &mut Way) -> Result<Origin, Trouble> {
        self.check_journal()?;
        let shadow = self.shadow_write(&way.draft.passwords, &way.accounts)?;
        if shadow.is_some() {
            self.check_password_lock()?;
        }
        // Originals stay beside what is written: both need their room at once.
        let mut all = way.draft.write.batch(&way.draft.directories);
        all.writes.extend(shadow);
        all.extend(way.draft.preserve.batch(&[]));
        let forecast = batch::forecast(self.disk, &all, TAG)?;
        let links = batch::forecast(self.disk, &way.draft.links.batch(&[]), TAG)?;
        batch::forecast(self.disk, &way.draft.tidying(), TAG)?;
        let enablement = self.surroundings.manager.as_ref().map_or(0, |_| way.draft.enablement.len());
        way.forecast = Forecast {
            changed: forecast.changed + forecast.removed + links.changed + links.removed + enablement,
            bytes: forecast.bytes,
            left_out: way.draft.left_out.clone(),
            ..std::mem::take(&mut way.forecast)
        };
        let touched = way.draft.touched();
        let directories: BTreeSet<RootPath> = touched.iter().flat_map(RootPath::ancestors).collect();
        Ok(Origin {
            recorded: journey.leaving.clone(),
            displaced: self.displaced(&touched, &self.known(journey)?)?,
            passwords: self.passwords(way)?,
            owners: self.owners(journey, &way.accounts)?,
            made: forecast.directories,
            directories: directories.into_iter().collect(),
        })
    }

    /// On a machine that is read-only as a whole, the configuration is not what is wrong.
    fn check_journal(&self) -> Result<(), Trouble> {
        let directory = log::directory()?;
        match self.disk.obstacle(&directory) {
            Ok(Some(Obstacle::ReadOnly)) => Err(Trouble::disk("write to", &directory)(Errno::EROFS.into())),
            // Whatever else is wrong with it is found by who begins.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn displaced(
        &self,
        touched: &BTreeSet<RootPath>,
        known: &BTreeSet<RootPath>,
    ) -> Result<BTreeMap<RootPath, Option<Standing>>, Trouble> {
        let mut left = MOST_DISPLACED;
        let mut displaced = BTreeMap::new();
        for path in touched.difference(known) {
            let size = self.disk.stat(path).map_err(Trouble::disk("inspect", path))?.map_or(0, |stat| stat.size);
            let mut take = |bytes| {
                left = left.checked_sub(bytes).ok_or(Trouble::TooMuchDisplaced { most: MOST_DISPLACED })?;
                Ok::<_, Trouble>(())
            };
            take(size)?;
            let standing = originals::read_standing(self.disk, path, MOST_DISPLACED)?;
            take(standing.as_ref().map_or(0, Standing::extra_bytes))?;
            displaced.insert(path.clone(), standing);
        }
        Ok(displaced)
    }

    /// Hashes that are about to change, and that the way back may not find in its configuration.
    fn passwords(&self, way: &Way) -> Result<Vec<Kept>, Trouble> {
        if way.draft.passwords.is_empty() {
            return Ok(Vec::new());
        }
        let shadow = self.shadow()?;
        let kept = |user: &String| Some(Kept { user: user.clone(), hash: shadow.hash(user)?, day: shadow.day(user) });
        Ok(way.draft.passwords.iter().filter_map(|password| kept(&password.user)).collect())
    }

    /// Paths that the way back writes from the configuration it leads to.
    fn known(&self, journey: &Journey<'_>) -> Result<BTreeSet<RootPath>, Trouble> {
        let mut known = BTreeSet::new();
        for step in journey.reverse {
            known.extend(match step {
                Step::WriteFile { path, .. } => Some(RootPath::new(path.as_str()).map_err(Trouble::path(path))?),
                Step::WriteUnit { unit, .. } | Step::MaskUnit { unit } => {
                    Some(place::unit(unit).map_err(Trouble::path(unit))?)
                }
                Step::WriteDropin { unit, dropin, .. } => {
                    Some(place::dropin(unit, dropin).map_err(Trouble::path(dropin))?)
                }
                Step::SetSshKeys { user, keys } if *keys > 0 => Some(place::keys(user).map_err(Trouble::path(user))?.1),
                Step::RecordConfig { .. } => self.standing_record(journey)?,
                _ => None,
            });
        }
        Ok(known)
    }

    /// The record of the configuration, on a machine that has one and where the way back writes it anew.
    fn standing_record(&self, journey: &Journey<'_>) -> Result<Option<RootPath>, Trouble> {
        let Some(path) = record::written_back(&journey.leaving.config, &journey.target.config) else { return Ok(None) };
        let path = RootPath::new(path).map_err(Trouble::path(path))?;
        let stat = self.disk.stat(&path).map_err(Trouble::disk("inspect", &path))?;
        Ok(stat.map(|_| path))
    }
}
