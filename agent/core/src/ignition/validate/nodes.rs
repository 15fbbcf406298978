//! Files, directories and links, each by itself and all of them together.

use std::collections::HashSet;

use ignition_config::v3_6 as spec;

use super::report::{Place, Report, quoted};
use super::{filled, items, resource};

/// What files, directories and links have in common.
pub(super) struct Node<'a> {
    /// Name of the list in `storage`.
    pub(super) list: &'static str,
    pub(super) index: usize,
    pub(super) path: &'a str,
    user: Option<&'a spec::NodeUser>,
    group: Option<&'a spec::NodeGroup>,
}

/// Every node, in the order in which Ignition compares them.
pub(super) fn nodes(storage: &spec::Storage) -> impl Iterator<Item = Node<'_>> {
    macro_rules! of {
        ($list:ident) => {
            items(&storage.$list).iter().enumerate().map(|(index, node)| Node {
                list: stringify!($list),
                index,
                path: &node.path,
                user: node.user.as_ref(),
                group: node.group.as_ref(),
            })
        };
    }
    of!(directories).chain(of!(files)).chain(of!(links))
}

pub(super) fn check(report: &mut Report, storage: &spec::Storage) {
    let place = Place::Root.field("storage");
    let links: HashSet<&str> = items(&storage.links).iter().map(|link| link.path.as_str()).collect();
    let mut seen = HashSet::with_capacity(nodes(storage).count());
    for node in nodes(storage) {
        let list = place.field(node.list);
        let at = list.item(node.index);
        report.path(at.field("path"), node.path);
        if !seen.insert(node.path) {
            let what = format!("{} is already the path of another file, directory or link", quoted(node.path));
            report.add(at.field("path"), what);
        }
        if !links.is_empty() && ancestors(node.path).any(|ancestor| links.contains(ancestor)) {
            report.add(at.field("path"), format!("{} leads through a link in storage.links", quoted(node.path)));
        }
        check_owners(report, at, &node);
    }
    check_files(report, place.field("files"), items(&storage.files));
    for (index, directory) in items(&storage.directories).iter().enumerate() {
        check_mode(report, place.field("directories").item(index), directory.mode);
    }
    check_links(report, place.field("links"), storage);
}

/// Everything before each slash of the path.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(slash, _)| path.get(..slash))
}

fn check_owners(report: &mut Report, at: Place<'_>, node: &Node<'_>) {
    let user = node.user.map(|user| (user.id, filled(&user.name)));
    let group = node.group.map(|group| (group.id, filled(&group.name)));
    for (field, owner) in [("user", user), ("group", group)] {
        if matches!(owner, Some((Some(_), Some(_)))) {
            report.add(at.field(field), "has both an id and a name; give one of them");
        }
    }
}

fn check_mode(report: &mut Report, at: Place<'_>, mode: Option<i64>) {
    if mode.is_some_and(|mode| !(0..=0o7777).contains(&mode)) {
        report.add(at.field("mode"), "is outside 0 to 07777; note that JSON has no octal numbers, 0644 is 420");
    }
}

fn check_files(report: &mut Report, list: Place<'_>, files: &[spec::File]) {
    for (index, file) in files.iter().enumerate() {
        let at = list.item(index);
        check_mode(report, at, file.mode);
        let source = file.contents.as_ref().and_then(|contents| contents.source.as_ref());
        if file.overwrite == Some(true) && source.is_none() {
            report.add(at.field("overwrite"), "is set without contents.source");
        }
        if let Some(contents) = &file.contents {
            resource::check(report, at.field("contents"), contents);
        }
        for (index, fragment) in items(&file.append).iter().enumerate() {
            resource::check(report, at.field("append").item(index), fragment);
        }
    }
}

fn check_links(report: &mut Report, list: Place<'_>, storage: &spec::Storage) {
    let links = items(&storage.links);
    if links.is_empty() {
        return;
    }
    let directories: HashSet<&str> = items(&storage.directories).iter().map(|dir| dir.path.as_str()).collect();
    for (index, link) in links.iter().enumerate() {
        match filled(&link.target) {
            None => report.add(list.item(index).field("target"), "is missing"),
            Some(target) if link.hard == Some(true) && directories.contains(&*resolved(&link.path, target)) => {
                report.add(list.item(index).field("target"), "is a directory, which cannot be linked with hard: true");
            }
            Some(_) => {}
        }
    }
}

/// Where a hard link leads. A relative target counts from the link itself, not from its directory, as in Ignition.
fn resolved(link: &str, target: &str) -> String {
    let base = if target.starts_with('/') { "" } else { link };
    let mut components = Vec::new();
    for component in base.split('/').chain(target.split('/')) {
        match component {
            "" | "." => {}
            ".." => drop(components.pop()),
            name => components.push(name),
        }
    }
    format!("/{}", components.join("/"))
}
