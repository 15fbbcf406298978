//! Commands that outlive us: each is a service of its own, started over the bus and found again by its name.
//!
//! Owns starting one, attaching to one that a process before us has started, and collecting how it ended with what it
//! wrote. The result is kept by systemd and below `/run/ostler` until somebody collects it. Refuses to judge the result.

mod command;
mod ended;
mod error;

use std::io;
use std::time::{Duration, Instant};

use super::bus::{Bus, BusError, JobResult, Service};
use crate::disk::{Attributes, Disk, RootPath};

pub use command::{Command, Shutdown};
pub use ended::{Ended, Exit};
pub use error::TransientError;

/// Where the output of commands is kept until it is collected.
pub const OUTPUT_DIRECTORY: &str = "/run/ostler";
/// What is kept of standard output: all of it, or nothing.
pub const MOST_STDOUT: u64 = 4 << 20;
/// What is read of standard error to find its tail.
const MOST_STDERR: u64 = 16 << 20;
/// How often a command that runs is looked after.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);
const PRIVATE: Attributes = Attributes { mode: 0o700, uid: 0, gid: 0 };

/// What is done every few seconds while a command runs. It says whether the command is to go on.
type Watch<'w> = &'w mut dyn FnMut() -> bool;

/// Runs commands as services.
#[derive(Debug)]
pub struct Runner<'r, D> {
    /// The systemd that runs them.
    pub bus: &'r Bus,
    /// The machine's files.
    pub disk: &'r D,
    /// How long one may take. It goes on beyond that, to be attached to later.
    pub patience: Duration,
}

impl<D: Disk> Runner<'_, D> {
    /// Runs a command and waits for its end. What runs already under that name is waited for: if it is the same, its end
    /// is the answer, and if it is another, this one comes after it.
    pub fn run(&self, command: &Command<'_>) -> Result<Ended, TransientError> {
        self.run_and_watch(command, &mut || true)
    }

    /// The same, with something to be done every few seconds until it has ended. Where that says no, the command is stopped.
    pub fn run_and_watch(&self, command: &Command<'_>, watch: Watch<'_>) -> Result<Ended, TransientError> {
        let unit = command.unit;
        if !self.running(unit)?.is_some_and(|running| running.runs(command.argv)) {
            self.make_way(unit)?;
            self.start(command)?;
        }
        self.collect(unit, watch)
    }

    /// The end of a command that was started before, perhaps by a process before us, and whose result nobody has
    /// collected; waits if it still runs. `None` when there is none, or when it is another command.
    pub fn attach(&self, unit: &str, argv: &[String]) -> Result<Option<Ended>, TransientError> {
        self.attach_and_watch(unit, argv, &mut || true)
    }

    /// The same, watched as by [`Self::run_and_watch`].
    pub fn attach_and_watch(
        &self,
        unit: &str,
        argv: &[String],
        watch: Watch<'_>,
    ) -> Result<Option<Ended>, TransientError> {
        match self.service(unit)? {
            Some(service) if service.runs(argv) => self.collect(unit, watch).map(Some),
            Some(_) | None => Ok(None),
        }
    }

    /// What runs under a name at this moment.
    pub fn running(&self, unit: &str) -> Result<Option<Service>, TransientError> {
        Ok(self.service(unit)?.filter(|service| !service.has_ended()))
    }

    fn service(&self, unit: &str) -> Result<Option<Service>, TransientError> {
        self.bus.service(unit).map_err(|source| TransientError::bus(unit, source))
    }

    /// Waits for what runs under a name, and frees the name.
    fn make_way(&self, unit: &str) -> Result<(), TransientError> {
        let ended = self.bus.wait_for_end(unit, self.patience).map_err(|source| TransientError::bus(unit, source))?;
        match ended {
            Some(service) if !service.has_ended() => {
                let (unit, command) = (unit.to_owned(), service.argv.join(" "));
                Err(TransientError::Occupied { unit, command, seconds: self.patience.as_secs() })
            }
            Some(_) => self.release(unit),
            None => Ok(()),
        }
    }

    fn start(&self, command: &Command<'_>) -> Result<(), TransientError> {
        let unit = command.unit;
        let [stdout, stderr] = outputs(unit)?;
        self.make_directory().map_err(|source| TransientError::output(unit, OUTPUT_DIRECTORY, source))?;
        match self.bus.start_transient(unit, &command.properties(stdout.as_str(), stderr.as_str())) {
            // It was not even started; how it failed is collected like the end of one that was.
            Err(BusError::JobFailed { result: JobResult::Failed, .. }) => Ok(()),
            done => done.map_err(|source| TransientError::bus(unit, source)),
        }
    }

    fn make_directory(&self) -> io::Result<()> {
        let directory = RootPath::new(OUTPUT_DIRECTORY).map_err(io::Error::other)?;
        match self.disk.make_directory(&directory, PRIVATE) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            done => done,
        }
    }

    fn wait(&self, unit: &str, watch: Watch<'_>) -> Result<Option<Service>, TransientError> {
        let start = Instant::now();
        loop {
            let left = self.patience.saturating_sub(start.elapsed());
            let service = self.bus.wait_for_end(unit, left.min(BETWEEN_LOOKS));
            let service = service.map_err(|source| TransientError::bus(unit, source))?;
            if left <= BETWEEN_LOOKS || service.as_ref().is_none_or(Service::has_ended) {
                return Ok(service);
            }
            if !watch() {
                self.release(unit)?;
                return Err(TransientError::GivenUp { unit: unit.to_owned() });
            }
        }
    }

    fn collect(&self, unit: &str, watch: Watch<'_>) -> Result<Ended, TransientError> {
        let ended = self.wait(unit, watch)?;
        // By itself it ends active or failed, and stays so.
        let Some(service) = ended.filter(|service| service.active != "inactive") else {
            self.release(unit)?;
            return Err(TransientError::Vanished { unit: unit.to_owned() });
        };
        if !service.has_ended() {
            let stdout = self.output(unit, 0, MOST_STDOUT)?.unwrap_or_default();
            let said = ended::tail(&stdout);
            return Err(TransientError::TooSlow { unit: unit.to_owned(), seconds: self.patience.as_secs(), said });
        }
        let stdout = self.output(unit, 0, MOST_STDOUT)?;
        let stderr = self.output(unit, 1, MOST_STDERR)?;
        self.release(unit)?;
        Ok(Ended::of(&service, stdout, stderr.as_deref()))
    }

    /// What was written, `None` when that is too much.
    fn output(&self, unit: &str, stream: usize, most: u64) -> Result<Option<Vec<u8>>, TransientError> {
        let Some(path) = outputs(unit)?.into_iter().nth(stream) else { return Ok(None) };
        match self.disk.read(&path, most) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(Vec::new())),
            Err(source) => Err(TransientError::output(unit, path.as_str(), source)),
        }
    }

    fn release(&self, unit: &str) -> Result<(), TransientError> {
        self.bus.release(unit).map_err(|source| TransientError::bus(unit, source))?;
        for path in outputs(unit)? {
            match self.disk.remove(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                done => done.map_err(|source| TransientError::output(unit, path.as_str(), source))?,
            }
        }
        Ok(())
    }
}

/// The files of standard output and standard error.
fn outputs(unit: &str) -> Result<[RootPath; 2], TransientError> {
    let name = unit.strip_suffix(".service").filter(|name| !name.is_empty() && !name.contains('/'));
    let misnamed = || TransientError::Name { unit: unit.to_owned() };
    let name = name.ok_or_else(misnamed)?;
    let path = |ending| RootPath::new(format!("{OUTPUT_DIRECTORY}/{name}.{ending}")).map_err(|_| misnamed());
    Ok([path("out")?, path("err")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_goes_to_files_named_after_the_unit() {
        let [stdout, stderr] = outputs("ostler-bootc-switch.service").unwrap();
        assert_eq!(stdout.as_str(), "/run/ostler/ostler-bootc-switch.out");
        assert_eq!(stderr.as_str(), "/run/ostler/ostler-bootc-switch.err");
        for unit in ["a", ".service", "../a.service", "a.mount"] {
            assert!(matches!(outputs(unit), Err(TransientError::Name { .. })), "{unit}");
        }
    }
}
