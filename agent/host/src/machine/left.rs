//! What an abandoned transaction left on the machine, and how the next change puts it right.
//!
//! Owns the record of it: the paths that could not be put back, until a change has done so or manages them itself. A path
//! that still cannot be put back keeps no other change from its end.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use ostler_core::drift::{Difference, Drift, Subject};
use ostler_core::machine_config::MachineConfig;
use ostler_core::step::Step;
use ostler_core::transaction::{Direction, Ending, Finished, Purpose};
use serde::{Deserialize, Serialize};

use super::draft::{Action, Actions, Draft};
use super::forward::Drafting;
use super::origin::Stood;
use super::prepare::{MOST_DISPLACED, TAG};
use super::wanted::CORE;
use super::{Machine, place};
use crate::batch::{self, Directory};
use crate::disk::{Disk, RootPath};
use crate::journal::Slot;
use crate::originals;
use crate::transaction::{Journey, Trouble};

/// The record in the journal. Its paths hold contents, so it is never formatted.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Left {
    /// When the abandoned transaction began; with zero, its plan was lost.
    pub(super) began: u64,
    /// Paths that are not as they were, with what stood there; nothing where only the kept originals tell.
    pub(super) paths: BTreeMap<String, Option<Stood>>,
}

impl Left {
    /// The paths that a configuration does not manage itself.
    fn beside(self, config: &MachineConfig) -> impl Iterator<Item = (RootPath, Option<Stood>)> {
        let managed = managed(config);
        let paths = self.paths.into_iter().filter_map(|(path, stood)| Some((RootPath::new(path).ok()?, stood)));
        paths.filter(move |(path, _)| !managed.contains(path))
    }
}

/// Every path that a configuration has something to say about.
pub(super) fn managed(config: &MachineConfig) -> BTreeSet<RootPath> {
    let files = config.ignition.files.iter().map(|file| RootPath::new(file.path.as_str()));
    let units = config.ignition.units.iter().flat_map(|unit| {
        let dropins = unit.dropins.iter().map(|dropin| place::dropin(&unit.name, &dropin.name));
        dropins.chain([place::unit(&unit.name)])
    });
    let has_keys = config.ignition.users.iter().any(|user| !user.ssh_keys.is_empty());
    let keys = has_keys.then(|| place::keys(CORE).map(|(_, path)| path));
    files.chain(units).chain(keys).filter_map(Result::ok).collect()
}

/// Adds the steps that are not there yet.
pub(super) fn add_missing(steps: &mut Vec<Step>, more: Vec<Step>) {
    for step in more {
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
}

impl<D: Disk> Machine<'_, D> {
    pub(super) fn left(&self) -> Result<Option<Left>, Trouble> {
        self.record(Slot::Abandoned)
    }

    /// The steps of a way, and those that repair what an abandoned change left at paths that its target manages. What it
    /// left at others is put back beside the steps.
    pub(super) fn with_repairs<'j>(&self, journey: &Journey<'j>) -> Result<Cow<'j, [Step]>, Trouble> {
        let steps = Cow::Borrowed(journey.steps);
        let Some(left) = self.left()?.filter(|_| journey.direction == Direction::Forward) else { return Ok(steps) };
        let is_left = |step: &Step| matches!(step, Step::RemoveFile { path } if left.paths.contains_key(path));
        let mut steps = steps.into_owned();
        if journey.purpose == Purpose::Repair {
            steps.retain(|step| !is_left(step));
            return Ok(Cow::Owned(steps));
        }
        add_missing(&mut steps, self.repairs_of(&journey.target.config)?);
        Ok(Cow::Owned(steps))
    }

    /// Drafts what stood at the other paths. One that cannot even be read is left for later.
    pub(super) fn put_back_left(
        &self,
        draft: &mut Draft,
        drafting: &Drafting<'_, D>,
        journey: &Journey<'_>,
    ) -> Result<(), Trouble> {
        let Some(left) = self.left()? else { return Ok(()) };
        let touched = draft.touched();
        for (path, stood) in left.beside(&journey.target.config).filter(|(path, _)| !touched.contains(path)) {
            if originals::read_standing(self.disk, &path, MOST_DISPLACED).is_err() {
                draft.left_behind.push(path);
                continue;
            }
            if let Some(standing) = stood.and_then(Stood::standing) {
                draft.left.replace(path.clone(), Action::put_back(&path, standing));
                continue;
            }
            let removal = Step::RemoveFile { path: path.as_str().to_owned() };
            // The original stays kept: it would be missed if this cannot be put back.
            draft.left.extend(drafting.draft(&[removal], journey.target)?.write);
        }
        Ok(())
    }

    /// Puts each path right that can be; gives those that cannot, with the reason.
    pub(super) fn apply_possible(&self, actions: &Actions, directories: &[Directory]) -> Vec<(RootPath, Trouble)> {
        let failed = |(path, action): (&RootPath, &Action)| {
            let mut one = Actions::default();
            one.replace(path.clone(), action.clone());
            let failed = batch::apply(self.disk, &one.batch(directories), TAG).err()?;
            Some((path.clone(), failed.into()))
        };
        actions.iter().filter_map(failed).collect()
    }

    /// What of it still differs, as drift.
    pub(super) fn left_drift(&self, config: &MachineConfig) -> Result<Vec<Drift>, Trouble> {
        let left = self.left()?.unwrap_or_default().beside(config);
        let differs = left.filter(|(path, stood)| {
            let standing = originals::read_standing(self.disk, path, MOST_DISPLACED);
            match (standing, stood.clone().and_then(Stood::standing)) {
                (Ok(standing), Some(stood)) => standing != stood,
                (Ok(standing), None) => standing.is_some(),
                (Err(_), _) => true,
            }
        });
        let subject = |(path, _): (RootPath, _)| Subject::File { path: path.as_str().to_owned() };
        Ok(differs.map(|path| Drift { subject: subject(path), difference: Difference::Extra }).collect())
    }

    /// What the end of a transaction means for the record: a change that was applied has put everything right but for what
    /// it says, and one that was undone after all has left nothing.
    pub(super) fn settle_left(&self, finished: &Finished) -> Result<(), Trouble> {
        let Some(mut left) = self.left()? else { return Ok(()) };
        match finished.ending {
            Ending::Applied => left.paths.retain(|path, _| finished.leftovers.contains(path)),
            Ending::Undone { .. } if left.began == finished.began => left.paths.clear(),
            Ending::Undone { .. } | Ending::AwaitsReboot { .. } | Ending::Abandoned { .. } => return Ok(()),
        }
        if left.paths.is_empty() { self.journal.clear(Slot::Abandoned) } else { self.put(Slot::Abandoned, &left) }
    }
}
