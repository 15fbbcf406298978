//! What a machine says about itself, without taking hold of it.

use ostler_core::kargs;
use ostler_core::os::boot_mark::BootMark;
use ostler_core::os::release::{self, ALEPH_PATHS, Aleph};
use ostler_core::os::state::OsState;
use ostler_core::status::{Inherited, Status};
use ostler_core::transaction::{Finished, Open, OrderedRestart, OwedRestart, Phase};
use serde::de::DeserializeOwned;

use super::charge::{self, Charge};
use super::{inheritance, log, observe, origin::Stored, owed, progress, proof::Held, stage};
use crate::disk::{Disk, RootPath};
use crate::journal::{Loaded, Slot, View};
use crate::transaction::Trouble;

/// The state of the machine below a root, but for its operating system. Changes nothing, not even a damaged record, and waits for nobody.
pub fn status(disk: &impl Disk, boot: &BootMark) -> Result<Status, Trouble> {
    let view = View::new(disk, &log::directory()?);
    let mut damaged = Vec::new();
    let open: Option<Open> = record(&view, Slot::Plan, &mut damaged)?;
    let last: Option<Finished> = record(&view, Slot::Last, &mut damaged)?;
    let restart: Option<OrderedRestart> = record(&view, Slot::Restart, &mut damaged)?;
    let trial: Option<Held> = record(&view, Slot::Trial, &mut damaged)?;
    let trial = trial.and_then(|held| held.beside(open.as_ref()));
    let previous = previous(&view, &mut damaged)?;
    let done = done(&view, open.as_ref())?;
    damaged.extend(view.set_aside()?.into_iter().map(|path| format!("{path}: a damaged record, set aside")));
    let charge: Option<Charge> = record(&view, Slot::Charge, &mut damaged)?;
    let Known { config, image, hosted, inherited, mut own_kargs } =
        known(disk, charge.as_ref(), last.as_ref(), &mut damaged);
    if let Some(Open { os: Some(change), .. }) = &open {
        // Those that the change takes away are the configuration's as well, until they are gone.
        own_kargs.extend(kargs::without(&change.before.kargs, &change.goal.kargs));
    }
    let owed = record(&view, Slot::Owed, &mut damaged)?.unwrap_or_default();
    let owed = owed::Records { owed, last: last.as_ref(), charge: charge.as_ref() };
    let mut owed_restarts = owed.due(config.as_deref(), boot);
    owed_restarts.extend(open.as_ref().and_then(|open| OwedRestart::of(open, boot)));
    Ok(Status {
        awaits_reboot: !owed_restarts.is_empty(),
        owed_restarts,
        bootstrap: inheritance::bootstrap(disk)?,
        boot_image: boot_image(disk),
        inherited,
        behind: None,
        config,
        hosted,
        image,
        previous,
        busy: view.busy()?,
        forced: observe::forced(disk)?,
        staged_for: stage::staged_for(disk)?.filter(|_| open.is_none()),
        open,
        done,
        last,
        restart: restart.filter(|restart| restart.boot.lasts(boot)),
        boot: boot.clone(),
        trial,
        rejected: record(&view, Slot::Rejected, &mut damaged)?.unwrap_or_default(),
        rollback_hold: record(&view, Slot::Hold, &mut damaged)?,
        damaged,
        own_kargs,
        os: OsState::default(),
        os_unknown: None,
        rival: None,
    })
}

/// The phases of an open transaction that are done.
fn done<D: Disk>(view: &View<'_, D>, open: Option<&Open>) -> Result<Vec<Phase>, Trouble> {
    Ok(match (open, view.completed()?) {
        (Some(open), Loaded::Intact(completed)) => progress::phases(open.direction, &completed),
        (Some(_), Loaded::Absent | Loaded::Damaged { .. }) | (None, _) => Vec::new(),
    })
}

/// What the machine was installed from. It is information for others: where it cannot be read, there is none.
fn boot_image(disk: &impl Disk) -> Option<String> {
    let read = |name: &&str| disk.read(&RootPath::new(*name).ok()?, release::MOST_BYTES).ok();
    let text = String::from_utf8(ALEPH_PATHS.iter().find_map(read)?).ok()?;
    Aleph::parse(&text)?.word().map(str::to_owned)
}

/// What the record of the configuration says.
#[derive(Default)]
struct Known {
    config: Option<String>,
    image: Option<String>,
    hosted: bool,
    inherited: Option<Inherited>,
    own_kargs: Vec<String>,
}

fn known(disk: &impl Disk, charge: Option<&Charge>, last: Option<&Finished>, damaged: &mut Vec<String>) -> Known {
    match observe::current(disk) {
        Ok(current) if current.is_empty() => Known::default(),
        Ok(current) => Known {
            inherited: (!charge::is_ours(&current.config.name, charge, last)).then(Inherited::default),
            own_kargs: current.config.kernel_arguments.iter().flat_map(|entry| kargs::split(entry)).collect(),
            config: Some(current.config.name.clone()),
            image: current.config.built_image.clone(),
            hosted: current.config.hosted.as_ref().is_some_and(|hash| !hash.is_empty()),
        },
        Err(trouble) => {
            damaged.push(trouble.reason());
            Known { inherited: Some(Inherited { unreadable: Some(trouble.reason()) }), ..Known::default() }
        }
    }
}

/// The name of the configuration before the current.
fn previous<D: Disk>(view: &View<'_, D>, damaged: &mut Vec<String>) -> Result<Option<String>, Trouble> {
    let stored = match view.load(Slot::Previous)? {
        Loaded::Intact(payload) => Stored::decode(&payload),
        Loaded::Absent => None,
        Loaded::Damaged { aside, why } => {
            damaged.push(format!("{aside}: {why}"));
            None
        }
    };
    let Some(stored) = stored else { return Ok(None) };
    match view.text(&stored.config)? {
        Loaded::Intact(text) => Ok(stored.with(text).map(|origin| origin.recorded.config.name.clone())),
        Loaded::Absent => {
            damaged.push("previous: the configuration that it names is gone".to_owned());
            Ok(None)
        }
        Loaded::Damaged { aside, why } => {
            damaged.push(format!("{aside}: {why}"));
            Ok(None)
        }
    }
}

fn record<D: Disk, T: DeserializeOwned>(
    view: &View<'_, D>,
    slot: Slot,
    damaged: &mut Vec<String>,
) -> Result<Option<T>, Trouble> {
    match view.load(slot)? {
        Loaded::Absent => Ok(None),
        Loaded::Intact(payload) => match serde_json::from_slice(payload.expose()) {
            Ok(record) => Ok(Some(record)),
            Err(_) => {
                damaged.push(format!("{}: it is of another version of ostler", slot.name()));
                Ok(None)
            }
        },
        Loaded::Damaged { aside, why } => {
            damaged.push(format!("{aside}: {why}"));
            Ok(None)
        }
    }
}
