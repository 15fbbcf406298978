//! What enabling and disabling one unit does to the links.

use std::collections::BTreeSet;

use super::existing::{Existing, base};
use super::install::Install;
use super::name::{self, Name};
use super::{OfflineError, UnitText, UnitTexts};
use crate::disk::RootPath;

/// Units that may hang together by `Also=`.
const MOST_UNITS: usize = 128;

const MOST_ALIASES: usize = 8;

struct Found {
    name: String,
    path: RootPath,
    install: Install,
}

/// Removes the unit's links, then adds those of its section. An alias stands for its unit.
pub(super) fn reenable(texts: &impl UnitTexts, links: &mut Existing, unit: &str) -> Result<(), OfflineError> {
    if lookup(texts, unit)? == UnitText::Masked {
        return Ok(());
    }
    let real = follow(texts, unit)?;
    if let UnitText::Link(target) = lookup(texts, &real)?
        && base(&target) == real
    {
        return Err(OfflineError::Linked { unit: real, target });
    }
    disable(texts, links, unit)?;
    enable(texts, links, &real)
}

/// Removes the links of the unit and of those it names by `Also=`.
pub(super) fn disable(texts: &impl UnitTexts, links: &mut Existing, unit: &str) -> Result<(), OfflineError> {
    let real = follow(texts, unit)?;
    let mut marked: BTreeSet<String> = family(texts, &real)?.into_iter().map(|found| found.name).collect();
    marked.extend([unit.to_owned(), real]);
    links.remove(&marked);
    Ok(())
}

/// The unit that an alias leads to; the name itself where it is none, or leads nowhere.
pub(super) fn follow(texts: &impl UnitTexts, unit: &str) -> Result<String, OfflineError> {
    let mut name = unit.to_owned();
    for _ in 0..MOST_ALIASES {
        let UnitText::Link(target) = lookup(texts, &name)? else { return Ok(name) };
        let next = match (Name::of(&name).instance, Name::of(base(&target))) {
            (Some(instance), template) if template.is_template() => template.with_instance(instance),
            _ => base(&target).to_owned(),
        };
        if next == name || lookup(texts, &next)? == UnitText::Absent {
            return Ok(name);
        }
        name = next;
    }
    Err(OfflineError::TooMany { what: "aliases of aliases", most: MOST_ALIASES })
}

/// Adds the links of the unit and of those it names by `Also=`. What is absent or masked has none.
pub(super) fn enable(texts: &impl UnitTexts, links: &mut Existing, unit: &str) -> Result<(), OfflineError> {
    for found in family(texts, unit)? {
        add_dependencies(links, &found)?;
        add_aliases(texts, links, &found)?;
    }
    Ok(())
}

/// The file that rules a unit: its own, or that of its template.
pub(super) fn lookup(texts: &impl UnitTexts, unit: &str) -> Result<UnitText, OfflineError> {
    let own = texts.unit(unit).map_err(OfflineError::read(unit))?;
    match (own, Name::of(unit).template()) {
        (UnitText::Absent, Some(template)) => texts.unit(&template).map_err(OfflineError::read(template)),
        (own, _) => Ok(own),
    }
}

/// The unit and all that `Also=` leads to, those that have a file.
fn family(texts: &impl UnitTexts, unit: &str) -> Result<Vec<Found>, OfflineError> {
    let mut seen = BTreeSet::from([unit.to_owned()]);
    let mut open = vec![unit.to_owned()];
    let mut found = Vec::new();
    while let Some(name) = open.pop() {
        let UnitText::File { path, text } = lookup(texts, &name)? else { continue };
        let install = Install::parse(text.expose());
        for word in &install.also {
            let also = name::expand(word, &effective(&name, &install))?;
            name::check(&also, Some(&name))?;
            if seen.insert(also.clone()) {
                open.push(also);
            }
        }
        if seen.len() > MOST_UNITS {
            return Err(OfflineError::TooMany { what: "units that hang together by Also=", most: MOST_UNITS });
        }
        found.push(Found { name, path, install });
    }
    Ok(found)
}

/// The name that specifiers see: a template stands for its default instance.
pub(super) fn effective(name: &str, install: &Install) -> String {
    match (&install.default_instance, Name::of(name)) {
        (Some(instance), parts) if parts.is_template() => parts.with_instance(instance),
        _ => name.to_owned(),
    }
}

fn add_dependencies(links: &mut Existing, found: &Found) -> Result<(), OfflineError> {
    let name = effective(&found.name, &found.install);
    let lists = [
        (&found.install.wanted_by, "wants"),
        (&found.install.required_by, "requires"),
        (&found.install.upheld_by, "upholds"),
    ];
    for (list, ending) in lists {
        for word in list {
            let by = name::expand(word, &name)?;
            name::check(&by, Some(&found.name))?;
            // A template without an instance can be started by templates only.
            if !Name::of(&name).is_template() || Name::of(&by).is_template() {
                links.put(format!("{by}.{ending}/{name}"), found.path.as_str());
            }
        }
    }
    Ok(())
}

fn add_aliases(texts: &impl UnitTexts, links: &mut Existing, found: &Found) -> Result<(), OfflineError> {
    for word in &found.install.alias {
        let alias = alias_name(&found.name, &name::expand(word, &effective(&found.name, &found.install))?)?;
        if alias == base(found.path.as_str()) {
            continue;
        }
        let occupied = |by: String| OfflineError::Occupied { unit: found.name.clone(), alias: alias.clone(), by };
        match links.alias(&alias) {
            Some(target) if base(target) != base(found.path.as_str()) => return Err(occupied(target.to_owned())),
            _ => {}
        }
        if let UnitText::File { path, .. } = texts.unit(&alias).map_err(OfflineError::read(&alias))?
            && path.as_str().starts_with(super::existing::CONFIG)
        {
            return Err(occupied(path.to_string()));
        }
        links.put(alias, found.path.as_str());
    }
    Ok(())
}

/// The alias as it is linked: a template's name stands for the same instance.
pub(super) fn alias_name(unit: &str, wanted: &str) -> Result<String, OfflineError> {
    name::check(wanted, Some(unit))?;
    let mismatch = || OfflineError::Mismatch { unit: unit.to_owned(), alias: wanted.to_owned() };
    let (own, other) = (Name::of(unit), Name::of(wanted));
    if own.kind != other.kind {
        return Err(mismatch());
    }
    match (own.instance, other.instance) {
        (None, None) => Ok(wanted.to_owned()),
        (Some(instance), Some("")) if !instance.is_empty() => Ok(other.with_instance(instance)),
        (Some(one), Some(two)) if one == two || one.is_empty() => Ok(wanted.to_owned()),
        _ => Err(mismatch()),
    }
}
