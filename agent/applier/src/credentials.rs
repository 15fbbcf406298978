//! The kubelet's credentials, given to the half of the agent that asks the API server and may not read them itself.

use ostler_core::protocol::{Class, Reply};
use ostler_host::credentials;
use ostler_host::disk::RootDisk;

use crate::machine::{Refused, causes};

/// Reads them as they are now.
pub(crate) fn answer(disk: &RootDisk) -> Result<Reply, Refused> {
    credentials::read(disk).map(Reply::Credentials).map_err(|error| {
        let class = if error.may_pass() { Class::Transient } else { Class::Inoperable };
        let mut reasons = vec!["the kubelet's credentials cannot be had".to_owned()];
        reasons.extend(causes(&error));
        Refused::early(class, reasons, error.remedy())
    })
}
