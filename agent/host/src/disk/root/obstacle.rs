//! What keeps names in a directory from being changed, found before they are: kinds of filesystem, mounts and flags.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FsWord, StatVfsMountFlags, StatxAttributes, StatxFlags, fstatfs, fstatvfs, statx};
use rustix::io::{Errno, retry_on_intr};

use super::super::Obstacle;
use super::place::Place;

/// Filesystems whose files are made by the kernel, or that only wait for another to be mounted; numbers of linux/magic.h.
const KERNEL: &[(FsWord, &str)] = &[
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0x6265_6570, "configfs"),
    (0xcafe_4a11, "bpf"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x5a3c_69f0, "apparmorfs"),
    (0xde5e_81e4, "efivarfs"),
    (0x6165_676c, "pstore"),
    (0x1cd1, "devpts"),
    (0x1980_0202, "mqueue"),
    (0x9584_58f6, "hugetlbfs"),
    (0x6573_5543, "fusectl"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x6e73_6673, "nsfs"),
    (0x6759_6969, "rpc_pipefs"),
    (0x6e66_7364, "nfsd"),
    (0x0187, "autofs"),
    (0x0765_5821, "resctrl"),
    (0x6c6f_6f70, "binder"),
    (0x0a64_7361, "functionfs"),
    (0xabba_1974, "xenfs"),
    (0x9fa1, "openprom"),
];

/// What is in the way at a place, at which there may be nothing.
pub(super) fn find(place: &Place<'_>) -> io::Result<Option<Obstacle>> {
    let directory: &OwnedFd = &place.parent;
    if let Some(name) = kernel_filesystem(directory)? {
        return Ok(Some(Obstacle::Kernel(name)));
    }
    // Counts a filesystem that is read-only itself and a read-only mount of one that is not.
    if retry_on_intr(|| fstatvfs(directory))?.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Ok(Some(Obstacle::ReadOnly));
    }
    let above = attributes(directory, "", AtFlags::EMPTY_PATH)?;
    let here = attributes(directory, place.name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(if here.contains(StatxAttributes::MOUNT_ROOT) {
        Some(Obstacle::MountPoint)
    } else if (above | here).contains(StatxAttributes::IMMUTABLE) {
        Some(Obstacle::Immutable)
    } else if (above | here).contains(StatxAttributes::APPEND) {
        Some(Obstacle::AppendOnly)
    } else {
        None
    })
}

/// The type of the filesystem that holds a file, if it is one of the kernel's.
pub(super) fn kernel_filesystem(file: &OwnedFd) -> io::Result<Option<&'static str>> {
    let kind = retry_on_intr(|| fstatfs(file))?.f_type;
    Ok(KERNEL.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name))
}

/// None where nothing stands, or where a filter does not know the call.
fn attributes(directory: &OwnedFd, name: &str, flags: AtFlags) -> io::Result<StatxAttributes> {
    match retry_on_intr(|| statx(directory, name, flags, StatxFlags::TYPE)) {
        Ok(found) => Ok(found.stx_attributes),
        Err(Errno::NOENT | Errno::NOSYS) => Ok(StatxAttributes::empty()),
        Err(errno) => Err(errno.into()),
    }
}
