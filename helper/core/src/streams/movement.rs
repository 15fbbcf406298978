//! Whether a change of streams goes back to an older operating system, and what is known of where a pool was.

use std::sync::LazyLock;

use regex::Regex;

use crate::objects::{MachineConfig, MachineConfigPool, OSImageStreamStatus};

/// Where `streams set` notes the stream of a pool before it changes it: the pool's status is blank during an update.
pub const LAST_STREAM: &str = "ostler.dev/last-os-image-stream";

static NUMBERED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("^(rhel|centos|fedora|stream)-?([0-9]+)(-coreos)?$").ok());

/// How two streams relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The same stream, or another one of the same major version.
    Level,
    /// To a newer major version.
    Forward,
    /// To an older major version: the data of newer programs may not be understood there.
    Back,
    /// Nobody can tell: their names are of different families, or have no number.
    Unknown,
}

/// Compares a stream with the one a pool was in.
pub fn compare(from: &str, to: &str) -> Compared {
    if from == to {
        return Compared::Level;
    }
    let (Some((old_family, old)), Some((family, new))) = (numbered(from), numbered(to)) else {
        return Compared::Unknown;
    };
    match new.cmp(&old) {
        _ if family != old_family => Compared::Unknown,
        std::cmp::Ordering::Less => Compared::Back,
        std::cmp::Ordering::Equal => Compared::Level,
        std::cmp::Ordering::Greater => Compared::Forward,
    }
}

fn numbered(name: &str) -> Option<(&str, u64)> {
    let found = NUMBERED.as_ref()?.captures(name)?;
    Some((found.get(1)?.as_str(), found.get(2)?.as_str().parse().ok()?))
}

/// The last stream a pool is known to have been in, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The stream.
    pub stream: String,
    /// Where it stands.
    pub found_in: &'static str,
}

/// Looks for the last known stream: what the pool reports, then the image of the configuration that all its machines
/// reached, then what was noted when the stream was changed.
pub fn last_known(
    pool: &MachineConfigPool,
    applied: Option<&MachineConfig>,
    offered: Option<&OSImageStreamStatus>,
) -> Option<Evidence> {
    let reported = pool.status.os_image_stream.as_ref().map(|stream| stream.name.clone());
    let by_image = || {
        let image = applied.map(|config| config.spec.os_image_url.as_str()).filter(|image| !image.is_empty())?;
        offered?.available_streams.iter().find(|set| set.os_image == image).map(|set| set.name.clone())
    };
    let noted = || pool.metadata.annotations.get(LAST_STREAM).cloned();
    let some = |stream: Option<String>, found_in| {
        stream.filter(|stream| !stream.is_empty()).map(|stream| Evidence { stream, found_in })
    };
    some(reported, "status.osImageStream of the pool")
        .or_else(|| some(by_image(), "the OS image of the configuration that the pool is in"))
        .or_else(|| some(noted(), "the note of the last change of its stream"))
}

/// The stream that some machines of a pool may have reached already although the pool as a whole has not. `target` is the
/// configuration that the pool is to reach.
pub fn under_way(
    pool: &MachineConfigPool,
    target: Option<&MachineConfig>,
    offered: &OSImageStreamStatus,
) -> Option<Evidence> {
    let begun = pool.status.updated_machine_count > 0 || pool.status.unavailable_machine_count > 0;
    let changes = pool.spec.configuration.name != pool.status.configuration.name;
    let image = target.map(|config| config.spec.os_image_url.as_str()).filter(|_| begun && changes)?;
    let set = offered.available_streams.iter().find(|set| set.os_image == image)?;
    Some(Evidence { stream: set.name.clone(), found_in: "the configuration that its machines are being moved to" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn streams_compare_within_their_family() {
        use Compared::{Back, Forward, Level, Unknown};
        for (from, to, expected) in [
            ("rhel-9", "rhel-10", Forward),
            ("rhel-10", "rhel-9", Back),
            ("rhel-9", "rhel9-coreos", Level),
            ("rhel10-coreos", "rhel-9", Back),
            ("rhel-9", "rhel-9", Level),
            ("odd", "odd", Level),
            ("odd", "rhel-9", Unknown),
            ("centos-10", "rhel-9", Unknown),
            ("fedora-40", "fedora-39", Back),
            ("stream-coreos", "stream10-coreos", Unknown),
            ("rhel-9.6", "rhel-9", Unknown),
            ("rhel-99999999999999999999999", "rhel-9", Unknown),
        ] {
            assert_eq!(compare(from, to), expected, "{from} to {to}");
        }
    }

    #[test]
    fn evidence_is_taken_from_the_surest_place_that_has_it() {
        let offered: OSImageStreamStatus =
            serde_json::from_value(json!({"availableStreams": [{"name": "by-image", "osImage": "i"}]})).unwrap();
        let applied =
            |image: &str| -> MachineConfig { serde_json::from_value(json!({"spec": {"osImageURL": image}})).unwrap() };
        let pool = |reported: Option<&str>, noted: Option<&str>| -> MachineConfigPool {
            let annotations = noted.map(|noted| json!({LAST_STREAM: noted}));
            let stream = reported.map(|name| json!({"name": name}));
            serde_json::from_value(
                json!({"metadata": {"annotations": annotations}, "status": {"osImageStream": stream}}),
            )
            .unwrap()
        };
        for (reported, noted, image, expected) in [
            (Some("told"), Some("noted"), "i", Some("told")),
            (Some(""), Some("noted"), "i", Some("by-image")),
            (None, Some("noted"), "other", Some("noted")),
            (None, None, "", None),
        ] {
            let found = last_known(&pool(reported, noted), Some(&applied(image)), Some(&offered));
            assert_eq!(found.map(|evidence| evidence.stream).as_deref(), expected, "{reported:?} {noted:?} {image}");
        }
    }

    #[test]
    fn a_pool_under_way_may_have_machines_in_the_stream_it_goes_to() {
        let offered: OSImageStreamStatus =
            serde_json::from_value(json!({"availableStreams": [{"name": "ten", "osImage": "i10"}]})).unwrap();
        let target: MachineConfig = serde_json::from_value(json!({"spec": {"osImageURL": "i10"}})).unwrap();
        for (to, at, updated, unavailable, expected) in [
            ("new", "old", 1, 0, Some("ten")),
            ("new", "old", 0, 1, Some("ten")),
            ("new", "old", 0, 0, None),
            ("new", "new", 3, 0, None),
        ] {
            let pool: MachineConfigPool = serde_json::from_value(json!({
                "spec": {"configuration": {"name": to}},
                "status": {"configuration": {"name": at}, "updatedMachineCount": updated,
                    "unavailableMachineCount": unavailable},
            }))
            .unwrap();
            let found = under_way(&pool, Some(&target), &offered).map(|evidence| evidence.stream);
            assert_eq!(found.as_deref(), expected, "{to} {at} {updated} {unavailable}");
        }
    }
}
