//! Extended attributes that belong to a file as its mode does, and that come back with it: access control lists,
//! capabilities, and what users and programs of root have noted. SELinux labels are known by themselves.

use std::collections::BTreeMap;
use std::fmt;

/// The access control list of a file or directory.
pub(super) const ACCESS: &str = "system.posix_acl_access";
/// More than any file has that is no attack on memory.
pub(super) const MOST_BYTES: usize = 128 << 10;

/// Extended attributes by name. Values may be secrets, and are not shown.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Xattrs(BTreeMap<String, Vec<u8>>);

impl Xattrs {
    /// Whether an attribute is one of those that are kept. Others are the kernel's to set.
    pub fn is_kept(name: &str) -> bool {
        [ACCESS, "security.capability", "security.ima"].contains(&name)
            || name.starts_with("user.")
            || (name.starts_with("trusted.") && !name.starts_with("trusted.overlay."))
    }

    /// Each name with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of all names and values.
    pub fn bytes(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + value.len()).sum()
    }
}

impl FromIterator<(String, Vec<u8>)> for Xattrs {
    fn from_iter<T: IntoIterator<Item = (String, Vec<u8>)>>(attributes: T) -> Self {
        Self(attributes.into_iter().collect())
    }
}

impl fmt::Debug for Xattrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
