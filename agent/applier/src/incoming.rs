//! A frame while it arrives. Memory follows what has come and never what a header promises.

use ostler_core::protocol::{FrameError, HEADER_BYTES, length};

/// The least that is reserved at once, unless the frame is shorter.
const STEP: usize = 64 * 1024;

/// The part of a frame that has come.
#[derive(Debug, Default)]
pub struct Incoming {
    header: Vec<u8>,
    body: Vec<u8>,
}

impl Incoming {
    /// How many more bytes may be taken now, or nothing when the frame is complete.
    pub fn wanted(&self) -> Result<Option<usize>, FrameError> {
        let Ok(header) = <[u8; HEADER_BYTES]>::try_from(self.header.as_slice()) else {
            return Ok(Some(HEADER_BYTES.saturating_sub(self.header.len())));
        };
        let missing = length(header)?.saturating_sub(self.body.len());
        Ok((missing > 0).then_some(missing))
    }

    /// Takes bytes: not more than are wanted.
    pub fn take(&mut self, bytes: &[u8]) {
        if self.header.len() < HEADER_BYTES {
            self.header.extend_from_slice(bytes);
            return;
        }
        if self.body.capacity() - self.body.len() < bytes.len() {
            let missing = self.wanted().ok().flatten().unwrap_or_default();
            self.body.reserve_exact(self.body.len().max(STEP).min(missing).max(bytes.len()));
        }
        self.body.extend_from_slice(bytes);
    }

    /// How many bytes have come, the header's included.
    pub const fn received(&self) -> usize {
        self.header.len() + self.body.len()
    }

    /// What followed the header.
    pub fn into_body(self) -> Vec<u8> {
        self.body
    }
}

#[cfg(test)]
mod tests {
    use ostler_core::protocol::MAX_FRAME;
    use proptest::prelude::*;

    use super::*;

    /// Feeds a frame as a reader does, in parts of the given sizes, and says what became of it.
    fn feed(mut bytes: &[u8], parts: &[usize]) -> (Incoming, Result<Option<usize>, FrameError>) {
        let mut frame = Incoming::default();
        let mut parts = parts.iter().cycle();
        loop {
            let wanted = match frame.wanted() {
                Ok(Some(wanted)) if !bytes.is_empty() => wanted,
                end => return (frame, end),
            };
            let count = wanted.min(bytes.len()).min(*parts.next().unwrap());
            let (part, rest) = bytes.split_at(count);
            frame.take(part);
            bytes = rest;
            let allowed = (2 * frame.body.len() + STEP).min(length_of(&frame.header));
            assert!(frame.body.capacity() <= allowed, "{} for {}", frame.body.capacity(), frame.body.len());
        }
    }

    fn length_of(header: &[u8]) -> usize {
        header.try_into().map_or(0, |header: [u8; 4]| u32::from_be_bytes(header) as usize)
    }

    #[test]
    fn a_header_alone_reserves_nothing() {
        let header = u32::try_from(MAX_FRAME).unwrap().to_be_bytes();
        let (frame, end) = feed(&header, &[4]);
        assert_eq!((frame.body.capacity(), end.unwrap()), (0, Some(MAX_FRAME)));
    }

    #[test]
    fn a_length_beyond_the_bound_is_refused_before_a_byte_of_it_is_taken() {
        let mut bytes = u32::try_from(MAX_FRAME + 1).unwrap().to_be_bytes().to_vec();
        bytes.extend([b'x'; 100]);
        let (frame, end) = feed(&bytes, &[64]);
        assert!(matches!(end, Err(FrameError::TooLong { length }) if length == MAX_FRAME + 1));
        assert_eq!(frame.received(), 4);
    }

    #[test]
    fn the_longest_frame_arrives_in_no_more_memory_than_it_needs() {
        let mut bytes = u32::try_from(MAX_FRAME).unwrap().to_be_bytes().to_vec();
        bytes.resize(MAX_FRAME + 4, b' ');
        let (frame, end) = feed(&bytes, &[STEP]);
        assert_eq!((frame.body.len(), frame.body.capacity(), end.unwrap()), (MAX_FRAME, MAX_FRAME, None));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_bytes_in_any_parts_stay_within_the_bound(
            bytes in prop::collection::vec(any::<u8>(), 0..4096),
            parts in prop::collection::vec(1..2000_usize, 1..8),
        ) {
            let (frame, _) = feed(&bytes, &parts);
            prop_assert!(frame.received() <= bytes.len());
        }

        #[test]
        fn a_whole_frame_comes_out_as_it_went_in_however_it_is_cut(
            pattern in prop::collection::vec(any::<u8>(), 1..100),
            length in 0..300_000_usize,
            parts in prop::collection::vec(1..100_000_usize, 1..8),
        ) {
            let body: Vec<u8> = pattern.into_iter().cycle().take(length).collect();
            let mut bytes = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
            bytes.extend(&body);
            let (frame, end) = feed(&bytes, &parts);
            prop_assert_eq!(end.unwrap(), None);
            prop_assert_eq!(frame.into_body(), body);
        }
    }
}
