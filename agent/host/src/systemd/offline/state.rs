//! What `systemctl is-enabled` would say of a unit below a root.

use super::enable::{alias_name, effective, follow, lookup};
use super::existing::{Existing, base};
use super::install::Install;
use super::{OfflineError, UnitText, UnitTexts, name};
use crate::disk::Disk;

/// How a unit stands to boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnabledState {
    /// Has a link.
    Enabled,
    /// Could have one and has none.
    Disabled,
    /// Says of no link that it could have.
    Static,
    /// Cannot be started.
    Masked,
    /// Has no file.
    Absent,
    /// Is another unit's second name.
    Alias,
    /// Is a link to a file elsewhere.
    Linked,
    /// Names others to enable but no link of its own, or is started by another name or instance only.
    Indirect,
}

/// Reads the state of one unit.
pub fn is_enabled(disk: &impl Disk, texts: &impl UnitTexts, unit: &str) -> Result<EnabledState, OfflineError> {
    name::check(unit, None)?;
    let (file, install) = match lookup(texts, unit)? {
        UnitText::Absent => return Ok(EnabledState::Absent),
        UnitText::Masked => return Ok(EnabledState::Masked),
        UnitText::Link(target) if base(&target) == unit => return Ok(EnabledState::Linked),
        UnitText::Link(_) if follow(texts, unit)? == unit => return Ok(EnabledState::Absent),
        UnitText::Link(_) => return Ok(EnabledState::Alias),
        UnitText::File { path, text } => (path, Install::parse(text.expose())),
    };
    let links = Existing::scan(disk, texts)?;
    let name = effective(unit, &install);
    let mut aliases = install.alias.iter().filter_map(|word| alias_name(unit, &name::expand(word, &name).ok()?).ok());
    let leads_here = |alias: String| alias != unit && links.alias(&alias).is_some_and(|to| base(to) == file.name());
    Ok(if links.starts(unit) || links.starts(&name) || aliases.any(leads_here) {
        EnabledState::Enabled
    } else if links.touches(unit) {
        EnabledState::Indirect
    } else if install.is_static() {
        EnabledState::Static
    } else if install.only_also() {
        EnabledState::Indirect
    } else {
        EnabledState::Disabled
    })
}
