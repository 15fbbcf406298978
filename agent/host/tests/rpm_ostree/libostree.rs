//! The deployments of the daemon, as libostree would show and change them.

use std::sync::Arc;

use ostler_core::kargs;
use ostler_core::os::state::{Installed, OsState};
use ostler_host::os::{OsError, Sysroot};

use crate::daemon::{Deployed, Shared, place};

pub struct Libostree(pub Arc<Shared>);

fn installed(one: &Deployed) -> Installed {
    let kargs = kargs::split(&one.kargs).into_iter().filter(|argument| !argument.starts_with("ostree=")).collect();
    Installed { digest: Some(one.digest.clone()), kargs, ..Installed::default() }
}

fn unasked() -> Result<(), OsError> {
    Err(OsError::Sysroot { action: "change", source: "not asked of libostree".into() })
}

impl Sysroot for Libostree {
    fn read(&self) -> Result<OsState, OsError> {
        self.0.with(|state| {
            let find = |wanted: fn(&&Deployed) -> bool| state.deployments.iter().find(wanted).map(installed);
            Ok(OsState { booted: find(|one| one.booted), staged: find(|one| one.staged), ..OsState::default() })
        })
    }

    fn restage(&self, kargs: &[String]) -> Result<(), OsError> {
        if self.0.with(|state| state.broken) {
            return unasked();
        }
        self.0.log(format!("restage {}", kargs.join(" ")));
        self.0.with(|state| {
            let kargs = format!("{} ostree=/boot.0", kargs.join(" "));
            let new = Deployed { booted: false, staged: true, kargs, ..state.deployments[0].clone() };
            place(&mut state.deployments, new);
        });
        Ok(())
    }

    fn stage_again(&self, _deployment: &Installed) -> Result<(), OsError> {
        unasked()
    }

    fn stay(&self) -> Result<(), OsError> {
        unasked()
    }

    fn discard(&self) -> Result<(), OsError> {
        self.0.with(|state| state.deployments.retain(|one| !one.staged));
        Ok(())
    }

    fn forget(&self) -> Result<(), OsError> {
        unasked()
    }
}
