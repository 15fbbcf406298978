//! Images pulled ahead of need on the machine that this process runs on, or for the files of one under a directory.

use ostler_core::pinned::Order;
use ostler_core::protocol::{Class, Reply};
use ostler_core::transaction::{Direction, Phase, Progress};
use ostler_host::cri;
use ostler_host::disk::RootDisk;
use ostler_host::os::skopeo::Skopeo;
use ostler_host::pinned::{Audience, Keeper, Patience, Reload};
use ostler_host::systemd::bus::{Bus, BusError, Limits};

use crate::machine::{CALL, JOB, Machine, Refused, causes};

const UNIT: &str = "crio.service";

/// Whoever asked.
pub(crate) struct Listener<'l> {
    /// Is told how far it is.
    pub(crate) progress: &'l mut dyn FnMut(Progress),
    /// Whether there is anybody.
    pub(crate) wanted: &'l dyn Fn() -> bool,
}

impl Audience for Listener<'_> {
    fn told(&mut self, done: usize, all: usize) {
        let subject = Some(format!("{done} of {all} images"));
        (self.progress)(Progress { direction: Direction::Forward, phase: Phase::Pull, subject });
    }

    fn waits(&self) -> bool {
        (self.wanted)()
    }
}

/// Pulls what is missing and has exactly these images kept.
pub(crate) fn answer(
    machine: &Machine,
    disk: &RootDisk,
    order: &Order,
    listener: &mut Listener<'_>,
) -> Result<Reply, Refused> {
    let skopeo = Skopeo::prepare(disk, machine.root()).map_err(|error| {
        let reasons = vec!["cannot find out how images are pulled here".to_owned(), error.to_string()];
        Refused::early(
            Class::Inoperable,
            reasons,
            "mend /etc/containers/registries.conf or its drop-ins; it is tried again",
        )
    })?;
    let keeper = Keeper {
        disk,
        root: machine.root(),
        socket: &machine.root().join(cri::SOCKET.trim_start_matches('/')),
        registries: &skopeo,
        skopeo: &skopeo,
        reload: &Service { live: machine.is_live() },
        patience: Patience::default(),
    };
    let report = keeper.keep(order, listener);
    report.map(Reply::Pinned).map_err(|error| Refused::early(error.class(), causes(&error), error.remedy()))
}

/// CRI-O as a service. One that does not run reads its files when it starts, and files alone have no service.
struct Service {
    live: bool,
}

impl Reload for Service {
    fn reload(&self) -> Result<(), String> {
        if !self.live {
            return Ok(());
        }
        let reload = || -> Result<(), BusError> {
            let bus = Bus::connect(None, Limits { call: CALL, job: JOB })?;
            if bus.active_state(UNIT)?.active == "active" { bus.reload_unit(UNIT) } else { Ok(()) }
        };
        reload().map_err(|error| causes(&error).join(": "))
    }
}
