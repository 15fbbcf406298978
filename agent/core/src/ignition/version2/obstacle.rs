//! What a valid spec 2 config can say and spec 3 cannot. Expects files, units and users to be without duplicates.

use std::collections::{HashMap, HashSet};

use super::convert::clean;
use super::error::{ConversionError, Subject};
use super::model::{Config, Disk, Filesystem, Node, Unit};

/// The only filesystem whose mount point is known.
const ROOT: &str = "root";

/// Finds the first obstacle to a conversion.
pub(super) fn find(config: &Config) -> Result<(), ConversionError> {
    if let Some(unit) = config.networkd.first() {
        return Err(ConversionError::NetworkdUnit { name: unit.name.clone() });
    }
    config.disks.iter().try_for_each(disk)?;
    config.filesystems.iter().try_for_each(filesystem)?;
    nodes(config)?;
    config.units.iter().try_for_each(dropins)
}

/// Even a partition without a size is measured in sectors: in spec 2.2 that is a size of zero sectors.
fn disk(disk: &Disk) -> Result<(), ConversionError> {
    if disk.partitions.is_empty() {
        return Ok(());
    }
    Err(ConversionError::SectorPartitions { device: disk.device.clone() })
}

fn filesystem(filesystem: &Filesystem) -> Result<(), ConversionError> {
    if filesystem.name != ROOT {
        return Err(ConversionError::UnmappedFilesystem { name: filesystem.name.clone() });
    }
    let create = filesystem.mount.as_ref().and_then(|mount| mount.create.as_ref());
    match create {
        Some(create) if !create.force => Err(ConversionError::UnforcedCreation { name: filesystem.name.clone() }),
        _ => Ok(()),
    }
}

/// A constructor of [`Subject`] from a path.
type Kind = fn(String) -> Subject;

fn nodes(config: &Config) -> Result<(), ConversionError> {
    let files = config.files.iter().map(|file| (&file.node, Subject::File as Kind));
    let directories = config.directories.iter().map(|directory| (&directory.node, Subject::Directory as Kind));
    let links = config.links.iter().map(|link| (&link.node, Subject::Link as Kind));
    let ways = Links::of(config);
    let mut taken: HashMap<String, Subject> = HashMap::new();
    for (node, kind) in files.chain(directories).chain(links) {
        on_root(node, kind)?;
        let path = clean(&node.path);
        let subject = kind(path.clone());
        if let Some(link) = ways.before(&path) {
            return Err(ConversionError::BehindLink { subject, link: link.to_owned() });
        }
        if let Some(first) = taken.insert(path, subject.clone()) {
            return Err(ConversionError::DuplicatePath { first, second: subject });
        }
    }
    Ok(())
}

fn on_root(node: &Node, kind: Kind) -> Result<(), ConversionError> {
    if node.filesystem == ROOT {
        return Ok(());
    }
    Err(ConversionError::ForeignFilesystem { subject: kind(node.path.clone()), filesystem: node.filesystem.clone() })
}

/// The links' paths in order, without those that begin with another one.
struct Links(Vec<String>);

impl Links {
    fn of(config: &Config) -> Self {
        let mut paths: Vec<_> = config.links.iter().map(|link| clean(&link.node.path)).collect();
        paths.sort_unstable();
        // `dedup_by` passes the later item first.
        paths.dedup_by(|later, kept| later.starts_with(kept.as_str()));
        Self(paths)
    }

    /// A link whose path is the beginning of `path` and not all of it. The machine-config-operator compares text, not
    /// path components: a link `/a` stands in the way of `/ab` too.
    fn before(&self, path: &str) -> Option<&str> {
        // Whatever sorts between a prefix of `path` and `path` has that prefix itself, so only the nearest can match.
        let below = self.0.partition_point(|link| link.as_str() < path);
        let nearest = self.0.get(below.checked_sub(1)?)?;
        path.starts_with(nearest.as_str()).then_some(nearest)
    }
}

fn dropins(unit: &Unit) -> Result<(), ConversionError> {
    let mut seen = HashSet::new();
    match unit.dropins.iter().find(|dropin| !seen.insert(&dropin.name)) {
        Some(dropin) => Err(ConversionError::DuplicateDropin { unit: unit.name.clone(), dropin: dropin.name.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::model::Link;
    use super::*;

    proptest! {
        #[test]
        fn the_nearest_link_is_as_good_as_a_search_through_all(
            links in proptest::collection::vec("(/[ab]{1,2}){1,3}", 0..6),
            path in "(/[ab]{1,2}){1,4}",
        ) {
            let link = |path: &String| Link { node: Node { path: path.clone(), ..Node::default() }, ..Link::default() };
            let config = Config { links: links.iter().map(link).collect(), ..Config::default() };
            let expected = links.iter().any(|link| path.starts_with(link) && path != *link);
            prop_assert_eq!(Links::of(&config).before(&path).is_some(), expected);
        }
    }
}
