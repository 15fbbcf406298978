//! How absent, null and secret values cross the JSON boundary.
//!
//! Owns the serde helpers the kinds share; knows no kind.

use crate::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::borrow::Cow;

/// Reads `null` as the default: Go writes an empty list or map that was never made as `null`.
pub fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads base64 text, `null` as none. The error keeps the decoder's cause to itself, which would name a byte of the value.
pub fn secret_bytes<'de, D>(deserializer: D) -> Result<Option<Secret<Vec<u8>>>, D::Error>
where
    D: Deserializer<'de>,
{
    let Some(text) = Option::<Cow<'de, str>>::deserialize(deserializer)? else { return Ok(None) };
    match STANDARD.decode(text.as_bytes()) {
        Ok(bytes) => Ok(Some(Secret::new(bytes))),
        Err(_) => Err(D::Error::custom("secret data is not valid base64")),
    }
}

/// Reads text that may carry a password, `null` as none.
pub fn secret_text<'de, D>(deserializer: D) -> Result<Option<Secret<String>>, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(Option::<String>::deserialize(deserializer)?.map(Secret::new))
}
