//! Phases made to happen.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use ostler_core::secret::Secret;
use ostler_core::transaction::{Direction, Phase};

use super::Machine;
use super::draft::Password;
use super::place::{PASSWORD_LOCK, SHADOW};
use super::prepare::{TAG, Way};
use crate::accounts::{Accounts, LOCKED, PasswordLock, Shadow};
use crate::batch::{self, Batch, Counts, Write};
use crate::disk::{Attributes, Disk, Kind, RootPath};
use crate::os::Told;
use crate::transaction::{PhaseOutcome, Trouble};

/// The password database of a node is small; one that is not is not ours to rewrite.
const MOST_SHADOW: u64 = 4 << 20;
const DAY: u64 = 24 * 60 * 60;

/// How long another process may hold the lock of the password database.
const LOCK_TRIES: usize = 150;
const LOCK_WAIT: Duration = Duration::from_millis(100);

impl<D: Disk> Machine<'_, D> {
    pub(super) fn run_phase(&self, way: &Way, phase: Phase, told: Told<'_>) -> Result<PhaseOutcome, Trouble> {
        match phase {
            Phase::Stage => self.stage(way, told, &|| true).map(|()| PhaseOutcome::default()),
            Phase::Preserve => {
                let mut outcome = self.apply(way, &way.draft.preserve.batch(&[]))?;
                outcome.leftovers.extend(batch::sweep_possible(self.disk, &way.leftovers, TAG)?);
                Ok(outcome)
            }
            Phase::Write => self.write(way),
            // Originals are needed again by the writing after the restart.
            Phase::Tidy if self.is_not_booted(way)? => Ok(PhaseOutcome::default()),
            Phase::Tidy => {
                let mut outcome = self.apply(way, &way.draft.tidying())?;
                let failed = self.apply_possible(&way.draft.left, &[]).into_iter().map(|(path, _)| path);
                let left = failed.chain(way.draft.left_behind.iter().cloned());
                outcome.leftovers.extend(left.map(|path| path.as_str().to_owned()));
                Ok(outcome)
            }
            Phase::Units => self.units(way),
            Phase::Services => self.services(way, told),
            Phase::Check | Phase::Begin | Phase::Commit | Phase::Pull => Ok(PhaseOutcome::default()),
        }
    }

    pub(super) fn apply(&self, way: &Way, batch: &Batch) -> Result<PhaseOutcome, Trouble> {
        let swept = match batch::sweep(self.disk, &way.sweep, TAG) {
            Err(error) if way.direction == Direction::Forward => return Err(error.into()),
            swept => swept.is_ok(),
        };
        let Counts { written, removed, .. } = batch::apply(self.disk, batch, TAG)?;
        // A temporary that cannot be removed keeps nothing from being as it was.
        let leftovers = if swept { Vec::new() } else { batch::sweep_possible(self.disk, &way.sweep, TAG)? };
        Ok(PhaseOutcome { changed: written + removed, leftovers, ..PhaseOutcome::default() })
    }

    fn write(&self, way: &Way) -> Result<PhaseOutcome, Trouble> {
        let mut batch = way.draft.write.batch(&way.draft.directories);
        let mut _lock = None;
        // The way back from a lock that could not be had must not need that lock.
        if self.shadow_write(&way.draft.passwords, &way.accounts)?.is_some() {
            _lock = self.password_lock()?;
            batch.writes.extend(self.shadow_write(&way.draft.passwords, &way.accounts)?);
        }
        let mut outcome = self.apply(way, &batch)?;
        if way.direction == Direction::Back {
            let failed = self.apply_possible(&way.draft.left, &way.draft.directories).into_iter();
            outcome.leftovers.extend(failed.map(|(path, _)| path.as_str().to_owned()));
        }
        match batch::unmake(self.disk, &way.unmake, TAG) {
            Err(_) if way.direction == Direction::Back => {
                outcome.leftovers.extend(batch::unmake_possible(self.disk, &way.unmake, TAG)?);
            }
            unmade => unmade?,
        }
        Ok(outcome)
    }

    fn password_lock(&self) -> Result<Option<PasswordLock>, Trouble> {
        let Some(root) = &self.surroundings.root else { return Ok(None) };
        let path = RootPath::new(SHADOW).map_err(Trouble::path(SHADOW))?;
        let taken = PasswordLock::take(root, LOCK_TRIES, &mut || sleep(LOCK_WAIT));
        taken.map_err(Trouble::disk("lock", &path))?.ok_or(Trouble::PasswordLock).map(Some)
    }

    /// What could never be locked is found before anything is begun.
    pub(super) fn check_password_lock(&self) -> Result<(), Trouble> {
        let path = RootPath::new(PASSWORD_LOCK).map_err(Trouble::path(PASSWORD_LOCK))?;
        match self.disk.stat(&path).map_err(Trouble::disk("inspect", &path))?.map(|stat| stat.kind) {
            None | Some(Kind::File) => Ok(()),
            Some(_) => {
                let error = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
                Err(Trouble::disk("lock", &path)(error))
            }
        }
    }

    pub(super) fn shadow(&self) -> Result<Shadow, Trouble> {
        let path = RootPath::new(SHADOW).map_err(Trouble::path(SHADOW))?;
        let text = match self.disk.stat(&path).map_err(Trouble::disk("inspect", &path))? {
            Some(_) => self.disk.read(&path, MOST_SHADOW).map_err(Trouble::disk("read", &path))?,
            None => Vec::new(),
        };
        Ok(Shadow::parse(Secret::new(text)))
    }

    /// The password database with all these changes in it, as it is at this moment; `None` when none is needed.
    pub(super) fn shadow_write(&self, passwords: &[Password], accounts: &Accounts) -> Result<Option<Write>, Trouble> {
        if passwords.is_empty() {
            return Ok(None);
        }
        let mut shadow = self.shadow()?;
        let mut changed = None;
        for password in passwords {
            if let Some(text) = self.with_password(&shadow, password, accounts)? {
                shadow = Shadow::parse(text.clone());
                changed = Some(text);
            }
        }
        let Some(contents) = changed else { return Ok(None) };
        let path = RootPath::new(SHADOW).map_err(Trouble::path(SHADOW))?;
        let standing = self.disk.stat(&path).map_err(Trouble::disk("inspect", &path))?;
        let attributes = standing.map_or(Attributes { mode: 0, uid: 0, gid: 0 }, |stat| Attributes {
            mode: stat.mode,
            uid: stat.uid,
            gid: stat.gid,
        });
        let label = self.disk.label(&path).ok().flatten();
        let xattrs = self.disk.xattrs(&path).unwrap_or_default();
        Ok(Some(Write { path, contents: contents.into(), attributes, label, xattrs }))
    }

    /// A hash that is there already is left alone, and the day of its change with it.
    fn with_password(
        &self,
        shadow: &Shadow,
        password: &Password,
        accounts: &Accounts,
    ) -> Result<Option<Secret<Vec<u8>>>, Trouble> {
        let hash = password.hash.clone().unwrap_or_else(|| Secret::new(LOCKED.to_owned()));
        if shadow.hash(&password.user).as_ref() == Some(&hash) {
            return Ok(None);
        }
        let day = password.day.unwrap_or_else(|| (self.surroundings.now)() / DAY);
        let changed = shadow.with_hash(&password.user, &hash, Some(day), accounts);
        changed.map(Some).map_err(|source| Trouble::Password { user: password.user.clone(), source })
    }
}
