//! Deployments as the dictionaries rpm-ostreed publishes.

use std::collections::HashMap;

use zbus::{OwnedVariant, Variant};

use crate::sysroot::facts::{DeploymentFacts, Reference};

/// `a{sv}`
pub type Dict = HashMap<String, OwnedVariant>;

/// The dictionary of one deployment. A deployment with package requests names its own commit as its base, because the
/// stand-in layers nothing.
pub fn deployment(facts: &DeploymentFacts) -> Dict {
    let mut dict = Dict::new();
    let mut put = |key: &str, value: Variant<'static>| insert(&mut dict, key, value);
    put("id", id(facts).into());
    put("osname", facts.osname.clone().into());
    put("serial", facts.serial.into());
    put("checksum", facts.checksum.clone().into());
    put("booted", facts.booted.into());
    put("staged", facts.staged.into());
    put("pinned", facts.pinned.into());
    put("unlocked", "none".into());
    put("regenerate-initramfs", false.into());
    put("timestamp", facts.timestamp.into());
    put("base-commit-meta", commit_meta(facts));
    if facts.locked {
        put("finalization-locked", true.into());
    }
    if let Some(version) = &facts.version {
        put("version", version.clone().into());
    }
    match &facts.reference {
        Some(Reference::Image(image)) => put("container-image-reference", image.clone().into()),
        Some(Reference::Refspec(refspec)) => put("origin", refspec.clone().into()),
        None => {}
    }
    if let Some(image) = &facts.image {
        put("container-image-reference-digest", image.digest.clone().into());
    }
    if !facts.requests.is_empty() {
        put("base-checksum", facts.checksum.clone().into());
        put("base-timestamp", facts.timestamp.into());
        put("layered-commit-meta", commit_meta(facts));
    }
    put_requests(facts, &mut dict);
    dict
}

/// The boot configuration of a deployment: only the options when it is staged.
pub fn boot_config(facts: &DeploymentFacts) -> Dict {
    let mut dict = Dict::new();
    insert(&mut dict, "staged", facts.staged.into());
    for (key, value) in facts.boot_config.iter().filter(|(key, _)| !facts.staged || key == "options") {
        insert(&mut dict, key, value.clone().into());
    }
    dict
}

/// The identity of a deployment.
pub fn id(facts: &DeploymentFacts) -> String {
    format!("{}-{}.{}", facts.osname, facts.checksum, facts.serial)
}

fn put_requests(facts: &DeploymentFacts, dict: &mut Dict) {
    let none = Vec::<String>::new;
    let mut put = |key: &str, value: Variant<'static>| insert(dict, key, value);
    put("requested-packages", facts.requests.packages.clone().into());
    put("packages", facts.requests.packages.clone().into());
    put("requested-local-packages", none().into());
    put("requested-local-fileoverride-packages", none().into());
    put("requested-base-removals", facts.requests.removals.clone().into());
    put("requested-base-local-replacements", none().into());
    let removals: Vec<Variant<'static>> = facts.requests.removals.iter().map(|name| nevra(name)).collect();
    put("base-removals", removals.into());
    put("base-local-replacements", Vec::<(Variant<'static>, Variant<'static>)>::new().into());
    put("base-remote-replacements", HashMap::<String, Variant<'static>>::new().into());
}

/// Whole documents of the image, megabytes of them on a real one.
fn commit_meta(facts: &DeploymentFacts) -> Variant<'static> {
    let entries = facts.commit_meta.iter().map(|(key, text)| (key.clone(), Variant::from(text.clone())));
    entries.collect::<HashMap<String, Variant<'static>>>().into()
}

/// A removed base package in the form of rpm-ostree; the version is made up, since the tree has no rpm database.
fn nevra(name: &str) -> Variant<'static> {
    (format!("{name}-0-0.noarch"), name.to_owned(), 0u64, "0", "0", "noarch").into()
}

fn insert(dict: &mut Dict, key: &str, value: Variant<'static>) {
    // Only a value holding file descriptors can fail to be owned, and none does.
    if let Ok(value) = OwnedVariant::try_from(value) {
        dict.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysroot::origin::Requests;

    #[test]
    fn values_have_the_types_rpm_ostree_gives_them() {
        let facts = DeploymentFacts {
            reference: Some(Reference::Image("ostree-unverified-registry:x".to_owned())),
            version: Some("9".to_owned()),
            requests: Requests { packages: vec!["a".to_owned()], removals: vec!["k".to_owned()] },
            ..DeploymentFacts::default()
        };
        let dict = deployment(&facts);
        let types = [
            ("id", "s"),
            ("serial", "i"),
            ("booted", "b"),
            ("timestamp", "t"),
            ("container-image-reference", "s"),
            ("requested-packages", "as"),
            ("base-removals", "av"),
            ("base-local-replacements", "a(vv)"),
            ("base-commit-meta", "a{sv}"),
            ("layered-commit-meta", "a{sv}"),
            ("base-remote-replacements", "a{sv}"),
        ];
        for (key, signature) in types {
            let value: &Variant<'_> = dict.get(key).unwrap();
            assert_eq!(value.value_signature().to_string(), signature, "{key}");
        }
        assert!(["origin", "modules", "initramfs-etc"].iter().all(|key| !dict.contains_key(*key)));
    }
}
