//! The rpm-ostree daemon as the one that makes deployments.
//!
//! Owns the talk with it over D-Bus: its transactions, waiting for those of others, and what its errors mean. Refuses
//! to decide what is deployed, and to loosen what the containers policy asks of an image. Every operation has a
//! connection of its own, so a daemon that was restarted or went idle is not noticed by the next one.

mod deployments;
mod follow;
mod request;
mod steps;
mod telling;
mod turn;
mod verdict;
mod wire;

use std::time::Duration;

use ostler_core::os::backend::Backend;
use ostler_core::os::order::Order;
use tokio::runtime::{Builder, Runtime};

use super::lock::SysrootLock;
use super::{IsWanted, OsBackend, OsError, Sysroot, Told, set_line};
use steps::{NOT_DROPPED, Work};
use telling::Telling;
use wire::Session;

/// What the daemon is told that we are, and how a transaction of ours is known again.
const CLIENT: &str = "ostler";

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For the daemon to be started. Its unit allows five minutes for that.
    pub start: Duration,
    /// For an answer of a daemon that runs.
    pub call: Duration,
    /// For one transaction, downloads included. One that takes longer is cancelled.
    pub transaction: Duration,
    /// For those who change the operating system already.
    pub others: Duration,
}

/// What is asked of an image before it is deployed. Either way the containers policy of the machine has to accept it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// A policy that asks for a signature: one that accepts anything is refused.
    Signed,
    /// Whatever the policy asks for.
    Policy,
}

/// The rpm-ostree daemon. Calls block; a current-thread runtime of its own runs them.
pub struct RpmOstree {
    runtime: Runtime,
    address: Option<String>,
    limits: Limits,
    trust: Trust,
    sysroot: Box<dyn Sysroot>,
    lock: SysrootLock,
}

impl RpmOstree {
    /// The daemon on the bus at a D-Bus address, or on the system bus. Nothing is asked of it yet.
    pub fn new(
        address: Option<&str>,
        limits: Limits,
        trust: Trust,
        (sysroot, lock): (Box<dyn Sysroot>, SysrootLock),
    ) -> Result<Self, OsError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| OsError::Unreachable {
            backend: Backend::RpmOstree,
            action: "do anything",
            source: Box::new(error),
        })?;
        Ok(Self { runtime, address: address.map(str::to_owned), limits, trust, sysroot, lock })
    }

    /// Does the work as a registered client; the daemon does not exit meanwhile.
    fn work(
        &self,
        action: &'static str,
        (told, wanted): (Told<'_>, IsWanted<'_>),
        job: impl AsyncFnOnce(&mut Work<'_>) -> Result<(), OsError>,
    ) -> Result<(), OsError> {
        self.runtime.block_on(async {
            let session = Session::open(self.address.as_deref(), self.limits, action).await?;
            session.register().await?;
            let telling = Telling::new(told);
            let mut work = Work { session: &session, trust: self.trust, lock: &self.lock, telling, wanted };
            let done = job(&mut work).await;
            session.close().await;
            done
        })
    }
}

impl OsBackend for RpmOstree {
    fn backend(&self) -> Backend {
        Backend::RpmOstree
    }

    fn occupant(&self) -> Result<Option<String>, OsError> {
        self.runtime.block_on(async {
            let session = Session::open(self.address.as_deref(), self.limits, "say who uses it").await?;
            // A daemon that does not run does nothing; asking it would start it.
            if session.daemon_runs().await? {
                turn::occupant(&session, &self.lock).await
            } else {
                Ok(self.lock.holder())
            }
        })
    }

    /// The daemon knows best, and only says so when it tries.
    fn accepts(&self, _order: &Order) -> Result<(), OsError> {
        Ok(())
    }

    fn stage_while(&self, order: &Order, told: Told<'_>, wanted: IsWanted<'_>) -> Result<(), OsError> {
        let mut line_is_left = false;
        self.work("stage a deployment", (told, wanted), async |work| {
            line_is_left = work.stage(order).await?;
            Ok(())
        })?;
        let set =
            if line_is_left { set_line(&*self.sysroot, order, (&self.lock, self.limits.others), told) } else { Ok(()) };
        if set.is_err() && self.sysroot.discard().is_err() {
            told(NOT_DROPPED);
        }
        set
    }

    fn discard(&self) -> Result<(), OsError> {
        self.work("drop the staged deployment", (&mut |_| (), &|| true), async |work| work.discard().await)
    }

    fn forget(&self) -> Result<(), OsError> {
        self.work("drop the rollback deployment", (&mut |_| (), &|| true), async |work| work.forget().await)
    }
}
