//! What a backend is asked to do so that the next deployment is the goal: one order, one new deployment.

use serde::{Deserialize, Serialize};

use super::goal::Goal;
use super::state::Installed;

/// The difference between a deployment and a goal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// The image to change to, by its digest; none when it stays.
    pub image: Option<String>,
    /// The digest of its manifest for this architecture, where its own is that of an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// All kernel arguments of the new deployment; none when they stay.
    pub kargs: Option<Vec<String>>,
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
            kargs: (goal.kargs != from.kargs).then(|| goal.kargs.clone()),
            packages: Packages {
                install: missing(&goal.packages, &from.packages),
                uninstall: missing(&from.packages, &goal.packages),
                remove: missing(&goal.removals, &from.removals),
                reset: missing(&from.removals, &goal.removals),
            },
        }
    }

    /// Whether there is nothing to do.
    pub const fn is_empty(&self) -> bool {
        self.image.is_none() && self.kargs.is_none() && self.packages.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
