//! Messages as bytes: a length of four bytes, most significant first, then that many bytes of JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Request;

/// Bytes of a frame's header.
pub const HEADER_BYTES: usize = 4;

/// The longest message: a configuration of the largest size, with room for its plan.
pub const MAX_FRAME: usize = crate::document::MAX_BYTES + 16 * 1024 * 1024;

/// Memory that the values of a request may take beyond their text, so that all of a request takes at most three times the
/// longest frame: the frame, the text in it, and this. It is enough for a change of ten thousand files.
const MAX_STRUCTURE: usize = MAX_FRAME;
/// What begins or divides values, and the memory that a value costs there: a map has room for eleven entries from the first
/// on, a list for four, and a short string takes as much as a value.
const COSTS: [(u8, usize); 4] = [(b'{', 640), (b'[', 128), (b',', 64), (b':', 32)];

/// Why bytes are no message. Never quotes them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Longer than any message may be.
    #[error("a message of {length} bytes is longer than the {MAX_FRAME} allowed")]
    TooLong {
        /// How long it is.
        length: usize,
    },
    /// Has so many values that they would take far more memory than their text.
    #[error("a message of {length} bytes has more lists, objects and values than may be taken apart")]
    TooManyValues {
        /// How long it is.
        length: usize,
    },
    /// Not the JSON of a known message.
    #[error("the message is not one of this protocol (line {line}, column {column})")]
    Unknown {
        /// Where reading stopped.
        line: usize,
        /// Where reading stopped.
        column: usize,
    },
}

impl FrameError {
    fn unknown(error: &serde_json::Error) -> Self {
        Self::Unknown { line: error.line(), column: error.column() }
    }
}

/// A message with its header.
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; HEADER_BYTES];
    serde_json::to_writer(&mut frame, message).map_err(|error| FrameError::unknown(&error))?;
    let length = frame.len() - HEADER_BYTES;
    let header = u32::try_from(length).ok().filter(|_| length <= MAX_FRAME).ok_or(FrameError::TooLong { length })?;
    frame.iter_mut().zip(header.to_be_bytes()).for_each(|(byte, value)| *byte = value);
    Ok(frame)
}

/// How many bytes follow a header.
pub fn length(header: [u8; HEADER_BYTES]) -> Result<usize, FrameError> {
    let length = usize::try_from(u32::from_be_bytes(header)).unwrap_or(usize::MAX);
    if length > MAX_FRAME { Err(FrameError::TooLong { length }) } else { Ok(length) }
}

/// The message in the bytes that follow a header.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, FrameError> {
    serde_json::from_slice(body).map_err(|error| FrameError::unknown(&error))
}

/// The request in the bytes that follow a header, from a peer that is not trusted with this process's memory.
pub fn decode_request(body: &[u8]) -> Result<Request, FrameError> {
    if structure(body) > MAX_STRUCTURE {
        return Err(FrameError::TooManyValues { length: body.len() });
    }
    decode(body)
}

/// What the values of a text take in memory beyond its bytes, at most. Strings are not told apart from the rest: a sealed
/// document is one, and is taken apart later.
fn structure(text: &[u8]) -> usize {
    let mut costs = [0_usize; 256];
    for (byte, cost) in COSTS {
        if let Some(place) = costs.get_mut(usize::from(byte)) {
            *place = cost;
        }
    }
    text.iter().filter_map(|byte| costs.get(usize::from(*byte))).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Destination, Prepare, Rules, Sealed};
    use super::*;

    #[test]
    fn a_message_survives_its_frame() {
        let to = Destination::Config(Sealed::new(json!({"a": 1})));
        for request in [Request::Observe, Request::Prepare(Prepare { to, rules: Rules::default() }), Request::Drift] {
            let frame = encode(&request).unwrap();
            let (header, body) = frame.split_first_chunk::<HEADER_BYTES>().unwrap();
            assert_eq!(length(*header).unwrap(), body.len());
            assert_eq!(decode_request(body).unwrap(), request);
        }
    }

    #[test]
    fn lengths_are_bounded_and_unknown_messages_are_refused_without_quoting_them() {
        assert!(matches!(length([0xff; 4]), Err(FrameError::TooLong { .. })));
        for body in [&b"{\"request\":\"hunter2\"}"[..], b"{\"request\":\"apply\"}", b"hunter2", b""] {
            let error = decode::<Request>(body).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_request_of_many_values_is_refused_and_one_of_ten_thousand_files_is_not() {
        for tiny in ["[],", "{},", "1,", "{\"a\":1},", "[[[1]]],", "\"\","] {
            let body = format!("{{\"prepare\":[{}0]}}", tiny.repeat(MAX_STRUCTURE / 64));
            assert!(matches!(decode_request(body.as_bytes()), Err(FrameError::TooManyValues { .. })), "{tiny}");
        }
        let file = r#"{"contents":{"source":"data:,x"},"mode":420,"overwrite":true,"path":"/etc/dir/a.conf"},"#;
        assert!(structure(file.as_bytes()) * 10_000 < MAX_STRUCTURE);
    }

    #[test]
    fn a_sealed_document_does_not_format() {
        let sealed = Sealed::new(json!({"password": "hunter2"}));
        assert_eq!(format!("{sealed:?}"), "Sealed([redacted])");
    }
}
