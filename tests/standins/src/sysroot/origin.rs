//! Origin files: the image reference, and the package requests as rpm-ostree writes them
//! (`[packages] requested=a;b;` and `[overrides] remove=c;`).
//!
//! Only the requests are kept; no package is ever looked into here.

use anyhow::{Result, bail};
use ostree_ext::container::OstreeImageReference;
use ostree_ext::container::deploy::ORIGIN_CONTAINER;
use ostree_ext::glib;

use super::facts::Reference;

/// Package requests of an origin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests {
    /// Packages layered.
    pub packages: Vec<String>,
    /// Packages of the base removed.
    pub removals: Vec<String>,
}

/// A change of the package requests, as `UpdateDeployment` names its parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestChange {
    /// `install-packages`
    pub install: Vec<String>,
    /// `uninstall-packages`
    pub uninstall: Vec<String>,
    /// `override-remove-packages`
    pub remove: Vec<String>,
    /// `override-reset-packages`
    pub reset: Vec<String>,
    /// Requests that are met already, or were never made, are no error.
    pub idempotent: bool,
    /// `no-layering`: drop all layered packages first.
    pub no_layering: bool,
    /// `no-overrides`: drop all overrides.
    pub no_overrides: bool,
}

impl Requests {
    /// The requests written in `origin`.
    pub fn read(origin: &glib::KeyFile) -> Self {
        Self { packages: list(origin, "packages", "requested"), removals: list(origin, "overrides", "remove") }
    }

    /// Writes the requests into `origin`; an empty list leaves no key.
    pub fn write(&self, origin: &glib::KeyFile) {
        set_list(origin, "packages", "requested", &self.packages);
        set_list(origin, "overrides", "remove", &self.removals);
    }

    /// Whether the tree is said to differ from its image.
    pub fn is_empty(&self) -> bool {
        self.packages.is_empty() && self.removals.is_empty()
    }

    /// The requests after `change`, refused in the words of rpm-ostree.
    pub fn changed(&self, change: &RequestChange) -> Result<Self> {
        let mut next = self.clone();
        if change.no_layering {
            next.packages.clear();
        }
        if change.no_overrides {
            next.removals.clear();
        }
        for package in &change.uninstall {
            if !take(&mut next.packages, package) && !change.idempotent && !change.no_layering {
                bail!("Package/capability '{package}' is not currently requested");
            }
        }
        for package in &change.install {
            if !next.packages.contains(package) {
                next.packages.push(package.clone());
            } else if !change.idempotent {
                bail!("Package/capability '{package}' is already requested");
            }
        }
        for package in &change.reset {
            if !take(&mut next.removals, package) {
                bail!("No overrides for package '{package}'");
            }
        }
        for package in &change.remove {
            if next.removals.contains(package) {
                bail!("Override already exists for package '{package}'");
            }
            next.removals.push(package.clone());
        }
        Ok(next)
    }
}

/// A copy of `origin` without what holds only for one deployment (pins, live changes).
pub fn copy(origin: Option<&glib::KeyFile>) -> Result<glib::KeyFile> {
    let copy = glib::KeyFile::new();
    if let Some(origin) = origin {
        copy.load_from_data(&origin.to_data(), glib::KeyFileFlags::NONE)?;
        ostree_ext::ostree::Deployment::origin_remove_transient_state(&copy);
    }
    Ok(copy)
}

/// Where the deployment of `origin` comes from.
pub fn reference(origin: &glib::KeyFile) -> Option<Reference> {
    let value = |key| origin.string("origin", key).ok().map(|value| value.to_string());
    value(ORIGIN_CONTAINER).map(Reference::Image).or_else(|| value("refspec").map(Reference::Refspec))
}

/// Makes `origin` one of the container image `image`.
pub fn set_image(origin: &glib::KeyFile, image: &OstreeImageReference) {
    for key in ["refspec", "baserefspec", "override-commit"] {
        // A key that is not there needs no removing.
        let _ = origin.remove_key("origin", key);
    }
    origin.set_string("origin", ORIGIN_CONTAINER, &image.to_string());
}

fn list(origin: &glib::KeyFile, group: &str, key: &str) -> Vec<String> {
    let Ok(values) = origin.string_list(group, key) else { return Vec::new() };
    values.iter().map(|value| value.to_string()).filter(|value| !value.is_empty()).collect()
}

fn set_list(origin: &glib::KeyFile, group: &str, key: &str, values: &[String]) {
    if values.is_empty() {
        // A group or key that is not there needs no removing.
        let _ = origin.remove_key(group, key);
        return;
    }
    let line: String = values.iter().map(|value| format!("{value};")).collect();
    origin.set_string(group, key, &line);
}

fn take(list: &mut Vec<String>, value: &str) -> bool {
    let before = list.len();
    list.retain(|entry| entry != value);
    list.len() < before
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn requests_survive_the_origin_file() {
        let requests = Requests { packages: words(&["usbguard", "kernel-rt-core"]), removals: words(&["kernel"]) };
        let origin = glib::KeyFile::new();
        requests.write(&origin);
        assert!(origin.to_data().contains("requested=usbguard;kernel-rt-core;"));
        assert_eq!(Requests::read(&copy(Some(&origin)).unwrap()), requests);
        Requests::default().write(&origin);
        assert!(Requests::read(&origin).is_empty());
    }

    #[test]
    fn requests_are_refused_as_rpm_ostree_refuses_them() {
        let requests = Requests { packages: words(&["a"]), removals: words(&["k"]) };
        let change = |install: &[&str], uninstall: &[&str], remove: &[&str], reset: &[&str]| RequestChange {
            install: words(install),
            uninstall: words(uninstall),
            remove: words(remove),
            reset: words(reset),
            ..RequestChange::default()
        };
        let cases = [
            (change(&["a"], &[], &[], &[]), "Package/capability 'a' is already requested"),
            (change(&[], &["b"], &[], &[]), "Package/capability 'b' is not currently requested"),
            (change(&[], &[], &["k"], &[]), "Override already exists for package 'k'"),
            (change(&[], &[], &[], &["x"]), "No overrides for package 'x'"),
        ];
        for (change, text) in cases {
            assert_eq!(requests.changed(&change).unwrap_err().to_string(), text);
        }
        let met = RequestChange { idempotent: true, ..change(&["a"], &["b"], &[], &[]) };
        assert_eq!(requests.changed(&met).unwrap(), requests);
        let swapped = requests.changed(&change(&["b"], &["a"], &[], &["k"])).unwrap();
        assert_eq!(swapped, Requests { packages: words(&["b"]), removals: Vec::new() });
    }
}
