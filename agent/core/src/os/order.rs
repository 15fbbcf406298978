//! What a backend is asked to do so that the next deployment is the goal: one order, one new deployment.

use serde::{Deserialize, Serialize};

use super::goal::Goal;
use super::state::Installed;
use crate::kargs;

/// The difference between a deployment and a goal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// The image to change to, by its digest; none when it stays.
    pub image: Option<String>,
    /// The digest of its manifest for this architecture, where its own is that of an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// All kernel arguments of the new deployment, but for what its image makes of them; none when they stay.
    pub kargs: Option<Vec<String>>,
    /// Those of them that a new image may drop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_kargs: Vec<String>,
    /// What happens to packages.
    pub packages: Packages,
}

/// What happens to packages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Packages {
    /// Layered on the image.
    pub install: Vec<String>,
    /// No longer layered.
    pub uninstall: Vec<String>,
    /// Removed from the image.
    pub remove: Vec<String>,
    /// As the image has them again.
    pub reset: Vec<String>,
}

impl Packages {
    /// Whether there is nothing to do.
    pub const fn is_empty(&self) -> bool {
        self.install.is_empty() && self.uninstall.is_empty() && self.remove.is_empty() && self.reset.is_empty()
    }
}

impl Order {
    /// What it takes to get from a deployment to a goal.
    pub fn between(from: &Installed, goal: &Goal) -> Self {
        let other_image = goal.digest.is_some() && !goal.is_image_of(from);
        let missing = |wanted: &[String], there: &[String]| -> Vec<String> {
            wanted.iter().filter(|name| !there.contains(name)).cloned().collect()
        };
        Self {
            image: if other_image { goal.image.clone() } else { None },
            manifest: if other_image { goal.manifest.clone() } else { None },
            // A backend may take equal ones of the configuration off the line with those of the old image.
            kargs: (goal.kargs != from.kargs || (other_image && !from.image_kargs.is_empty()))
                .then(|| goal.kargs.clone()),
            image_kargs: if other_image { goal.image_kargs.clone() } else { Vec::new() },
            packages: Packages {
                install: missing(&goal.packages, &from.packages),
                uninstall: missing(&from.packages, &goal.packages),
                remove: missing(&goal.removals, &from.removals),
                reset: missing(&from.removals, &goal.removals),
            },
        }
    }

    /// The line that a deployment should have which was made from the booted one; none when it may stay as it is.
    pub fn line(&self, booted: &Installed, made: &Installed) -> Option<Vec<String>> {
        let taken_off = kargs::without(&booted.kargs, &made.kargs);
        let wanted = kargs::without(self.kargs.as_ref()?, &kargs::common(&self.image_kargs, &taken_off));
        let mut line = kargs::with_additions(&wanted, &booted.kargs, &made.kargs);
        // What the image lists was not put on the line a second time where the configuration had put it there.
        let brought = kargs::without(&made.image_kargs, &booted.image_kargs);
        let kept: Vec<String> =
            brought.into_iter().filter(|one| made.kargs.contains(one) && !line.contains(one)).collect();
        line.extend(kept);
        Some(line).filter(|line| *line != made.kargs)
    }

    /// Whether there is nothing to do.
    pub const fn is_empty(&self) -> bool {
        self.image.is_none() && self.kargs.is_none() && self.packages.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kargs::split;
    use crate::kernel::KernelType;
    use crate::os::fixture::{IMAGE_A, IMAGE_B, installed, wish};
    use crate::os::goal::Platform;
    use crate::step::Deployment;

    const EL: Platform = Platform { el: true, aarch64: false };

    #[test]
    fn nothing_to_do_is_an_empty_order() {
        let base = installed(IMAGE_A, "root=x");
        assert!(Order::between(&base, &Goal::keeping(&base)).is_empty());
    }

    #[test]
    fn an_order_holds_everything_that_differs() {
        let base = installed(IMAGE_A, "root=x a");
        let mut wish = Deployment { kernel_type: KernelType::Realtime, ..wish(IMAGE_B) };
        wish.kernel_arguments.append = vec!["b".to_owned()];
        let goal = Goal::of(&wish, &base, EL).unwrap();
        let order = Order::between(&base, &goal);
        assert_eq!(order.image.as_deref(), Some(IMAGE_B));
        assert_eq!(order.kargs.as_deref(), Some(&["root=x", "a", "b"].map(str::to_owned)[..]));
        assert_eq!((order.packages.install.len(), order.packages.remove.len()), (3, 5));

        let swapped = Installed { packages: goal.packages, removals: goal.removals, ..base.clone() };
        let back = Order::between(&swapped, &Goal::keeping(&base));
        assert_eq!((back.packages.uninstall.len(), back.packages.reset.len()), (3, 5));
        assert!(back.image.is_none() && back.kargs.is_none());
    }

    #[test]
    fn the_line_of_a_new_image_is_ours_and_what_the_image_makes_of_it() {
        let listing = |image, line, listed: &str| Installed { image_kargs: split(listed), ..installed(image, line) };
        for (booted, listed, change, own, made, brings, expected) in [
            // bootc has taken off what only the old image lists, and with it what the configuration owns too.
            ("root=x img", "img", ["", ""], "", "root=x", "", None),
            ("root=x img", "img", ["", "new"], "new", "root=x", "", Some("root=x new")),
            ("root=x img both both", "img both", ["", ""], "both", "root=x", "", Some("root=x both")),
            ("root=x both", "both", ["", ""], "both", "root=x", "", Some("root=x both")),
            // rpm-ostree takes nothing off.
            ("root=x img", "img", ["", "new"], "new", "root=x img", "", Some("root=x img new")),
            // What the new image brings stays, even where the configuration gives it up at the same time.
            ("root=x", "", ["", ""], "", "root=x brought", "brought", None),
            ("root=x old", "", ["old", "new"], "new", "root=x old brought", "brought", Some("root=x new brought")),
            ("root=x old", "", ["old", ""], "", "root=x old", "old", None),
            // bootc before 1.11 puts on the line again what an image without a list cannot drop.
            ("root=x img", "img", ["", ""], "", "root=x img img", "", Some("root=x img")),
        ] {
            let booted = listing(IMAGE_A, booted, listed);
            let [remove, append] = change.map(split);
            let wish = Deployment {
                kernel_arguments: kargs::Change { remove, append },
                own_arguments: split(own),
                ..wish(IMAGE_B)
            };
            let goal = Goal::of(&wish, &booted, EL).unwrap();
            let made = listing(IMAGE_B, made, brings);
            let line = Order::between(&booted, &goal).line(&booted, &made);
            assert_eq!(line, expected.map(split), "{booted:?} {made:?}");
            let end = Installed { kargs: line.unwrap_or(made.kargs.clone()), ..made };
            goal.check(&end, &booted.kargs).unwrap();
        }
    }
}
