//! Who owns what a transaction writes, by the accounts from before it: the change itself may rewrite those.

use ostler_core::step::{OwnerRef, Step};
use ostler_core::transaction::Direction;

use super::Machine;
use crate::accounts::{Accounts, KnownOwners};
use crate::disk::{Disk, RootPath, Stat};
use crate::transaction::{Journey, Trouble};

impl<D: Disk> Machine<'_, D> {
    /// The owners that either way names, to be kept for the way back.
    pub(super) fn owners(&self, journey: &Journey<'_>, accounts: &Accounts) -> Result<KnownOwners, Trouble> {
        let mut owners = KnownOwners::default();
        for step in journey.steps.iter().chain(journey.reverse) {
            if let Step::WriteFile { path, user: owner @ OwnerRef::Name(name), .. } = step {
                let user = match accounts.uid(owner) {
                    Ok(uid) => Some((uid, accounts.user(name).map_or(uid, |user| user.gid))),
                    Err(_) => self.standing_owner(path)?.map(|stat| (stat.uid, stat.gid)),
                };
                owners.users.extend(user.map(|user| (name.clone(), user)));
            }
            if let Step::WriteFile { path, group: owner @ OwnerRef::Name(name), .. } = step {
                let gid = match accounts.gid(owner) {
                    Ok(gid) => Some(gid),
                    Err(_) => self.standing_owner(path)?.map(|stat| stat.gid),
                };
                owners.groups.extend(gid.map(|gid| (name.clone(), gid)));
            }
            if let Step::SetSshKeys { user, .. } | Step::SetPassword { user } | Step::LockPassword { user } = step {
                owners.users.extend(accounts.user(user).map(|known| (user.clone(), (known.uid, known.gid))));
            }
        }
        Ok(owners)
    }

    /// Where the configuration before names somebody who is gone already, that is who owns the file as it stands.
    fn standing_owner(&self, path: &str) -> Result<Option<Stat>, Trouble> {
        let path = RootPath::new(path).map_err(Trouble::path(path))?;
        self.disk.stat(&path).map_err(Trouble::disk("inspect", &path))
    }

    /// The machine's accounts, with the numbers that were known when the transaction began. A way back has all that it
    /// needs in these.
    pub(super) fn accounts_of(&self, journey: &Journey<'_>, known: Option<&KnownOwners>) -> Result<Accounts, Trouble> {
        match (self.accounts(), known) {
            (Ok(accounts), Some(known)) => Ok(accounts.knowing(known)),
            (Err(_), Some(known)) if journey.direction == Direction::Back => Ok(Accounts::only(known)),
            (accounts, _) => accounts,
        }
    }
}
