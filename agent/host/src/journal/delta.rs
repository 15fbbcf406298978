//! A text as what it takes from another, its base: of a large configuration most is as it was before.
//!
//! Owns the form and how it is found. Refuses to vouch for the outcome: what a delta makes is to be compared, or to have
//! the digest that it is named by. A base is never a delta itself.

use super::texts::TextId;

const MAGIC: &str = "ostler-delta 1 ";

/// A delta is worth its while up to this part of the text that it stands for.
const WORTH: usize = 4;
/// What is longer is no delta, which tells most texts apart without reading them.
pub(super) const MOST: usize = 1 << 20;

/// Bytes that have to be found again for the two texts to go on together. Fewer would find anything anywhere.
const NEEDLE: usize = 24;
/// How much further the base is searched than the text.
const REACH: usize = 16;
/// Bytes that may be searched in any case; more are for texts that are longer.
const PATIENCE: usize = 256 << 10;

/// One piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'t> {
    /// Bytes of the base.
    Copy { start: usize, length: usize },
    /// Bytes of its own.
    Own(&'t [u8]),
}

/// A delta that was stored.
pub(super) struct Delta<'f> {
    pub(super) base: TextId,
    pieces: Vec<Piece<'f>>,
}

impl<'f> Delta<'f> {
    /// From its file; `None` when it is not what [`encode`] makes.
    pub(super) fn decode(file: &'f [u8]) -> Option<Self> {
        let (base, mut rest) = line(file.strip_prefix(MAGIC.as_bytes())?)?;
        let base = TextId::parse(base)?;
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let (head, after) = line(rest)?;
            rest = after;
            pieces.push(match *head.split(' ').collect::<Vec<_>>() {
                ["copy", start, length] => Piece::Copy { start: start.parse().ok()?, length: length.parse().ok()? },
                ["own", length] => {
                    let (own, after) = rest.split_at_checked(length.parse().ok()?)?;
                    rest = after;
                    Piece::Own(own)
                }
                _ => return None,
            });
        }
        Some(Self { base, pieces })
    }

    /// The text, of at most so many bytes; `None` when the base is not the one it was made from.
    pub(super) fn text(&self, base: &[u8], most: usize) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for piece in &self.pieces {
            let bytes = piece.bytes(base)?;
            if bytes.len() > most.saturating_sub(text.len()) {
                return None;
            }
            text.extend_from_slice(bytes);
        }
        Some(text)
    }

    /// What pieces of the text that this makes are, as pieces of its base. They copy no byte of the base that this does
    /// not, so that a base which makes the one text makes the other.
    fn trace<'p>(&self, pieces: Vec<Piece<'p>>) -> Option<Vec<Piece<'p>>>
    where
        'f: 'p,
    {
        let mut ends = Vec::with_capacity(self.pieces.len());
        let mut end: usize = 0;
        for piece in &self.pieces {
            end = end.checked_add(piece.length())?;
            ends.push(end);
        }
        let mut traced = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Copy { start, length } => self.trace_copy(&ends, start, length, &mut traced)?,
                Piece::Own(_) => traced.push(piece),
            }
        }
        Some(traced)
    }

    /// The pieces that bytes of its text are; `ends` is where each piece of the text ends.
    fn trace_copy<'p>(&self, ends: &[usize], mut start: usize, length: usize, traced: &mut Vec<Piece<'p>>) -> Option<()>
    where
        'f: 'p,
    {
        let until = start.checked_add(length)?;
        let mut under = ends.partition_point(|end| *end <= start);
        while start < until {
            let (piece, end) = (self.pieces.get(under)?, *ends.get(under)?);
            let length = until.min(end).checked_sub(start)?;
            traced.push(piece.part(piece.length().checked_sub(end.checked_sub(start)?)?, length)?);
            start += length;
            under += 1;
        }
        Some(())
    }

    /// Whether it makes this text.
    pub(super) fn makes(&self, base: &[u8], text: &[u8]) -> bool {
        let mut rest = Some(text);
        for piece in &self.pieces {
            rest = rest.and_then(|rest| rest.strip_prefix(piece.bytes(base)?));
        }
        rest.is_some_and(<[u8]>::is_empty)
    }
}

impl<'t> Piece<'t> {
    const fn length(&self) -> usize {
        match self {
            Self::Copy { length, .. } => *length,
            Self::Own(own) => own.len(),
        }
    }

    /// So many bytes of it, from one on.
    fn part(&self, skipped: usize, length: usize) -> Option<Self> {
        match self {
            Self::Copy { start, .. } => Some(Self::Copy { start: start.checked_add(skipped)?, length }),
            Self::Own(own) => own.get(skipped..)?.get(..length).map(Self::Own),
        }
    }

    fn bytes<'b: 't>(&self, base: &'b [u8]) -> Option<&'t [u8]> {
        match self {
            Self::Own(own) => Some(own),
            Self::Copy { start, length } => base.get(*start..start.checked_add(*length)?),
        }
    }
}

fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    /// Longer than any line has to be.
    const LONGEST: usize = 80;
    let end = bytes.iter().take(LONGEST).position(|byte| *byte == b'\n')?;
    let (line, rest) = bytes.split_at_checked(end)?;
    Some((std::str::from_utf8(line).ok()?, rest.strip_prefix(b"\n")?))
}

/// A text as a file that names its base; `None` when that is not worth its while.
pub(super) fn encode(id: &TextId, base: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    written(id, pieces(base, text)?, MOST.min(text.len() / WORTH))
}

/// The same with the base of a delta that makes another text, which this text is compared to instead of the base.
pub(super) fn encode_through(delta: &Delta<'_>, other: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    written(&delta.base, delta.trace(pieces(other, text)?)?, MOST.min(text.len() / WORTH))
}

fn written(base: &TextId, pieces: Vec<Piece<'_>>, most: usize) -> Option<Vec<u8>> {
    let mut file = format!("{MAGIC}{}\n", base.as_str()).into_bytes();
    for piece in pieces {
        match piece {
            Piece::Copy { start, length } => file.extend_from_slice(format!("copy {start} {length}\n").as_bytes()),
            // A whole configuration is not copied only to find that it is too long.
            Piece::Own(own) if own.len() > most => return None,
            Piece::Own(own) => {
                file.extend_from_slice(format!("own {}\n", own.len()).as_bytes());
                file.extend_from_slice(own);
            }
        }
        if file.len() > most {
            return None;
        }
    }
    Some(file)
}

/// Goes along both texts; where they part, looks for where they meet again.
fn pieces<'t>(base: &[u8], text: &'t [u8]) -> Option<Vec<Piece<'t>>> {
    let mut pieces = Vec::new();
    // Beyond this the whole text is the cheaper thing to write.
    let mut patience = text.len().max(PATIENCE);
    let (mut start, mut rest) = (0, text);
    loop {
        let length = common(base.get(start..)?, rest);
        if length > 0 {
            pieces.push(Piece::Copy { start, length });
            start += length;
            rest = rest.get(length..)?;
        }
        if rest.is_empty() {
            return Some(pieces);
        }
        let (own, skipped) = meet(base.get(start..)?, rest, &mut patience)?;
        let (own, after) = rest.split_at_checked(own)?;
        pieces.push(Piece::Own(own));
        start += skipped;
        rest = after;
    }
}

/// How many bytes of the text, and of the base, lie before the point where they agree again; the whole text when there
/// is none. `None` when the search takes too long.
fn meet(base: &[u8], text: &[u8], patience: &mut usize) -> Option<(usize, usize)> {
    let mut own = NEEDLE;
    while let Some(needle) = text.get(own..).and_then(|after| after.get(..NEEDLE)) {
        let reach = base.get(..own.saturating_mul(REACH)).unwrap_or(base);
        *patience = patience.checked_sub(reach.len())?;
        if let Some(skipped) = reach.windows(NEEDLE).position(|window| window == needle) {
            return Some((own, skipped));
        }
        own = own.saturating_mul(2);
    }
    Some((text.len(), base.len()))
}

/// How many bytes two texts begin with alike.
fn common(one: &[u8], other: &[u8]) -> usize {
    const BLOCK: usize = 4096;
    let blocks = one.chunks_exact(BLOCK).zip(other.chunks_exact(BLOCK)).take_while(|(one, other)| one == other);
    let alike = blocks.count() * BLOCK;
    let rest = one.iter().skip(alike).zip(other.iter().skip(alike)).take_while(|(one, other)| one == other);
    alike + rest.count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn both_ways(base: &[u8], text: &[u8]) -> Option<usize> {
        let id = TextId::of(base);
        let file = encode(&id, base, text)?;
        let delta = Delta::decode(&file).unwrap();
        assert_eq!(delta.base, id);
        assert_eq!(delta.text(base, text.len()).unwrap(), text);
        assert!(delta.makes(base, text) && !delta.makes(base, &[text, b"x"].concat()));
        assert!(text.is_empty() || !delta.makes(base, &text[1..]));
        assert!(text.is_empty() || delta.text(base, text.len() - 1).is_none());
        Some(file.len())
    }

    fn entries(count: usize) -> Vec<String> {
        (0..count)
            .map(|number| format!("{{\"path\":\"/etc/f{number}\",\"source\":\"data:,{}\"}},", number * 7919))
            .collect()
    }

    #[test]
    fn a_few_changes_make_a_short_delta() {
        let base = entries(2000);
        let mut text = base.clone();
        for number in [0, 3, 700, 1999] {
            text[number] = text[number].replace("data:,", "data:,something else ");
        }
        text.remove(1000);
        text.insert(1500, "an entry more".repeat(100));
        let length = both_ways(base.concat().as_bytes(), text.concat().as_bytes()).unwrap();
        assert!(length < 5000, "{length}");
    }

    #[test]
    fn what_has_little_in_common_makes_none() {
        assert_eq!(both_ways(b"", b"text"), None);
        assert_eq!(both_ways(&[b'a'; 5000], &[b'b'; 5000]), None);
        let backwards: Vec<String> = entries(2000).into_iter().rev().collect();
        assert_eq!(both_ways(entries(2000).concat().as_bytes(), backwards.concat().as_bytes()), None);
    }

    #[test]
    fn what_is_no_delta_is_told() {
        let head = format!("{MAGIC}{}\n", TextId::of(b"").as_str());
        let base = b"base";
        for (rest, text) in [
            ("", Some("")),
            ("copy 1 3\nown 2\n!\n", Some("ase!\n")),
            ("copy 1 4\n", None),
            ("copy 18446744073709551615 1\n", None),
            ("copy 1 18446744073709551615\n", None),
        ] {
            let file = format!("{head}{rest}");
            let made = Delta::decode(file.as_bytes()).unwrap().text(base, 100);
            assert_eq!(made.as_deref(), text.map(str::as_bytes), "{rest}");
        }
        for rest in ["copy 1 3", "copy 1\n", "own 3\n!\n", "own x\n", "own -1\n", "other\n", "\n", "copy 1 2 3\n"] {
            assert!(Delta::decode(format!("{head}{rest}").as_bytes()).is_none(), "{rest}");
        }
        assert!(Delta::decode(b"").is_none() && Delta::decode(b"ostler-delta 1 xyz\n").is_none());
    }

    proptest! {
        #[test]
        fn every_delta_makes_its_text(
            mut words in prop::collection::vec("[a-c]{0,40}", 1..60),
            changes in prop::collection::vec((any::<prop::sample::Index>(), "[a-d]{0,60}"), 0..6),
        ) {
            let base = words.concat();
            for (at, word) in &changes {
                let at = at.index(words.len());
                words[at].clone_from(word);
            }
            both_ways(base.as_bytes(), words.concat().as_bytes());
        }

        #[test]
        fn a_delta_through_another_makes_its_text_of_what_that_one_copies(
            mut words in prop::collection::vec("[a-c]{40,80}", 40..60),
            changes in prop::collection::vec((any::<prop::sample::Index>(), "[a-d]{0,60}"), 0..8),
        ) {
            let base = words.concat();
            let mut texts = Vec::new();
            for half in changes.chunks(4) {
                for (at, word) in half {
                    let at = at.index(words.len());
                    words[at].clone_from(word);
                }
                texts.push(words.concat());
            }
            let [other, text] = texts.as_slice() else { return Ok(()) };
            let Some(file) = encode(&TextId::of(base.as_bytes()), base.as_bytes(), other.as_bytes()) else { return Ok(()) };
            let delta = Delta::decode(&file).unwrap();
            let Some(file) = encode_through(&delta, other.as_bytes(), text.as_bytes()) else { return Ok(()) };
            let through = Delta::decode(&file).unwrap();
            prop_assert_eq!(&through.base, &delta.base);
            // What the first does not copy may be anything.
            let mut spoilt = vec![b'?'; base.len()];
            for piece in &delta.pieces {
                if let Piece::Copy { start, length } = *piece {
                    spoilt[start..start + length].copy_from_slice(&base.as_bytes()[start..start + length]);
                }
            }
            prop_assert!(through.makes(&spoilt, text.as_bytes()));
        }

        #[test]
        fn no_file_is_a_panic(file in prop::collection::vec(any::<u8>(), 0..200), base in prop::collection::vec(any::<u8>(), 0..20)) {
            let head = format!("{MAGIC}{}\n", TextId::of(&base).as_str()).into_bytes();
            if let Some(delta) = Delta::decode(&[head, file].concat()) {
                let _ = delta.text(&base, 100);
                let _ = delta.trace(vec![Piece::Copy { start: 3, length: 90 }]);
            }
        }
    }
}
