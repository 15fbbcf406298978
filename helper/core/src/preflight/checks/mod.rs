//! The checks, one for each name of a risk.

mod boot_images;
mod capacity;
mod configs;
mod nodes;
mod pools;
mod streams;

use super::{Inventory, Objects, Risk, Severity, Target, Undecided};

/// What a check says.
type Answer = Result<Option<Risk>, Undecided>;

/// A check.
#[derive(Clone, Copy)]
pub struct Check {
    /// Name of its risk.
    pub name: &'static str,
    /// Whether updates within a minor release do not heed it.
    pub minor_only: bool,
    /// The check itself.
    pub run: fn(&Inventory, &Target) -> Answer,
}

const fn check(name: &'static str, run: fn(&Inventory, &Target) -> Answer) -> Check {
    Check { name, minor_only: false, run }
}

/// A check of what stops updates to another minor release only.
const fn minor(name: &'static str, run: fn(&Inventory, &Target) -> Answer) -> Check {
    Check { name, minor_only: true, run }
}

/// All checks, by name.
pub const CHECKS: &[Check] = &[
    check(nodes::AMBIGUOUS, nodes::ambiguous),
    check(boot_images::MISMATCH, boot_images::mismatch),
    minor(boot_images::SKEW, boot_images::skew),
    minor(boot_images::UNENFORCED, boot_images::unenforced),
    check(boot_images::UNMANAGED, boot_images::unmanaged),
    minor(boot_images::FAILING, boot_images::failing),
    check(capacity::CONTROL_PLANE, capacity::control_plane),
    check(streams::DEFAULT_MISSING, streams::default_missing),
    minor(streams::DEPRECATED, streams::deprecated),
    check(nodes::IRRECONCILABLE, nodes::irreconcilable),
    check(nodes::OVERRIDES, nodes::overrides),
    check(nodes::KERNEL, nodes::kernel),
    check(capacity::NONE_LEFT, capacity::none_left),
    check(configs::CONFLICT, configs::conflict),
    check(configs::OVERRIDDEN, configs::overridden),
    check(streams::DISCOVERY, streams::discovery),
    check(streams::DOWNGRADE, streams::downgrade),
    check(streams::MISSING, streams::missing),
    check(pools::CERTIFICATES, pools::certificates),
    minor(pools::BUILD, pools::build_interrupted),
    check(pools::DEGRADED, pools::degraded),
    check(pools::PAUSED, pools::paused),
    check(pools::UPDATING, pools::updating),
    check(configs::SIZE, configs::size),
    check(streams::RUNC, streams::runc),
    check(boot_images::STUB, boot_images::stubs),
    check(nodes::UNRECONCILABLE, nodes::unreconcilable),
];

/// What a risk is, but for the objects that have it.
struct Nature {
    name: &'static str,
    severity: Severity,
    url: String,
    cause: String,
    remedy: String,
}

/// What was found, and what could not be looked at: neither hides the other.
fn partly(risk: Option<Risk>, unknown: Option<Undecided>) -> Answer {
    match unknown {
        None => Ok(risk),
        Some(Undecided { reason, .. }) => Err(Undecided { reason, beside: risk.map(Box::new) }),
    }
}

/// A risk, if any object has it.
fn risk(objects: &Objects, nature: impl FnOnce() -> Nature) -> Option<Risk> {
    if objects.is_empty() {
        return None;
    }
    let Nature { name, severity, url, cause, remedy } = nature();
    Some(Risk { name, severity, message: objects.message(&cause, &remedy), url })
}
