//! Extended attributes of open files.

use std::fs::File;
use std::io::{self, ErrorKind};

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::{Errno, retry_on_intr};

use super::super::Xattrs;
use super::super::xattrs::{ACCESS, MOST_BYTES};

/// The kernel gives no longer lists and takes no longer values.
const MOST_AT_ONCE: usize = 64 << 10;

/// The attributes of a file that are kept.
pub(super) fn read(file: &File) -> io::Result<Xattrs> {
    let mut list = vec![0; MOST_AT_ONCE];
    let length = match retry_on_intr(|| flistxattr(file, list.as_mut_slice())) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => return Ok(Xattrs::default()),
        Err(errno) => return Err(errno.into()),
    };
    list.truncate(length);
    let names = list.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    let mut found = Vec::new();
    let mut left = MOST_BYTES;
    for name in names.filter(|name| Xattrs::is_kept(name)) {
        let mut value = vec![0; MOST_AT_ONCE];
        match retry_on_intr(|| fgetxattr(file, name, value.as_mut_slice())) {
            Ok(length) => value.truncate(length),
            // Removed meanwhile, or only listed.
            Err(Errno::NODATA | Errno::NOTSUP) => continue,
            Err(errno) => return Err(errno.into()),
        }
        let too_many = || io::Error::new(ErrorKind::FileTooLarge, "the file has too many extended attributes");
        left = left.checked_sub(name.len() + value.len()).ok_or_else(too_many)?;
        found.push((name.to_owned(), value));
    }
    Ok(found.into_iter().collect())
}

/// Adds attributes to a file.
pub(super) fn write(file: &File, xattrs: &Xattrs) -> io::Result<()> {
    for (name, value) in xattrs.iter() {
        match retry_on_intr(|| fsetxattr(file, name, value, XattrFlags::empty())) {
            Ok(()) | Err(Errno::NOTSUP | Errno::PERM) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Takes the access control list away, which a directory's default one has given to what was made in it.
pub(super) fn remove_access_list(file: &File) -> io::Result<()> {
    match retry_on_intr(|| fremovexattr(file, ACCESS)) {
        Ok(()) | Err(Errno::NODATA | Errno::NOTSUP) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
