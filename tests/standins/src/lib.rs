//! Stand-ins for rpm-ostreed and bootc, and the lab that makes images and sysroots for them.
//!
//! They speak the interfaces of the originals and do their work for real: OCI images are pulled by ostree-ext into a real
//! ostree sysroot. They never install rpms, never reboot, and are never part of the product.

pub mod bootc;
pub mod faults;
pub mod lab;
pub mod narrator;
pub mod packages;
pub mod rpmostreed;
pub mod sysroot;
