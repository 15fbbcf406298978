//! Paths below the root, checked once and safe to walk from then on.

use std::fmt;

/// An absolute path in its shortest form, below the root and not the root itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RootPath(String);

/// Why a text is no such path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// Does not start with `/`.
    #[error("the path is not absolute")]
    Relative,
    /// `/` itself.
    #[error("the path is the root directory")]
    Root,
    /// Has an empty, `.` or `..` element, which is refused rather than resolved: nobody writes one by accident.
    #[error("the path has an empty, \".\" or \"..\" element, or ends in a slash")]
    Element,
    /// Has a NUL byte, at which the kernel would cut it off.
    #[error("the path has a NUL byte")]
    Nul,
    /// Longer than the kernel takes.
    #[error("the path, or one of its elements, is too long")]
    TooLong,
}

const MAX_PATH: usize = 4095;
const MAX_NAME: usize = 255;

impl RootPath {
    /// Checks a path.
    pub fn new(path: impl Into<String>) -> Result<Self, PathError> {
        let path = path.into();
        let below = path.strip_prefix('/').ok_or(PathError::Relative)?;
        if below.is_empty() {
            return Err(PathError::Root);
        }
        if path.contains('\0') {
            return Err(PathError::Nul);
        }
        if below.split('/').any(|element| matches!(element, "" | "." | "..")) {
            return Err(PathError::Element);
        }
        if path.len() > MAX_PATH || below.split('/').any(|element| element.len() > MAX_NAME) {
            return Err(PathError::TooLong);
        }
        Ok(Self(path))
    }

    /// The path as text, starting with `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last element.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The directory that holds it, as text; `/` when that is the root.
    pub fn directory(&self) -> &str {
        match self.0.rsplit_once('/') {
            Some(("", _)) | None => "/",
            Some((parent, _)) => parent,
        }
    }

    /// The directory that holds it; `None` when that is the root.
    pub fn parent(&self) -> Option<Self> {
        match self.0.rsplit_once('/') {
            Some(("", _)) | None => None,
            Some((parent, _)) => Some(Self(parent.to_owned())),
        }
    }

    /// All directories above it but the root, outermost first.
    pub fn ancestors(&self) -> Vec<Self> {
        let mut ancestors: Vec<Self> = std::iter::successors(self.parent(), Self::parent).collect();
        ancestors.reverse();
        ancestors
    }

    /// A path below this one.
    pub fn join(&self, below: &str) -> Result<Self, PathError> {
        Self::new(format!("{}/{below}", self.0))
    }

    /// Another name in the same directory.
    pub fn beside(&self, name: &str) -> Result<Self, PathError> {
        match self.parent() {
            Some(parent) => parent.join(name),
            None => Self::new(format!("/{name}")),
        }
    }
}

impl fmt::Display for RootPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_absolute_paths_are_taken() {
        let long = format!("/{}", "a".repeat(256));
        for (path, expected) in [
            ("/etc", None),
            ("/etc/a b/ü", None),
            ("", Some(PathError::Relative)),
            ("etc", Some(PathError::Relative)),
            ("/", Some(PathError::Root)),
            ("//etc", Some(PathError::Element)),
            ("/etc/", Some(PathError::Element)),
            ("/etc/./a", Some(PathError::Element)),
            ("/etc/../a", Some(PathError::Element)),
            ("/etc\0/a", Some(PathError::Nul)),
            (long.as_str(), Some(PathError::TooLong)),
        ] {
            assert_eq!(RootPath::new(path).err(), expected, "{path:?}");
        }
    }

    #[test]
    fn a_path_knows_its_neighbours() {
        let path = RootPath::new("/etc/containers/policy.json").unwrap();
        assert_eq!(path.name(), "policy.json");
        assert_eq!(path.parent().unwrap().as_str(), "/etc/containers");
        assert_eq!(path.directory(), "/etc/containers");
        assert_eq!(path.ancestors().iter().map(RootPath::as_str).collect::<Vec<_>>(), ["/etc", "/etc/containers"]);
        assert_eq!(path.beside(".tmp").unwrap().as_str(), "/etc/containers/.tmp");
        assert_eq!(RootPath::new("/a").unwrap().parent(), None);
        assert_eq!(RootPath::new("/a").unwrap().directory(), "/");
        assert_eq!(RootPath::new("/a").unwrap().beside("b").unwrap().as_str(), "/b");
        assert_eq!(path.join("../x"), Err(PathError::Element));
    }
}
