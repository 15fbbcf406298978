//! Steps back to where a transaction came from, drafted: what a plan cannot know is put back as it stood.

use std::collections::BTreeMap;

use ostler_core::step::Step;

use super::draft::{Action, Draft, Enablement, Password};
use super::forward::MASK;
use super::origin::Origin;
use super::place;
use super::record;
use super::wanted::Wanted;
use crate::disk::{Disk, RootPath};
use crate::originals::Standing;
use crate::systemd::offline::Wish;
use crate::transaction::{Journey, Trouble};

/// Drafts the way back. Removals are not in it: whatever the way forward made where nothing was is among the displaced.
pub(super) fn draft<D: Disk>(
    disk: &D,
    journey: &Journey<'_>,
    origin: &Origin,
    wanted: &Wanted<'_>,
) -> Result<Draft, Trouble> {
    // What the way forward did to units is undone by files too, and systemd has read it by now.
    let reloads = journey.steps.iter().chain(journey.reverse).any(Step::is_about_units);
    let mut draft = Draft { reloads, ..Draft::default() };
    draft_steps(&mut draft, disk, journey.steps, wanted)?;
    for step in journey.steps {
        if matches!(step, Step::RecordConfig { .. })
            && let Some(path) = record::written_back(&origin.recorded.config, &journey.leaving.config)
            && !origin.recorded.is_empty()
        {
            draft.write.write(record::whole(disk, wanted, path, origin.recorded.plain())?);
        }
    }
    for kept in &mut draft.passwords {
        *kept = password(&kept.user, origin, wanted);
    }
    put_back(&mut draft, &origin.displaced);
    Ok(draft)
}

/// Drafts steps that lead to what a configuration has, without what was remembered of the machine.
pub(super) fn draft_steps<D: Disk>(
    draft: &mut Draft,
    disk: &D,
    steps: &[Step],
    wanted: &Wanted<'_>,
) -> Result<(), Trouble> {
    draft.reloads |= steps.iter().any(Step::is_about_units);
    for step in steps {
        match step {
            Step::WriteFile { path, .. } => draft.write.write(wanted.file(path)?),
            Step::WriteUnit { unit, .. } => wanted.unit(unit)?.into_iter().for_each(|write| draft.write.write(write)),
            Step::WriteDropin { unit, dropin, .. } => {
                wanted.dropin(unit, dropin)?.into_iter().for_each(|write| draft.write.write(write));
            }
            Step::MaskUnit { unit } => {
                let path = place::unit(unit).map_err(Trouble::path(unit))?;
                draft.write.set(path, Action::Link(MASK.to_owned()));
            }
            Step::SetSshKeys { .. } => {
                if let Some((directories, keys)) = wanted.keys()? {
                    draft.directories.extend(directories);
                    draft.write.write(keys);
                }
            }
            Step::UnmaskUnit { unit } => {
                let path = place::unit(unit).map_err(Trouble::path(unit))?;
                if disk.read_link(&path).is_ok_and(|target| target == MASK) {
                    draft.write.set(path, Action::Remove);
                }
            }
            Step::SetPassword { user } | Step::LockPassword { user } => {
                let hash = wanted.hash(user).cloned();
                draft.passwords.push(Password { user: user.clone(), hash, day: None });
            }
            other => services(draft, other),
        }
    }
    Ok(())
}

fn password(user: &str, origin: &Origin, wanted: &Wanted<'_>) -> Password {
    let kept = origin.passwords.iter().find(|kept| kept.user == user);
    let hash = kept.map(|kept| kept.hash.clone()).or_else(|| wanted.hash(user).cloned());
    Password { user: user.to_owned(), hash, day: kept.and_then(|kept| kept.day) }
}

/// The machine never ran on the new configuration, so it need not restart to leave it.
fn services(draft: &mut Draft, step: &Step) {
    let enablement = |unit: &String, wish| Enablement { unit: unit.clone(), wish };
    match step {
        Step::EnableUnit { unit } => draft.enablement.push(enablement(unit, Wish::Enable)),
        Step::DisableUnit { unit } => draft.enablement.push(enablement(unit, Wish::Disable)),
        Step::PresetUnit { unit } => draft.enablement.push(enablement(unit, Wish::Preset)),
        Step::DaemonReload | Step::ReloadService { .. } | Step::RestartService { .. } => {
            draft.services.push(step.clone());
        }
        // Files, keys and passwords are put back by what was kept of them.
        Step::StageOs(_)
        | Step::Drain
        | Step::WriteFile { .. }
        | Step::RemoveFile { .. }
        | Step::WriteUnit { .. }
        | Step::WriteDropin { .. }
        | Step::RemoveUnit { .. }
        | Step::RemoveDropin { .. }
        | Step::MaskUnit { .. }
        | Step::UnmaskUnit { .. }
        | Step::SetSshKeys { .. }
        | Step::SetPassword { .. }
        | Step::LockPassword { .. }
        | Step::RecordConfig { .. }
        | Step::Reboot => {}
    }
}

fn put_back(draft: &mut Draft, displaced: &BTreeMap<RootPath, Option<Standing>>) {
    for (path, standing) in displaced {
        draft.write.replace(path.clone(), Action::put_back(path, standing.clone()));
    }
}
