//! What a machine says about itself, without taking hold of it.

use ostler_core::status::Status;
use ostler_core::transaction::{Finished, Open};
use serde::de::DeserializeOwned;

use super::place::CURRENT_IMAGE;
use super::{log, observe, origin::Origin, progress};
use crate::disk::Disk;
use crate::journal::{Loaded, Slot, View};
use crate::transaction::Trouble;

/// The state of the machine below a root. Changes nothing, not even a damaged record, and waits for nobody.
pub fn status(disk: &impl Disk, boot: &str) -> Result<Status, Trouble> {
    let view = View::new(disk, &log::directory()?);
    let mut damaged = Vec::new();
    let open: Option<Open> = record(&view, Slot::Plan, &mut damaged)?;
    let last: Option<Finished> = record(&view, Slot::Last, &mut damaged)?;
    let previous = match view.load(Slot::Previous)? {
        Loaded::Intact(payload) => Origin::decode(&payload).map(|origin| origin.recorded.config.name.clone()),
        Loaded::Absent => None,
        Loaded::Damaged { aside, why } => {
            damaged.push(format!("{aside}: {why}"));
            None
        }
    };
    let done = match (&open, view.completed()?) {
        (Some(open), Loaded::Intact(completed)) => progress::phases(open.direction, &completed),
        _ => Vec::new(),
    };
    damaged.extend(view.set_aside()?.into_iter().map(|path| format!("{path}: a damaged record, set aside")));
    let config = match observe::current(disk) {
        Ok(recorded) => (!recorded.is_empty()).then_some(recorded.config.name.clone()),
        Err(trouble) => {
            damaged.push(trouble.reason());
            None
        }
    };
    let image = observe::read(disk, CURRENT_IMAGE)?.map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    Ok(Status {
        config,
        image: image.filter(|image| !image.is_empty()),
        previous,
        awaits_reboot: last.as_ref().is_some_and(|last| last.reboot && last.boot == boot),
        busy: view.busy()?,
        forced: observe::forced(disk)?,
        open,
        done,
        last,
        damaged,
    })
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
