//! The deployments as the daemon lists them, in the order of the boot loader.

use std::collections::BTreeMap;

use ostler_core::os::image::{Expected, Pinned};
use ostler_core::os::order::Order;
use zbus::{OwnedVariant, Variant};

/// One deployment, as it comes.
pub(super) type Fields = BTreeMap<String, OwnedVariant>;

/// What matters of one.
#[derive(Clone, Debug, Default)]
pub(super) struct Deployed {
    pub staged: bool,
    pub pinned: bool,
    /// Whether packages are layered on its image. The daemon assembles them anew for every change.
    layered: bool,
    /// Whether files are put over its initial ramdisk, which only the daemon can do again.
    initramfs_files: bool,
    booted: bool,
    state_root: String,
    digest: String,
    packages: Vec<String>,
    removals: Vec<String>,
}

/// Those of the booted state root.
#[derive(Clone, Debug)]
pub(super) struct Deployments {
    booted: Deployed,
    /// What the next restart boots instead of the booted one.
    pub pending: Vec<Deployed>,
    /// What the boot loader offers behind it.
    pub behind: Vec<Deployed>,
}

impl Deployments {
    /// None when none of them is booted.
    pub fn of(fields: Vec<Fields>) -> Option<Self> {
        let all: Vec<Deployed> = fields.iter().map(Deployed::of).collect();
        let booted = all.iter().position(|one| one.booted)?;
        let booted_one = all.get(booted)?.clone();
        let (mut pending, mut behind) = (Vec::new(), Vec::new());
        for (place, one) in all.into_iter().enumerate() {
            if one.state_root == booted_one.state_root && place != booted {
                if place < booted { pending.push(one) } else { behind.push(one) }
            }
        }
        Some(Self { booted: booted_one, pending, behind })
    }

    /// Whether libostree can give the next deployment other kernel arguments, so that its packages are not assembled again.
    pub fn line_without_daemon(&self) -> bool {
        let next = self.staged().unwrap_or(&self.booted);
        next.layered && !next.initramfs_files
    }

    pub fn staged(&self) -> Option<&Deployed> {
        self.pending.iter().find(|one| one.staged)
    }

    /// Whether there is one behind the booted one that may be dropped.
    pub fn rollback(&self) -> bool {
        self.behind.iter().any(|one| !one.pinned)
    }
}

impl Deployed {
    fn of(fields: &Fields) -> Self {
        let field = |name: &str| fields.get(name).map(|value| &**value);
        let is = |name: &str| matches!(field(name), Some(Variant::Bool(true)));
        let text = |name: &str| match field(name) {
            Some(Variant::Str(text)) => text.to_string(),
            _ => String::new(),
        };
        Self {
            staged: is("staged"),
            pinned: is("pinned"),
            layered: field("base-checksum").is_some(),
            initramfs_files: field("initramfs-etc").map(texts).is_some_and(|files| !files.is_empty()),
            booted: is("booted"),
            state_root: text("osname"),
            digest: text("container-image-reference-digest"),
            packages: field("requested-packages").map(texts).unwrap_or_default(),
            removals: field("requested-base-removals").map(texts).unwrap_or_default(),
        }
    }

    /// Whether it is what image and packages of an order make. Kernel arguments are not listed.
    pub fn satisfies(&self, order: &Order) -> bool {
        let expected = |image: Pinned| Expected { image, manifest: order.manifest.clone() };
        let image = order
            .image
            .as_ref()
            .is_none_or(|image| Pinned::parse(image).is_ok_and(|image| expected(image).is(Some(&self.digest))));
        let packages = &order.packages;
        let all = |wanted: &[String], there: &[String]| wanted.iter().all(|name| there.contains(name));
        let none = |unwanted: &[String], there: &[String]| !unwanted.iter().any(|name| there.contains(name));
        image
            && all(&packages.install, &self.packages)
            && none(&packages.uninstall, &self.packages)
            && all(&packages.remove, &self.removals)
            && none(&packages.reset, &self.removals)
    }
}

fn texts(value: &Variant<'_>) -> Vec<String> {
    let Variant::Array(array) = value else { return Vec::new() };
    array.iter().filter_map(|one| if let Variant::Str(text) = one { Some(text.to_string()) } else { None }).collect()
}
