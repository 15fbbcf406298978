//! The operating system half of a configuration: what is installed, what is to be, and what that takes.
//!
//! Owns every decision about deployments, images and backends. Refuses to look at a machine: [`state`] is filled in by
//! the host, and an [`order`] is carried out there.

pub mod backend;
pub mod behind;
pub mod boot_mark;
pub mod bootc_status;
pub mod bootloader;
pub mod complaint;
pub mod goal;
pub mod image;
pub mod image_kargs;
pub mod layer;
pub mod manifest;
pub mod mirrors;
pub mod nics;
pub mod order;
pub mod preflight;
pub mod release;
pub mod soft_reboot;
pub mod state;
pub mod trust;

#[cfg(test)]
mod fixture;
