//! A machine whose deployments another controller stages: we look at what it has staged, and never touch it.

use ostler_core::kargs;
use ostler_core::os::backend::Backend;
use ostler_core::os::image::{Expected, Pinned};
use ostler_core::os::order::Order;
use ostler_core::os::state::Installed;

use super::{IsWanted, OsBackend, OsError, Sysroot, Told};

const STAGE: &str = "stage the deployment";

/// The other controller, as seen from the deployments.
pub struct External {
    sysroot: Box<dyn Sysroot>,
}

impl External {
    /// On these deployments.
    pub fn new(sysroot: Box<dyn Sysroot>) -> Self {
        Self { sysroot }
    }
}

impl OsBackend for External {
    fn backend(&self) -> Backend {
        Backend::External
    }

    fn occupant(&self) -> Result<Option<String>, OsError> {
        Ok(None)
    }

    /// What is not staged yet is in the way of everything else, too.
    fn accepts(&self, order: &Order) -> Result<(), OsError> {
        self.stage(order, &mut |_| {})
    }

    fn stage_while(&self, order: &Order, told: Told<'_>, _: IsWanted<'_>) -> Result<(), OsError> {
        if !order.packages.is_empty() {
            return Err(unable("layer or remove packages"));
        }
        if order.is_empty() {
            return Ok(());
        }
        let Some(staged) = self.sysroot.read()?.staged else {
            return Err(not_yet("another controller has not staged anything yet".to_owned()));
        };
        differences(order, &staged)?;
        told("another controller has staged the deployment");
        Ok(())
    }

    fn discard(&self) -> Result<(), OsError> {
        match self.sysroot.read()?.staged {
            Some(_) => Err(unable("drop a deployment that another controller has staged")),
            None => Ok(()),
        }
    }

    /// Does nothing: what is kept is the other controller's affair, and nothing depends on its being gone.
    fn forget(&self) -> Result<(), OsError> {
        Ok(())
    }
}

fn differences(order: &Order, staged: &Installed) -> Result<(), OsError> {
    if let Some(image) = &order.image {
        let pinned = Pinned::parse(image).map_err(|error| OsError::Refused {
            backend: Backend::External,
            action: STAGE,
            message: error.to_string(),
        })?;
        let wanted = Expected { image: pinned.clone(), manifest: order.manifest.clone() };
        if !wanted.is(staged.digest.as_deref()) {
            let found = staged.digest.as_deref().unwrap_or("no image");
            return Err(not_yet(format!("another controller has staged {found}, not yet {}", pinned.digest())));
        }
    }
    let dropped = kargs::without(&order.image_kargs, &staged.image_kargs);
    let wanted = kargs::without(order.kargs.as_deref().unwrap_or_default(), &dropped);
    let missing = kargs::without(&wanted, &staged.kargs);
    if !missing.is_empty() {
        return Err(not_yet(format!(
            "another controller has not yet staged the kernel arguments {}",
            missing.join(" ")
        )));
    }
    Ok(())
}

fn not_yet(message: String) -> OsError {
    OsError::Failed { backend: Backend::External, action: STAGE, message }
}

fn unable(what: &str) -> OsError {
    OsError::Unable { backend: Backend::External, what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use ostler_core::os::state::OsState;
    use ostler_core::protocol::Class;

    use super::*;

    struct Fixed(Option<Installed>);

    impl Sysroot for Fixed {
        fn read(&self) -> Result<OsState, OsError> {
            Ok(OsState { staged: self.0.clone(), ..OsState::default() })
        }

        fn restage(&self, _kargs: &[String]) -> Result<(), OsError> {
            panic!("another controller's deployment is not to be touched")
        }

        fn stage_again(&self, _deployment: &Installed) -> Result<(), OsError> {
            panic!("another controller's deployment is not to be touched")
        }

        fn stay(&self) -> Result<(), OsError> {
            panic!("another controller's deployment is not to be touched")
        }

        fn discard(&self) -> Result<(), OsError> {
            panic!("another controller's deployment is not to be touched")
        }

        fn forget(&self) -> Result<(), OsError> {
            panic!("another controller's deployment is not to be touched")
        }
    }

    fn digest(digit: &str) -> String {
        format!("sha256:{}", digit.repeat(64))
    }

    fn staged(digit: &str, kargs: &str) -> Option<Installed> {
        Some(Installed { digest: Some(digest(digit)), kargs: kargs::split(kargs), ..Installed::default() })
    }

    #[test]
    fn only_what_is_staged_counts() {
        let image = |digit: &str| Some(format!("quay.example/os@{}", digest(digit)));
        for (there, image, kargs, expected) in [
            (staged("a", "x"), image("a"), None, None),
            (staged("a", "x y"), image("a"), Some("y"), None),
            (staged("a", "x"), image("a"), Some("y"), Some("arguments y")),
            (staged("b", "x"), image("a"), None, Some("not yet sha256:aaaa")),
            (None, image("a"), None, Some("has not staged anything yet")),
            (None, None, None, None),
        ] {
            let order = Order { image, kargs: kargs.map(kargs::split), ..Order::default() };
            let done = External::new(Box::new(Fixed(there))).stage(&order, &mut |_| {});
            match (done, expected) {
                (Ok(()), None) => {}
                (Err(error), Some(words)) => {
                    assert!(error.to_string().contains(words) && error.class() == Class::Transient, "{error}")
                }
                (done, expected) => panic!("{done:?} {expected:?}"),
            }
        }
    }

    #[test]
    fn nothing_of_theirs_is_touched() {
        let external = External::new(Box::new(Fixed(staged("a", ""))));
        assert_eq!(external.discard().unwrap_err().class(), Class::Refusal);
        external.forget().unwrap();
        External::new(Box::new(Fixed(None))).discard().unwrap();
    }
}
