//! What of `/etc` cannot be merged into a deployment that is staged, found before the restart.
//!
//! ostree fails to finalise a deployment whose image has a directory where a file was added or modified, or something else
//! where files were added to a directory; the restart is then lost. And a file that is configured cannot be written where
//! the image has a directory.

use std::collections::BTreeSet;

use ostler_core::os::boot_mark::Restarted;
use ostler_core::os::state::Installed;
use ostler_core::transaction::Purpose;

use super::super::draft::{Action, Actions, Draft};
use super::super::prepare::{MOST_DISPLACED, TAG, Way};
use super::super::{Machine, place};
use crate::batch::{self, BatchError};
use crate::disk::{Disk, Kind, RootPath};
use crate::originals::{self, Standing};
use crate::transaction::{Journey, Trouble};

const ETC: &str = "/etc";
/// Directories are not nested deeper than this in any image.
const MOST_DEPTH: usize = 32;

impl<D: Disk> Machine<'_, D> {
    /// Refuses a change whose deployment is staged if the merge of `/etc` would fail, or could not be put right after it.
    pub(in super::super) fn check_merge(&self, way: &Way, staged: &Installed) -> Result<(), Trouble> {
        let root = place::deployment(&staged.stateroot, &staged.checksum, staged.serial);
        // One that is not where deployments are has no files to look at.
        let Ok(image) = root.and_then(|root| root.join("usr/etc")) else { return Ok(()) };
        let etc = RootPath::new(ETC).map_err(Trouble::path(ETC))?;
        let above = way.managed.iter().flat_map(RootPath::ancestors).collect();
        let survey = Survey { machine: self, draft: &way.draft, managed: &way.managed, above };
        survey.directory(&image, &etc, 0)
    }

    /// Takes out of a draft what only the restart makes room for: where the booted image has a directory of its own that
    /// nobody changed, and the next one may have none.
    fn defer_to_restart(&self, draft: &mut Draft) -> Result<(), Trouble> {
        let mut deferred = Vec::new();
        for (path, action) in draft.write.iter() {
            let is_directory = || Ok::<_, Trouble>(self.kind(path)? == Some(Kind::Directory));
            if !matches!(action, Action::Remove)
                && is_directory()?
                && !self.is_modified(path, &Actions::default(), 0)?
            {
                deferred.push(path.clone());
            }
        }
        deferred.iter().for_each(|path| draft.write.forget(path));
        Ok(())
    }

    /// Takes out what cannot be written now: for a repair, which does what it can, and before a restart that makes room.
    pub(in super::super) fn pass_over_blocked(
        &self,
        draft: &mut Draft,
        journey: &Journey<'_>,
        changes_os: bool,
    ) -> Result<(), Trouble> {
        if changes_os && self.restarted(journey) == Restarted::Nothing {
            self.defer_to_restart(draft)?;
        }
        if journey.purpose != Purpose::Repair {
            return Ok(());
        }
        let alone = |(path, action): (&RootPath, &Action)| {
            let mut one = Actions::default();
            one.replace(path.clone(), action.clone());
            let forecast = batch::forecast(self.disk, &one.batch(&draft.directories), TAG);
            matches!(forecast, Err(BatchError::Refused { .. })).then(|| path.clone())
        };
        let blocked: Vec<RootPath> = draft.write.iter().filter_map(alone).collect();
        blocked.iter().for_each(|path| draft.write.forget(path));
        draft.left_behind.extend(blocked);
        Ok(())
    }

    fn kind(&self, path: &RootPath) -> Result<Option<Kind>, Trouble> {
        Ok(self.disk.stat(path).map_err(Trouble::disk("inspect", path))?.map(|stat| stat.kind))
    }

    /// Whether something below `/etc` is not as the booted image has it, as far as ostree would notice once these actions are
    /// done.
    fn is_modified(&self, path: &RootPath, pending: &Actions, depth: usize) -> Result<bool, Trouble> {
        let Some(image) = originals::image_path(path)? else { return Ok(true) };
        let kind = if matches!(pending.get(path), Some(Action::Remove)) { None } else { self.kind(path)? };
        match (kind, self.kind(&image)?) {
            (Some(Kind::Directory), Some(Kind::Directory)) if depth < MOST_DEPTH => {
                for name in self.disk.list(path).map_err(Trouble::disk("list", path))? {
                    let Some(below) = name.to_str().and_then(|name| path.join(name).ok()) else { return Ok(true) };
                    if self.is_modified(&below, pending, depth + 1)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (Some(Kind::File | Kind::Link), Some(Kind::File | Kind::Link)) => {
                let plain = |path: &RootPath| {
                    Ok::<_, Trouble>(
                        originals::read_standing(self.disk, path, MOST_DISPLACED)?.map(Standing::without_label),
                    )
                };
                Ok(plain(path)? != plain(&image)?)
            }
            (None, None) => Ok(false),
            (None | Some(Kind::File | Kind::Link | Kind::Directory | Kind::Special), _) => Ok(true),
        }
    }
}

/// One look at the image's own `/etc` beside the machine's.
struct Survey<'a, 'd, D: Disk> {
    machine: &'a Machine<'d, D>,
    draft: &'a Draft,
    managed: &'a BTreeSet<RootPath>,
    /// The directories that lead to them.
    above: BTreeSet<RootPath>,
}

impl<D: Disk> Survey<'_, '_, D> {
    fn directory(&self, image: &RootPath, etc: &RootPath, depth: usize) -> Result<(), Trouble> {
        let disk = self.machine.disk;
        // A deployment without files of its own has nothing to merge with.
        if self.machine.kind(image)? != Some(Kind::Directory) || depth > MOST_DEPTH {
            return Ok(());
        }
        for name in disk.list(image).map_err(Trouble::disk("list", image))? {
            let Some(name) = name.to_str() else { continue };
            let (Ok(image), Ok(etc)) = (image.join(name), etc.join(name)) else { continue };
            if self.machine.kind(&image)? == Some(Kind::Directory) {
                self.beside_directory(&etc)?;
                self.directory(&image, &etc, depth + 1)?;
            } else {
                self.beside_file(&etc)?;
            }
        }
        Ok(())
    }

    /// The image has a directory at a path: there must not be a file that the merge keeps.
    fn beside_directory(&self, path: &RootPath) -> Result<(), Trouble> {
        let conflict = |managed| Err(Trouble::MergeConflict { path: path.clone(), image: "directory", managed });
        match self.draft.write.get(path) {
            Some(Action::Remove) => return Ok(()),
            Some(Action::Write(_) | Action::Link(_)) => return conflict(true),
            None if self.managed.contains(path) => return conflict(true),
            None => {}
        }
        match self.machine.kind(path)? {
            Some(Kind::File | Kind::Link) if self.machine.is_modified(path, &self.draft.write, 0)? => conflict(false),
            Some(_) | None => Ok(()),
        }
    }

    /// The image has a file or link at a path: there must not be a directory with anything in it that the merge keeps.
    fn beside_file(&self, path: &RootPath) -> Result<(), Trouble> {
        let conflict = |managed| Err(Trouble::MergeConflict { path: path.clone(), image: "file or link", managed });
        if self.above.contains(path) {
            return conflict(true);
        }
        match self.machine.kind(path)? {
            Some(Kind::Directory) if self.machine.is_modified(path, &self.draft.write, 0)? => conflict(false),
            Some(_) | None => Ok(()),
        }
    }
}
