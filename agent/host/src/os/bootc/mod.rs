//! bootc, whose commands run as services of their own: an agent that restarts finds them again by name.
//!
//! Owns the command lines and what their ends mean. Kernel arguments, and deployments that are to go, are left to the
//! [`Sysroot`], because bootc has no command for them.

mod trouble;

use std::time::Duration;

use ostler_core::kargs;
use ostler_core::os::backend::Backend;
use ostler_core::os::bootc_status::{self, BootcStatus};
use ostler_core::os::image::{Expected, Pinned};
use ostler_core::os::order::Order;

use super::lock::SysrootLock;
use super::{IsWanted, OsBackend, OsError, Sysroot, Told, set_line};
use crate::disk::Disk;
use crate::systemd::bus::{Bus, Limits};
use crate::systemd::transient::{Command, Ended, Runner, Shutdown};

/// The service that fetches and stages an image.
pub const SWITCH_UNIT: &str = "ostler-bootc-switch.service";
/// The service that asks how things are.
pub const STATUS_UNIT: &str = "ostler-bootc-status.service";
/// Others that change deployments when nobody asks them.
const OTHERS: &[&str] = &["bootc-fetch-apply-updates.service", "rpm-ostreed-automatic.service"];

const STAGE: &str = "stage the image";
const STATUS: &str = "tell its status";

/// How bootc is to be used.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the command is.
    pub program: String,
    /// The bus to reach systemd by; none is the system's.
    pub address: Option<String>,
    /// How long systemd may take.
    pub limits: Limits,
    /// How long a command of bootc's may take.
    pub patience: Duration,
    /// How long others who change the operating system are waited for.
    pub others: Duration,
    /// Whether policy.json demands signatures by default, so that bootc is to insist on it.
    pub enforce_signatures: bool,
}

/// The bootc of a machine.
pub struct Bootc<D> {
    settings: Settings,
    disk: D,
    sysroot: Box<dyn Sysroot>,
    lock: SysrootLock,
}

impl<D: Disk> Bootc<D> {
    /// With the machine's files and deployments.
    pub fn new(settings: Settings, disk: D, sysroot: Box<dyn Sysroot>, lock: SysrootLock) -> Self {
        Self { settings, disk, sysroot, lock }
    }

    /// How bootc sees the deployments. It waits for whoever changes them.
    pub fn status(&self) -> Result<BootcStatus, OsError> {
        let bus = self.connect(STATUS)?;
        let runner = Runner { patience: self.settings.others, ..self.runner(&bus) };
        let written = self.ask(&runner, "Ostler: bootc status", &["status", "--json"])?;
        BootcStatus::parse(&written).map_err(|error| trouble::failed(STATUS, trouble::chain(&error)))
    }

    // A connection that broke stays broken, and this lives longer than one.
    fn connect(&self, action: &'static str) -> Result<Bus, OsError> {
        Bus::connect(self.settings.address.as_deref(), self.settings.limits).map_err(|source| OsError::Unreachable {
            backend: Backend::Bootc,
            action,
            source: Box::new(source),
        })
    }

    fn runner<'r>(&'r self, bus: &'r Bus) -> Runner<'r, D> {
        Runner { bus, disk: &self.disk, patience: self.settings.patience }
    }

    fn argv(&self, arguments: &[&str]) -> Vec<String> {
        [self.settings.program.as_str()].iter().chain(arguments).map(|&argument| argument.to_owned()).collect()
    }

    fn quoted_argument(&self) -> Result<Option<String>, OsError> {
        let booted = self.sysroot.read()?.booted.unwrap_or_default();
        Ok(kargs::quoted(&booted.kargs).map(str::to_owned))
    }

    fn cuts_quoted(&self) -> Result<bool, OsError> {
        let bus = self.connect(STATUS)?;
        let written = self.ask(&self.runner(&bus), "Ostler: bootc version", &["--version"])?;
        Ok(bootc_status::cuts_quoted(&String::from_utf8_lossy(&written)))
    }

    /// What a command that changes nothing prints.
    fn ask(&self, runner: &Runner<'_, D>, description: &str, arguments: &[&str]) -> Result<Vec<u8>, OsError> {
        let argv = self.argv(arguments);
        let plain = plain();
        let command = command(STATUS_UNIT, description, &argv, &plain);
        let ended = self.run(runner, &command, STATUS, (&mut |_| (), &|| true))?;
        Ok(ended.stdout.unwrap_or_default())
    }

    /// Tells for whom bootc waits, who may have come after our own look.
    fn run(
        &self,
        runner: &Runner<'_, D>,
        command: &Command<'_>,
        action: &'static str,
        (told, wanted): (Told<'_>, IsWanted<'_>),
    ) -> Result<Ended, OsError> {
        let mut watch = self.lock.watch(Some(command.unit));
        let ended = runner.run_and_watch(command, &mut || {
            watch.look(told);
            wanted()
        });
        let ended = ended.map_err(|error| trouble::of_running(error, action, watch.look(told)))?;
        if ended.succeeded() { Ok(ended) } else { Err(trouble::of_end(&ended, action, watch.look(told))) }
    }

    /// Makes an image the staged deployment.
    fn switch(
        &self,
        runner: &Runner<'_, D>,
        expected: &Expected,
        (told, wanted): (Told<'_>, IsWanted<'_>),
    ) -> Result<(), OsError> {
        let name = expected.image.to_string();
        let mut arguments = vec!["switch", "--transport", "registry"];
        arguments.extend(self.settings.enforce_signatures.then_some("--enforce-container-sigpolicy"));
        arguments.push(&name);
        let argv = self.argv(&arguments);
        if self.staged_before(runner, &argv, expected, (&mut *told, wanted))? {
            return Ok(());
        }
        self.lock.wait(self.settings.others, told)?;
        // bootc does nothing when the staged deployment has the same name already, whatever its kernel arguments are.
        self.sysroot.discard()?;
        told(&format!("bootc fetches and stages {name}"));
        let description = format!("Ostler: bootc switch to {name}");
        self.run(runner, &command(SWITCH_UNIT, &description, &argv, &plain()), STAGE, (told, wanted))?;
        self.verify(expected)
    }

    /// Whether a bootc that was started before, perhaps by an agent before this one, has done it.
    fn staged_before(
        &self,
        runner: &Runner<'_, D>,
        argv: &[String],
        expected: &Expected,
        (told, wanted): (Told<'_>, IsWanted<'_>),
    ) -> Result<bool, OsError> {
        let running = runner.running(SWITCH_UNIT).map_err(|error| trouble::of_running(error, STAGE, None))?;
        if running.is_some_and(|running| running.runs(argv)) {
            told(&format!("bootc is fetching {} already; waiting for it", expected.image));
        }
        let mut watch = self.lock.watch(Some(SWITCH_UNIT));
        let attached = runner.attach_and_watch(SWITCH_UNIT, argv, &mut || {
            watch.look(told);
            wanted()
        });
        let attached = attached.map_err(|error| trouble::of_running(error, STAGE, watch.look(told)))?;
        Ok(attached.is_some_and(|ended| ended.succeeded()) && self.verify(expected).is_ok())
    }

    /// Sees to it that what is staged is what was asked for, and drops it otherwise. bootc is not asked: its status waits for
    /// whoever has the lock by now.
    fn verify(&self, expected: &Expected) -> Result<(), OsError> {
        let Some(staged) = self.sysroot.read()?.staged else {
            return Err(trouble::failed(STAGE, "it said that it had, but nothing is staged".to_owned()));
        };
        if expected.is(staged.digest.as_deref()) {
            return Ok(());
        }
        self.sysroot.discard()?;
        let found = staged.digest.as_deref().unwrap_or("without a digest");
        let message = format!("the staged image is {found}, not {}; it was dropped", expected.image.digest());
        Err(OsError::Refused { backend: Backend::Bootc, action: STAGE, message })
    }
}

impl<D: Disk> OsBackend for Bootc<D> {
    fn backend(&self) -> Backend {
        Backend::Bootc
    }

    fn occupant(&self) -> Result<Option<String>, OsError> {
        let bus = self.connect(STATUS)?;
        let runner = self.runner(&bus);
        for unit in OTHERS {
            let running = runner.running(unit).map_err(|error| trouble::of_running(error, STATUS, None))?;
            if let Some(service) = running {
                return Ok(Some(format!("{unit} ({})", service.argv.join(" "))));
            }
        }
        // What an agent before this one has started is not in the way: it is waited for.
        let ours = runner.running(SWITCH_UNIT).map_err(|error| trouble::of_running(error, STATUS, None))?;
        Ok(if ours.is_some() { None } else { self.lock.holder() })
    }

    fn accepts(&self, order: &Order) -> Result<(), OsError> {
        if !order.packages.is_empty() {
            let what = "layer or remove packages".to_owned();
            return Err(OsError::Unable { backend: Backend::Bootc, what });
        }
        match self.quoted_argument()? {
            Some(argument) if order.image.is_some() && self.cuts_quoted()? => Err(OsError::QuotedArgument { argument }),
            Some(_) | None => Ok(()),
        }
    }

    fn stage_while(&self, order: &Order, told: Told<'_>, wanted: IsWanted<'_>) -> Result<(), OsError> {
        self.accepts(order)?;
        match &order.image {
            Some(image) => {
                let image = Pinned::parse(image).map_err(|error| trouble::refused(STAGE, error.to_string()))?;
                let bus = self.connect(STAGE)?;
                let expected = Expected { image, manifest: order.manifest.clone() };
                self.switch(&self.runner(&bus), &expected, (&mut *told, wanted))?;
            }
            None if order.kargs.is_some() => {
                self.lock.wait(self.settings.others, told)?;
                self.sysroot.discard()?;
            }
            None => return Ok(()),
        }
        set_line(&*self.sysroot, order, (&self.lock, self.settings.others), told)
    }

    fn discard(&self) -> Result<(), OsError> {
        self.sysroot.discard()
    }

    fn forget(&self) -> Result<(), OsError> {
        self.sysroot.forget()
    }
}

const fn command<'c>(
    unit: &'c str,
    description: &'c str,
    argv: &'c [String],
    environment: &'c [String],
) -> Command<'c> {
    Command { unit, description, argv, environment, shutdown: Shutdown::Ends }
}

/// bootc colours its errors, terminal or not.
fn plain() -> [String; 1] {
    ["NO_COLOR=1".to_owned()]
}
