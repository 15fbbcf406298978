//! The configuration written into the `/etc` of the deployment that the next boot starts, once that is finalised.
//!
//! Nothing of it is journalled: cut off anywhere, the next boot compares the whole configuration before any service starts.

use std::sync::Arc;

use ostler_core::machine_config::MachineConfig;
use ostler_core::os::boot_mark::BootMark;
use ostler_core::os::state::{Installed, OsState};
use ostler_core::recorded::Recorded;
use ostler_core::transaction::Direction;

use super::super::draft::{Actions, Draft};
use super::super::forward::Drafting;
use super::super::log::Log;
use super::super::prepare::TAG;
use super::super::wanted::Wanted;
use super::super::{Machine, Surroundings, charge, drift, labels, place};
use super::is_merged;
use crate::batch;
use crate::disk::{Disk, Kind, RootPath};
use crate::originals::NoPackages;
use crate::transaction::{Interrupted, Trouble};

/// What has to be written for the next boot, and where.
pub struct NextEtc {
    /// The deployment's root directory.
    pub root: RootPath,
    pub config: Arc<MachineConfig>,
}

impl<D: Disk> Machine<'_, D> {
    /// The deployment that the boot loader starts next and the configuration that it is to start with; `None` where it is
    /// the booted one, is not finalised, or the machine's configuration is another agent's.
    pub fn next_etc(&self) -> Result<Option<NextEtc>, Trouble> {
        let Some(host) = self.surroundings.os.as_deref() else { return Ok(None) };
        let OsState { booted, staged, deployments, .. } = host.sysroot().read()?;
        let Some(deployment) = deployments.into_iter().next().filter(|next| booted.as_ref() != Some(next)) else {
            return Ok(None);
        };
        if staged.is_some() {
            return Ok(None);
        }
        let recorded = self.next_config(&deployment)?;
        let root = place::deployment(&deployment.stateroot, &deployment.checksum, deployment.serial)
            .map_err(Trouble::path(&deployment.checksum))?;
        Ok(recorded.map(|recorded| NextEtc { root, config: recorded.config }))
    }

    fn next_config(&self, deployment: &Installed) -> Result<Option<Recorded>, Trouble> {
        if let Some(Interrupted { open, next, origin, .. }) = self.open_transaction()? {
            // A change of the operating system goes on only in its own deployment.
            let goes_on = open.os.is_none_or(|change| change.check(Direction::Forward, deployment).is_ok());
            return Ok(if goes_on && open.direction == Direction::Forward { next } else { origin });
        }
        let current = self.snapshot()?.current;
        let ours = charge::is_ours(&current.config.name, self.charge()?.as_ref(), self.last()?.as_ref());
        Ok(ours.then_some(current))
    }
}

/// Writes a configuration to the root directory of a deployment that does not run: what is below `/etc` and differs. Gives
/// the number of paths, and those that could not be written.
pub fn write_next<D: Disk>(
    disk: &D,
    config: &MachineConfig,
    now: Box<dyn Fn() -> u64>,
) -> Result<(usize, Vec<RootPath>), Trouble> {
    let surroundings = Surroundings {
        manager: None,
        os: None,
        root: None,
        live: false,
        root_user: true,
        boot: BootMark::default(),
        now,
    };
    let machine = Machine { disk, journal: Log::look(disk)?, surroundings };
    machine.write_etc(config)
}

impl<D: Disk> Machine<'_, D> {
    fn write_etc(&self, config: &MachineConfig) -> Result<(usize, Vec<RootPath>), Trouble> {
        let mut differs = self.drift_from(config)?;
        differs.retain(|drift| is_merged(&drift.subject) && !self.leads_elsewhere(&drift.subject.path()));
        let steps = drift::repair_steps(config, &differs)?;
        let (accounts, labels) = (self.accounts()?, labels::load(self.disk)?);
        let wanted = Wanted::new(config, &accounts, labels.as_ref()).with_files();
        let remembered = Default::default();
        let drafting =
            Drafting { disk: self.disk, wanted: &wanted, packages: &NoPackages, live: false, remembered: &remembered };
        let mut draft: Draft = drafting.draft(&steps, &Recorded::empty())?;
        for (path, action) in self.links(&draft, config)? {
            draft.write.set(path, action);
        }
        let shadow = self.shadow_write(&draft.passwords, &accounts)?;
        let mut actions = Actions::default();
        draft.write.iter().for_each(|(path, action)| actions.replace(path.clone(), action.clone()));
        shadow.into_iter().for_each(|write| actions.write(write));
        // All at once, or else path by path: one that is blocked keeps no other from being right.
        let count = actions.paths().count();
        if batch::apply(self.disk, &actions.batch(&[]), TAG).is_ok() {
            return Ok((count, Vec::new()));
        }
        let failed = self.apply_possible(&actions, &[]);
        Ok((count - failed.len(), failed.into_iter().map(|(path, _)| path).collect()))
    }

    /// Whether a path of `/etc` goes through a link: it may lead to `/var`, which is not this deployment's.
    fn leads_elsewhere(&self, path: &str) -> bool {
        let Ok(path) = RootPath::new(path) else { return true };
        let is_link =
            |above: &RootPath| self.disk.stat(above).is_ok_and(|stat| stat.is_some_and(|stat| stat.kind == Kind::Link));
        path.ancestors().iter().any(is_link)
    }
}
