//! The root that a restart of user space alone leads to, which libostree prepares.
//!
//! Owns the command. Younger libostrees only note what is to be mounted and mount it on the way down, older ones mount it at
//! once, so it runs as a service among the mounts of the machine. Refuses to judge whether the restart will do.

use ostler_core::os::complaint::without_secrets;

use crate::disk::Disk;
use crate::systemd::transient::{Command, Runner, Shutdown};

/// The service that prepares it, or takes that back.
pub const UNIT: &str = "ostler-next-root.service";

/// What libostree makes the next root.
#[derive(Debug)]
pub struct NextRoot<'r, D> {
    /// What runs the command.
    pub runner: Runner<'r, D>,
    /// Where the `ostree` command is.
    pub program: &'r str,
}

impl<D: Disk> NextRoot<'_, D> {
    /// Makes a deployment, by its place in the boot loader's order, the next root; or says why not.
    pub fn prepare(&self, index: usize) -> Result<(), String> {
        self.ask(&index.to_string(), "Ostler: prepare the next root")
    }

    /// Takes back what was prepared, if anything was.
    pub fn reset(&self) -> Result<(), String> {
        self.ask("--reset", "Ostler: take back the next root")
    }

    fn ask(&self, argument: &str, description: &str) -> Result<(), String> {
        let argv = [self.program, "admin", "prepare-soft-reboot", argument].map(str::to_owned);
        let command = Command { unit: UNIT, description, argv: &argv, environment: &[], shutdown: Shutdown::Ends };
        let ended = self.runner.run(&command).map_err(|error| format!("libostree could not be asked: {error}"))?;
        if ended.succeeded() {
            return Ok(());
        }
        let story = without_secrets(&ended.story());
        Err(format!("libostree does not make the staged operating system the next root: {story}"))
    }
}
