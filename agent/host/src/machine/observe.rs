//! What the machine says it is in: its own records, the journal's, and the wish of a person.

use std::io;
use std::sync::Arc;

use ostler_core::document;
use ostler_core::ignition::Config;
use ostler_core::machine_config::{set_built_image, set_hosted_hash};
use ostler_core::observed::Observed;
use ostler_core::os::boot_mark::BootMark;
use ostler_core::plan::undo;
use ostler_core::protocol::Rules;
use ostler_core::reconcile::FORCE_FILE;
use ostler_core::recorded::Recorded;
use ostler_core::secret::Secret;
use ostler_core::step::Step;
use ostler_core::transaction::{Direction, Open, Phase, Purpose};

use super::origin::{Origin, Stored};
use super::place::{CURRENT_CONFIG, CURRENT_IMAGE, HOSTED_CONFIG, INSTALL_TIME};
use super::{Machine, base, progress, record};
use crate::disk::{Disk, Kind, RootPath};
use crate::journal::{Loaded, Slot, TextId};
use crate::transaction::{Interrupted, Snapshot, Trouble};

/// Why a text on the machine is no configuration.
type Unreadable = Box<dyn std::error::Error + Send + Sync>;

/// A configuration from its text, which is kept as it is. No text is the configuration of a machine that has none.
pub(super) fn recorded(text: Vec<u8>) -> Result<Recorded, Unreadable> {
    Ok(Recorded::from_text(Secret::new(text))?)
}

/// Reads a file below the root that may be absent.
pub(super) fn read(disk: &impl Disk, path: &'static str) -> Result<Option<Vec<u8>>, Trouble> {
    let path = RootPath::new(path).map_err(Trouble::path(path))?;
    match disk.stat(&path).map_err(Trouble::disk("inspect", &path))? {
        None => Ok(None),
        Some(stat) if stat.kind != Kind::File => {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
            Err(Trouble::disk("read", &path)(error))
        }
        Some(_) => disk.read(&path, document::MAX_BYTES as u64).map(Some).map_err(Trouble::disk("read", &path)),
    }
}

/// The configuration the machine is in, by its own record; until there is one, the one it was installed with.
pub(super) fn current(disk: &impl Disk) -> Result<Recorded, Trouble> {
    for path in [HOSTED_CONFIG, CURRENT_CONFIG, INSTALL_TIME] {
        let Some(text) = read(disk, path)? else { continue };
        let text = match path {
            HOSTED_CONFIG => {
                let hash = record::hash(disk, &text)?;
                carrying(&text, |document| set_hosted_hash(document, Some(&hash)))
            }
            CURRENT_CONFIG => match built_image(disk)? {
                Some(image) => carrying(&text, |document| set_built_image(document, Some(&image))),
                None => Ok(text),
            },
            _ => Ok(text),
        };
        let found = text.and_then(recorded).map_err(|source| Trouble::Record { path, source })?;
        return if path == CURRENT_CONFIG { completed(disk, found) } else { Ok(found) };
    }
    Ok(Recorded::empty())
}

/// A daemon that completed the first boot recorded a configuration without anything in it, under the name of the one that
/// was served: that one is meant.
fn completed(disk: &impl Disk, found: Recorded) -> Result<Recorded, Trouble> {
    if found.is_empty() || found.config.ignition != Config::default() {
        return Ok(found);
    }
    let served = read(disk, INSTALL_TIME)?.and_then(|text| {
        let mut document = document::parse(&text).ok()?;
        set_built_image(&mut document, found.config.built_image.as_deref());
        Recorded::from_document(document).ok()
    });
    Ok(served.filter(|served| served.config.name == found.config.name).unwrap_or(found))
}

/// The image that was built for the configuration, which is recorded beside it.
fn built_image(disk: &impl Disk) -> Result<Option<String>, Trouble> {
    let text = read(disk, CURRENT_IMAGE)?.map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    Ok(text.filter(|image| !image.is_empty()))
}

fn carrying(text: &[u8], change: impl FnOnce(&mut serde_json::Value)) -> Result<Vec<u8>, Unreadable> {
    let mut document = document::parse(text)?;
    change(&mut document);
    Ok(document.to_string().into_bytes())
}

/// Whether a person has asked for the next update to be forced.
pub(super) fn forced(disk: &impl Disk) -> Result<bool, Trouble> {
    let path = RootPath::new(FORCE_FILE).map_err(Trouble::path(FORCE_FILE))?;
    Ok(disk.stat(&path).map_err(Trouble::disk("inspect", &path))?.is_some())
}

impl<D: Disk> Machine<'_, D> {
    pub(super) fn snapshot(&self) -> Result<Snapshot, Trouble> {
        let interrupted = self.open_transaction()?;
        // In the middle of a transaction the record may be either end's; the journal knows.
        let current = match &interrupted {
            Some(Interrupted { origin: Some(origin), .. }) => origin.clone(),
            _ => current(self.disk)?,
        };
        let (install_time, base_kept) = base::base(self.disk)?;
        let trial = self.trial(interrupted.as_ref().map(|interrupted| &interrupted.open))?;
        let forced = forced(self.disk)?;
        let behind = self.behind(&current)?;
        Ok(Snapshot { current, install_time, base_kept, forced, behind, interrupted, trial })
    }

    /// What a slot that holds an origin has, if that is intact.
    pub(super) fn origin(&self, slot: Slot) -> Result<Option<Origin>, Trouble> {
        let Some(stored) = self.stored_origin(slot)? else { return Ok(None) };
        match self.journal.text(&stored.config)? {
            Loaded::Intact(text) => Ok(stored.with(text)),
            Loaded::Absent | Loaded::Damaged { .. } => Ok(None),
        }
    }

    /// The same without the configuration.
    pub(super) fn stored_origin(&self, slot: Slot) -> Result<Option<Stored>, Trouble> {
        match self.journal.load(slot)? {
            Loaded::Intact(payload) => Ok(Stored::decode(&payload)),
            Loaded::Absent | Loaded::Damaged { .. } => Ok(None),
        }
    }

    /// The name of the text that the open transaction leads to.
    pub(super) fn next_text(&self) -> Result<Option<TextId>, Trouble> {
        match self.journal.load(Slot::Next)? {
            Loaded::Intact(payload) => Ok(std::str::from_utf8(payload.expose()).ok().and_then(TextId::parse)),
            Loaded::Absent | Loaded::Damaged { .. } => Ok(None),
        }
    }

    pub(super) fn next(&self) -> Result<Option<Recorded>, Trouble> {
        let Some(id) = self.next_text()? else { return Ok(None) };
        match self.journal.text(&id)? {
            Loaded::Intact(text) => Ok(recorded(text.into_exposed()).ok()),
            Loaded::Absent | Loaded::Damaged { .. } => Ok(None),
        }
    }

    pub(super) fn open_transaction(&self) -> Result<Option<Interrupted>, Trouble> {
        let open: Open = match self.journal.load(Slot::Plan)? {
            Loaded::Absent if !self.journal.is_set_aside(Slot::Plan)? => return Ok(None),
            Loaded::Absent | Loaded::Damaged { .. } => return self.without_plan().map(Some),
            Loaded::Intact(payload) => match serde_json::from_slice(payload.expose()) {
                Ok(open) => open,
                Err(_) => return self.without_plan().map(Some),
            },
        };
        let next = self.next()?;
        let origin = self.origin(Slot::Origin)?.map(|origin| origin.recorded);
        let mut done = self.done(open.direction)?;
        if open.os.is_some() && !open.boot.lasts(&self.surroundings.boot) {
            // Every deployment has an /etc of its own. This one's may be another than the one that was written to.
            done.retain(|phase| matches!(phase, Phase::Preserve | Phase::Services));
        }
        Ok(Some(Interrupted { open, next, origin, done }))
    }

    /// A transaction whose plan is damaged goes back, if that can be planned anew from its two configurations: what it did
    /// to the operating system is not known.
    fn without_plan(&self) -> Result<Interrupted, Trouble> {
        let lost = || Trouble::Lost { what: "plan" };
        let (origin, next) = (self.origin(Slot::Origin)?.ok_or_else(lost)?.recorded, self.next()?.ok_or_else(lost)?);
        let steps = |from: &Recorded, to: &Recorded| {
            let desired = Rules::default().desired(Arc::clone(&to.config)).map_err(|_| lost())?;
            let plan = undo(&Observed::configured(Arc::clone(&from.config)), &desired).map_err(|_| lost())?;
            Ok::<_, Trouble>(plan.steps)
        };
        let (steps, undo) = (steps(&origin, &next)?, steps(&next, &origin)?);
        if steps.iter().any(|step| matches!(step, Step::StageOs(_))) {
            return Err(lost());
        }
        let open = Open {
            purpose: Purpose::Update,
            direction: Direction::Back,
            from: origin.config.name.clone(),
            to: next.config.name.clone(),
            steps,
            undo,
            // Whether services of a machine that is booting may be told is asked where another boot is known of.
            boot: BootMark::default(),
            began: (self.surroundings.now)(),
            reason: Some("the record of its plan is damaged".to_owned()),
            target_failed: false,
            blameless: true,
            os: None,
            awaits_end_of: None,
            restart_for: Vec::new(),
        };
        Ok(Interrupted { open, next: Some(next), origin: Some(origin), done: Vec::new() })
    }

    /// A damaged note of progress is not missed: everything noted there can be done again, but for the keeping of
    /// originals, which must not see what was written since.
    fn done(&self, direction: Direction) -> Result<Vec<Phase>, Trouble> {
        match self.journal.completed()? {
            Loaded::Intact(completed) => Ok(progress::phases(direction, &completed)),
            Loaded::Absent => Ok(Vec::new()),
            Loaded::Damaged { .. } => Ok(vec![Phase::Preserve]),
        }
    }
}
