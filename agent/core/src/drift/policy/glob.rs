//! Paths by pattern: `*` is anything within a name, `**` is anything, and `**/` is any number of directories.

/// Longest pattern.
const MAX_PATTERN: usize = 4096;

/// A pattern of paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Byte(u8),
    /// Anything without a slash.
    Name,
    /// Anything.
    All,
    /// Nothing, or anything that ends with a slash.
    Directories,
}

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GlobError {
    /// Does not start with `/`.
    #[error("it is not absolute: begin it with \"/\", as in \"/etc/foo/**\"")]
    Relative,
    /// No path has such an element.
    #[error(
        "it has an empty, \".\" or \"..\" element, which no path has: write \"/etc/foo/**\" for all below a directory"
    )]
    Element,
    /// Longer than any path.
    #[error("it has more than {MAX_PATTERN} bytes")]
    TooLong,
}

impl Glob {
    /// Reads a pattern.
    pub fn new(pattern: &str) -> Result<Self, GlobError> {
        if pattern.len() > MAX_PATTERN {
            return Err(GlobError::TooLong);
        }
        if pattern == "**" {
            return Ok(Self::everything());
        }
        let below = pattern.strip_prefix('/').ok_or(GlobError::Relative)?;
        if below.split('/').any(|element| matches!(element, "" | "." | "..")) {
            return Err(GlobError::Element);
        }
        Ok(Self { pieces: pieces(pattern.as_bytes()) })
    }

    /// The pattern of all paths.
    pub fn everything() -> Self {
        Self { pieces: vec![Piece::All] }
    }

    /// Whether a path is one of the pattern's. Takes time in proportion to both, whatever they hold.
    pub fn matches(&self, path: &str) -> bool {
        let path = path.as_bytes();
        let mut reached = vec![false; path.len() + 1];
        reached.first_mut().into_iter().for_each(|start| *start = true);
        for piece in &self.pieces {
            reached = piece.after(&reached, path);
        }
        reached.last().copied().unwrap_or_default()
    }
}

impl Piece {
    /// Where in the path one can be after this piece, given where one can be before it.
    fn after(self, before: &[bool], path: &[u8]) -> Vec<bool> {
        let mut after = Vec::with_capacity(before.len());
        let mut inside = false;
        for (position, start) in before.iter().enumerate() {
            let last = position.checked_sub(1).and_then(|last| path.get(last)).copied();
            let was = position.checked_sub(1).and_then(|last| before.get(last)).copied().unwrap_or_default();
            let here = match self {
                Self::Byte(byte) => was && last == Some(byte),
                Self::Name => *start || (inside && last != Some(b'/')),
                Self::All => *start || inside,
                Self::Directories => *start || (inside && last == Some(b'/')),
            };
            inside = match self {
                Self::Name => here,
                _ => inside || *start,
            };
            after.push(here);
        }
        after
    }
}

fn pieces(pattern: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut last = None;
    loop {
        let (piece, after) = match rest {
            [b'*', b'*', b'/', after @ ..] if last == Some(Piece::Byte(b'/')) => (Piece::Directories, after),
            [b'*', b'*', after @ ..] => (Piece::All, after),
            [b'*', after @ ..] => (Piece::Name, after),
            [byte, after @ ..] => (Piece::Byte(*byte), after),
            [] => return pieces,
        };
        // What was said twice is not said more, and would only cost.
        if last != Some(piece) || matches!(piece, Piece::Byte(_)) {
            pieces.push(piece);
        }
        // Directories end with a slash.
        last = Some(if piece == Piece::Directories { Piece::Byte(b'/') } else { piece });
        rest = after;
    }
}
