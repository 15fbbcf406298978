//! The boot loader, through bootupd's command, which runs as a service that neither the end of the agent nor a shutdown
//! interrupts.
//!
//! Owns asking, and carrying out what core judged harmless enough. Refuses to start without somebody having accepted the
//! risk that is left.

use std::time::Duration;

use ostler_core::os::bootloader::{
    Action, BootloaderError, BootloaderStatus, Intent, Layout, Obstacle, Report, Verdict,
};
use ostler_core::protocol::Class;

use crate::disk::Disk;
use crate::systemd::bus::Bus;
use crate::systemd::transient::{Command, Ended, Runner, Shutdown, TransientError};

/// The service that writes the boot loader.
pub const WRITE_UNIT: &str = "ostler-bootupd-write.service";
/// The service that asks how it is.
pub const STATUS_UNIT: &str = "ostler-bootupd-status.service";
/// The service that asks where it is.
pub const LAYOUT_UNIT: &str = "ostler-bootupd-layout.service";
/// How long a shutdown waits for a boot loader that is being written.
const SHUTDOWN_WAITS: Duration = Duration::from_secs(600);

/// Why the boot loader was not written, or not looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BootupdError {
    /// A command could not be run.
    #[error("bootupd cannot be asked")]
    Command(#[from] TransientError),
    /// A command ended badly.
    #[error("{command} failed: {message}")]
    Failed {
        /// The command.
        command: String,
        /// How.
        message: String,
    },
    /// What it says is not understood.
    #[error("bootupd cannot be understood")]
    Status(#[from] BootloaderError),
    /// It is better not done.
    #[error(transparent)]
    Obstacle(#[from] Obstacle),
    /// Nobody has accepted what could happen.
    #[error("nobody has accepted the risk: {}", .0.risk)]
    NotAccepted(Intent),
    /// It ended well, but not with what was wanted.
    #[error("bootupd said that it had written the boot loader, but its state is {0}")]
    Unchanged(Verdict),
}

impl BootupdError {
    /// Whose fault it is.
    pub const fn class(&self) -> Class {
        match self {
            Self::Command(_) | Self::Failed { .. } => Class::Transient,
            Self::Obstacle(_) | Self::NotAccepted(_) => Class::Refusal,
            Self::Status(_) | Self::Unchanged(_) => Class::Inoperable,
        }
    }

    /// What a person can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Obstacle(obstacle) => obstacle.remedy().to_owned(),
            Self::NotAccepted(_) => "give --yes once you have read what can happen".to_owned(),
            Self::Command(_) | Self::Failed { .. } | Self::Status(_) => {
                "see \"bootupctl status\" and \"journalctl -u 'ostler-bootupd*'\"".to_owned()
            }
            Self::Unchanged(_) => {
                "do not restart the machine before \"bootupctl status\" says that all is well".to_owned()
            }
        }
    }
}

/// The bootupd of a machine.
#[derive(Debug)]
pub struct Bootupd<'b, D> {
    runner: Runner<'b, D>,
    bootupctl: &'b str,
    lsblk: &'b str,
}

impl<'b, D: Disk> Bootupd<'b, D> {
    /// With this systemd and the machine's files; commands get so much time.
    pub fn new(bus: &'b Bus, disk: &'b D, patience: Duration) -> Self {
        let runner = Runner { bus, disk, patience };
        Self { runner, bootupctl: "/usr/bin/bootupctl", lsblk: "/usr/bin/lsblk" }
    }

    /// With commands from elsewhere.
    pub fn with_commands(self, bootupctl: &'b str, lsblk: &'b str) -> Self {
        Self { bootupctl, lsblk, ..self }
    }

    /// How the boot loader is.
    pub fn report(&self) -> Result<Report, BootupdError> {
        let layout =
            Layout::parse(&self.ask(LAYOUT_UNIT, &[self.lsblk, "--json", "--paths", "--output", Layout::COLUMNS])?)?;
        let status = self.status()?;
        Ok(Report { verdict: status.verdict(), status, layout })
    }

    /// What would be done, with its risk, or why nothing would be.
    pub fn intend(&self, action: Action) -> Result<Intent, BootupdError> {
        let Report { status, layout, .. } = self.report()?;
        Ok(status.judge(&layout, action)?)
    }

    /// Writes the boot loader, if its risk is accepted. One that is being written already is waited for.
    pub fn write(&self, action: Action, accepted: bool) -> Result<BootloaderStatus, BootupdError> {
        let verb = if action == Action::Update { "update" } else { "adopt-and-update" };
        let argv = owned(&[self.bootupctl, verb]);
        let ended = match self.runner.attach(WRITE_UNIT, &argv)? {
            Some(ended) => ended,
            None => {
                let intent = self.intend(action)?;
                if !accepted {
                    return Err(BootupdError::NotAccepted(intent));
                }
                let description = format!("Ostler: bootupctl {verb}");
                let shutdown = Shutdown::Waits(SHUTDOWN_WAITS);
                self.runner.run(&Command {
                    unit: WRITE_UNIT,
                    description: &description,
                    argv: &argv,
                    environment: &[],
                    shutdown,
                })?
            }
        };
        succeeded(&ended, &argv)?;
        let status = self.status()?;
        match status.verdict() {
            verdict @ (Verdict::Interrupted | Verdict::UpdateAvailable) => Err(BootupdError::Unchanged(verdict)),
            _ => Ok(status),
        }
    }

    fn status(&self) -> Result<BootloaderStatus, BootupdError> {
        Ok(BootloaderStatus::parse(&self.ask(STATUS_UNIT, &[self.bootupctl, "status", "--json"])?)?)
    }

    fn ask(&self, unit: &str, argv: &[&str]) -> Result<Vec<u8>, BootupdError> {
        let argv = owned(argv);
        let description = format!("Ostler: {}", argv.join(" "));
        let ended = self.runner.run(&Command {
            unit,
            description: &description,
            argv: &argv,
            environment: &[],
            shutdown: Shutdown::Ends,
        })?;
        succeeded(&ended, &argv)?;
        Ok(ended.stdout.unwrap_or_default())
    }
}

fn owned(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|&argument| argument.to_owned()).collect()
}

fn succeeded(ended: &Ended, argv: &[String]) -> Result<(), BootupdError> {
    if ended.succeeded() {
        return Ok(());
    }
    Err(BootupdError::Failed { command: argv.join(" "), message: ended.story() })
}
