//! Names of registries as directories. A name comes from the cluster and is part of a path that root writes to.

/// Why a name cannot be a directory's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Nothing.
    #[error("it is empty")]
    Empty,
    /// Would lead elsewhere.
    #[error("it is not one plain element of a path")]
    Path,
    /// Has letters that no host name has.
    #[error("it has control characters")]
    Letters,
    /// Longer than a name can be.
    #[error("it is longer than {MOST} bytes")]
    TooLong,
}

/// Longest name of a directory.
const MOST: usize = 255;

/// The directory of a registry: a colon, which the cluster cannot have in a key, is written as two dots there.
pub(super) fn directory(file: &str) -> Result<String, NameError> {
    if file.is_empty() {
        return Err(NameError::Empty);
    }
    if file.chars().any(char::is_control) {
        return Err(NameError::Letters);
    }
    let name = file.replace("..", ":");
    let hidden = name.starts_with('.');
    if hidden || name.contains('/') || file == ".." {
        return Err(NameError::Path);
    }
    if name.len() > MOST { Err(NameError::TooLong) } else { Ok(name) }
}

/// Whether a remembered name is one that [`directory`] could have given.
pub(super) fn is_directory(name: &str) -> bool {
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
    plain && name.len() <= MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_plain_element_or_refused() {
        let long = "a".repeat(256);
        for (file, expected) in [
            ("registry.example.com", Ok("registry.example.com")),
            ("registry.example.com..5000", Ok("registry.example.com:5000")),
            (
                "image-registry.openshift-image-registry.svc..5000",
                Ok("image-registry.openshift-image-registry.svc:5000"),
            ),
            ("[fd00::1]", Ok("[fd00::1]")),
            ("", Err(NameError::Empty)),
            (".", Err(NameError::Path)),
            ("..", Err(NameError::Path)),
            ("...", Ok(":.")),
            ("../etc", Err(NameError::Path)),
            ("../../etc/shadow", Err(NameError::Path)),
            ("a/b", Err(NameError::Path)),
            ("/etc", Err(NameError::Path)),
            (".create", Err(NameError::Path)),
            (".ostler-x", Err(NameError::Path)),
            ("a\0b", Err(NameError::Letters)),
            ("a\nb", Err(NameError::Letters)),
            (long.as_str(), Err(NameError::TooLong)),
        ] {
            assert_eq!(directory(file).as_deref(), expected.as_deref(), "{file:?}");
            assert!(directory(file).is_ok_and(|name| is_directory(&name)) == expected.is_ok(), "{file:?}");
        }
    }

    #[test]
    fn a_remembered_name_that_leads_elsewhere_is_none() {
        for name in ["", ".", "..", "a/b", "../x", "a\0"] {
            assert!(!is_directory(name), "{name:?}");
        }
    }
}
