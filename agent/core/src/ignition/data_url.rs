//! RFC 2397 `data:` URLs, as strict as the decoder the machine-config-daemon uses.
//!
//! Owns the grammar and the two encodings. It accepts and refuses what Go's `vincent-petithory/dataurl` v1.0.0 does,
//! oddities included: a URL that only one of the two agents accepts would be a node that only one of them can update.
//! It refuses to keep the media type, which nothing on a node asks for.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Why a URL cannot be decoded. The URL itself is contents and never part of the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DataUrlError {
    /// The URL has another scheme.
    #[error("the URL does not start with \"data:\"")]
    NotData,
    /// What stands before the first parameter is no media type.
    #[error("the media type is malformed; write it as text/plain, or leave it out")]
    MediaType,
    /// A parameter is malformed, or the comma before the data is missing.
    #[error("the parameters are malformed; write them as ;name=value, and a comma before the data")]
    Parameter,
    /// A last parameter without a value that is not `base64`.
    #[error("the encoding is unknown; only ;base64 is supported, in lower case and directly before the comma")]
    Encoding,
    /// A byte that has to be escaped.
    #[error("byte {at} of the URL is a character that has to be written as a percent escape")]
    Character {
        /// Offset into the URL.
        at: usize,
    },
    /// A percent sign without two hexadecimal digits.
    #[error("byte {at} of the URL starts an incomplete percent escape; write a percent sign itself as %25")]
    Escape {
        /// Offset into the URL.
        at: usize,
    },
    /// The data is no padded base64 of the standard alphabet.
    #[error("the data is not valid base64; it needs the standard alphabet and its padding")]
    Base64,
    /// The data exceeds what one file may hold.
    #[error("the data exceeds {limit} bytes")]
    TooLarge {
        /// The most allowed.
        limit: usize,
    },
}

/// Go ignores the bits that a last symbol has beyond the last byte, and insists on padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// How many bytes the URL stands for, found out without decoding it.
pub(super) fn size(url: &str) -> Result<usize, DataUrlError> {
    match payload(url)? {
        Payload::Plain(data) => plain_size(data, url.len() - data.len()),
        Payload::Base64(data) => base64_size(data.as_bytes()),
    }
}

/// The bytes the URL stands for, at most `max_bytes` of them.
pub(super) fn decode(url: &str, max_bytes: usize) -> Result<Vec<u8>, DataUrlError> {
    match payload(url)? {
        Payload::Plain(data) => decode_plain(data, url.len() - data.len(), max_bytes),
        Payload::Base64(data) => decode_base64(data, max_bytes),
    }
}

/// What follows the comma, and how it is written.
enum Payload<'a> {
    Plain(&'a str),
    Base64(&'a str),
}

fn payload(url: &str) -> Result<Payload<'_>, DataUrlError> {
    let rest = url.strip_prefix("data:").ok_or(DataUrlError::NotData)?;
    let mut rest = after_media_type(rest)?;
    // Go keeps "the next value is quoted" set across a quoted value that is empty, and a value taken for quoted does
    // not have its percent escapes looked at.
    let mut after_empty_quotes = false;
    loop {
        if let Some(data) = rest.strip_prefix(',') {
            return Ok(Payload::Plain(data));
        }
        let parameter = rest.strip_prefix(';').ok_or(DataUrlError::Parameter)?;
        let (name, after) = token(parameter);
        if name.is_empty() {
            return Err(DataUrlError::Parameter);
        }
        if let Some(data) = after.strip_prefix(',') {
            return if name == "base64" { Ok(Payload::Base64(data)) } else { Err(DataUrlError::Encoding) };
        }
        let value = after.strip_prefix('=').ok_or(DataUrlError::Parameter)?;
        if let Some(quoted) = value.strip_prefix('"') {
            let (text, after) = quoted_text(quoted).ok_or(DataUrlError::Parameter)?;
            after_empty_quotes = text.is_empty();
            rest = after;
        } else {
            let (text, after) = token(value);
            if text.is_empty() || !(after_empty_quotes || is_well_escaped(text.as_bytes())) {
                return Err(DataUrlError::Parameter);
            }
            after_empty_quotes = false;
            rest = after;
        }
    }
}

/// Skips `type/subtype`, both of which may be absent together.
fn after_media_type(rest: &str) -> Result<&str, DataUrlError> {
    // Prefixes: "textual/x" is as good as "text/x" to Go.
    const KINDS: [&str; 9] = ["text", "application", "image", "audio", "video", "message", "multipart", "x-", "X-"];
    if rest.starts_with([';', ',']) {
        return Ok(rest);
    }
    let (kind, after) = token(rest);
    let subtype = after.strip_prefix('/').ok_or(DataUrlError::MediaType)?;
    let (_, after) = token(subtype);
    let known = KINDS.iter().any(|prefix| kind.starts_with(prefix));
    if known && after.starts_with([';', ',']) { Ok(after) } else { Err(DataUrlError::MediaType) }
}

/// The longest token of RFC 2045 that `text` starts with, and what follows it.
fn token(text: &str) -> (&str, &str) {
    let is_token = |byte: u8| byte.is_ascii_graphic() && !br#"()<>@,;:\"/[]?="#.contains(&byte);
    let end = text.bytes().position(|byte| !is_token(byte)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// The inside of a quoted value and what follows its closing quote, if the value is one Go can unquote.
fn quoted_text(quoted: &str) -> Option<(&str, &str)> {
    let mut rest = quoted.as_bytes();
    loop {
        rest = match rest {
            [b'"', ..] => {
                let (text, after) = quoted.split_at_checked(quoted.len() - rest.len())?;
                return Some((text, after.strip_prefix('"')?));
            }
            [b'\\', after @ ..] => after_escape(after)?,
            [byte, after @ ..] if byte.is_ascii() && *byte != b'\n' => after,
            _ => return None,
        };
    }
}

/// Skips one escape sequence of a Go string literal; the backslash is already gone.
fn after_escape(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'\\' | b'"', after @ ..] => Some(after),
        [b'x', after @ ..] => number(after, 2, 16).map(|(_, after)| after),
        [b'u', after @ ..] => {
            number(after, 4, 16).filter(|(code, _)| char::from_u32(*code).is_some()).map(|(_, after)| after)
        }
        [b'U', after @ ..] => {
            number(after, 8, 16).filter(|(code, _)| char::from_u32(*code).is_some()).map(|(_, after)| after)
        }
        _ => number(bytes, 3, 8).filter(|(byte, _)| *byte <= 0xff).map(|(_, after)| after),
    }
}

fn number(bytes: &[u8], digits: usize, radix: u32) -> Option<(u32, &[u8])> {
    let (digits, after) = bytes.split_at_checked(digits)?;
    let number = digits
        .iter()
        .try_fold(0_u32, |number, byte| number.checked_mul(radix)?.checked_add(char::from(*byte).to_digit(radix)?))?;
    Some((number, after))
}

/// The size of percent-encoded data. `offset` is where `data` starts in the URL.
fn plain_size(data: &str, offset: usize) -> Result<usize, DataUrlError> {
    let data = data.as_bytes();
    if !is_well_escaped(data) {
        return Err(plain_fault(data, offset));
    }
    let escapes = data.iter().filter(|byte| **byte == b'%').count();
    Ok(data.len().saturating_sub(2 * escapes))
}

/// Nearly all of a config is such data and nearly all of it is right, so this only says whether: loops without an early
/// exit are the loops that get vectorised. A hexadecimal digit is no percent sign, so escapes cannot overlap.
fn is_well_escaped(data: &[u8]) -> bool {
    let (second, third) = (data.get(1..).unwrap_or_default(), data.get(2..).unwrap_or_default());
    let plain = data.iter().fold(true, |right, byte| right & (is_plain(*byte) | (*byte == b'%')));
    let escapes =
        data.iter().zip(second).zip(third).fold(true, |right, ((first, second), third)| {
            right & ((*first != b'%') | (is_hex(*second) & is_hex(*third)))
        });
    let complete = !data.iter().rev().take(2).any(|byte| *byte == b'%');
    plain & escapes & complete
}

/// The first thing wrong with data that is not well escaped.
fn plain_fault(data: &[u8], offset: usize) -> DataUrlError {
    let mut rest = data;
    loop {
        let at = offset + data.len() - rest.len();
        rest = match rest {
            [b'%', high, low, after @ ..] if is_hex(*high) & is_hex(*low) => after,
            [b'%', ..] => return DataUrlError::Escape { at },
            [byte, after @ ..] if is_plain(*byte) => after,
            _ => return DataUrlError::Character { at },
        };
    }
}

/// Characters that stand for themselves: printable ASCII without the delimiters and the "unwise" of RFC 2396.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        | (byte == b'!')
        | (byte == b'$')
        | ((byte >= b'&') & (byte <= b';'))
        | (byte == b'=')
        | (byte == b'?')
        | (byte == b'@')
        | (byte == b'_')
        | (byte == b'~')
}

const fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() | ((byte | 0x20 >= b'a') & (byte | 0x20 <= b'f'))
}

/// The value of a digit that has been checked.
const fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20).wrapping_sub(b'a' - 10),
    }
}

fn decode_plain(data: &str, offset: usize, limit: usize) -> Result<Vec<u8>, DataUrlError> {
    let size = plain_size(data, offset)?;
    if size > limit {
        return Err(DataUrlError::TooLarge { limit });
    }
    let mut decoded = Vec::with_capacity(size);
    let mut pieces = data.as_bytes().split(|byte| *byte == b'%');
    decoded.extend_from_slice(pieces.next().unwrap_or_default());
    for piece in pieces {
        if let [high, low, literal @ ..] = piece {
            decoded.push(hex(*high) << 4 | hex(*low));
            decoded.extend_from_slice(literal);
        }
    }
    Ok(decoded)
}

fn decode_base64(data: &str, limit: usize) -> Result<Vec<u8>, DataUrlError> {
    let decode = |data: &[u8]| {
        let padding = data.iter().rev().take(2).filter(|byte| **byte == b'=').count();
        if (data.len() / 4 * 3).saturating_sub(padding) > limit {
            return Err(DataUrlError::TooLarge { limit });
        }
        BASE64.decode(data).map_err(|_| DataUrlError::Base64)
    };
    if data.as_bytes().contains(&b'\n') {
        let unbroken: Vec<u8> = data.bytes().filter(|byte| *byte != b'\n').collect();
        decode(&unbroken)
    } else {
        decode(data.as_bytes())
    }
}

/// The size of base64 data, whose symbols are only looked at, not decoded.
fn base64_size(data: &[u8]) -> Result<usize, DataUrlError> {
    let (mut symbols, mut padding) = (0, 0);
    let mut lines = data.split(|byte| *byte == b'\n');
    let mut whole = std::iter::once(data);
    // Unbroken data is the rule, and looking for a line break that is not there is much faster than splitting at it.
    let lines: &mut dyn Iterator<Item = &[u8]> = if data.contains(&b'\n') { &mut lines } else { &mut whole };
    for line in lines {
        let equals = line.iter().rev().take_while(|byte| **byte == b'=').count();
        let body = line.get(..line.len() - equals).unwrap_or_default();
        // No early exit: the loop without one is the loop that gets vectorised.
        let clean = body.iter().fold(true, |clean, byte| clean & is_symbol(*byte));
        if !clean || (padding > 0 && !body.is_empty()) {
            return Err(DataUrlError::Base64);
        }
        symbols += body.len();
        padding += equals;
    }
    let whole = padding <= 2 && (symbols + padding) % 4 == 0;
    if whole { Ok((symbols + padding) / 4 * 3 - padding) } else { Err(DataUrlError::Base64) }
}

const fn is_symbol(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() | (byte == b'+') | (byte == b'/')
}

#[cfg(test)]
mod tests;
