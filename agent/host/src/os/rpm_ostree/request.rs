//! The words in which the daemon is asked for a deployment.

use ostler_core::os::backend::Backend;
use ostler_core::os::image::Pinned;
use ostler_core::os::order::Order;
use zbus::Variant;

use super::wire::Options;
use super::{CLIENT, Trust};
use crate::os::OsError;

/// Modifiers and options of `UpdateDeployment` for everything in an order but its kernel arguments, which that method
/// does not take.
pub(super) fn update(order: &Order, trust: Trust, action: &'static str) -> Result<(Options, Options), OsError> {
    let mut modifiers = Options::new();
    let mut options: Options = [
        // What is there already is no error, nor is what the image has already: the daemon would judge that by the old
        // image.
        ("allow-inactive", Variant::from(true)),
        ("idempotent-layering", Variant::from(true)),
        ("initiating-command-line", Variant::from(CLIENT)),
    ]
    .into();
    match &order.image {
        Some(image) => {
            // A digest says nothing of age.
            options.insert("allow-downgrade", Variant::from(true));
            modifiers.insert("set-refspec", Variant::from(refspec(image, trust, action)?));
        }
        None => drop(options.insert("no-pull-base", Variant::from(true))),
    }
    let packages = &order.packages;
    for (name, list) in [
        ("install-packages", &packages.install),
        ("uninstall-packages", &packages.uninstall),
        ("override-remove-packages", &packages.remove),
        ("override-reset-packages", &packages.reset),
    ] {
        if !list.is_empty() {
            modifiers.insert(name, Variant::from(list.clone()));
        }
    }
    Ok((modifiers, options))
}

/// What ostree calls the image, and with that whether it insists on a policy that asks for signatures.
fn refspec(image: &str, trust: Trust, action: &'static str) -> Result<String, OsError> {
    let pinned = Pinned::parse(image).map_err(|error| OsError::Refused {
        backend: Backend::RpmOstree,
        action,
        message: error.to_string(),
    })?;
    Ok(match trust {
        Trust::Signed => format!("ostree-image-signed:docker://{pinned}"),
        Trust::Policy => format!("ostree-unverified-registry:{pinned}"),
    })
}

/// Options of `KernelArgs` that make the line exactly this one.
pub(super) fn kernel_line(line: &str) -> Options {
    [("final-kernel-args", Variant::from(line.to_owned())), ("initiating-command-line", Variant::from(CLIENT))].into()
}

#[cfg(test)]
mod tests {
    use ostler_core::os::order::Packages;

    use super::*;

    const IMAGE: &str = "registry.example/os@sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    #[test]
    fn an_image_is_named_by_what_is_asked_of_it() {
        for (trust, expected) in
            [(Trust::Signed, "ostree-image-signed:docker://"), (Trust::Policy, "ostree-unverified-registry:")]
        {
            assert_eq!(refspec(IMAGE, trust, "x").unwrap(), format!("{expected}{IMAGE}"));
        }
        assert!(matches!(refspec("registry.example/os:tag", Trust::Policy, "x"), Err(OsError::Refused { .. })));
    }

    #[test]
    fn the_base_is_pulled_only_when_it_changes() {
        let packages = Packages { install: vec!["usbguard".to_owned()], ..Packages::default() };
        let order = Order { packages, ..Order::default() };
        let (modifiers, options) = update(&order, Trust::Policy, "x").unwrap();
        assert_eq!(modifiers.keys().copied().collect::<Vec<_>>(), ["install-packages"]);
        assert!(options.contains_key("no-pull-base") && !options.contains_key("allow-downgrade"));

        let order = Order { image: Some(IMAGE.to_owned()), ..order };
        let (modifiers, options) = update(&order, Trust::Policy, "x").unwrap();
        assert_eq!(modifiers.keys().copied().collect::<Vec<_>>(), ["install-packages", "set-refspec"]);
        assert!(!options.contains_key("no-pull-base") && options.contains_key("allow-downgrade"));
    }
}
