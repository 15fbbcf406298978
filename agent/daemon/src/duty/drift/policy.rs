//! The machine's own drift policy, read from below a root directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use ostler_core::drift::policy::{DriftPolicy, FILES, MAX_BYTES, PolicyError};

use super::inside::Inside;

/// The policy in force below a root, and what is wrong with it.
pub fn in_force(root: &Path, annotation: Option<&str>) -> (DriftPolicy, Option<PolicyError>) {
    DriftPolicy::of(machines(root), annotation)
}

/// The first file that is there, or nothing.
fn machines(root: &Path) -> Result<DriftPolicy, PolicyError> {
    let inside = Inside::new(root);
    for path in FILES {
        let unreadable = |error: io::Error| PolicyError::Unreadable(format!("{path}: {error}"));
        if let Some(text) = find(&inside, path).map(|place| read(&place)).transpose().map_err(unreadable)? {
            return DriftPolicy::parse(&text);
        }
    }
    Ok(DriftPolicy::default())
}

/// Where a file is, if anything is there.
fn find(inside: &Inside, path: &str) -> Option<PathBuf> {
    let (directory, name) = path.rsplit_once('/')?;
    let place = inside.on_disk(&inside.directory(directory)?).join(name);
    fs::symlink_metadata(&place).is_ok().then_some(place)
}

/// Only a regular file is read: a link may lead anywhere, and a pipe has no end.
fn read(place: &Path) -> io::Result<Vec<u8>> {
    let file: File = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(place)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut text = Vec::new();
    let most = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use ostler_core::drift::Subject;
    use ostler_core::drift::policy::Action;

    use super::*;

    fn action(root: &Path, annotation: Option<&str>) -> (Action, bool) {
        let (policy, error) = in_force(root, annotation);
        (policy.action(&Subject::File { path: "/etc/a".to_owned() }), error.is_some())
    }

    #[test]
    fn the_first_file_counts_and_what_cannot_be_read_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        let place = root.join("etc/ostler");
        fs::create_dir_all(&place).unwrap();
        assert_eq!(action(&root, None), (Action::Report, false));
        assert_eq!(action(&root, Some("repair")), (Action::Repair, false));
        fs::write(place.join("drift.json"), "{\"default\": \"ignore\"}").unwrap();
        assert_eq!(action(&root, None), (Action::Ignore, false));
        fs::write(place.join("drift.yaml"), "default: repair\n").unwrap();
        assert_eq!(action(&root, None), (Action::Repair, false));
        fs::write(place.join("drift.yaml"), vec![b' '; MAX_BYTES + 1]).unwrap();
        assert_eq!(action(&root, Some("repair")), (Action::Report, true));
        fs::remove_file(place.join("drift.yaml")).unwrap();
        fs::write(directory.path().join("foreign"), "default: repair\n").unwrap();
        symlink(directory.path().join("foreign"), place.join("drift.yaml")).unwrap();
        assert_eq!(action(&root, None), (Action::Report, true), "a link is not followed");
        fs::remove_file(place.join("drift.yaml")).unwrap();
        fs::create_dir(place.join("drift.yaml")).unwrap();
        assert_eq!(action(&root, None), (Action::Report, true));
    }
}
