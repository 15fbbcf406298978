//! Mode and owner, given to an open file such that at no moment it is open to more than before or after.

use std::fs::File;
use std::io::{self, ErrorKind};

use nix::sys::stat::{Mode, fchmod, fstat};
use nix::unistd::{Gid, Uid, fchown};

use super::super::Attributes;
use super::place::retry;

/// Attributes that the kernel takes literally.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    mode: Mode,
    uid: u32,
    gid: u32,
}

impl Grant {
    /// Checks attributes before anything is touched.
    pub(super) fn new(attributes: Attributes) -> io::Result<Self> {
        let Attributes { mode, uid, gid } = attributes;
        let refuse = |message: String| Err(io::Error::new(ErrorKind::InvalidInput, message));
        let Some(bits) = Mode::from_bits(mode) else {
            return refuse(format!("the mode {mode:o} has more than permission bits"));
        };
        // To the kernel this number means that the owner is to stay as it is.
        if uid == u32::MAX || gid == u32::MAX {
            return refuse(format!("{} is no user or group", u32::MAX));
        }
        Ok(Self { mode: bits, uid, gid })
    }

    /// Sets owner and mode. The mode comes last because a change of owner takes setuid and setgid away, and is first
    /// cut down to what both owners may.
    pub(super) fn give(self, file: &File) -> io::Result<()> {
        let now = retry(|| fstat(file))?;
        if (now.st_uid, now.st_gid) != (self.uid, self.gid) {
            let before = Mode::from_bits_truncate(now.st_mode & 0o7777);
            retry(|| fchmod(file, before & self.mode))?;
            let owner = (Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.gid)));
            if let Err(error) = retry(|| fchown(file, owner.0, owner.1)) {
                // Best effort: the owner did not change, so the mode it had is right again.
                let _ = retry(|| fchmod(file, before));
                return Err(error);
            }
        }
        retry(|| fchmod(file, self.mode))
    }
}
