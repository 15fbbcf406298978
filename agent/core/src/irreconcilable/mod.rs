//! What the node's install-time configuration and its target disagree on and no agent can change in place.
//!
//! Owns the comparison of the four storage sections, its text, and the limits of `status.irreconcilableChanges`.
//! Refuses to say whether a target may be applied at all, and never quotes a secret.
//!
//! An entry's `diff` has `- ` lines for the install-time value and `+ ` lines for the target, as JSON. Where one entry
//! speaks of several places, a line `@ place`, relative to `fieldPath`, comes before the lines of each: `@ [0]` with
//! `-` is an item removed from that index, with `+` one inserted there, `@ [0→1].wipeTable` a field of an item that
//! went from index 0 to 1, and `~ moved` says that the item changed its place among the others.

mod align;
mod compare;
mod fit;
mod path;
mod text;
mod value;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use crate::api::machine_config_node::IrreconcilableChange as Change;
use crate::api::machine_config_node::{MAX_CHANGES, MAX_DIFF, MAX_FIELD_PATH};
use crate::ignition::Config;

/// Everything that differs, in the order of the paths and within the limits of the API. No path is reported twice,
/// none contains another, and every differing leaf is under one of them.
pub fn report(install: &Config, target: &Config) -> Vec<Change> {
    let differences = compare::differences(install, target);
    fit::entries(&differences)
        .iter()
        .map(|entry| Change { field_path: entry.field_path(), diff: text::render(entry) })
        .collect()
}
