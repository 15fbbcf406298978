//! Extensions: which exist, which packages they stand for, and what has to be layered or removed for a set of them.

use std::collections::BTreeSet;

use serde::Serialize;

/// Every supported extension with its packages.
const SUPPORTED: &[(&str, &[&str])] = &[
    ("ipsec", &["NetworkManager-libreswan", "libreswan", "openvswitch3.5-ipsec"]),
    ("kerberos", &["krb5-workstation", "libkadm5"]),
    ("kernel-devel", &["kernel-devel", "kernel-headers"]),
    ("sandboxed-containers", &["kata-containers"]),
    ("sysstat", &["sysstat"]),
    ("two-node-ha", &["pacemaker", "pcs", "fence-agents-all"]),
    ("usbguard", &["usbguard"]),
];

/// The names of all supported extensions, for messages.
pub fn supported() -> impl Iterator<Item = &'static str> {
    SUPPORTED.iter().map(|(name, _)| *name)
}

/// The packages of an extension; `None` when there is no such extension.
pub fn packages(name: &str) -> Option<&'static [&'static str]> {
    SUPPORTED.iter().find(|(supported, _)| *supported == name).map(|(_, packages)| *packages)
}

/// Those of the names that are no extension, each once, in the order given.
pub fn unknown(names: &[String]) -> Vec<String> {
    let mut unknown = Vec::new();
    for name in names {
        if packages(name).is_none() && !unknown.contains(name) {
            unknown.push(name.clone());
        }
    }
    unknown
}

/// Packages to layer and to remove so that exactly the wanted extensions are there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PackageChange {
    /// Required and not layered yet, sorted.
    pub install: Vec<String>,
    /// Layered for an extension that is no longer wanted, sorted. Packages that no extension has are left alone.
    pub uninstall: Vec<String>,
}

impl PackageChange {
    /// Compares what the wanted extensions need with what is layered on the booted deployment.
    pub fn between(layered: &[String], wanted: &[String]) -> Self {
        let needed: BTreeSet<&str> = wanted.iter().filter_map(|name| packages(name)).flatten().copied().collect();
        let managed: BTreeSet<&str> = SUPPORTED.iter().flat_map(|(_, packages)| *packages).copied().collect();
        let layered: BTreeSet<&str> = layered.iter().map(String::as_str).collect();
        let owned = |name: &&str| (*name).to_owned();
        Self {
            install: needed.difference(&layered).map(owned).collect(),
            uninstall: layered
                .iter()
                .filter(|name| managed.contains(*name) && !needed.contains(*name))
                .map(owned)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn unknown_extensions_are_named_once() {
        assert_eq!(unknown(&names(&["usbguard", "foo", "bar", "foo"])), names(&["foo", "bar"]));
        assert!(unknown(&supported().map(str::to_owned).collect::<Vec<_>>()).is_empty());
    }

    #[test]
    fn packages_follow_the_wanted_extensions() {
        for (layered, wanted, install, uninstall) in [
            (&[][..], &["usbguard"][..], &["usbguard"][..], &[][..]),
            (&["usbguard"], &["usbguard"], &[], &[]),
            (&["usbguard", "htop"], &[], &[], &["usbguard"]),
            (&["libreswan"], &["ipsec"], &["NetworkManager-libreswan", "openvswitch3.5-ipsec"], &[]),
            (&["krb5-workstation", "libkadm5"], &["sysstat"], &["sysstat"], &["krb5-workstation", "libkadm5"]),
        ] {
            let change = PackageChange::between(&names(layered), &names(wanted));
            assert_eq!(change.install, names(install), "{layered:?} {wanted:?}");
            assert_eq!(change.uninstall, names(uninstall), "{layered:?} {wanted:?}");
        }
    }
}
