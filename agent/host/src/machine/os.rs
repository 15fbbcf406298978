//! The operating system's part of a transaction: the deployment that the next restart is to boot.
//!
//! Owns how a goal is brought about with what is there: a deployment that is booted, staged or kept from before is not
//! made again. The deployment is always looked at afterwards, whoever made it.

use ostler_core::os::backend::Backend;
use ostler_core::os::boot_mark::Restarted;
use ostler_core::os::goal::{Impossible, OsChange};
use ostler_core::os::image::{ImageError, Pinned};
use ostler_core::os::order::Order;
use ostler_core::os::preflight::{self, FailedTarget, Verdict};
use ostler_core::os::state::{Installed, OsState};
use ostler_core::step::Step;
use ostler_core::transaction::{Direction, Purpose};

use super::prepare::Way;
use super::{Machine, observe};
use crate::disk::Disk;
use crate::journal::{Loaded, Slot};
use crate::os::{IsWanted, OsBackend, OsHost, Outlook, Told};
use crate::transaction::{Journey, Trouble};

impl<D: Disk> Machine<'_, D> {
    /// What a journey does to the operating system: as it was settled when the transaction began, or as it is now.
    /// With what is worth knowing before.
    pub(super) fn os_change(&self, journey: &Journey<'_>) -> Result<(Option<OsChange>, Vec<String>), Trouble> {
        if journey.boot.is_some() {
            return Ok((journey.os.cloned(), Vec::new()));
        }
        let staged = journey.steps.iter().find_map(|step| match step {
            Step::StageOs(deployment) => Some(deployment),
            _ => None,
        });
        let Some(wish) = staged.filter(|_| self.surroundings.live) else { return Ok((None, Vec::new())) };
        let host = self.os_host()?;
        let state = host.sysroot().read()?;
        let booted = booted(&state)?.clone();
        let mut change = OsChange::of(wish, &booted, host.platform()).map_err(|error| unpinned(host, error))?;
        self.with_nics(host, &mut change.goal, &journey.target.config)?;
        let forgiven = journey.purpose == Purpose::Rollback || observe::forced(self.disk)?;
        let failed = if forgiven { Vec::new() } else { self.failed()? };
        let fitting = state.deployments.iter().filter(|kept| change.check(Direction::Forward, kept).is_ok());
        let fitting: Vec<&Installed> = fitting.collect();
        let kept = fitting.iter().filter(|kept| state.staged.as_ref() != Some(kept));
        change.kept = kept.map(|kept| (kept.checksum.clone(), kept.serial)).collect();
        if !fitting.is_empty() {
            // It has been here before: there is nothing to be fetched, and nobody to be asked.
            return known(change, &failed);
        }
        host.backend(&change.goal)?.accepts(&Order::between(&booted, &change.goal))?;
        let outlook = look_before(host, &change, failed)?;
        change.goal.manifest = outlook.manifest.filter(|manifest| Some(manifest) != change.goal.digest.as_ref());
        Ok((Some(change), outlook.findings.iter().map(ToString::to_string).collect()))
    }

    fn os_host(&self) -> Result<&dyn OsHost, Trouble> {
        self.surroundings.os.as_deref().ok_or(Trouble::OperatingSystem)
    }

    /// Whether the running system is not the one that the way leads to.
    pub(super) fn is_not_booted(&self, way: &Way) -> Result<bool, Trouble> {
        let Some(change) = &way.os else { return Ok(false) };
        let host = self.os_host()?;
        let state = match host.sysroot().read() {
            Err(_) if nothing_staged(way, host) => return Ok(false),
            state => state?,
        };
        Ok(state.booted.is_none_or(|booted| change.check(way.direction, &booted).is_err()))
    }

    /// Operating systems that were tried here and given up. A record that cannot be read stops nobody.
    pub(super) fn failed(&self) -> Result<Vec<FailedTarget>, Trouble> {
        match self.journal.load(Slot::Failed)? {
            Loaded::Intact(payload) => Ok(serde_json::from_slice(payload.expose()).unwrap_or_default()),
            Loaded::Absent | Loaded::Damaged { .. } => Ok(Vec::new()),
        }
    }

    /// Makes the next restart boot what the way leads to.
    pub(super) fn stage(&self, way: &Way, told: Told<'_>, wanted: IsWanted<'_>) -> Result<(), Trouble> {
        let Some(change) = &way.os else { return Ok(()) };
        let host = self.os_host()?;
        let staging = Staging { host, change, direction: way.direction, wanted };
        host.close_extensions()?;
        if nothing_staged(way, host) && host.sysroot().read().is_err() {
            return self.unlock_staged();
        }
        match (way.restarted, way.direction) {
            (Restarted::Nothing, Direction::Forward) => {
                staging.settle(&|| self.lock_staged(), told)?;
                let staged = host.sysroot().read()?.staged;
                staged.map_or(Ok(()), |staged| self.check_merge(way, &staged))
            }
            (_, Direction::Back) => {
                staging.settle(&|| Ok(()), told)?;
                self.unlock_staged()
            }
            (restarted, Direction::Forward) => staging.confirm(restarted == Restarted::Machine),
        }
    }
}

/// Whether a way back has nothing to take back of the operating system: in the boot in which the change began, nothing but a
/// staged deployment is left of it. So a libostree that fails keeps no undo from its end.
fn nothing_staged(way: &Way, host: &dyn OsHost) -> bool {
    way.direction == Direction::Back && way.restarted == Restarted::Nothing && !host.sysroot().may_be_staged()
}

/// A change to what is there already.
fn known(change: OsChange, failed: &[FailedTarget]) -> Result<(Option<OsChange>, Vec<String>), Trouble> {
    let image = change.goal.image.as_deref().and_then(|image| Pinned::parse(image).ok());
    let changes = !change.goal.is_image_of(&change.before);
    match image.filter(|_| changes).and_then(|image| preflight::held_against(&image, failed)) {
        Some(finding) => Err(Trouble::Preflight(vec![finding])),
        None => Ok((Some(change), Vec::new())),
    }
}

/// Nobody should have to look up what a name means that somebody else can.
fn unpinned(host: &dyn OsHost, error: Impossible) -> Trouble {
    let remedy = match &error {
        Impossible::Image(ImageError::Unpinned { reference }) => {
            Some(preflight::pin_remedy(reference, host.resolve(reference).as_deref()))
        }
        _ => None,
    };
    Trouble::Impossible { source: error, remedy }
}

/// Everything that can be found out is, before anything is begun: a node that is drained for nothing is a node less.
fn look_before(host: &dyn OsHost, change: &OsChange, failed: Vec<FailedTarget>) -> Result<Outlook, Trouble> {
    let outlook = host.findings(change, failed)?;
    match preflight::verdict(&outlook.findings) {
        Verdict::Go => Ok(outlook),
        Verdict::Later | Verdict::Refused => Err(Trouble::Preflight(outlook.findings)),
    }
}

/// One goal being brought about.
struct Staging<'a> {
    host: &'a dyn OsHost,
    change: &'a OsChange,
    direction: Direction,
    wanted: IsWanted<'a>,
}

impl Staging<'_> {
    fn fits(&self, installed: Option<&Installed>) -> bool {
        installed.is_some_and(|installed| self.change.check(self.direction, installed).is_ok())
    }

    /// After the restart nothing is staged any more: either the new deployment runs, or the transaction has failed. A
    /// restart of user space alone does not ask the boot loader, so what that would start next can still be waited for.
    fn confirm(&self, by_boot_loader: bool) -> Result<(), Trouble> {
        let state = self.host.sysroot().read()?;
        if !by_boot_loader && self.fits(state.next()) {
            return Ok(());
        }
        let booted = state.booted.unwrap_or_default();
        let Err(source) = self.change.check(self.direction, &booted) else { return Ok(()) };
        // One that was kept from before says nothing of the one that was staged.
        let is_kept = |one: &Installed| self.change.kept.contains(&(one.checksum.clone(), one.serial));
        let finished = state.deployments.iter().any(|one| self.fits(Some(one)) && !is_kept(one));
        let last_words = || if by_boot_loader { self.host.last_words() } else { None };
        let words = state.finalization_failure.or_else(last_words);
        let there = (by_boot_loader && finished) || words.is_some();
        let failure = words.map(|words| format!(": {words}")).unwrap_or_default();
        Err(Trouble::NotBooted { source, failure, there })
    }

    /// Stages what the goal needs, with the lock in place before anything is staged.
    fn settle(&self, lock: &dyn Fn() -> Result<(), Trouble>, told: Told<'_>) -> Result<(), Trouble> {
        let state = self.host.sysroot().read()?;
        if self.fits(state.next()) {
            return Ok(());
        }
        let goal = self.change.end(self.direction);
        let backend = self.host.backend(&goal)?;
        if backend.backend() == Backend::External && self.direction == Direction::Back {
            // What another controller has staged is not ours to drop.
            return Ok(());
        }
        if self.fits(state.booted.as_ref()) {
            self.stay(&*backend)?;
        } else if backend.backend() == Backend::External {
            backend.accepts(&Order::between(booted(&state)?, &goal))?;
        } else {
            if state.staged.is_some() {
                // libostree removes the lock with a deployment that it replaces.
                backend.discard()?;
            }
            lock()?;
            match state.deployments.iter().find(|kept| self.fits(Some(kept))) {
                Some(kept) => self.host.sysroot().stage_again(kept)?,
                None => self.make(&*backend, &Order::between(booted(&state)?, &goal), told)?,
            }
            // A backend that stages the image and then its arguments replaces its own deployment, and libostree 2026.4
            // removes the lock with the first one.
            lock()?;
        }
        self.verify(&*backend)
    }

    /// Makes the next restart boot what is booted already.
    fn stay(&self, backend: &dyn OsBackend) -> Result<(), Trouble> {
        backend.discard()?;
        if !self.fits(self.host.sysroot().read()?.next()) {
            self.host.sysroot().stay()?;
        }
        Ok(())
    }

    fn make(&self, backend: &dyn OsBackend, order: &Order, told: Told<'_>) -> Result<(), Trouble> {
        if let Some(image) = &self.change.extensions_image {
            self.host.open_extensions(image)?;
        }
        let staged = backend.stage_while(order, told, self.wanted);
        let closed = self.host.close_extensions();
        staged?;
        Ok(closed?)
    }

    fn verify(&self, backend: &dyn OsBackend) -> Result<(), Trouble> {
        let next = self.host.sysroot().read()?.next().cloned().unwrap_or_default();
        let checked = self.change.check(self.direction, &next);
        checked.map_err(|source| Trouble::Misstaged { backend: backend.backend(), source })
    }
}

fn booted(state: &OsState) -> Result<&Installed, Trouble> {
    state.booted.as_ref().ok_or(Trouble::OperatingSystem)
}
