//! Paths below a root directory, walked so that no link leads out of it.
//!
//! What is resolved here may be another a moment later: it is good enough to listen to and to read a policy from, and
//! nothing is ever written through it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Links behind links, as many as the kernel follows.
const MAX_LINKS: usize = 40;

/// A root directory.
#[derive(Clone, Debug)]
pub struct Inside {
    root: PathBuf,
}

/// A directory on the way to something, and the name that was looked up in it.
pub type Passed<'p> = &'p mut dyn FnMut(&Path, &OsStr);

impl Inside {
    /// Paths below this directory.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Where a place, which is relative to the root, is on the disk.
    pub fn on_disk(&self, place: &Path) -> PathBuf {
        self.root.join(place)
    }

    /// The directory that a name in a directory leads to, if it leads to one. Tells every place that a link leads through.
    pub fn enter(&self, place: &Path, name: &OsStr, passed: Passed<'_>) -> Option<PathBuf> {
        let mut place = place.to_owned();
        // What is still to be walked, the next at the end.
        let mut rest: Vec<OsString> = vec![name.to_owned()];
        let mut links = 0;
        while let Some(name) = rest.pop() {
            if links > 0 {
                passed(&place, &name);
            }
            let next = place.join(&name);
            let metadata = fs::symlink_metadata(self.on_disk(&next)).ok()?;
            if metadata.is_dir() {
                place = next;
            } else if metadata.is_symlink() && links < MAX_LINKS {
                links += 1;
                let target = fs::read_link(self.on_disk(&next)).ok()?;
                place = self.turn(place, &target, &mut rest);
            } else {
                return None;
            }
            while rest.last().is_some_and(|name| name == "..") {
                rest.pop();
                place.pop();
            }
        }
        Some(place)
    }

    /// Puts the way that a link shows before what is still to be walked; from where it begins.
    fn turn(&self, place: PathBuf, target: &Path, rest: &mut Vec<OsString>) -> PathBuf {
        let step = |component: Component<'_>| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        };
        rest.extend(target.components().rev().filter_map(step));
        if target.is_absolute() { PathBuf::new() } else { place }
    }

    /// The directory that a path, from the root, leads to.
    pub fn directory(&self, path: &str) -> Option<PathBuf> {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.into_iter().try_fold(PathBuf::new(), |place, name| self.enter(&place, OsStr::new(name), &mut |_, _| {}))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_as_far_as_the_root_and_never_out_of_it() {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("root");
        fs::create_dir_all(root.join("var/home/core")).unwrap();
        fs::create_dir_all(outside.path().join("var/home/core/secret")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        for (target, link) in [
            ("var/home", "home"),
            ("/var/home/core", "absolute"),
            ("../../../var/home", "above"),
            ("home/./core/../core", "winding"),
            ("loop", "loop"),
            ("nowhere", "dangling"),
            ("file", "to-file"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        symlink(outside.path().join("var"), root.join("out")).unwrap();
        let inside = Inside::new(&root);
        for (path, expected) in [
            ("/", Some("")),
            ("/var/home", Some("var/home")),
            ("/home/core", Some("var/home/core")),
            ("/absolute", Some("var/home/core")),
            ("/above/core", Some("var/home/core")),
            ("/winding", Some("var/home/core")),
            ("/home/core/secret", None),
            ("/out", None),
            ("/loop", None),
            ("/dangling", None),
            ("/to-file", None),
            ("/file", None),
        ] {
            assert_eq!(inside.directory(path).as_deref(), expected.map(Path::new), "{path}");
        }
        let mut passed = Vec::new();
        inside.enter(Path::new(""), OsStr::new("winding"), &mut |place, name| {
            passed.push(format!("{}/{}", place.display(), name.to_string_lossy()));
        });
        assert_eq!(passed, ["/home", "/var", "var/home", "var/home/core", "var/home/core"]);
    }
}
