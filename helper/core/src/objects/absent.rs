//! How absent and unusable values are read. Knows no kind.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

/// Reads `null` as the default: Go writes a list or map that was never made as `null`.
pub fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a time; what is no time is none, as nothing that is decided here is worth refusing an object for it.
pub fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.parse().ok()))
}
