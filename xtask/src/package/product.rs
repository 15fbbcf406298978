//! What is packaged: the agent for nodes, and the helper for wherever a cluster is looked after from. Owns which files
//! each brings and how heavy its programs may be.

/// One of them.
pub struct Product {
    /// What its packages are called.
    pub name: &'static str,
    /// What it runs.
    pub programs: &'static [Program],
    /// Single files: where they are here, and there.
    pub files: &'static [(&'static str, &'static str)],
    /// Whole directories.
    pub directories: &'static [(&'static str, &'static str)],
    /// Whether a man page is one of its own, by name.
    pub explains: fn(&str) -> bool,
    /// Kinds of packages that make sense for it.
    pub kinds: &'static [&'static str],
    /// Where below `packaging` the deb is described.
    pub deb: &'static str,
}

/// A program, which is the package of cargo's of the same name.
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Where it is installed.
    pub to: &'static str,
    /// What it may weigh when it is released, in bytes.
    pub most: u64,
}

/// For nodes.
pub const AGENT: Product = Product {
    name: "ostler",
    programs: &[
        Program { name: "ostler", to: "usr/bin/ostler", most: 12_000_000 },
        Program { name: "ostler-applier", to: "usr/libexec/ostler/ostler-applier", most: 9_500_000 },
    ],
    files: &[
        ("LICENSE", "usr/share/licenses/ostler/LICENSE"),
        ("README.md", "usr/share/doc/ostler/README.md"),
        ("CHANGELOG.md", "usr/share/doc/ostler/CHANGELOG.md"),
        ("docs/completions/ostler.bash", "usr/share/bash-completion/completions/ostler"),
        ("docs/completions/_ostler", "usr/share/zsh/site-functions/_ostler"),
        ("docs/completions/ostler.fish", "usr/share/fish/vendor_completions.d/ostler.fish"),
    ],
    // `units` has the layout already.
    directories: &[
        ("units", ""),
        ("docs/usage", "usr/share/doc/ostler/usage"),
        ("packaging/manifests", "usr/share/ostler/manifests"),
        ("packaging/selinux", "usr/share/ostler/selinux"),
    ],
    explains: |page| !of_helper(page),
    kinds: &["rpm", "deb", "sysext"],
    deb: "deb",
};

/// For whoever looks after a cluster.
pub const HELPER: Product = Product {
    name: "ostler-cluster",
    programs: &[Program { name: "ostler-cluster", to: "usr/bin/ostler-cluster", most: 16_000_000 }],
    files: &[
        ("LICENSE", "usr/share/licenses/ostler-cluster/LICENSE"),
        ("CHANGELOG.md", "usr/share/doc/ostler-cluster/CHANGELOG.md"),
        ("docs/usage/boot-images.md", "usr/share/doc/ostler-cluster/usage/boot-images.md"),
        ("docs/usage/preflight.md", "usr/share/doc/ostler-cluster/usage/preflight.md"),
        ("docs/usage/rollout.md", "usr/share/doc/ostler-cluster/usage/rollout.md"),
        ("docs/usage/streams.md", "usr/share/doc/ostler-cluster/usage/streams.md"),
        ("docs/completions/ostler-cluster.bash", "usr/share/bash-completion/completions/ostler-cluster"),
        ("docs/completions/_ostler-cluster", "usr/share/zsh/site-functions/_ostler-cluster"),
        ("docs/completions/ostler-cluster.fish", "usr/share/fish/vendor_completions.d/ostler-cluster.fish"),
    ],
    directories: &[("packaging/manifests/cluster-helper", "usr/share/ostler-cluster/manifests")],
    explains: of_helper,
    kinds: &["rpm", "deb"],
    deb: "deb/cluster",
};

/// All of them.
pub const ALL: [&Product; 2] = [&AGENT, &HELPER];

/// All programs.
pub fn programs() -> impl Iterator<Item = &'static Program> {
    ALL.into_iter().flat_map(|product| product.programs)
}

fn of_helper(page: &str) -> bool {
    page.starts_with("ostler-cluster")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_one_products_own() {
        for (page, owner) in
            [("ostler.1", "ostler"), ("ostler-drift.1", "ostler"), ("ostler-cluster-streams.1", "ostler-cluster")]
        {
            let owners: Vec<_> = ALL.iter().filter(|product| (product.explains)(page)).map(|one| one.name).collect();
            assert_eq!(owners, [owner], "{page}");
        }
    }
}
