//! The cluster helper's deb: a program with its pages, and nothing of the agent's.

use std::collections::BTreeSet;

use super::system::{System, changes, package};

const BROUGHT: [&str; 6] = [
    "/usr/bin/ostler-cluster",
    "/usr/share/bash-completion/completions/ostler-cluster",
    "/usr/share/doc/ostler-cluster/sbom.cdx.json",
    "/usr/share/man/man1/ostler-cluster.1",
    "/usr/share/man/man1/ostler-cluster-streams.1",
    "/usr/share/ostler-cluster/manifests/crd.yaml",
];

#[test]
fn the_helpers_deb_comes_beside_the_agents_is_upgraded_and_goes() {
    let Some((system, packages)) = System::if_possible() else { return };
    let take = |age: &str, name: &str| system.take(&package(&packages.join(age), name, ".deb"));
    system.run(&format!("dpkg --install {}", take("old", "ostler_")));
    let before = system.everything();
    system.run(&format!("dpkg --install {}", take("old", "ostler-cluster_")));
    assert_eq!(system.run("dpkg --verify ostler-cluster"), "");
    let listed: BTreeSet<String> = system.run("dpkg --listfiles ostler-cluster").lines().map(str::to_owned).collect();
    let (new, gone) = changes(&before, &system.everything());
    assert!(new.is_subset(&listed) && gone.is_empty(), "undeclared: {new:?}, gone: {gone:?}");
    assert!(BROUGHT.iter().all(|path| new.contains(*path)), "{new:?}");
    assert!(system.run("ostler-cluster --version").starts_with("ostler-cluster "));

    system.run(&format!("dpkg --install {}", take("new", "ostler-cluster_")));
    assert!(system.run("dpkg-query --show ostler-cluster").contains("0.1.1"));
    system.run("dpkg --purge ostler-cluster");
    assert_eq!(changes(&before, &system.everything()), (BTreeSet::new(), BTreeSet::new()));
    assert!(system.run("ostler --version").starts_with("ostler "), "the agent went with it");
}
