//! Whole messages over a stream, and why one did not get through. Never quotes a message.

use std::io::{ErrorKind, Read, Write};

use ostler_core::protocol::{FrameError, HEADER_BYTES, encode, length};
use serde::Serialize;

/// Why a message did not get through. Holds no `io::Error`, whose remedies are about files.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// The other side closed the connection.
    #[error("it closed the connection")]
    Closed,
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// What came has no message's length.
    #[error(transparent)]
    Unreadable(FrameError),
    /// What was to be sent is no message.
    #[error(transparent)]
    Unsendable(FrameError),
}

impl From<std::io::Error> for Lost {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Self::Closed,
            _ => Self::Broken(error.to_string()),
        }
    }
}

/// Sends a message.
pub fn send<T: Serialize>(output: Option<&mut Box<dyn Write + Send>>, message: &T) -> Result<(), Lost> {
    let frame = encode(message).map_err(Lost::Unsendable)?;
    let output = output.ok_or(Lost::Closed)?;
    output.write_all(&frame)?;
    Ok(output.flush()?)
}

/// Receives what follows a header. Memory is taken as bytes come.
pub fn receive(input: &mut dyn Read) -> Result<Vec<u8>, Lost> {
    let mut header = [0; HEADER_BYTES];
    input.read_exact(&mut header)?;
    let length = length(header).map_err(Lost::Unreadable)?;
    let mut body = Vec::new();
    input.take(u64::try_from(length).unwrap_or(u64::MAX)).read_to_end(&mut body)?;
    if body.len() == length { Ok(body) } else { Err(Lost::Closed) }
}
