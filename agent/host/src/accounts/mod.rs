//! The users and groups of the machine below a root, and the file of their passwords.
//!
//! Owns what `/etc/passwd`, `/etc/group` and their counterparts in `/usr/lib` say, the text of `/etc/shadow` and the lock
//! that its writers share. Refuses to write any of them and to say who may own what.

mod error;
mod lock;
mod shadow;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

use nix::unistd;
use ostler_core::step::OwnerRef;
use serde::{Deserialize, Serialize};

pub use error::{AccountsError, UnknownOwner};
pub use lock::PasswordLock;
pub use shadow::{LOCKED, Shadow, ShadowError};

use crate::disk::{Disk, RootPath};

/// The longest such file that is read. A machine with this many users keeps them elsewhere.
const MOST_BYTES: u64 = 4 << 20;
/// In this order: who is in the machine's own file is not looked up in the image's, which nss-altfiles serves.
const PASSWD: [&str; 2] = ["/etc/passwd", "/usr/lib/passwd"];
const GROUP: [&str; 2] = ["/etc/group", "/usr/lib/group"];
/// What `chown` takes for "leave it as it is".
const NOBODY_AT_ALL: u32 = u32::MAX;

/// A user of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Its number.
    pub uid: u32,
    /// Its first group.
    pub gid: u32,
    /// Its home directory, as the machine writes it.
    pub home: String,
}

/// Users and groups by name.
#[derive(Debug)]
pub struct Accounts {
    users: BTreeMap<String, User>,
    groups: BTreeMap<String, u32>,
    live: bool,
    alone: bool,
}

/// Numbers of users and groups as they were at one moment, to be kept for later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownOwners {
    /// Each user with its first group.
    pub users: BTreeMap<String, (u32, u32)>,
    pub groups: BTreeMap<String, u32>,
}

impl KnownOwners {
    pub fn is_empty(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty()
    }
}

const ROOT: &str = "root";

impl Accounts {
    /// Reads a machine's users and groups. Files that are not there and lines that make no sense are passed over. Of the
    /// `live` machine, the one this runs on, the system is asked too for names that are in no file.
    pub fn load(disk: &impl Disk, live: bool) -> Result<Self, AccountsError> {
        let (mut users, mut groups) = (BTreeMap::new(), BTreeMap::new());
        for path in PASSWD {
            for (name, user) in read(disk, path)?.lines().filter_map(user_line) {
                users.entry(name.to_owned()).or_insert(user);
            }
        }
        for path in GROUP {
            for (name, gid) in read(disk, path)?.lines().filter_map(group_line) {
                groups.entry(name.to_owned()).or_insert(gid);
            }
        }
        Ok(Self { users, groups, live, alone: false })
    }

    /// Nobody but these, of a machine whose files cannot be read.
    pub fn only(owners: &KnownOwners) -> Self {
        Self { users: BTreeMap::new(), groups: BTreeMap::new(), live: false, alone: false }.knowing(owners)
    }

    /// The same accounts with these numbers, whatever the files say by now.
    pub fn knowing(mut self, owners: &KnownOwners) -> Self {
        for (name, &(uid, gid)) in &owners.users {
            let home = self.users.remove(name).map(|user| user.home).unwrap_or_default();
            self.users.insert(name.clone(), User { uid, gid, home });
        }
        self.groups.extend(owners.groups.clone());
        self
    }

    /// The same accounts for somebody who is not root: whoever exists, everything will belong to the one who asks, whom
    /// the disk shows as number 0.
    pub fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// The number of an owning user.
    pub fn uid(&self, owner: &OwnerRef) -> Result<u32, UnknownOwner> {
        self.found_uid(owner).map(|uid| if self.alone { 0 } else { uid })
    }

    /// The number of an owning group.
    pub fn gid(&self, owner: &OwnerRef) -> Result<u32, UnknownOwner> {
        self.found_gid(owner).map(|gid| if self.alone { 0 } else { gid })
    }

    fn found_uid(&self, owner: &OwnerRef) -> Result<u32, UnknownOwner> {
        let name = match owner {
            OwnerRef::Id(uid) => return Ok(*uid),
            OwnerRef::Name(name) => name,
        };
        let user = match self.users.get(name) {
            Some(user) => return Ok(user.uid),
            // Also where no file says so.
            None if name == ROOT => return Ok(0),
            None => self.asked_user(name),
        };
        match user {
            Ok(Some(user)) => Ok(user.uid),
            Ok(None) => Err(UnknownOwner::User { name: name.clone() }),
            Err(source) => Err(UnknownOwner::UnaskedUser { name: name.clone(), source }),
        }
    }

    fn found_gid(&self, owner: &OwnerRef) -> Result<u32, UnknownOwner> {
        let name = match owner {
            OwnerRef::Id(gid) => return Ok(*gid),
            OwnerRef::Name(name) => name,
        };
        let gid = match self.groups.get(name) {
            Some(gid) => return Ok(*gid),
            None if name == ROOT => return Ok(0),
            None => self.asked_group(name),
        };
        match gid {
            Ok(Some(gid)) => Ok(gid),
            Ok(None) => Err(UnknownOwner::Group { name: name.clone() }),
            Err(source) => Err(UnknownOwner::UnaskedGroup { name: name.clone(), source }),
        }
    }

    /// A user; `None` too when the system could not be asked.
    pub fn user(&self, name: &str) -> Option<User> {
        let user = self.users.get(name).cloned().or_else(|| self.asked_user(name).ok().flatten())?;
        Some(if self.alone { User { uid: 0, gid: 0, ..user } } else { user })
    }

    fn asked_user(&self, name: &str) -> io::Result<Option<User>> {
        if !self.live || !is_name(name) {
            return Ok(None);
        }
        let user = unistd::User::from_name(name)?;
        Ok(user.map(|user| User {
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
            home: user.dir.to_string_lossy().into_owned(),
        }))
    }

    fn asked_group(&self, name: &str) -> io::Result<Option<u32>> {
        if !self.live || !is_name(name) {
            return Ok(None);
        }
        let group = unistd::Group::from_name(name)?;
        Ok(group.map(|group| group.gid.as_raw()))
    }
}

/// Whether a text can stand as a name in these files. A `+` or `-` in front means other sources and no user.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(['+', '-', '#']) && !name.contains(|c: char| c == ':' || c.is_control())
}

fn read(disk: &impl Disk, path: &'static str) -> Result<String, AccountsError> {
    let read = RootPath::new(path).map_err(io::Error::other).and_then(|path| disk.read(&path, MOST_BYTES));
    match read {
        // A name that is no text cannot be asked for, so what becomes of its line does not matter.
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(String::new()),
        Err(source) => Err(AccountsError { path, source }),
    }
}

fn user_line(line: &str) -> Option<(&str, User)> {
    let mut fields = line.split(':');
    let (name, uid, gid) = (fields.next()?, fields.nth(1)?, fields.next()?);
    let home = fields.nth(1)?.to_owned();
    is_name(name).then_some((name, User { uid: number(uid)?, gid: number(gid)?, home }))
}

fn group_line(line: &str) -> Option<(&str, u32)> {
    let mut fields = line.split(':');
    let (name, gid) = (fields.next()?, fields.nth(1)?);
    is_name(name).then_some((name, number(gid)?))
}

fn number(field: &str) -> Option<u32> {
    field.parse().ok().filter(|id| *id != NOBODY_AT_ALL)
}
