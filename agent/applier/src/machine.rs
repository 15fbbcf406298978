//! Requests answered on the real machine, or on the files of one under a directory.
//!
//! Owns which request becomes which transaction, and how trouble is told. Trusts nothing of the sender: the plan that
//! comes with a change has to be the one this half makes by itself from what it observes.

use std::error::Error;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::unistd::Uid;
use ostler_core::drift::Drift;
use ostler_core::drift::watched::Interest;
use ostler_core::irreconcilable;
use ostler_core::os::backend::Backend;
use ostler_core::os::boot_mark::BootMark;
use ostler_core::os::state::OsState;
use ostler_core::protocol::audit::ConfigId;
use ostler_core::protocol::{Class, Comparison, Failure, Observation, Reply, Request, Sealed, TakeOver};
use ostler_core::recorded::Recorded;
use ostler_core::rollback::RollbackHold;
use ostler_core::status::Status;
use ostler_core::transaction::{Direction, Ending, Finished, Open, Progress};
use ostler_host::disk::RootDisk;
use ostler_host::machine::{self, Machine as World, Manager, Surroundings, Systemctl, Systemd};
use ostler_host::os::{OsHost, Sysroot};
use ostler_host::reboot::{self, RebootError};
use ostler_host::systemd::bus::{Bus, Limits};
use ostler_host::transaction::{self, Snapshot, Trouble, World as _};
use serde_json::{Map, Value};

use crate::os::LiveOs;
use crate::sysroot::{self, Libostree};
use crate::tickets::Tickets;
use crate::{Work, audit, bootloader, certificates, credentials, nics, pin, restart, rival, turn, update};

/// One call to systemd, which answers at once or not at all.
pub(crate) const CALL: Duration = Duration::from_secs(30);
/// One job of systemd's: services take their time to stop.
pub(crate) const JOB: Duration = Duration::from_secs(300);

/// One machine, by its root directory.
#[derive(Debug)]
pub struct Machine {
    root: PathBuf,
    live: bool,
    tickets: Tickets,
}

/// How much of the machine a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Its files.
    Files,
    /// Its service manager too, if it answers.
    ServicesIfThere,
    /// Its service manager too.
    Services,
}

impl Machine {
    /// A machine; live when it is the one this process runs on and not only its files.
    pub fn new(root: PathBuf, live: bool) -> Self {
        Self { root, live, tickets: Tickets::default() }
    }

    /// The same machine as for other peers: what one of them has prepared is known to all.
    pub fn sharing(self, tickets: Tickets) -> Self {
        Self { tickets, ..self }
    }

    fn answer(
        &self,
        request: Request,
        progress: &mut dyn FnMut(Progress),
        wanted: &dyn Fn() -> bool,
    ) -> Result<Reply, Refused> {
        // Images are pulled beside everything else, which may take hours, and whoever does something that takes hours may
        // need new credentials meanwhile. How the machine is can be told at any time: that it is at work, for instance. All
        // else waits for its turn.
        let beside = matches!(request, Request::Pin(_) | Request::Credentials | Request::Status);
        let _turn = if beside { None } else { Some(turn::take(progress, wanted)?) };
        let disk = &self.disk()?;
        // That nothing is open is so whoever else is at work here; only an end that is brought about is a change.
        if request.changes() && !matches!(request, Request::Recover) {
            rival::refuse(disk)?;
        }
        self.dispatch(disk, request, progress, wanted)
    }

    // One flat table of all requests: which half of the machine each one opens, and what it does there.
    #[allow(clippy::too_many_lines)]
    fn dispatch(
        &self,
        disk: &RootDisk,
        request: Request,
        progress: &mut dyn FnMut(Progress),
        wanted: &dyn Fn() -> bool,
    ) -> Result<Reply, Refused> {
        let look = |need| Ok::<_, Refused>(World::look(disk, self.surroundings(disk, need)?)?);
        let open = |need| Ok::<_, Refused>(World::open(disk, self.surroundings(disk, need)?)?);
        Ok(match request {
            Request::Status => Reply::Status(Box::new(self.status(disk)?)),
            Request::Credentials => credentials::answer(disk)?,
            Request::Reboot { check, soft } => restart::answer(self, disk, check, soft)?,
            Request::PersistNics => nics::answer(self, disk)?,
            Request::Bootloader { action, accepted } => bootloader::answer(self, disk, action, accepted)?,
            Request::Certificates { given } => certificates::deliver(self, disk, given)?,
            Request::Rebootstrap => certificates::rebootstrap(self, disk)?,
            Request::Pin(order) => pin::answer(self, disk, &order, &mut pin::Listener { progress, wanted })?,
            Request::Observe => Reply::Observed(self.observe(&look(Need::Files)?)?),
            Request::Prepare(prepare) => {
                self.tickets.void();
                update::prepare(&look(Need::ServicesIfThere)?, prepare, &self.tickets)?
            }
            Request::Stage { ticket } => {
                update::stage(&open(Need::Services)?, &self.tickets, &ticket, (progress, wanted))?
            }
            Request::Apply { ticket } => {
                let kept = self.tickets.find(&ticket);
                self.tickets.void();
                update::apply(&open(Need::Services)?, kept, progress)?
            }
            Request::Cancel => {
                self.tickets.void();
                open(Need::Services)?.unstage()?;
                Reply::Nothing
            }
            Request::Recover => self.recover(&open(Need::ServicesIfThere)?, disk, progress)?,
            Request::Abandon => ended(open(Need::ServicesIfThere)?.abandon(progress)?),
            Request::Withdraw => {
                let reason = "it was taken back before the restart";
                ended(transaction::withdraw(&open(Need::Services)?, reason, progress)?)
            }
            Request::HoldRollback { desired } => held(open(Need::Files)?.hold_rollback(desired)?),
            Request::ReleaseRollback => held(open(Need::Files)?.release_rollback()?),
            Request::FirstBoot { stage } => {
                open(Need::Files)?.first_boot(stage)?;
                Reply::Nothing
            }
            Request::TakeOver(order) => take_over(&open(Need::Services)?, order, progress)?,
            Request::HandBack { check: true } => Reply::HandedBack(look(Need::ServicesIfThere)?.hand_back(true)?),
            Request::HandBack { check: false } => Reply::HandedBack(open(Need::Services)?.hand_back(false)?),
            Request::Drift => Reply::Drift(self.drift(&look(Need::ServicesIfThere)?, disk)?),
            Request::DriftInterest => Reply::DriftInterest(Interest::of(&look(Need::Files)?.observe()?.current.config)),
            Request::Irreconcilable => Reply::Irreconcilable(irreconcilable(look(Need::Files)?.observe()?)),
            Request::Repair { only } => {
                let world = open(Need::Services)?;
                match world.propose_repair(&only)? {
                    None => {
                        world.agrees(&only)?;
                        Reply::Nothing
                    }
                    Some(proposal) => Reply::Finished(transaction::run(&world, &proposal, progress)?),
                }
            }
            Request::Confirm => {
                open(Need::Files)?.confirm()?.map_or(Reply::Nothing, |config| Reply::Confirmed { config })
            }
            Request::GiveUp { reason, rules } => {
                ended(transaction::give_up(&open(Need::Services)?, &reason, &rules, progress)?)
            }
            Request::KeepBase { config } => keep_base(&open(Need::Files)?, config)?,
        })
    }

    /// A machine without a configuration does not agree with it.
    fn drift(&self, world: &World<'_, RootDisk>, disk: &RootDisk) -> Result<Vec<Drift>, Refused> {
        let drift = world.drift()?;
        if machine::status(disk, &self.boot(disk)?)?.config.is_none() {
            let reasons = vec!["cannot compare the machine with its configuration: none was ever applied".to_owned()];
            return Err(Refused::early(Class::Refusal, reasons, "run \"ostler apply\", or start the agent"));
        }
        Ok(drift)
    }

    fn recover(
        &self,
        world: &World<'_, RootDisk>,
        disk: &RootDisk,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Reply, Refused> {
        let interrupted = world.interrupted()?;
        if interrupted.is_some() {
            rival::refuse(disk)?;
        }
        let changes_os = interrupted.is_some_and(|found| found.open.os.is_some());
        let recovered = transaction::recover(world, progress)?;
        let open = matches!(&recovered, Some(Finished { ending: Ending::AwaitsReboot { .. }, .. }));
        // A machine-config-daemon puts its own configuration right.
        let merged = if open || rival::find(disk)?.is_some() { None } else { world.repair_after_merge(progress)? };
        let Some(mut finished) = recovered.or(merged) else { return Ok(Reply::Nothing) };
        if self.live && changes_os && finished.ending == Ending::Applied {
            finished.boot_loader = bootloader::follow(disk);
        }
        Ok(Reply::Finished(finished))
    }

    /// Writes the configuration into the `/etc` of the deployment that the next boot starts; says what was done. For the
    /// end of a shutdown, when that deployment is finalised.
    pub fn write_next_etc(&self) -> Result<Option<String>, Box<dyn Error>> {
        let disk = RootDisk::open(&self.root)?;
        if !self.live || rival::find(&disk).is_ok_and(|found| found.is_some()) {
            return Ok(None);
        }
        let surroundings = self.surroundings(&disk, Need::Files).map_err(|refused| refused.0.reasons.join(": "))?;
        let Some(next) = World::look(&disk, surroundings)?.next_etc()? else { return Ok(None) };
        sysroot::make_writable()?;
        let root = RootDisk::open(&self.root.join(next.root.as_str().trim_start_matches('/')))?;
        let (written, failed) = machine::write_next(&root, &next.config, Box::new(now))?;
        let failed: String =
            failed.iter().map(|path| format!("; cannot write {path}, the next boot tries again")).collect();
        let paths = if written == 1 { "path" } else { "paths" };
        Ok(Some(format!("wrote {written} {paths} of {} for the next boot{failed}", next.config.name)))
    }

    fn status(&self, disk: &RootDisk) -> Result<Status, Refused> {
        let mut status = machine::status(disk, &self.boot(disk)?)?;
        self.add_os(&mut status);
        // A record that cannot be read is told of already.
        status.behind = machine::behind(disk, &status.os).unwrap_or_default();
        status.rival = rival::find(disk)?;
        Ok(status)
    }

    /// A status without the operating system is better than none.
    fn add_os(&self, status: &mut Status) {
        let Some(sysroot) = Libostree::at(&self.root) else { return };
        match sysroot.read() {
            Ok(mut state) => {
                let told = || self.bus().and_then(|bus| crate::os::told_failure(&bus));
                state.finalization_failure = state.finalization_failure.or_else(told);
                status.os = OsState { backend: self.backend(), ..state };
            }
            Err(error) => status.os_unknown = Some(causes(&error).join(": ")),
        }
    }

    fn backend(&self) -> Option<Backend> {
        let disk = self.disk().ok().filter(|_| self.live)?;
        LiveOs::of(&disk, &self.root)?.usual_backend()
    }

    /// Where the machine's files are.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether this is the machine the process runs on.
    pub(crate) const fn is_live(&self) -> bool {
        self.live
    }

    /// This boot. Files under a directory do not restart with the user space of whoever looks at them.
    fn boot(&self, disk: &RootDisk) -> Result<BootMark, Refused> {
        let boot_id = boot_id(disk)?;
        Ok(BootMark { boot_id, soft_reboots: self.bus().and_then(|bus| bus.soft_reboots().ok().flatten()) })
    }

    /// The bus of the machine the process runs on, if it answers.
    fn bus(&self) -> Option<Bus> {
        self.live.then(|| Bus::connect(None, Limits { call: CALL, job: JOB }).ok()).flatten()
    }

    fn disk(&self) -> Result<RootDisk, Refused> {
        RootDisk::open(&self.root).map_err(|error| {
            let reasons = vec![format!("cannot open the root directory {}", self.root.display()), error.to_string()];
            let remedy = "give a directory that holds etc, usr and var, as a user who may enter it";
            Refused::early(Class::Inoperable, reasons, remedy)
        })
    }

    pub(crate) fn surroundings<'d>(&'d self, disk: &'d RootDisk, need: Need) -> Result<Surroundings<'d>, Refused> {
        Ok(Surroundings {
            manager: self.manager(need)?,
            os: if self.live { LiveOs::of(disk, &self.root).map(|os| Box::new(os) as Box<dyn OsHost>) } else { None },
            root: Some(self.root.clone()),
            live: self.live,
            root_user: Uid::effective().is_root(),
            boot: self.boot(disk)?,
            now: Box::new(now),
        })
    }

    /// A transaction that cannot tell services is not begun; one that was interrupted is finished all the same, because it
    /// may be what keeps the bus from starting.
    fn manager(&self, need: Need) -> Result<Option<Box<dyn Manager>>, Refused> {
        if !self.live || need == Need::Files {
            return Ok(None);
        }
        match self.systemd() {
            Ok(systemd) => Ok(Some(Box::new(systemd))),
            // Early in a boot there is no bus yet, and systemd is asked without one.
            Err(_) if need == Need::ServicesIfThere => {
                Ok(Systemctl::if_booting(machine::EARLY).map(|systemctl| Box::new(systemctl) as Box<dyn Manager>))
            }
            Err(refused) => Err(refused),
        }
    }

    /// The service manager of the machine the process runs on.
    pub(crate) fn systemd(&self) -> Result<Systemd, Refused> {
        Systemd::connect(None, Limits { call: CALL, job: JOB }).map_err(|error| {
            let mut reasons = vec!["systemd cannot be asked over the system bus".to_owned()];
            reasons.extend(causes(&error));
            let remedy = "see \"systemctl status dbus\"; for files alone, give --root DIR";
            Refused::early(Class::Transient, reasons, remedy)
        })
    }

    fn observe(&self, world: &World<'_, RootDisk>) -> Result<Observation, Trouble> {
        let snapshot = world.observe()?;
        let sealed = |recorded: &Recorded| Sealed::of_text(recorded.json.expose());
        // A machine that had no configuration can be gone back to as well.
        let had = |recorded: &Recorded| sealed(recorded).unwrap_or_else(|| Sealed::new(Value::Object(Map::new())));
        Ok(Observation {
            current: sealed(&snapshot.current),
            install_time: snapshot.install_time.as_ref().and_then(sealed),
            base_kept: snapshot.base_kept,
            previous: world.previous()?.as_ref().map(had),
            forced: snapshot.forced,
            behind: snapshot.behind.clone(),
            os_units: world.os_units(&snapshot.current.config),
            live: self.live,
            awaiting: snapshot.interrupted.as_ref().and_then(|found| awaited(&found.open, &world.boot())),
            interrupted: snapshot.interrupted.is_some(),
        })
    }
}

/// Where a change leads that only waits for this boot to end.
fn awaited(open: &Open, boot: &BootMark) -> Option<String> {
    let waits = open.direction == Direction::Forward && open.awaits_restart(boot);
    waits.then(|| open.to.clone())
}

/// What only a new installation could change of the configuration that the machine is in.
fn irreconcilable(snapshot: Snapshot) -> Comparison {
    let known = |recorded: &Recorded| !recorded.is_empty();
    let pair = snapshot.install_time.filter(known).zip(Some(snapshot.current).filter(known));
    let changes = pair.map(|(base, current)| irreconcilable::report(&base.config.ignition, &current.config.ignition));
    Comparison { changes, base_kept: snapshot.base_kept }
}

fn take_over(
    world: &World<'_, RootDisk>,
    order: TakeOver,
    progress: &mut dyn FnMut(Progress),
) -> Result<Reply, Trouble> {
    let introduced = order.introduced;
    let mut handed = world.take_over(order, progress)?;
    if introduced && world.introduced()? {
        handed.done.push("its cluster knows it now".to_owned());
    }
    Ok(Reply::TakenOver(handed))
}

fn keep_base(world: &World<'_, RootDisk>, config: Option<Sealed>) -> Result<Reply, Trouble> {
    let base = match config {
        Some(config) => Recorded::from_text(config.into_text())?,
        None => world.observe()?.current,
    };
    if base.is_empty() {
        return Ok(Reply::Nothing);
    }
    let kept = world.keep_base(&base)?;
    Ok(if kept { Reply::BaseKept { config: base.config.name.clone() } } else { Reply::Nothing })
}

fn ended(finished: Option<Finished>) -> Reply {
    finished.map_or(Reply::Nothing, Reply::Finished)
}

fn held(hold: Option<RollbackHold>) -> Reply {
    hold.map_or(Reply::Nothing, Reply::RollbackHold)
}

impl Work for Machine {
    fn handle(&mut self, request: Request, progress: &mut dyn FnMut(Progress), wanted: &dyn Fn() -> bool) -> Reply {
        self.answer(request, progress, wanted).unwrap_or_else(|Refused(failure)| Reply::Failed(failure))
    }

    fn journal(&self) -> Option<&Path> {
        self.live.then(|| Path::new(audit::JOURNAL))
    }

    fn config(&self, request: &Request) -> Option<ConfigId> {
        match request {
            Request::Stage { ticket } | Request::Apply { ticket } => Some(self.tickets.find(ticket)?.config.clone()),
            request => request.config().map(audit::config_id),
        }
    }
}

/// Why a request came to nothing.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Failure);

impl Refused {
    /// Before a transaction is begun, everything is as it was.
    pub(crate) fn early(class: Class, reasons: Vec<String>, remedy: &str) -> Self {
        Self(Failure { class, reasons, remedy: Some(remedy.to_owned()), unchanged: true })
    }
}

impl From<Trouble> for Refused {
    fn from(trouble: Trouble) -> Self {
        Self(Failure {
            class: trouble.class(),
            reasons: trouble.reasons(),
            remedy: trouble.remedy(),
            unchanged: trouble.unchanged(),
        })
    }
}

pub(crate) fn causes(error: &dyn std::error::Error) -> Vec<String> {
    std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string).collect()
}

/// This boot: as it is told below the root, else as it is told to this process. One that cannot be told is not made up,
/// because another one than before means that the machine has restarted.
fn boot_id(disk: &RootDisk) -> Result<String, Refused> {
    let absent = |error: &RebootError| match error {
        RebootError::BootId(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        _ => false,
    };
    let told = match reboot::boot_id(disk) {
        Err(error) if absent(&error) => {
            RootDisk::open(Path::new("/")).map_err(RebootError::BootId).and_then(|own| reboot::boot_id(&own))
        }
        told => told,
    };
    told.map_err(|error| Refused::early(error.class(), causes(&error), &error.remedy()))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
