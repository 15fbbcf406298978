//! Packages in a system that has never seen Ostler: they bring what they declare, survive an upgrade, and leave nothing
//! but what they say they leave. `cargo xtask package --trial` makes the packages and the system, and runs this.

#![cfg(test)]

#[path = "packages/deb.rs"]
mod deb;
#[path = "packages/declared.rs"]
mod declared;
#[path = "packages/helper.rs"]
mod helper;
#[path = "packages/rpm.rs"]
mod rpm;
#[path = "packages/sysext.rs"]
mod sysext;
#[path = "packages/system.rs"]
mod system;
