//! Directories that are labelled as if they were others.

/// Distributions have some thirty; each is compared with every path.
const MOST_ALIASES: usize = 1_000;
/// Longest line that is read, as libselinux has it.
const MOST_LINE: usize = 1022;

/// The lines of a `file_contexts.subs` or `.subs_dist`.
pub(super) struct Aliases(Vec<(String, String)>);

impl Aliases {
    /// Reads lines of two paths, of which the first is labelled as the second; any other line is left out.
    pub(super) fn parse(text: &str) -> Self {
        let pairs = text.lines().filter(|line| line.len() <= MOST_LINE).filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let alias = fields.next().filter(|field| !field.starts_with('#'))?;
            Some((alias.to_owned(), fields.next()?.to_owned()))
        });
        Self(pairs.take(MOST_ALIASES).collect())
    }

    /// The path that a path is labelled as; `None` when it is its own. The last line that fits counts and only one does,
    /// so that a line can except a directory from what an earlier one says of the directory above it.
    pub(super) fn apply(&self, path: &str) -> Option<String> {
        self.0.iter().rev().find_map(|(alias, target)| {
            let rest = path.strip_prefix(alias.as_str())?;
            match (rest, target.as_str()) {
                ("", _) => Some(target.clone()),
                (below, "/") if below.starts_with('/') => Some(below.to_owned()),
                (below, _) if below.starts_with('/') => Some(format!("{target}{below}")),
                _ => None,
            }
        })
    }
}
