//! What discovery left out or replaced, each named, so that nobody has to wonder where a stream went.

use std::fmt;

use super::labels::{Origin, Part};

/// Something that was left out or replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// A source could not be read at all.
    Source {
        /// Which.
        origin: Origin,
        /// Why.
        reason: String,
    },
    /// An image could not be looked at.
    Unreachable {
        /// Its source.
        origin: Origin,
        /// The image.
        image: String,
        /// What its source calls it.
        called: String,
        /// Why.
        reason: String,
    },
    /// An image names no stream.
    NoStream {
        /// Its source.
        origin: Origin,
        /// The image.
        image: String,
        /// What its source calls it.
        called: String,
    },
    /// An image names a stream and is neither half of it.
    NoPart {
        /// Its source.
        origin: Origin,
        /// The image.
        image: String,
        /// Its stream.
        stream: String,
    },
    /// A source has two images for the same half; the later one counts.
    Replaced {
        /// The source.
        origin: Origin,
        /// The stream.
        stream: String,
        /// The half.
        part: Part,
        /// What counted before.
        old: String,
        /// What counts.
        new: String,
    },
    /// A source has only one half of a stream.
    Half {
        /// The source.
        origin: Origin,
        /// The stream.
        stream: String,
        /// What is there.
        present: Part,
        /// The image that is there.
        image: String,
    },
    /// Two sources have different images for a stream; the later source counts.
    Overridden {
        /// The stream.
        stream: String,
        /// Whose images do not count.
        by: Origin,
        /// Whose images count.
        origin: Origin,
    },
}

impl fmt::Display for Remark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source { origin, reason } => write!(formatter, "{origin} is left out: {reason}"),
            Self::Unreachable { origin, image, called, reason } => {
                write!(formatter, "{image} ({called} of {origin}) is left out: {reason}")
            }
            Self::NoStream { origin, image, called } => {
                write!(formatter, "{image} ({called} of {origin}) is left out: its labels name no stream")
            }
            Self::NoPart { origin, image, stream } => write!(
                formatter,
                "{image} of {origin} is left out: its labels name stream {stream}, and neither an OS nor extensions"
            ),
            Self::Replaced { origin, stream, part, old, new } => {
                write!(formatter, "{origin} has two {part}s for stream {stream}: {new} counts, {old} does not")
            }
            Self::Half { origin, stream, present, image } => {
                write!(formatter, "stream {stream} of {origin} is left out: it has only its {present}, {image}")
            }
            Self::Overridden { stream, by, origin } => {
                write!(formatter, "stream {stream} is in {by} and in {origin} with other images: {origin} counts")
            }
        }
    }
}
