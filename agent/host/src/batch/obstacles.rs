//! Whether the machine lets things be changed where they are to be, found before anything is: by kinds of filesystem,
//! mounts and flags, and by where links lead.

use std::collections::BTreeMap;

use ostler_core::reserved;

use super::above::Above;
use super::error::{BatchError, Failure, Operation, Refusal, refused};
use super::survey::Work;
use crate::disk::{Disk, RootPath};

/// Refuses work of which a part could be neither done nor undone.
pub(super) fn check<D: Disk>(above: &Above<'_, '_, D>, work: &Work<'_>) -> Result<(), BatchError> {
    let pending = work.pending.iter().map(|pending| pending.target.path());
    let directories = work.directories.iter().map(|directory| &directory.path);
    let mut asked: BTreeMap<RootPath, RootPath> = BTreeMap::new();
    for path in pending.chain(work.removals.iter().copied()).chain(directories) {
        let first = above.first_missing(path).unwrap_or_else(|| path.clone());
        let resolved = match asked.get(&first) {
            Some(resolved) => resolved.clone(),
            None => {
                let resolved = ask(above.disk, path, &first)?;
                asked.insert(first.clone(), resolved.clone());
                resolved
            }
        };
        let below = path.as_str().strip_prefix(first.as_str()).unwrap_or_default();
        check_resolved(path, &format!("{resolved}{below}"))?;
    }
    Ok(())
}

/// Asks about the first name that changes on the way to a path; where it really is.
fn ask(disk: &impl Disk, path: &RootPath, first: &RootPath) -> Result<RootPath, BatchError> {
    let inspected = |source| Failure::of(Operation::Inspect, first)(source).untouched();
    match disk.obstacle(first).map_err(inspected)? {
        Some(obstacle) => Err(refused(path, Refusal::Obstructed(obstacle))),
        None => disk.resolve(first).map_err(inspected),
    }
}

/// Names the obstacle where it is what kept the disk from being looked at.
pub(super) fn explain(disk: &impl Disk, error: BatchError) -> BatchError {
    match &error {
        BatchError::Untouched { path, .. } => match disk.obstacle(path) {
            Ok(Some(obstacle)) => {
                refused(&path.parent().unwrap_or_else(|| path.clone()), Refusal::Obstructed(obstacle))
            }
            Ok(None) | Err(_) => error,
        },
        _ => error,
    }
}

/// What core refuses by a path alone holds for where the path leads as well. The agent writes its own files by their names.
fn check_resolved(path: &RootPath, resolved: &str) -> Result<(), BatchError> {
    if let Some(tree) = reserved::kernel_tree(resolved) {
        return Err(refused(path, Refusal::KernelTree(tree)));
    }
    if reserved::is_reserved_path(resolved) && !reserved::is_reserved_path(path.as_str()) {
        return Err(refused(path, Refusal::AgentFile));
    }
    Ok(())
}
