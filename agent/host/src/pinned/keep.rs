//! CRI-O told which images to keep: its drop-in, and that it reads it.
//!
//! Owns that every change of the file is followed by a reload, whatever comes in between: a mark says that one is owed, and
//! is gone with the boot in which CRI-O would not know the file.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Arc;

use ostler_core::pinned::{DROP_IN, drop_in, pinned_in};
use ostler_core::secret::Secret;

use super::{PinError, own_path};
use crate::batch::{self, Batch, Write};
use crate::disk::{Attributes, Disk};

/// That CRI-O has not read the file yet.
const OWED: &str = "/run/ostler/crio-reload-owed";
const TAG: &str = "pinned";
const FILE: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };
/// More than the names of as many images as an order may have.
const MOST: u64 = 8 * 1024 * 1024;

/// What makes CRI-O read its configuration again.
pub trait Reload {
    /// Does so and waits for it; why not, in words.
    fn reload(&self) -> Result<(), String>;
}

/// The images that are kept.
pub(super) fn before(disk: &impl Disk) -> Result<Vec<String>, PinError> {
    match disk.read(&own_path(DROP_IN)?, MOST) {
        Ok(bytes) => Ok(pinned_in(&String::from_utf8_lossy(&bytes))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(PinError::at("read", DROP_IN)(error)),
    }
}

/// Makes exactly these images be kept.
pub(super) fn keep(disk: &impl Disk, images: &BTreeSet<&str>, reload: &dyn Reload) -> Result<(), PinError> {
    let file = own_path(DROP_IN)?;
    let batch = match drop_in(images.iter().copied()) {
        Some(text) => {
            let contents = Arc::new(Secret::new(text.into_bytes()));
            Batch {
                writes: vec![Write { path: file, contents, attributes: FILE, label: None, xattrs: Default::default() }],
                ..Batch::default()
            }
        }
        None => Batch { removals: vec![file], ..Batch::default() },
    };
    let owed = own_path(OWED)?;
    let forecast = batch::forecast(disk, &batch, TAG)?;
    if forecast.changed > 0 || forecast.removed > 0 {
        match disk.create(&owed, b"", Attributes { mode: 0o600, uid: 0, gid: 0 }) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(PinError::at("make", OWED)(error)),
            _ => {}
        }
        batch::apply(disk, &batch, TAG)?;
    }
    if disk.stat(&owed).map_err(PinError::at("look at", OWED))?.is_some() {
        reload.reload().map_err(PinError::Reload)?;
        disk.remove(&owed).map_err(PinError::at("remove", OWED))?;
    }
    Ok(())
}
