//! The files that the record of the machine's configuration is kept in, for us and for other agents.
//!
//! Owns which those are. A machine of a hosted cluster has its record where that cluster's daemon looks, and the hash in a
//! file of ours; every other machine has it where the machine-config-daemon looks, with the image that was built for it.

use std::sync::Arc;

use ostler_core::machine_config::MachineConfig;
use ostler_core::recorded::Recorded;
use ostler_core::secret::Secret;

use super::draft::{Action, Actions};
use super::observe::read;
use super::place::{CURRENT_CONFIG, CURRENT_IMAGE, HOSTED_CONFIG, HOSTED_HASH};
use super::wanted::Wanted;
use crate::batch::Write;
use crate::disk::{Disk, Kind, RootPath};
use crate::journal::TextId;
use crate::originals;
use crate::transaction::Trouble;

/// A configuration's text has every secret of it, so only root may read it. The machine-config-daemon, which leaves it
/// readable for all, is root too.
const PRIVATE: u32 = 0o600;

/// Whether a path is one of these files, or holds or stands for what the operating system had at another path: written
/// because a configuration changes, and not by it.
pub(super) fn is_record(path: &RootPath) -> bool {
    [CURRENT_CONFIG, CURRENT_IMAGE, HOSTED_CONFIG, HOSTED_HASH].contains(&path.as_str()) || originals::is_kept(path)
}

/// The hash of a hosted cluster's configuration, empty where it is not known: an agent that has changed the record since
/// does not know of our file.
pub(super) fn hash(disk: &impl Disk, config: &[u8]) -> Result<String, Trouble> {
    let text = read(disk, HOSTED_HASH)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut words = text.split_whitespace();
    let (Some(hash), Some(digest)) = (words.next(), words.next()) else { return Ok(String::new()) };
    Ok(if digest == TextId::of(config).as_str() { hash.to_owned() } else { String::new() })
}

/// Drafts the record of a configuration. One for a hosted cluster counts before every other, so it does not outlive it.
pub(super) fn draft<D: Disk>(
    disk: &D,
    wanted: &Wanted<'_>,
    target: &Recorded,
    actions: &mut Actions,
) -> Result<(), Trouble> {
    if let Some(hash) = &target.config.hosted {
        let text = target.plain();
        let digest = TextId::of(text.expose());
        let line = if hash.is_empty() { String::new() } else { format!("{hash} {}\n", digest.as_str()) };
        actions.write(whole(disk, wanted, HOSTED_CONFIG, text)?);
        actions.write(wanted.record(HOSTED_HASH, Arc::new(Secret::new(line.into_bytes())))?);
        return Ok(());
    }
    if target.is_empty() {
        for path in [CURRENT_CONFIG, CURRENT_IMAGE] {
            actions.set(RootPath::new(path).map_err(Trouble::path(path))?, Action::Remove);
        }
    } else {
        actions.write(whole(disk, wanted, CURRENT_CONFIG, target.plain())?);
        actions.write(wanted.record(CURRENT_IMAGE, target.image())?);
    }
    for path in [HOSTED_CONFIG, HOSTED_HASH] {
        let path = RootPath::new(path).map_err(Trouble::path(path))?;
        if disk.stat(&path).map_err(Trouble::disk("inspect", &path))?.is_some() {
            actions.set(path, Action::Remove);
        }
    }
    Ok(())
}

/// A file with the text of a whole configuration. A mode that is there and stricter stays.
pub(super) fn whole<D: Disk>(
    disk: &D,
    wanted: &Wanted<'_>,
    path: &str,
    text: Arc<Secret<Vec<u8>>>,
) -> Result<Write, Trouble> {
    let mut write = wanted.record(path, text)?;
    let standing = disk.stat(&write.path).map_err(Trouble::disk("inspect", &write.path))?;
    let mode = standing.filter(|standing| standing.kind == Kind::File).map_or(PRIVATE, |file| file.mode & PRIVATE);
    write.attributes.mode = mode;
    Ok(write)
}

/// The file that the way back to one configuration from another writes out of the former; none where the two are kept in
/// different places, so that what stands there has to be remembered.
pub(super) fn written_back(origin: &MachineConfig, left: &MachineConfig) -> Option<&'static str> {
    match (&origin.hosted, &left.hosted) {
        (None, None) => Some(CURRENT_CONFIG),
        // One without a hash is another agent's, and stays byte for byte what that one wrote.
        (Some(hash), Some(_)) if !hash.is_empty() => Some(HOSTED_CONFIG),
        _ => None,
    }
}
