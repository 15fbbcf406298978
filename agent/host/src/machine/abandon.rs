//! The last way out of a transaction that reaches neither of its ends: closed where it is, with all put back that can be.
//!
//! Owns the order of it: what is left is recorded before the transaction is closed, and the plan goes last, so whoever is
//! cut off can recover or abandon it still. What the change never wrote stays, whoever put it there.

use std::collections::{BTreeMap, BTreeSet};

use ostler_core::drift::{Drift, UNIT_DIRECTORY};
use ostler_core::recorded::Recorded;
use ostler_core::step::Step;
use ostler_core::transaction::{Direction, Ending, Finished, Open, Phase, Progress, Purpose, ServiceFailure};
use ostler_core::words;

use super::charge::Charge;
use super::forward::MASK;
use super::left::{self, Left};
use super::origin::{Origin, Stood};
use super::prepare::{TAG, Way};
use super::wanted::Wanted;
use super::{Machine, labels, observe, place, record};
use crate::batch::{self, Write};
use crate::disk::{Disk, RootPath};
use crate::journal::Slot;
use crate::transaction::{self, BACK, Entry, Interrupted, Listener, Trouble, World};

/// More lines than these say nothing more.
const MOST_LINES: usize = 20;
/// More paths than these say nothing more.
const MOST_NAMED: usize = 5;

/// What an undo that passes over everything that fails has come to.
#[derive(Default)]
struct Attempt {
    left: BTreeMap<String, Option<Stood>>,
    failures: Vec<String>,
    changed: usize,
    service_failures: Vec<ServiceFailure>,
}

impl<D: Disk> Machine<'_, D> {
    /// Closes the open transaction: finished or undone if that can be done, else abandoned. `None` when none is open;
    /// refused where a restart is all that is missing.
    pub fn abandon(&self, listener: Listener<'_>) -> Result<Option<Finished>, Trouble> {
        self.journal.require_held()?;
        match self.open_transaction() {
            Ok(Some(Interrupted { open, .. })) if open.awaits_restart(&self.boot()) => {
                return Err(Trouble::AwaitsReboot { from: open.from, to: open.to });
            }
            Ok(Some(_)) | Err(Trouble::Lost { .. }) => {}
            Ok(None) => return Ok(None),
            Err(trouble) => return Err(trouble),
        }
        match transaction::recover(self, listener) {
            Err(trouble) => self.close(trouble.reason(), listener).map(Some),
            finished => finished,
        }
    }

    /// Puts back what can be, records what is left and closes the transaction.
    fn close(&self, reason: String, listener: Listener<'_>) -> Result<Finished, Trouble> {
        // A transaction that turned back meanwhile has another plan.
        let found = self.open_transaction().ok().flatten();
        let origin = self.origin(Slot::Origin)?;
        let next = match &found {
            Some(found) => found.next.clone(),
            None => self.next()?,
        };
        let mut attempt = self.undo_possible(found.as_ref(), origin.as_ref(), next.as_ref(), listener);
        for path in origin.iter().flat_map(|origin| self.unrecorded(&origin.recorded)) {
            attempt.left.entry(path).or_default();
        }
        let leftovers = self.sweep_possible(found.as_ref(), origin.as_ref(), next.as_ref());
        let current = observe::current(self.disk).ok();
        let origin = origin.map(|origin| origin.recorded).or_else(|| current.clone());
        let next = next.or(current);
        let differs = self.differs(&attempt, origin.as_ref(), next.as_ref());
        let open = found.map(|found| found.open);
        self.record_left(open.as_ref(), attempt.left)?;
        self.record_os()?;
        let name = |config: Option<&Recorded>| config.map(|config| config.config.name.clone()).unwrap_or_default();
        let (purpose, from, to, began) = match open {
            Some(Open { purpose, from, to, began, .. }) => (purpose, from, to, began),
            None => (Purpose::Update, name(origin.as_ref()), name(next.as_ref()), self.now()),
        };
        let finished = Finished {
            purpose,
            from,
            to,
            ending: Ending::Abandoned { reason, differs },
            began,
            ended: self.now(),
            boot: self.boot(),
            reboot: false,
            left_out: Vec::new(),
            changed: attempt.changed,
            boot_loader: None,
            service_failures: attempt.service_failures,
            leftovers,
        };
        self.save(Entry::Finish(&finished))?;
        Ok(finished)
    }

    fn undo_possible(
        &self,
        found: Option<&Interrupted>,
        origin: Option<&Origin>,
        next: Option<&Recorded>,
        listener: Listener<'_>,
    ) -> Attempt {
        let mut attempt = Attempt::default();
        let way = match found.map(|found| transaction::journey_back(found).and_then(|journey| self.way(&journey))) {
            Some(Ok(way)) => Some(way),
            Some(Err(trouble)) => {
                attempt.failures.push(trouble.reason());
                None
            }
            None => None,
        };
        match (way, origin) {
            (Some(way), Some(origin)) => self.run_possible(way, origin, &mut attempt, listener),
            (None, Some(origin)) => {
                let stood = |(path, standing): (&RootPath, &Option<_>)| {
                    (path.as_str().to_owned(), Some(Stood::of(standing.as_ref())))
                };
                attempt.left.extend(origin.displaced.iter().map(stood));
            }
            (_, None) => attempt.left = next.map(|next| self.written(next, found)).unwrap_or_default(),
        }
        attempt
    }

    fn run_possible(&self, mut way: Way, origin: &Origin, attempt: &mut Attempt, listener: Listener<'_>) {
        let (actions, directories) = (std::mem::take(&mut way.draft.write), std::mem::take(&mut way.draft.directories));
        for &phase in BACK {
            let mut told = |line: &str| {
                listener(Progress { direction: Direction::Back, phase, subject: Some(line.to_owned()) });
            };
            if phase == Phase::Write {
                for (path, trouble) in self.apply_possible(&actions, &directories) {
                    attempt.failures.push(format!("cannot put back {path}: {}", trouble.reason()));
                    let stood = origin.displaced.get(&path).map(|standing| Stood::of(standing.as_ref()));
                    attempt.left.insert(path.as_str().to_owned(), stood);
                }
            }
            match self.run_phase(&way, phase, &mut told) {
                Ok(outcome) => {
                    attempt.changed += outcome.changed;
                    attempt.service_failures.extend(outcome.service_failures);
                }
                Err(trouble) => attempt.failures.push(trouble.reason()),
            }
        }
    }

    /// What the old configuration alone manages, where the machine's record is not of that: no plan from the recorded one
    /// would remove it.
    fn unrecorded(&self, origin: &Recorded) -> Vec<String> {
        let Ok(current) = observe::current(self.disk) else { return Vec::new() };
        let (recorded, old) = (left::managed(&current.config), left::managed(&origin.config));
        old.difference(&recorded).map(|path| path.as_str().to_owned()).collect()
    }

    /// Removes temporaries where either end may have some, and directories that were being made; gives those that stay. An
    /// empty directory that was made whole cannot be told from one that was there, where the origin is lost.
    fn sweep_possible(
        &self,
        found: Option<&Interrupted>,
        origin: Option<&Origin>,
        next: Option<&Recorded>,
    ) -> Vec<String> {
        let mut directories: BTreeSet<RootPath> =
            origin.into_iter().flat_map(|origin| origin.directories.clone()).collect();
        let managed = next.map(|next| left::managed(&next.config)).unwrap_or_default();
        directories.extend(managed.iter().flat_map(RootPath::ancestors));
        let steps = found.into_iter().flat_map(|found| found.open.steps.iter().chain(&found.open.undo));
        directories.extend(steps.filter_map(place::of_step).flat_map(|path| path.ancestors()));
        directories.extend(self.wants());
        let directories = Vec::from_iter(directories);
        let mut left = batch::unmake_marked(self.disk, &directories, TAG).unwrap_or_default();
        left.extend(batch::sweep_possible(self.disk, &directories, TAG).unwrap_or_default());
        left
    }

    /// What stands as the new configuration says at paths that the change writes, where nothing is known of what was
    /// there. Anything else there is not the change's.
    fn written(&self, next: &Recorded, found: Option<&Interrupted>) -> BTreeMap<String, Option<Stood>> {
        let (Ok(accounts), Ok(labels)) = (self.accounts(), labels::load(self.disk)) else { return BTreeMap::new() };
        let wanted = Wanted::new(&next.config, &accounts, labels.as_ref()).with_files();
        let holds = |write: Option<Write>| {
            let write = write?;
            let holds = self.disk.holds(&write.path, write.contents.expose()).unwrap_or(false);
            holds.then(|| (write.path.as_str().to_owned(), None))
        };
        let steps = found.map(|found| found.open.steps.as_slice()).unwrap_or_default();
        let written = steps.iter().filter_map(|step| match step {
            Step::WriteFile { path, .. } => holds(wanted.file(path).ok()),
            Step::WriteUnit { unit, .. } => holds(wanted.unit(unit).ok().flatten()),
            Step::WriteDropin { unit, dropin, .. } => holds(wanted.dropin(unit, dropin).ok().flatten()),
            Step::SetSshKeys { .. } => holds(wanted.keys().ok().flatten().map(|(_, keys)| keys)),
            Step::MaskUnit { unit } => {
                let path = place::unit(unit).ok()?;
                let masked = self.disk.read_link(&path).is_ok_and(|target| target == MASK);
                masked.then(|| (path.as_str().to_owned(), Some(Stood::Nothing)))
            }
            Step::StageOs(_)
            | Step::Drain
            | Step::RemoveFile { .. }
            | Step::RemoveUnit { .. }
            | Step::RemoveDropin { .. }
            | Step::UnmaskUnit { .. }
            | Step::EnableUnit { .. }
            | Step::DisableUnit { .. }
            | Step::PresetUnit { .. }
            | Step::SetPassword { .. }
            | Step::LockPassword { .. }
            | Step::RecordConfig { .. }
            | Step::DaemonReload
            | Step::ReloadService { .. }
            | Step::RestartService { .. }
            | Step::Reboot => None,
        });
        let mut written: BTreeMap<String, Option<Stood>> = written.collect();
        let links = self.wants().into_iter().flat_map(|directory| {
            let units = next.config.ignition.units.iter().filter_map(move |unit| directory.join(&unit.name).ok());
            units.collect::<Vec<_>>()
        });
        // A unit that goes is not to be started either.
        let goes = |link: &RootPath| place::unit(link.name()).is_ok_and(|unit| written.contains_key(unit.as_str()));
        let links: Vec<RootPath> = links.filter(|link| self.disk.read_link(link).is_ok() && goes(link)).collect();
        written.extend(links.iter().map(|link| (link.as_str().to_owned(), Some(Stood::Nothing))));
        written
    }

    /// The directories of links that start units.
    fn wants(&self) -> Vec<RootPath> {
        let Ok(units) = RootPath::new(UNIT_DIRECTORY) else { return Vec::new() };
        let names = self.disk.list(&units).unwrap_or_default();
        let wants = |name: &&str| name.ends_with(".wants") || name.ends_with(".requires");
        names.iter().filter_map(|name| name.to_str()).filter(wants).filter_map(|name| units.join(name).ok()).collect()
    }

    /// What an earlier abandoned change left is older, and stays on record.
    fn record_left(&self, open: Option<&Open>, paths: BTreeMap<String, Option<Stood>>) -> Result<(), Trouble> {
        let began = open.map_or(0, |open| open.began);
        let mut left = Left { began, paths };
        // The next change writes the record anew.
        left.paths.retain(|path, _| RootPath::new(path.as_str()).is_ok_and(|path| !record::is_record(&path)));
        left.paths.extend(self.left()?.filter(|earlier| earlier.began != began).unwrap_or_default().paths);
        if left.paths.is_empty() { self.journal.clear(Slot::Abandoned) } else { self.put(Slot::Abandoned, &left) }
    }

    /// An operating system that is not the one of the recorded configuration is put right by the next change.
    fn record_os(&self) -> Result<(), Trouble> {
        let Ok(current) = observe::current(self.disk) else { return Ok(()) };
        if !self.behind_now(&current).is_ok_and(|behind| behind.is_some()) {
            return Ok(());
        }
        let config = current.config.name.clone();
        self.put(Slot::Charge, &Charge { config, since: self.now(), os: true, ..Charge::default() })
    }

    /// How the machine differs from either configuration, and what could not be put back.
    fn differs(&self, attempt: &Attempt, origin: Option<&Recorded>, next: Option<&Recorded>) -> Vec<String> {
        let next = next.filter(|next| origin.is_none_or(|origin| origin.config.name != next.config.name));
        let mut lines: Vec<String> = [origin, next]
            .into_iter()
            .flatten()
            .filter(|recorded| !recorded.is_empty())
            .map(|recorded| match self.drift_from(&recorded.config) {
                Ok(drift) => format!(
                    "{} from {}{}",
                    words::count(drift.len(), "difference"),
                    recorded.config.name,
                    named(&drift)
                ),
                Err(trouble) => format!("cannot compare with {}: {}", recorded.config.name, trouble.reason()),
            })
            .collect();
        lines.extend(attempt.failures.iter().cloned());
        let more = lines.len().saturating_sub(MOST_LINES);
        lines.truncate(MOST_LINES);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines
    }
}

fn named(drift: &[Drift]) -> String {
    let mut paths: Vec<String> = drift.iter().map(|drift| drift.subject.path().into_owned()).collect();
    paths.dedup();
    let more = paths.len().saturating_sub(MOST_NAMED);
    paths.truncate(MOST_NAMED);
    if more > 0 {
        paths.push(format!("{more} more"));
    }
    if paths.is_empty() { String::new() } else { format!(": {}", paths.join(", ")) }
}
