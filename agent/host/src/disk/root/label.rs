//! SELinux labels of open files, read and written as bytes: what a label means is the policy's affair.

use std::fs::File;
use std::io::{self, ErrorKind};

use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};
use rustix::io::{Errno, retry_on_intr};

const NAME: &str = "security.selinux";
/// The kernel takes no longer contexts from a policy.
const MAX_LABEL: usize = 4096;

/// The label of a file; `None` when it has none or its filesystem keeps none.
pub(super) fn read(file: &File) -> io::Result<Option<String>> {
    let mut buffer = vec![0; MAX_LABEL];
    let length = match retry_on_intr(|| fgetxattr(file, NAME, buffer.as_mut_slice())) {
        Ok(length) => length,
        Err(Errno::NODATA | Errno::NOTSUP) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    buffer.truncate(length);
    // Most tools store the NUL that ends the text, some do not.
    if buffer.last() == Some(&0) {
        buffer.pop();
    }
    let unreadable = |_| io::Error::new(ErrorKind::InvalidData, "the SELinux label is not text");
    String::from_utf8(buffer).map(Some).map_err(unreadable)
}

/// Checks a label before anything is touched, and gives the bytes that are stored for it.
pub(super) fn stored(label: &str) -> io::Result<Vec<u8>> {
    if label.is_empty() || label.contains('\0') || label.len() >= MAX_LABEL {
        let message = format!("an SELinux label has 1 to {} bytes and no NUL", MAX_LABEL - 1);
        return Err(io::Error::new(ErrorKind::InvalidInput, message));
    }
    Ok([label.as_bytes(), b"\0"].concat())
}

/// Gives a file a label.
pub(super) fn write(file: &File, stored: &[u8]) -> io::Result<()> {
    Ok(retry_on_intr(|| fsetxattr(file, NAME, stored, XattrFlags::empty()))?)
}
