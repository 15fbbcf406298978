//! Ignition spec 2.0 to 2.2, raised to spec 3 with the machine-config-operator's rules.
//!
//! Owns what spec 2 itself refuses, what the operator adds to that, and what has no counterpart in spec 3. Refuses to
//! own spec 3's rules: contents of units, `data:` URLs and duplicates that spec 2 allows are left to its validation.

mod check;
mod convert;
mod dedupe;
mod error;
mod model;
mod obstacle;
mod release;
#[cfg(test)]
mod tests;

use ignition_config::v3_6 as spec;
use serde_json::Value;

pub use error::ConversionError;
use release::Release;
pub(super) use release::unknown_keys;

/// Converts a config whose `ignition.version` is 2.0.0, 2.1.0 or 2.2.0.
pub(super) fn upgrade(config: &Value) -> Result<spec::Config, ConversionError> {
    let release = Release::of(config)?;
    let mut config = model::read(&release.known(config))?;
    release.fill_in(&mut config);
    // Before duplicates go: an entry that a later one hides must be valid all the same.
    check::check(&config)?;
    let config = dedupe::dedupe(config)?;
    obstacle::find(&config)?;
    Ok(convert::convert(config))
}
