//! Kernel arguments that an image brings along, as bootc reads them.
//!
//! bootc puts them on the line when an image is installed. With another image it takes off what only the old one lists, all
//! equal ones at once, and puts on what only the new one lists. rpm-ostree does not read them.

use serde::Deserialize;

use crate::kargs;

/// Where an image lists them, in files that end with [`ENDING`]; the order of their names counts.
pub const DIRECTORY: &str = "usr/lib/bootc/kargs.d";
pub const ENDING: &str = ".toml";

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    kargs: Vec<String>,
    match_architectures: Option<Vec<String>>,
}

/// The arguments in a file, for an architecture as Rust names it. bootc refuses an image with a file that cannot be read, so
/// nothing comes of one.
pub fn parse(text: &str, architecture: &str) -> Vec<String> {
    let Ok(file) = toml::from_str::<File>(text) else { return Vec::new() };
    let matches = file.match_architectures.is_none_or(|all| all.iter().any(|one| one == architecture));
    if matches { file.kargs.iter().flat_map(|entry| kargs::split(entry)).collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_count_where_their_architecture_does() {
        for (text, expected) in [
            ("kargs = [\"a=1\", \"b c\"]\n", "a=1 b c"),
            ("kargs = [\"a\"]\nmatch-architectures = [\"x86_64\", \"s390x\"]\n", "a"),
            ("kargs = [\"a\"]\nmatch-architectures = [\"aarch64\"]\n", ""),
            ("kargs = [\"d=\\\"x y\\\"\"]\n", "d=\"x y\""),
            ("kargs = 1\n", ""),
            ("", ""),
        ] {
            assert_eq!(parse(text, "x86_64"), kargs::split(expected), "{text}");
        }
    }
}
