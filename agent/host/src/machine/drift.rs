//! How the machine differs from the configuration it is in, and the steps that make it agree again.
//!
//! Owns the comparison of what is wanted with what stands. Refuses to change anything: a repair is a transaction.

use std::collections::{BTreeMap, BTreeSet};

use ostler_core::drift::{Difference, Drift, Subject, UNWATCHED};
use ostler_core::ignition::Unit;
use ostler_core::machine_config::MachineConfig;
use ostler_core::observed::Observed;
use ostler_core::os::behind::another_image;
use ostler_core::os::image::Pinned;
use ostler_core::plan;
use ostler_core::protocol::Rules;
use ostler_core::step::Step;
use ostler_core::transaction::Ending;

use super::forward::MASK;
use super::wanted::{CORE, Wanted};
use super::{Machine, labels, place};
use crate::batch::Write;
use crate::disk::{Disk, ForeignLink, Kind, RootPath};
use crate::journal::Slot;
use crate::originals::{self, Restore, Standing};
use crate::systemd::offline::{self, DiskTexts, EnabledState};
use crate::transaction::{Proposal, Snapshot, Trouble, propose_repair, settled};

impl<D: Disk> Machine<'_, D> {
    /// Everything that differs, sorted.
    pub fn drift(&self) -> Result<Vec<Drift>, Trouble> {
        self.drift_with_left(&settled(self)?.current.config)
    }

    /// With what an abandoned change left at other paths.
    fn drift_with_left(&self, config: &MachineConfig) -> Result<Vec<Drift>, Trouble> {
        let mut drift = self.drift_from(config)?;
        drift.extend(self.left_drift(config)?);
        drift.extend(self.image_drift(config)?);
        drift.sort();
        Ok(drift)
    }

    /// The image that was booted, where it is another than the configuration's. Only an update brings that one back.
    fn image_drift(&self, config: &MachineConfig) -> Result<Option<Drift>, Trouble> {
        let (Some(booted), Ok(image)) = (self.os_state()?.booted, Pinned::parse(&config.os_image)) else {
            return Ok(None);
        };
        let found = another_image(&booted, &image).map(str::to_owned);
        let difference = found.map(|found| Difference::State { expected: image.to_string(), found });
        Ok(difference.map(|difference| Drift { subject: Subject::OsImage, difference }))
    }

    /// What makes the machine agree with its configuration again, in these subjects or in all where none is named; `None`
    /// when it does.
    pub fn propose_repair(&self, only: &[Subject]) -> Result<Option<Proposal>, Trouble> {
        let snapshot = settled(self)?;
        let only: BTreeSet<&Subject> = only.iter().collect();
        let mut drift = self.drift_with_left(&snapshot.current.config)?;
        drift.retain(|drift| only.is_empty() || only.contains(&drift.subject));
        Self::propose_repair_of(snapshot, &drift)
    }

    /// The machine was found to agree with its configuration as a whole: damaged records and an abandoned change are of no
    /// account any more.
    pub fn agrees(&self, only: &[Subject]) -> Result<(), Trouble> {
        if !only.is_empty() {
            return Ok(());
        }
        for slot in Slot::ALL {
            // One that is damaged is set aside.
            self.journal.load(slot)?;
        }
        self.journal.remove_set_aside()?;
        match self.last()?.map(|last| last.ending) {
            Some(Ending::Abandoned { .. }) => self.journal.clear(Slot::Last),
            Some(Ending::Applied | Ending::Undone { .. } | Ending::AwaitsReboot { .. }) | None => Ok(()),
        }
    }

    /// The same for a part of what differs.
    pub(super) fn propose_repair_of(snapshot: Snapshot, drift: &[Drift]) -> Result<Option<Proposal>, Trouble> {
        let steps = repair_steps(&snapshot.current.config, drift)?;
        Ok(propose_repair(snapshot, steps))
    }

    pub(super) fn drift_from(&self, config: &MachineConfig) -> Result<Vec<Drift>, Trouble> {
        let accounts = self.accounts()?;
        let labels = labels::load(self.disk)?;
        let wanted = Wanted::new(config, &accounts, labels.as_ref()).with_files();
        let mut found = Vec::new();
        for file in config.ignition.files.iter().filter(|file| !UNWATCHED.contains(&file.path.as_str())) {
            let subject = || Subject::File { path: file.path.clone() };
            self.compare(&wanted.file(&file.path)?, &subject, &mut found)?;
        }
        for unit in &config.ignition.units {
            self.compare_unit(config, unit, &wanted, &mut found)?;
        }
        self.compare_access(config, &wanted, &mut found)?;
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// A file against what stands in its place.
    fn compare(&self, write: &Write, subject: &dyn Fn() -> Subject, found: &mut Vec<Drift>) -> Result<(), Trouble> {
        let path = &write.path;
        let mut differs = |difference| found.push(Drift { subject: subject(), difference });
        let stat = match self.disk.stat(path) {
            // Nothing that counts is behind a link that is not followed.
            Err(error) if ForeignLink::is(&error) => None,
            stat => stat.map_err(Trouble::disk("inspect", path))?,
        };
        let Some(stat) = stat else {
            differs(Difference::Missing);
            return Ok(());
        };
        if stat.kind != Kind::File {
            differs(Difference::Kind { found: kind(stat.kind).to_owned() });
            return Ok(());
        }
        let attributes = write.attributes;
        if stat.mode != attributes.mode {
            differs(Difference::Mode { expected: attributes.mode, found: stat.mode });
        }
        if (stat.uid, stat.gid) != (attributes.uid, attributes.gid) {
            let expected = (attributes.uid, attributes.gid);
            differs(Difference::Owner { expected, found: (stat.uid, stat.gid) });
        }
        if let Some(expected) = &write.label {
            let label = self.disk.label(path).map_err(Trouble::disk("read the label of", path))?;
            if label.as_ref() != Some(expected) {
                differs(Difference::Label { expected: expected.clone(), found: label });
            }
        }
        if !self.disk.holds(path, write.contents.expose()).map_err(Trouble::disk("read", path))? {
            differs(Difference::Contents);
        }
        Ok(())
    }

    fn compare_unit(
        &self,
        config: &MachineConfig,
        unit: &Unit,
        wanted: &Wanted<'_>,
        found: &mut Vec<Drift>,
    ) -> Result<(), Trouble> {
        let subject = || Subject::Unit { unit: unit.name.clone() };
        let masked = self.is_masked(&unit.name)?;
        let state = |expected: &str, found: &str| Drift {
            subject: subject(),
            difference: Difference::State { expected: expected.to_owned(), found: found.to_owned() },
        };
        match (unit.mask == Some(true), masked) {
            (true, false) => found.push(state("masked", "not masked")),
            // What the image masks stays masked unless the configuration says otherwise.
            (false, true) if !wanted.unmasks(&unit.name)? && self.image_masks(&unit.name)? => {}
            (false, true) => found.push(state("not masked", "masked")),
            (true, true) => {}
            (false, false) => {
                if let Some(write) = wanted.unit(&unit.name)? {
                    self.compare(&write, &subject, found)?;
                }
                if let Some(enabled) = unit.enabled
                    && let Some(contrary) = self.contrary_state(&unit.name, enabled)?
                {
                    found.push(state(if enabled { "enabled" } else { "disabled" }, &contrary));
                }
            }
        }
        for dropin in &unit.dropins {
            if let Some(write) = wanted.dropin(&unit.name, &dropin.name)? {
                let subject = || Subject::Dropin { unit: unit.name.clone(), dropin: dropin.name.clone() };
                self.compare(&write, &subject, found)?;
            }
        }
        self.extra_dropins(config, unit, found)
    }

    fn is_masked(&self, unit: &str) -> Result<bool, Trouble> {
        let path = place::unit(unit).map_err(Trouble::path(unit))?;
        match self.disk.stat(&path).map_err(Trouble::disk("inspect", &path))?.map(|stat| stat.kind) {
            Some(Kind::Link) => Ok(self.disk.read_link(&path).map_err(Trouble::disk("read", &path))? == MASK),
            _ => Ok(false),
        }
    }

    fn image_masks(&self, unit: &str) -> Result<bool, Trouble> {
        let path = place::unit(unit).map_err(Trouble::path(unit))?;
        let original = originals::image_original(self.disk, &path)?;
        Ok(matches!(original, Some(Restore::PutBack(Standing::Link { target })) if target == MASK))
    }

    /// The state a unit is in, where that says the opposite of what is wanted. A unit that cannot be enabled, or that does
    /// not exist, contradicts nothing.
    fn contrary_state(&self, unit: &str, enabled: bool) -> Result<Option<String>, Trouble> {
        let state = match &self.surroundings.manager {
            Some(manager) => manager.state(unit)?.unwrap_or_default(),
            None => {
                let texts = DiskTexts { disk: self.disk, overlay: BTreeMap::new() };
                match offline::is_enabled(self.disk, &texts, unit)? {
                    EnabledState::Enabled => "enabled".to_owned(),
                    EnabledState::Disabled => "disabled".to_owned(),
                    _ => String::new(),
                }
            }
        };
        let contrary = if enabled { "disabled" } else { "enabled" };
        Ok((state == contrary).then_some(state))
    }

    /// Drop-ins of a configured unit that somebody added: they change what the configuration says of it.
    fn extra_dropins(&self, config: &MachineConfig, unit: &Unit, found: &mut Vec<Drift>) -> Result<(), Trouble> {
        let directory = place::unit(&format!("{}.d", unit.name)).map_err(Trouble::path(&unit.name))?;
        let stat = self.disk.stat(&directory).map_err(Trouble::disk("inspect", &directory))?;
        if stat.is_none_or(|stat| stat.kind != Kind::Directory) {
            return Ok(());
        }
        let has_text = |text: &Option<_>| {
            text.as_ref().is_some_and(|text: &ostler_core::secret::Secret<String>| !text.expose().is_empty())
        };
        let wanted: BTreeSet<&str> = unit
            .dropins
            .iter()
            .filter(|dropin| has_text(&dropin.contents))
            .map(|dropin| dropin.name.as_str())
            .collect();
        let names = self.disk.list(&directory).map_err(Trouble::disk("list", &directory))?;
        for name in names.iter().filter_map(|name| name.to_str()).filter(|name| name.ends_with(".conf")) {
            let path = directory.join(name).map_err(Trouble::path(name))?;
            let configured = config.ignition.files.iter().any(|file| file.path == path.as_str());
            if wanted.contains(name) || configured || self.is_the_images(&path)? {
                continue;
            }
            let subject = Subject::Dropin { unit: unit.name.clone(), dropin: name.to_owned() };
            found.push(Drift { subject, difference: Difference::Extra });
        }
        Ok(())
    }

    fn is_the_images(&self, path: &RootPath) -> Result<bool, Trouble> {
        Ok(matches!(originals::image_original(self.disk, path)?, Some(Restore::PutBack(_))))
    }

    /// Keys and passwords, where the configuration has any.
    fn compare_access(
        &self,
        config: &MachineConfig,
        wanted: &Wanted<'_>,
        found: &mut Vec<Drift>,
    ) -> Result<(), Trouble> {
        let has_keys = config.ignition.users.iter().any(|user| !user.ssh_keys.is_empty());
        if has_keys && let Some((_, keys)) = wanted.keys()? {
            self.compare(&keys, &|| Subject::SshKeys { user: CORE.to_owned() }, found)?;
        }
        for user in &config.ignition.users {
            let Some(hash) = wanted.hash(&user.name) else { continue };
            if self.shadow()?.hash(&user.name).as_ref() != Some(hash) {
                let subject = Subject::Password { user: user.name.clone() };
                found.push(Drift { subject, difference: Difference::Contents });
            }
        }
        Ok(())
    }
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Directory => "directory",
        Kind::Link => "link",
        Kind::Special => "device, socket or pipe",
    }
}

/// The steps that a machine without any configuration would need for what differs, and the removal of what is extra.
pub(super) fn repair_steps(config: &MachineConfig, drift: &[Drift]) -> Result<Vec<Step>, Trouble> {
    let subjects: BTreeSet<&Subject> = drift.iter().map(|drift| &drift.subject).collect();
    let desired = Rules { first_boot: true, ..Rules::default() }.desired(config.clone())?;
    let whole = plan::undo(&Observed::configured(MachineConfig::empty()), &desired)?;
    let wanted = |step: &Step| subject(step).is_some_and(|subject| subjects.contains(&subject));
    let mut steps: Vec<Step> = whole.steps.into_iter().filter(wanted).collect();
    for drift in drift {
        match (&drift.subject, &drift.difference) {
            (Subject::Dropin { unit, dropin }, Difference::Extra) => {
                steps.push(Step::RemoveDropin { unit: unit.clone(), dropin: dropin.clone() });
            }
            (Subject::File { path }, Difference::Extra) => steps.push(Step::RemoveFile { path: path.clone() }),
            (Subject::Unit { unit }, Difference::State { found, .. }) if found == "masked" => {
                steps.insert(0, Step::UnmaskUnit { unit: unit.clone() });
            }
            _ => {}
        }
    }
    Ok(steps)
}

/// What a step is about, in the words of drift.
fn subject(step: &Step) -> Option<Subject> {
    Some(match step {
        Step::WriteFile { path, .. } => Subject::File { path: path.clone() },
        Step::WriteUnit { unit, .. }
        | Step::MaskUnit { unit }
        | Step::EnableUnit { unit }
        | Step::DisableUnit { unit } => Subject::Unit { unit: unit.clone() },
        Step::WriteDropin { unit, dropin, .. } => Subject::Dropin { unit: unit.clone(), dropin: dropin.clone() },
        Step::SetSshKeys { user, .. } => Subject::SshKeys { user: user.clone() },
        Step::SetPassword { user } => Subject::Password { user: user.clone() },
        Step::StageOs(_)
        | Step::Drain
        | Step::RemoveFile { .. }
        | Step::RemoveUnit { .. }
        | Step::RemoveDropin { .. }
        | Step::UnmaskUnit { .. }
        | Step::PresetUnit { .. }
        | Step::LockPassword { .. }
        | Step::RecordConfig { .. }
        | Step::DaemonReload
        | Step::ReloadService { .. }
        | Step::RestartService { .. }
        | Step::Reboot => return None,
    })
}
