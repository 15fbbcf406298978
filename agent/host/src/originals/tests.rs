//! Which originals are kept and put back, on small machines kept in memory.

use std::collections::BTreeSet;

use nix::errno::Errno;
use ostler_core::secret::Secret;

use super::*;
use crate::disk::Attributes;
use crate::disk::memory::{Fault, MemoryDisk};

const CANARY: &str = "canary-contents";
const FILE: &str = "/etc/chrony.conf";
const UNIT: &str = "/etc/systemd/system/chronyd.service";

/// Packages that own a list of paths.
struct Owns(BTreeSet<RootPath>);

impl PackageOwners for Owns {
    fn owned(&self, path: &RootPath) -> bool {
        self.0.contains(path)
    }
}

fn path(text: &str) -> RootPath {
    RootPath::new(text).unwrap()
}

fn owns(paths: &[&str]) -> Owns {
    Owns(paths.iter().copied().map(path).collect())
}

/// A machine with files that say where they stand.
fn disk(paths: &[&str]) -> MemoryDisk {
    let files: Vec<(&str, &str, u32)> = paths.iter().map(|path| (*path, *path, 0o640)).collect();
    MemoryDisk::with(&files).unwrap()
}

fn file(contents: &str) -> Standing {
    let attributes = Attributes { mode: 0o640, uid: 0, gid: 0 };
    Standing::File {
        contents: Secret::new(contents.as_bytes().to_vec()),
        attributes,
        label: None,
        xattrs: Default::default(),
    }
}

fn backup_of(text: &str) -> String {
    backup_path(&path(text)).unwrap().as_str().to_owned()
}

fn stamp_of(text: &str) -> String {
    stamp_path(&path(text)).unwrap().as_str().to_owned()
}

#[test]
fn the_places_are_those_of_machine_config_daemon() {
    assert_eq!(backup_of(FILE), "/etc/machine-config-daemon/orig/etc/chrony.conf.mcdorig");
    assert_eq!(stamp_of(FILE), "/etc/machine-config-daemon/noorig/etc/chrony.conf.mcdnoorig");
    let longest = path(&format!("/{}", "a".repeat(255)));
    assert_eq!(backup_path(&longest), Err(PathError::TooLong));
    let error = preserve_file(&MemoryDisk::new(), &NoPackages, &longest).unwrap_err();
    assert!(matches!(error, OriginalsError::Place { .. }), "{error}");
}

#[test]
fn a_file_is_kept_only_when_it_is_the_systems_own() {
    let (backup, stamp) = (backup_of(FILE), stamp_of(FILE));
    let (backup, stamp, image) = (backup.as_str(), stamp.as_str(), "/usr/etc/chrony.conf");
    let kept = || Preserve::Backup(file(FILE));
    for (present, owned, expected) in [
        (&[][..], false, Preserve::Stamp),
        (&[FILE], false, Preserve::Stamp),
        (&[FILE], true, kept()),
        (&[FILE, image], false, kept()),
        (&[image], false, Preserve::Stamp),
        (&[], true, Preserve::Stamp),
        (&[FILE, backup], true, Preserve::Nothing),
        (&[FILE, backup, image], false, Preserve::Nothing),
        (&[backup, image], false, Preserve::Nothing),
        (&[FILE, backup], false, Preserve::StampInsteadOfWrongBackup),
        (&[backup], false, Preserve::StampInsteadOfWrongBackup),
        (&[FILE, stamp], false, Preserve::Nothing),
        (&[FILE, stamp, image], true, Preserve::Nothing),
    ] {
        let packages = if owned { owns(&[FILE]) } else { owns(&[]) };
        assert_eq!(preserve_file(&disk(present), &packages, &path(FILE)).unwrap(), expected, "{present:?} {owned}");
    }
}

#[test]
fn only_files_of_etc_have_a_copy_in_the_image() {
    for (written, copy) in [("/etcetera/x", "/usr/etcetera/x"), ("/var/x", "/usr/var/x")] {
        assert_eq!(preserve_file(&disk(&[written, copy]), &NoPackages, &path(written)).unwrap(), Preserve::Stamp);
    }
}

#[test]
fn a_unit_is_kept_as_the_image_has_it_or_not_at_all() {
    let (backup, stamp, image) = (backup_of(UNIT), stamp_of(UNIT), format!("/usr{UNIT}"));
    let (backup, stamp, image) = (backup.as_str(), stamp.as_str(), image.as_str());
    for (present, expected) in [
        (&[][..], Preserve::Nothing),
        (&[UNIT], Preserve::Nothing),
        (&[UNIT, image], Preserve::Backup(file(image))),
        (&[image], Preserve::Stamp),
        (&[UNIT, image, backup], Preserve::Nothing),
        (&[image, backup], Preserve::Nothing),
        (&[UNIT, image, stamp], Preserve::Nothing),
    ] {
        assert_eq!(preserve_unit(&disk(present), &path(UNIT)).unwrap(), expected, "{present:?}");
    }
}

#[test]
fn a_path_that_leaves_gives_way_to_the_images_own_or_to_what_was_kept_of_it() {
    let (backup, stamp, image) = (backup_of(FILE), stamp_of(FILE), "/usr/etc/chrony.conf");
    let (backup, stamp, other) = (backup.as_str(), stamp.as_str(), "/usr/etc/hosts");
    let back = |place: &str| Restore::PutBack(file(place));
    for (present, owned, for_file, for_unit) in [
        (&[FILE][..], false, Restore::Delete, Restore::Delete),
        (&[], false, Restore::Delete, Restore::Delete),
        (&[FILE], true, Restore::Delete, Restore::Delete),
        // Without an image, what was kept counts.
        (&[FILE, stamp], true, Restore::Delete, Restore::Delete),
        (&[FILE, stamp, backup], true, Restore::Delete, Restore::Delete),
        (&[FILE, stamp, backup], false, Restore::Delete, Restore::Delete),
        (&[FILE, backup], true, back(backup), back(backup)),
        (&[FILE, backup], false, Restore::Delete, back(backup)),
        // An image has it, whatever an earlier one had.
        (&[FILE, image], false, back(image), back(image)),
        (&[backup, image], false, back(image), back(image)),
        (&[FILE, stamp, image], true, back(image), back(image)),
        // Or it has not.
        (&[FILE, backup, other], true, Restore::Delete, Restore::Delete),
        (&[FILE, other], false, Restore::Delete, Restore::Delete),
    ] {
        let packages = if owned { owns(&[FILE]) } else { owns(&[]) };
        assert_eq!(restore_file(&disk(present), &packages, &path(FILE)).unwrap(), for_file, "{present:?} {owned}");
        assert_eq!(restore_unit(&disk(present), &path(FILE)).unwrap(), for_unit, "{present:?}");
    }
}

#[test]
fn links_are_kept_as_links_and_a_backup_that_is_one_counts() {
    let disk = MemoryDisk::new();
    disk.put_directory(&path("/etc"), Attributes { mode: 0o755, uid: 0, gid: 0 }).unwrap();
    disk.put_link(&path(FILE), "../usr/share/gone").unwrap();
    let link = Standing::Link { target: "../usr/share/gone".to_owned() };
    assert_eq!(preserve_file(&disk, &owns(&[FILE]), &path(FILE)).unwrap(), Preserve::Backup(link.clone()));
    assert_eq!(preserve_file(&disk, &NoPackages, &path(FILE)).unwrap(), Preserve::Stamp);
    disk.put_link(&backup_path(&path(FILE)).unwrap(), "../usr/share/gone").unwrap();
    assert_eq!(preserve_file(&disk, &owns(&[FILE]), &path(FILE)).unwrap(), Preserve::Nothing);
    assert_eq!(restore_file(&disk, &owns(&[FILE]), &path(FILE)).unwrap(), Restore::PutBack(link));
}

#[test]
fn what_cannot_be_kept_or_read_is_an_error() {
    let disk = MemoryDisk::with(&[("/etc/chrony.conf/", "", 0o755), ("/etc/long", "12345", 0o644)]).unwrap();
    assert_eq!(preserve_file(&disk, &owns(&[FILE]), &path(FILE)).unwrap(), Preserve::Stamp, "no copy of a directory");
    let error = read_standing(&disk, &path(FILE), 4).unwrap_err();
    assert!(matches!(&error, OriginalsError::NotAFile { path } if path.as_str() == FILE), "{error}");
    assert!(matches!(read_standing(&disk, &path("/etc/long"), 4), Err(OriginalsError::Read { .. })));
    assert!(read_standing(&disk, &path("/etc/long"), 5).unwrap().is_some());
    assert_eq!(read_standing(&disk, &path("/etc/none"), 5).unwrap(), None);
    disk.fail_read_at(disk.reads(), Fault::Error(Errno::EIO));
    assert!(matches!(restore_unit(&disk, &path(UNIT)), Err(OriginalsError::Look { .. })));
}

#[test]
fn reading_never_changes_the_disk() {
    let disk = disk(&[FILE, "/usr/etc/chrony.conf"]);
    let before = disk.effects();
    preserve_file(&disk, &NoPackages, &path(FILE)).unwrap();
    restore_file(&disk, &NoPackages, &path(FILE)).unwrap();
    assert_eq!(disk.effects(), before);
}

#[test]
fn no_debug_output_shows_contents() {
    let disk = MemoryDisk::with(&[(FILE, CANARY, 0o600), (&backup_of(FILE), CANARY, 0o600)]).unwrap();
    let standing = read_standing(&disk, &path(FILE), 100).unwrap();
    let restore = restore_unit(&disk, &path(FILE)).unwrap();
    let kept = Preserve::Backup(standing.clone().unwrap());
    let error = read_standing(&disk, &path(FILE), 1).unwrap_err();
    let shown = format!("{standing:?} {restore:?} {kept:?} {error:?} {error}");
    assert!(shown.contains("redacted") && !shown.contains(CANARY), "{shown}");
}
