//! A machine that runs a deployment of a real ostree sysroot, and the registry its images come from: what the tests of the
//! operating system stand on, and whether it stands.
#![cfg(test)]

#[path = "live/answer.rs"]
mod answer;
#[path = "booted/backends.rs"]
mod backends;
#[path = "booted/mod.rs"]
mod booted;
#[path = "sandbox/chance.rs"]
mod chance;
#[path = "booted/cycle.rs"]
mod cycle;
#[path = "booted/daemon/mod.rs"]
mod daemon;
#[path = "booted/first_boot.rs"]
mod first_boot;
#[path = "booted/node.rs"]
mod node;
#[path = "registry/mod.rs"]
mod registry;
#[path = "booted/served.rs"]
mod served;
#[path = "booted/trouble.rs"]
mod trouble;
#[path = "booted/units/mod.rs"]
mod units;
#[path = "booted/updates.rs"]
mod updates;
