//! The deployment that a configuration wants, worked out from the one the machine has.
//!
//! Owns what "reached" means. A goal is kept in the journal for both directions of a transaction, so that what was meant
//! can be compared with what was booted, whoever did the work.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::image::{ImageError, Pinned};
use super::order::Order;
use super::state::Installed;
use crate::extensions::PackageChange;
use crate::kargs;
use crate::kernel::{DEFAULT_PACKAGES, KernelType};
use crate::step::Deployment;
use crate::transaction::Direction;

/// What a node is, as far as packages and kernels depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Whether packages are those of RHEL or CentOS Stream; on others, kernels and extensions are left alone.
    pub el: bool,
    /// Whether the processor is a 64-bit ARM.
    pub aarch64: bool,
}

/// The deployment that is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Goal {
    /// The pull specification with its digest; none where the machine does not run an image.
    pub image: Option<String>,
    /// The digest of the image's manifest, or of an index of images for several architectures.
    pub digest: Option<String>,
    /// The digest of the manifest for this architecture, where the other one is that of an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// All kernel arguments.
    pub kargs: Vec<String>,
    /// Those of them that only the image of the deployment before asked for: another image may drop them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_kargs: Vec<String>,
    /// Packages layered by request, sorted.
    pub packages: Vec<String>,
    /// Packages of the image removed by request, sorted.
    pub removals: Vec<String>,
}

/// What a transaction does to the operating system, with what it takes to come back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OsChange {
    /// The deployment that was booted when the transaction began.
    pub before: Installed,
    /// The deployment that is wanted.
    pub goal: Goal,
    /// The image that packages come from, where any are wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions_image: Option<String>,
    /// Deployments that were wanted ones already when the transaction began, by checksum and serial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<(String, u32)>,
}

impl OsChange {
    /// What a configuration changes on a machine that was booted from `before`.
    pub fn of(wish: &Deployment, before: &Installed, platform: Platform) -> Result<Self, Impossible> {
        let goal = Goal::of(wish, before, platform)?;
        // With other kernel arguments alone, packages stay as they were assembled.
        let order = Order::between(before, &goal);
        let assembles = order.image.is_some() || !order.packages.is_empty();
        let wants = assembles && !goal.packages.is_empty() && !wish.extensions_image.is_empty();
        if wants {
            Pinned::parse(&wish.extensions_image)?;
        }
        let extensions_image = wants.then(|| wish.extensions_image.clone());
        Ok(Self { before: before.clone(), goal, extensions_image, kept: Vec::new() })
    }

    /// The deployment that a direction leads to.
    pub fn end(&self, direction: Direction) -> Goal {
        match direction {
            Direction::Forward => self.goal.clone(),
            Direction::Back => Goal::keeping(&self.before),
        }
    }

    /// The kernel arguments that the other direction leads to: those of them that are not in this one's must go.
    pub fn leaving(&self, direction: Direction) -> &[String] {
        match direction {
            Direction::Forward => &self.before.kargs,
            Direction::Back => &self.goal.kargs,
        }
    }

    /// Whether a deployment is where a direction leads to.
    pub fn check(&self, direction: Direction, installed: &Installed) -> Result<(), Mismatch> {
        self.end(direction).check(installed, self.leaving(direction))
    }
}

/// Why no deployment can be what the configuration wants.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// Not an image that can be deployed.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A kernel for another processor.
    #[error("64k-pages is only supported for aarch64 architecture")]
    Pages64k,
}

fn lists(missing: &[String], extra: &[String]) -> String {
    let list = |word: &str, names: &[String]| {
        if names.is_empty() { String::new() } else { format!("; {word}: {}", names.join(" ")) }
    };
    format!("{}{}", list("missing", missing), list("still there", extra))
}

/// In what a deployment is not the goal. Names only what is ours to judge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// Another image.
    #[error("the image is {found}, not {wanted}")]
    Image {
        /// Its digest.
        found: String,
        /// The digest it should have.
        wanted: String,
    },
    /// Kernel arguments.
    #[error("the kernel arguments differ{}", lists(missing, extra))]
    Kargs {
        /// Those that are not there.
        missing: Vec<String>,
        /// Those that should have gone.
        extra: Vec<String>,
    },
    /// Packages.
    #[error("the packages differ{}", lists(missing, extra))]
    Packages {
        /// Those that are not requested.
        missing: Vec<String>,
        /// Those that should have gone.
        extra: Vec<String>,
    },
}

impl Goal {
    /// What a deployment is already: the goal of a way back.
    pub fn keeping(installed: &Installed) -> Self {
        Self {
            image: installed.image.clone(),
            digest: installed.digest.clone(),
            manifest: installed.digest.clone().filter(|digest| !pinned_by(installed, digest)),
            kargs: installed.kargs.clone(),
            image_kargs: Vec::new(),
            packages: sorted(&installed.packages),
            removals: sorted(&installed.removals),
        }
    }

    /// What a configuration makes of a deployment.
    pub fn of(wish: &Deployment, base: &Installed, platform: Platform) -> Result<Self, Impossible> {
        let mut goal = Self::keeping(base);
        if !wish.image.is_empty() {
            let pinned = Pinned::parse(&wish.image)?;
            // The origin tells what an index led to when the deployment was made from it.
            goal.manifest = goal.manifest.filter(|_| pinned_by(base, pinned.digest()));
            goal.digest = Some(pinned.digest().to_owned());
            goal.image = Some(pinned.to_string());
        }
        goal.kargs = wish.kernel_arguments.apply_to(&base.kargs);
        goal.image_kargs = kargs::common(&kargs::without(&goal.kargs, &wish.own_arguments), &base.image_kargs);
        if wish.kernel_type == KernelType::Pages64k && !platform.aarch64 {
            return Err(Impossible::Pages64k);
        }
        if platform.el {
            goal.set_kernel(wish.kernel_type);
            goal.set_extensions(&wish.extensions);
        }
        Ok(goal)
    }

    /// Whether a deployment was made from the goal's image. Its name proves nothing: only digests do.
    pub fn is_image_of(&self, installed: &Installed) -> bool {
        installed.digest.is_some() && (installed.digest == self.digest || installed.digest == self.manifest)
    }

    /// Whether packages are layered on the image or removed from it.
    pub const fn has_packages(&self) -> bool {
        !self.packages.is_empty() || !self.removals.is_empty()
    }

    /// A kernel of our making is layered after the image's own has been removed; both go when it goes.
    fn set_kernel(&mut self, kernel: KernelType) {
        self.packages.retain(|package| !is_our_kernel(package));
        self.removals.retain(|package| !is_kernel(package));
        if kernel != KernelType::Default {
            self.packages.extend(kernel.packages().iter().map(|&name| name.to_owned()));
            self.removals.extend(DEFAULT_PACKAGES.iter().map(|&name| name.to_owned()));
        }
        self.packages = sorted(&self.packages);
        self.removals = sorted(&self.removals);
    }

    fn set_extensions(&mut self, extensions: &[String]) {
        let change = PackageChange::between(&self.packages, extensions);
        self.packages.retain(|package| !change.uninstall.contains(package));
        self.packages.extend(change.install);
        self.packages = sorted(&self.packages);
    }

    /// Whether a deployment is the goal. Kernel arguments that an image lists are its own affair, whether it brings or drops
    /// them; the others that were on the line, and those that `before` had and the goal has not, are ours.
    pub fn check(&self, installed: &Installed, before: &[String]) -> Result<(), Mismatch> {
        if let Some(wanted) = &self.digest
            && !self.is_image_of(installed)
        {
            let found = installed.digest.clone().unwrap_or_else(|| format!("commit {}", installed.checksum));
            return Err(Mismatch::Image { found, wanted: wanted.clone() });
        }
        let requested = sorted(&[&installed.packages[..], &removed(&installed.removals)].concat());
        let wanted = sorted(&[&self.packages[..], &removed(&self.removals)].concat());
        if requested != wanted {
            let (missing, extra) = (without(&wanted, &requested), without(&requested, &wanted));
            return Err(Mismatch::Packages { missing, extra });
        }
        let dropped = kargs::without(&self.image_kargs, &installed.image_kargs);
        let missing = kargs::without(&kargs::without(&self.kargs, &installed.kargs), &dropped);
        let to_go = kargs::without(before, &self.kargs);
        let surplus = kargs::without(&installed.kargs, &self.kargs);
        let extra = kargs::without(&kargs::common(&to_go, &surplus), &installed.image_kargs);
        if missing.is_empty() && extra.is_empty() {
            return Ok(());
        }
        Err(Mismatch::Kargs { missing, extra })
    }
}

/// Whether a deployment was made from the image with a digest by that name.
fn pinned_by(installed: &Installed, digest: &str) -> bool {
    let origin = installed.image.as_deref().and_then(|image| Pinned::parse(image).ok());
    origin.is_some_and(|origin| origin.digest() == digest)
}

/// A removed package is as much a request as a layered one.
fn removed(packages: &[String]) -> Vec<String> {
    packages.iter().map(|package| format!("-{package}")).collect()
}

fn without(these: &[String], those: &[String]) -> Vec<String> {
    these.iter().filter(|name| !those.contains(name)).cloned().collect()
}

fn sorted(names: &[String]) -> Vec<String> {
    names.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

fn is_kernel(package: &str) -> bool {
    package == "kernel" || package.starts_with("kernel-")
}

fn is_our_kernel(package: &str) -> bool {
    package.starts_with("kernel-rt-") || package.starts_with("kernel-64k-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::fixture::{IMAGE_A, IMAGE_B, installed, wish};

    const EL: Platform = Platform { el: true, aarch64: false };
    const ARM: Platform = Platform { el: true, aarch64: true };
    const FEDORA: Platform = Platform { el: false, aarch64: false };

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_changes_nothing_is_reached_already() {
        let base = installed(IMAGE_A, "root=x ro");
        let goal = Goal::of(&wish(IMAGE_A), &base, EL).unwrap();
        assert_eq!(goal, Goal::keeping(&base));
        goal.check(&base, &base.kargs).unwrap();
    }

    #[test]
    fn another_image_is_told_by_its_digest_and_by_nothing_else() {
        let base = installed(IMAGE_A, "root=x");
        let goal = Goal::of(&wish(IMAGE_B), &base, EL).unwrap();
        assert!(matches!(goal.check(&base, &base.kargs), Err(Mismatch::Image { .. })));
        let mirrored = IMAGE_B.replace("registry.example", "mirror.example");
        goal.check(&installed(&mirrored, "root=x"), &base.kargs).unwrap();
    }

    #[test]
    fn an_index_of_images_is_told_by_the_manifest_of_this_architecture() {
        let base = installed(IMAGE_A, "");
        let manifest = Some("sha256:of-this-architecture".to_owned());
        let staged = Installed { digest: manifest.clone(), ..installed(IMAGE_B, "") };
        let named = Goal::of(&wish(IMAGE_B), &base, EL).unwrap();
        assert!(matches!(named.check(&staged, &base.kargs), Err(Mismatch::Image { .. })), "a name proves nothing");
        let goal = Goal { manifest, ..named };
        goal.check(&staged, &base.kargs).unwrap();
        assert!(Order::between(&staged, &goal).image.is_none());
    }

    #[test]
    fn an_index_that_stays_is_known_by_the_origin_of_the_booted_deployment() {
        let manifest = Some("sha256:of-this-architecture".to_owned());
        let base = Installed { digest: manifest.clone(), ..installed(IMAGE_A, "a") };
        let mut same = wish(IMAGE_A);
        same.kernel_arguments.append = words("b");
        let goal = Goal::of(&same, &base, EL).unwrap();
        let order = Order::between(&base, &goal);
        assert!(goal.is_image_of(&base) && order.image.is_none() && order.kargs.is_some());
        assert_eq!(Goal::of(&wish(IMAGE_B), &base, EL).unwrap().manifest, None);
        // On the way back the index is pulled again, and leads to the same manifest.
        let back = Order::between(&installed(IMAGE_B, "a"), &Goal::keeping(&base));
        assert_eq!((back.image.as_deref(), back.manifest), (Some(IMAGE_A), manifest));
        assert_eq!(Goal::keeping(&installed(IMAGE_A, "")).manifest, None);
    }

    #[test]
    fn extensions_are_needed_where_packages_are_assembled_anew() {
        let base = Installed { packages: words("usbguard"), ..installed(IMAGE_A, "a") };
        let keep = Deployment { extensions: words("usbguard"), extensions_image: IMAGE_B.to_owned(), ..wish(IMAGE_A) };
        let mut kargs = keep.clone();
        kargs.kernel_arguments.append = words("b");
        for (wish, needed) in [
            (kargs, false),
            (Deployment { image: IMAGE_B.to_owned(), ..keep.clone() }, true),
            (Deployment { extensions: words("usbguard sysstat"), ..keep.clone() }, true),
            (Deployment { extensions: Vec::new(), ..keep }, false),
        ] {
            let change = OsChange::of(&wish, &base, EL).unwrap();
            assert_eq!(change.extensions_image.is_some(), needed, "{wish:?}");
        }
    }

    #[test]
    fn kernel_arguments_are_judged_by_count_and_foreign_ones_not_at_all() {
        let base = installed(IMAGE_A, "root=x a a b");
        let mut wish = wish(IMAGE_A);
        wish.kernel_arguments = kargs::Change { remove: words("a"), append: words("c b") };
        let goal = Goal::of(&wish, &base, EL).unwrap();
        assert_eq!(goal.kargs, words("root=x a b c b"));
        for (line, reached) in [
            ("root=x a b c b", true),
            ("root=x a b c b image.brought=this", true),
            ("root=x a a b c b", false),
            ("root=x a b c", false),
            ("a b c b", false),
        ] {
            assert_eq!(goal.check(&installed(IMAGE_A, line), &base.kargs).is_ok(), reached, "{line}");
        }
    }

    fn listing(image: &str, line: &str, listed: &str) -> Installed {
        Installed { image_kargs: words(listed), ..installed(image, line) }
    }

    #[test]
    fn an_image_may_bring_and_drop_its_own_arguments_and_no_others() {
        let base = listing(IMAGE_A, "root=x old.image both", "old.image both");
        let mut wish = wish(IMAGE_B);
        wish.own_arguments = words("both new");
        wish.kernel_arguments = kargs::Change { remove: words("both gone"), append: words("both new") };
        let goal = Goal::of(&wish, &base, EL).unwrap();
        for (line, listed, reached) in [
            ("root=x both new new.image", "new.image", true),
            ("root=x both new old.image", "new.image", true),
            ("root=x both new gone", "gone", true),
            ("root=x both new", "old.image", false),
            ("root=x new", "", false),
            ("both new", "", false),
        ] {
            let made = listing(IMAGE_B, line, listed);
            assert_eq!(goal.check(&made, &words("root=x gone")).is_ok(), reached, "{line}: {listed}");
        }
    }

    #[test]
    fn a_kernel_type_replaces_the_images_kernel_and_gives_it_back() {
        let base = installed(IMAGE_A, "");
        let realtime = Deployment { kernel_type: KernelType::Realtime, ..wish(IMAGE_A) };
        let goal = Goal::of(&realtime, &base, EL).unwrap();
        assert_eq!(goal.packages, words("kernel-rt-core kernel-rt-modules kernel-rt-modules-extra"));
        assert_eq!(goal.removals, words("kernel kernel-core kernel-modules kernel-modules-core kernel-modules-extra"));
        let swapped = Installed { packages: goal.packages, removals: goal.removals, ..base.clone() };
        let back = Goal::of(&wish(IMAGE_A), &swapped, EL).unwrap();
        assert_eq!((back.packages, back.removals), (vec![], vec![]));
    }

    #[test]
    fn large_pages_are_for_arm_and_packages_for_el() {
        let base = installed(IMAGE_A, "");
        let large = Deployment { kernel_type: KernelType::Pages64k, ..wish(IMAGE_A) };
        assert_eq!(Goal::of(&large, &base, EL), Err(Impossible::Pages64k));
        assert_eq!(Goal::of(&large, &base, ARM).unwrap().packages.len(), 4);
        let more = Deployment { extensions: words("usbguard"), kernel_type: KernelType::Realtime, ..wish(IMAGE_A) };
        assert!(Goal::of(&more, &base, FEDORA).unwrap().packages.is_empty());
    }

    #[test]
    fn extensions_come_and_go_and_a_persons_packages_stay() {
        let base = Installed { packages: words("htop usbguard"), ..installed(IMAGE_A, "") };
        let goal = Goal::of(&Deployment { extensions: words("sysstat"), ..wish(IMAGE_A) }, &base, EL).unwrap();
        assert_eq!(goal.packages, words("htop sysstat"));
        let found = goal.check(&base, &base.kargs).unwrap_err();
        assert_eq!(found, Mismatch::Packages { missing: words("sysstat"), extra: words("usbguard") });
        assert_eq!(found.to_string(), "the packages differ; missing: sysstat; still there: usbguard");
    }

    #[test]
    fn a_tag_is_no_goal() {
        let refused = Goal::of(&wish("registry.example/os:latest"), &installed(IMAGE_A, ""), EL);
        assert!(matches!(refused, Err(Impossible::Image(ImageError::Unpinned { .. }))));
    }
}
