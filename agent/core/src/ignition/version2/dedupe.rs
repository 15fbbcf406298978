//! One entry per file, unit and user: spec 2 allows several and lets the last win, spec 3 allows one.
//!
//! Files are told apart by path alone, because only the root filesystem is supported.

use std::collections::{HashMap, HashSet};

use super::error::ConversionError;
use super::model::{Config, File, Unit, User};

/// Reduces files, units and users, keeping the order of those that stay.
pub(super) fn dedupe(mut config: Config) -> Result<Config, ConversionError> {
    config.files = last_files(config.files);
    config.units = merged_units(config.units);
    config.users = merged_users(config.users)?;
    Ok(config)
}

fn last_files(files: Vec<File>) -> Vec<File> {
    let mut seen = HashSet::new();
    let mut kept: Vec<_> = files.into_iter().rev().filter(|file| seen.insert(file.node.path.clone())).collect();
    kept.reverse();
    kept
}

/// The last entry of a unit wins; drop-ins of earlier ones are added where it has none of that name.
fn merged_units(units: Vec<Unit>) -> Vec<Unit> {
    let mut kept: Vec<Unit> = Vec::new();
    let mut places = HashMap::new();
    let mut dropins = HashSet::new();
    for unit in units.into_iter().rev() {
        let place = *places.entry(unit.name.clone()).or_insert(kept.len());
        match kept.get_mut(place) {
            Some(winner) => {
                let earlier = unit.dropins.into_iter();
                winner.dropins.extend(earlier.filter(|dropin| dropins.insert((place, dropin.name.clone()))));
            }
            // Two drop-ins of one name within the winner stay: that is an error, not a duplicate.
            None => {
                dropins.extend(unit.dropins.iter().map(|dropin| (place, dropin.name.clone())));
                kept.push(unit);
            }
        }
    }
    kept.reverse();
    kept
}

/// The last entry of `core` wins and collects the keys of the others, its own first.
fn merged_users(users: Vec<User>) -> Result<Vec<User>, ConversionError> {
    let mut latest_first = users.into_iter().rev();
    let Some(mut user) = latest_first.next() else { return Ok(Vec::new()) };
    only_core(&user)?;
    for earlier in latest_first {
        only_core(&earlier)?;
        user.ssh_authorized_keys.extend(earlier.ssh_authorized_keys);
    }
    let mut seen = HashSet::new();
    user.ssh_authorized_keys.retain(|key| seen.insert(key.clone()));
    Ok(vec![user])
}

fn only_core(user: &User) -> Result<(), ConversionError> {
    if user.name == "core" { Ok(()) } else { Err(ConversionError::UnexpectedUser { name: user.name.clone() }) }
}
