//! Mode and owner, given to an open file such that at no moment it is open to more than before or after.

use std::fs::File;
use std::io::{self, ErrorKind};

use nix::sys::stat::{Mode, fchmod, fstat};
use nix::unistd::{Gid, Uid, fchown};

use super::super::{Attributes, Stat};
use super::place::retry;
use super::xattr::remove_access_list;

/// Somebody who is not root, and so cannot give files away. To such a caller, what is theirs passes for root's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    uid: u32,
    gid: u32,
}

impl Caller {
    /// Who runs this process, unless it is root.
    pub(super) fn current() -> Option<Self> {
        let (uid, gid) = (Uid::effective(), Gid::effective());
        (!uid.is_root()).then(|| Self { uid: uid.as_raw(), gid: gid.as_raw() })
    }

    /// Whether this is the caller.
    pub(super) const fn owns(self, uid: u32) -> bool {
        self.uid == uid
    }

    /// How a file looks to the caller.
    pub(super) fn see(self, stat: Stat) -> Stat {
        let own = |id, own| if id == own { 0 } else { id };
        Stat { uid: own(stat.uid, self.uid), gid: own(stat.gid, self.gid), ..stat }
    }
}

/// Attributes that the kernel takes literally.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    mode: Mode,
    uid: u32,
    gid: u32,
}

impl Grant {
    /// Checks attributes before anything is touched. What a `caller` who is not root makes is the caller's, whoever is
    /// asked for.
    pub(super) fn new(attributes: Attributes, caller: Option<Caller>) -> io::Result<Self> {
        let Attributes { mode, uid, gid } = attributes;
        let refuse = |message: String| Err(io::Error::new(ErrorKind::InvalidInput, message));
        let Some(bits) = Mode::from_bits(mode) else {
            return refuse(format!("the mode {mode:o} has more than permission bits"));
        };
        // To the kernel this number means that the owner is to stay as it is.
        if uid == u32::MAX || gid == u32::MAX {
            return refuse(format!("{} is no user or group", u32::MAX));
        }
        let Caller { uid, gid } = caller.unwrap_or(Caller { uid, gid });
        Ok(Self { mode: bits, uid, gid })
    }

    /// Sets owner and mode, and takes an access control list away. The mode comes last because a change of owner takes setuid and setgid away, and is first
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
        // With a list, the bits of the group would be its mask, and open the file to those whom it names.
        remove_access_list(file)?;
        retry(|| fchmod(file, self.mode))
    }
}
