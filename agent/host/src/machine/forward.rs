//! Steps towards a configuration, drafted.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostler_core::file_contexts::FileKind;
use ostler_core::recorded::Recorded;
use ostler_core::step::Step;

use super::draft::{Action, Draft, Enablement, Password};
use super::place;
use super::record;
use super::wanted::Wanted;
use crate::batch::Write;
use crate::disk::{Disk, Kind, RootPath};
use crate::originals::{self, PackageOwners, Preserve, Restore, Standing};
use crate::systemd::offline::Wish;
use crate::transaction::Trouble;

/// What a masked unit links to.
pub(super) const MASK: &str = "/dev/null";

/// What drafting asks.
pub(super) struct Drafting<'a, D> {
    pub(super) disk: &'a D,
    pub(super) wanted: &'a Wanted<'a>,
    pub(super) packages: &'a dyn PackageOwners,
    /// Whether this is a running machine.
    pub(super) live: bool,
    /// What stood at paths before they were first configured, where that is known better than by originals.
    pub(super) remembered: &'a BTreeMap<RootPath, Option<Standing>>,
}

impl<D: Disk> Drafting<'_, D> {
    /// All steps, in order.
    pub(super) fn draft(&self, steps: &[Step], target: &Recorded) -> Result<Draft, Trouble> {
        let mut draft = Draft::default();
        for step in steps {
            self.add(&mut draft, step, target)?;
        }
        Ok(draft)
    }

    fn add(&self, draft: &mut Draft, step: &Step, target: &Recorded) -> Result<(), Trouble> {
        draft.reloads |= step.is_about_units();
        match step {
            Step::StageOs(_) if self.live => {}
            Step::Reboot if self.live => draft.reboot = true,
            Step::StageOs(_) | Step::Drain | Step::Reboot => draft.left_out.push(step.clone()),
            Step::DaemonReload | Step::ReloadService { .. } | Step::RestartService { .. } => {
                draft.services.push(step.clone());
            }
            Step::WriteFile { path, .. } => self.add_file(draft, path)?,
            Step::RemoveFile { path } => {
                self.add_removal(draft, RootPath::new(path.as_str()).map_err(Trouble::path(path))?, true)?;
            }
            Step::SetSshKeys { .. } => self.add_keys(draft, step)?,
            Step::SetPassword { user } | Step::LockPassword { user } => {
                let hash = self.wanted.hash(user).cloned();
                draft.passwords.push(Password { user: user.clone(), hash, day: None });
            }
            Step::RecordConfig { .. } => record::draft(self.disk, self.wanted, target, &mut draft.write)?,
            Step::WriteUnit { unit, .. } => self.add_unit_text(draft, unit, self.wanted.unit(unit)?)?,
            Step::WriteDropin { unit, dropin, .. } => {
                self.add_unit_text(draft, dropin, self.wanted.dropin(unit, dropin)?)?;
            }
            Step::RemoveUnit { unit } => self.add_removal(draft, unit_path(unit)?, false)?,
            Step::RemoveDropin { unit, dropin } => {
                let path = place::dropin(unit, dropin).map_err(Trouble::path(dropin))?;
                self.add_removal(draft, path, false)?;
            }
            Step::MaskUnit { unit } => draft.write.set(unit_path(unit)?, Action::Link(MASK.to_owned())),
            Step::UnmaskUnit { unit } => self.add_unmasking(draft, unit_path(unit)?)?,
            Step::EnableUnit { unit } => draft.enablement.push(enablement(unit, Wish::Enable)),
            Step::DisableUnit { unit } => draft.enablement.push(enablement(unit, Wish::Disable)),
            Step::PresetUnit { unit } => draft.enablement.push(enablement(unit, Wish::Preset)),
        }
        Ok(())
    }

    fn add_unit_text(&self, draft: &mut Draft, name: &str, text: Option<Write>) -> Result<(), Trouble> {
        let write = text.ok_or_else(|| Trouble::NotInConfig { name: name.to_owned() })?;
        self.preserve(draft, &write.path, false)?;
        draft.write.write(write);
        Ok(())
    }

    fn add_file(&self, draft: &mut Draft, path: &str) -> Result<(), Trouble> {
        let write = self.wanted.file(path)?;
        self.preserve(draft, &write.path, true)?;
        draft.write.write(write);
        Ok(())
    }

    /// Keeps what the operating system has at a path, or notes that it has nothing.
    fn preserve(&self, draft: &mut Draft, path: &RootPath, file: bool) -> Result<(), Trouble> {
        let preserve = if file {
            originals::preserve_file(self.disk, self.packages, path)?
        } else {
            originals::preserve_unit(self.disk, path)?
        };
        let backup = || originals::backup_path(path).map_err(Trouble::path(path.as_str()));
        let stamp = || {
            let stamp = originals::stamp_path(path).map_err(Trouble::path(path.as_str()))?;
            self.wanted.record(stamp.as_str(), Arc::default())
        };
        match preserve {
            Preserve::Nothing => {}
            Preserve::Stamp => draft.preserve.write(stamp()?),
            Preserve::StampInsteadOfWrongBackup => {
                draft.preserve.write(stamp()?);
                draft.preserve.set(backup()?, Action::Remove);
            }
            Preserve::Backup(standing) => {
                let backup = backup()?;
                let action = Action::put_back(&backup, Some(standing));
                draft.preserve.set(backup, action);
            }
        }
        Ok(())
    }

    fn add_removal(&self, draft: &mut Draft, path: RootPath, file: bool) -> Result<(), Trouble> {
        for kept in [originals::stamp_path(&path), originals::backup_path(&path)] {
            let kept = kept.map_err(Trouble::path(path.as_str()))?;
            if self.disk.stat(&kept).map_err(Trouble::disk("inspect", &kept))?.is_some() {
                draft.tidy.insert(kept);
            }
        }
        if let Some(standing) = self.remembered.get(&path) {
            let action = Action::put_back(&path, standing.clone());
            draft.write.set(path, action);
            return Ok(());
        }
        let restore = if file {
            originals::restore_file(self.disk, self.packages, &path)?
        } else {
            originals::restore_unit(self.disk, &path)?
        };
        if let Some(action) = self.restoring(&path, restore) {
            draft.write.set(path, action);
        }
        Ok(())
    }

    /// What the image has is labelled for its place there, which may be another than in `/etc`.
    fn restoring(&self, path: &RootPath, restore: Restore) -> Option<Action> {
        let standing = match restore {
            Restore::PutBack(standing) => Some(standing),
            Restore::Delete => None,
            Restore::Leave => return None,
        };
        let mut action = Action::put_back(path, standing);
        if let Action::Write(write) = &mut action
            && let Some(label) = self.wanted.label(path, FileKind::File)
        {
            write.label = Some(label);
        }
        Some(action)
    }

    /// Only a mask is removed, for what the image has there: a unit's own file is not what keeps it from starting. One that is
    /// gone is removed too, for a run that was killed may have done that and not made it durable.
    fn add_unmasking(&self, draft: &mut Draft, path: RootPath) -> Result<(), Trouble> {
        if let Some(standing) = self.remembered.get(&path) {
            let action = Action::put_back(&path, standing.clone());
            draft.write.set(path, action);
            return Ok(());
        }
        let stat = self.disk.stat(&path).map_err(Trouble::disk("inspect", &path))?;
        let is_mask = match stat.map(|stat| stat.kind) {
            None => true,
            Some(Kind::Link) => self.disk.read_link(&path).map_err(Trouble::disk("read", &path))? == MASK,
            Some(Kind::File | Kind::Directory | Kind::Special) => false,
        };
        if is_mask {
            let image = originals::image_original(self.disk, &path)?;
            let action = match image.and_then(|restore| self.restoring(&path, restore)) {
                // A removal gives way to the unit's own text.
                Some(Action::Write(_)) if self.wanted.unit(path.name())?.is_some() => Action::Remove,
                Some(Action::Link(target)) if target == MASK && self.wanted.unmasks(path.name())? => Action::Remove,
                Some(action) => action,
                None => Action::Remove,
            };
            draft.write.set(path, action);
        }
        Ok(())
    }

    /// A machine without the user is left as it is, as the daemon leaves it.
    fn add_keys(&self, draft: &mut Draft, step: &Step) -> Result<(), Trouble> {
        match self.wanted.keys()? {
            None => draft.left_out.push(step.clone()),
            Some((directories, keys)) => {
                draft.directories.extend(directories);
                draft.write.write(keys);
            }
        }
        Ok(())
    }
}

fn unit_path(unit: &str) -> Result<RootPath, Trouble> {
    place::unit(unit).map_err(Trouble::path(unit))
}

fn enablement(unit: &str, wish: Wish) -> Enablement {
    Enablement { unit: unit.to_owned(), wish }
}
