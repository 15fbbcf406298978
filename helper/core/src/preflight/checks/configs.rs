//! What rendered configurations are like.

use super::{Answer, Nature, partly, risk};
use crate::objects::MachineConfigPool;
use crate::preflight::configs::{ConfigDigest, Configs};
use crate::preflight::{Inventory, Objects, Severity, Target, Undecided};

pub(super) const SIZE: &str = "MachineConfigRenderedSizeLimit";
pub(super) const CONFLICT: &str = "MachineConfigOSImageURLConflict";
pub(super) const OVERRIDDEN: &str = "MachineConfigOSImageURLOverridden";

/// Largest rendered configuration.
const MAX_BYTES: usize = 1_572_864;
/// From this share on, in percent, the operator warns.
const WARN_PERCENT: usize = 80;

/// The configuration that a pool goes to; none before the first is rendered.
fn target_config<'a>(configs: &'a Configs, pool: &MachineConfigPool) -> Result<Option<&'a ConfigDigest>, Undecided> {
    let name = &pool.spec.configuration.name;
    match configs.unread.get(name) {
        Some(why) => Err(Undecided::because(format!("MachineConfig {name}: {why}"))),
        None => Ok(configs.digests.get(name)),
    }
}

pub(super) fn size(inventory: &Inventory, target: &Target) -> Answer {
    let configs = inventory.configs.needed()?;
    let mut objects = Objects::default();
    let mut severity = Severity::Warning;
    let mut unknown = None;
    for pool in inventory.pools.needed()? {
        let digest = target_config(configs, pool).unwrap_or_else(|undecided| {
            unknown = Some(undecided);
            None
        });
        let bytes = digest.map_or(0, |digest| digest.bytes);
        if bytes * 100 > MAX_BYTES * WARN_PERCENT {
            let name = &pool.spec.configuration.name;
            objects.add(&pool.metadata.name, &format!("{name} has {bytes} bytes, {} %", bytes * 100 / MAX_BYTES));
        }
        if bytes > MAX_BYTES {
            severity = Severity::Critical;
        }
    }
    let found = risk(&objects, || Nature {
        name: SIZE,
        severity,
        url: target.book(),
        cause: format!(
            "Rendered configurations are near or over the limit of {MAX_BYTES} bytes, and the release may add to them"
        ),
        remedy: "Move large files out of MachineConfigs, into an image or onto the nodes by other means.".to_owned(),
    });
    partly(found, unknown)
}

pub(super) fn overridden(inventory: &Inventory, target: &Target) -> Answer {
    let configs = inventory.configs.needed()?;
    let mut objects = Objects::default();
    let mut loose = false;
    let mut unknown = None;
    for pool in inventory.pools.needed()? {
        let digest = target_config(configs, pool).unwrap_or_else(|undecided| {
            unknown = Some(undecided);
            None
        });
        let Some(digest) = digest.filter(|digest| digest.overridden) else { continue };
        let image = &digest.os_image_url;
        let by_digest = image.contains("@sha256:");
        loose |= !by_digest;
        let note = if by_digest { image.clone() } else { format!("{image}, a tag that may change at any time") };
        objects.add(&pool.metadata.name, &note);
    }
    let found = risk(&objects, || Nature {
        name: OVERRIDDEN,
        severity: Severity::Warning,
        url: target.book(),
        cause: "A MachineConfig sets osImageURL, so the operating system of these pools does not follow the update"
            .to_owned(),
        remedy: format!(
            "Build the image anew on the target's, or remove osImageURL.{}",
            if loose { " Name images by digest: with a tag, nodes of one pool may run different systems." } else { "" }
        ),
    });
    partly(found, unknown)
}

/// A pool that chooses its stream and has its image set besides is not rendered any more.
pub(super) fn conflict(inventory: &Inventory, target: &Target) -> Answer {
    let mut objects = Objects::default();
    let mut unknown = None;
    for pool in inventory.pools.needed()? {
        let Some(stream) = pool.own_stream() else { continue };
        let configs = inventory.configs.needed()?;
        let name = &pool.metadata.name;
        let setters = match configs.setters.get(name) {
            Some(Ok(setters)) => setters.as_slice(),
            Some(Err(why)) => {
                unknown = Some(Undecided::because(format!("what pool {name} is made of: {why}")));
                &[]
            }
            None => &[],
        };
        if configs.digests.get(&pool.spec.configuration.name).is_some_and(|digest| digest.overridden) {
            objects.add(name, &format!("it chooses stream {stream}"));
        }
        for setter in setters {
            objects.add(name, &format!("it chooses stream {stream}"));
            objects.add(name, &format!("MachineConfig {setter} sets osImageURL"));
        }
    }
    let found = risk(&objects, || Nature {
        name: CONFLICT,
        severity: Severity::Critical,
        url: target.page("mco-image-streams"),
        cause: "Pools choose an OS image stream and have an osImageURL set besides, so they cannot be rendered"
            .to_owned(),
        remedy: "Remove either spec.osImageStream from the pool or osImageURL from the MachineConfig.".to_owned(),
    });
    partly(found, unknown)
}
