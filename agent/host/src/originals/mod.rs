//! What the operating system had where the configuration writes: kept aside, and put back when the path leaves it.
//!
//! Owns machine-config-daemon's places for originals and its rules for when there is one: a backup of what an OS package or
//! the image brought, or else a stamp that says there was nothing worth keeping. Reads only; whoever asks writes what the
//! answer says.

mod packages;
mod standing;
#[cfg(test)]
mod tests;

pub use packages::{NoPackages, PackageDatabase, PackageError, PackageOwners};
pub use standing::{OriginalsError, Standing, read_standing};

use crate::disk::{Disk, Kind, PathError, RootPath};

/// The longest original that is kept.
pub const MOST_BYTES: u64 = 64 << 20;

const BACKUPS: &str = "/etc/machine-config-daemon/orig";
const STAMPS: &str = "/etc/machine-config-daemon/noorig";
/// Where an ostree image has its own copy of `/etc`.
const IMAGE_ETC: &str = "/usr/etc";

/// What is to be done before a path is first written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preserve {
    /// Nothing: it was decided at an earlier write, or there is nothing to decide.
    Nothing,
    /// Write the stamp.
    Stamp,
    /// Write this to the backup's place.
    Backup(Standing),
    /// Write the stamp and remove the backup, which holds no original of the system.
    StampInsteadOfWrongBackup,
}

/// What is to be done when a path leaves the configuration. A stamp or backup of it goes in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restore {
    /// Remove what stands there.
    Delete,
    /// Put this in its place.
    PutBack(Standing),
    /// Leave it: it is a directory, and the image's own.
    Leave,
}

/// Where the original of a path is kept.
pub fn backup_path(path: &RootPath) -> Result<RootPath, PathError> {
    RootPath::new(format!("{BACKUPS}{path}.mcdorig"))
}

/// Where it is kept that a path has no original.
pub fn stamp_path(path: &RootPath) -> Result<RootPath, PathError> {
    RootPath::new(format!("{STAMPS}{path}.mcdnoorig"))
}

/// Whether a path is one of either kind.
pub fn is_kept(path: &RootPath) -> bool {
    let below = |tree: &str| path.as_str().strip_prefix(tree).is_some_and(|rest| rest.starts_with('/'));
    below(BACKUPS) || below(STAMPS)
}

/// What to keep before a file of the configuration is written. What stands there counts as the system's own only if a
/// package owns it or the image has it: anything else may be a secret that somebody put there.
pub fn preserve_file(disk: &impl Disk, owned: &dyn PackageOwners, path: &RootPath) -> Result<Preserve, OriginalsError> {
    let kept = Kept::of(disk, path)?;
    if kept.stamp {
        return Ok(Preserve::Nothing);
    }
    let systems_own = owned.owned(path) || is_in_image(disk, path)?;
    match (systems_own, kept.backup) {
        (true, true) => Ok(Preserve::Nothing),
        (true, false) => backup_or_stamp(disk, path, path),
        (false, true) => Ok(Preserve::StampInsteadOfWrongBackup),
        (false, false) => Ok(Preserve::Stamp),
    }
}

/// What to keep before a unit or drop-in is written: only what the image has, as the image has it.
pub fn preserve_unit(disk: &impl Disk, path: &RootPath) -> Result<Preserve, OriginalsError> {
    let kept = Kept::of(disk, path)?;
    match image_path(path)? {
        Some(image) if is_there(disk, &image)? && !kept.stamp && !kept.backup => backup_or_stamp(disk, path, &image),
        _ => Ok(Preserve::Nothing),
    }
}

/// What to do with a file that left the configuration.
pub fn restore_file(disk: &impl Disk, owned: &dyn PackageOwners, path: &RootPath) -> Result<Restore, OriginalsError> {
    match image_original(disk, path)? {
        Some(restore) => Ok(restore),
        None if owned.owned(path) => Kept::of(disk, path)?.restore(disk, path),
        None => Ok(Restore::Delete),
    }
}

/// What to do with a unit or drop-in that left the configuration.
pub fn restore_unit(disk: &impl Disk, path: &RootPath) -> Result<Restore, OriginalsError> {
    match image_original(disk, path)? {
        Some(restore) => Ok(restore),
        None => Kept::of(disk, path)?.restore(disk, path),
    }
}

/// What the image that runs has at a path of `/etc`; `None` where the machine has no image, or the path is elsewhere. A
/// backup is of the image that ran when it was taken, so it does not count where the image itself can be asked.
pub fn image_original(disk: &impl Disk, path: &RootPath) -> Result<Option<Restore>, OriginalsError> {
    let Some(image) = image_path(path)? else { return Ok(None) };
    if !is_there(disk, &kept_at(path, RootPath::new(IMAGE_ETC))?)? {
        return Ok(None);
    }
    if kind(disk, &image)? == Some(Kind::Directory) {
        // A directory cannot be put back; where a file took its place, it comes with the next deployment.
        let stands = kind(disk, path)? == Some(Kind::Directory);
        return Ok(Some(if stands { Restore::Leave } else { Restore::Delete }));
    }
    let Some(standing) = read_standing(disk, &image, MOST_BYTES)? else { return Ok(Some(Restore::Delete)) };
    let kept = Kept::of(disk, path)?;
    let backup = if kept.stamp || !kept.backup { Restore::Delete } else { kept.restore(disk, path)? };
    Ok(Some(match backup {
        // An original that is the image's has access lists and attributes that no image has.
        Restore::PutBack(backup) if backup.is_default(&standing) => Restore::PutBack(backup),
        Restore::PutBack(_) | Restore::Delete | Restore::Leave => Restore::PutBack(standing),
    }))
}

/// What was kept of a path, by whichever daemon wrote it first.
struct Kept {
    stamp: bool,
    backup: bool,
}

impl Kept {
    fn of(disk: &impl Disk, path: &RootPath) -> Result<Self, OriginalsError> {
        let (stamp, backup) = (kept_at(path, stamp_path(path))?, kept_at(path, backup_path(path))?);
        Ok(Self { stamp: is_there(disk, &stamp)?, backup: is_there(disk, &backup)? })
    }

    fn restore(&self, disk: &impl Disk, path: &RootPath) -> Result<Restore, OriginalsError> {
        if self.stamp {
            return Ok(Restore::Delete);
        }
        let backup = kept_at(path, backup_path(path))?;
        Ok(read_standing(disk, &backup, MOST_BYTES)?.map_or(Restore::Delete, Restore::PutBack))
    }
}

fn backup_or_stamp(disk: &impl Disk, path: &RootPath, source: &RootPath) -> Result<Preserve, OriginalsError> {
    // A directory is in the way of the write, or gives way to another deployment: no copy is made of it.
    if matches!(kind(disk, path)?, None | Some(Kind::Directory)) {
        return Ok(Preserve::Stamp);
    }
    Ok(read_standing(disk, source, MOST_BYTES)?.map_or(Preserve::Stamp, Preserve::Backup))
}

fn kept_at(path: &RootPath, place: Result<RootPath, PathError>) -> Result<RootPath, OriginalsError> {
    place.map_err(|source| OriginalsError::Place { path: path.clone(), source })
}

fn is_in_image(disk: &impl Disk, path: &RootPath) -> Result<bool, OriginalsError> {
    match image_path(path)? {
        Some(image) => is_there(disk, &image),
        None => Ok(false),
    }
}

/// Where an ostree image has its own copy of a file of `/etc`.
pub fn image_path(path: &RootPath) -> Result<Option<RootPath>, OriginalsError> {
    if !path.as_str().starts_with("/etc/") {
        return Ok(None);
    }
    kept_at(path, RootPath::new(format!("/usr{path}"))).map(Some)
}

fn is_there(disk: &impl Disk, path: &RootPath) -> Result<bool, OriginalsError> {
    Ok(kind(disk, path)?.is_some())
}

fn kind(disk: &impl Disk, path: &RootPath) -> Result<Option<Kind>, OriginalsError> {
    match disk.stat(path) {
        Ok(stat) => Ok(stat.map(|stat| stat.kind)),
        Err(source) => Err(OriginalsError::Look { path: path.clone(), source }),
    }
}
