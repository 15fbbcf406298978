//! What it takes to do what is asked: transactions one after another, each of which leaves something that can be seen.

use ostler_core::kargs;
use ostler_core::os::backend::Backend;
use ostler_core::os::order::Order;

use super::follow::{End, follow};
use super::telling::Telling;
use super::turn::Turn;
use super::wire::{Denied, Options, Session, too_slow};
use super::{Trust, request, verdict};
use crate::os::lock::SysrootLock;
use crate::os::{IsWanted, OsError};

/// What is told where the kernel arguments could not be set, and what lacks them could not be dropped.
pub(super) const NOT_DROPPED: &str = "the staged deployment lacks its kernel arguments, and could not be dropped";

/// One operation under way.
pub(super) struct Work<'w> {
    pub session: &'w Session,
    pub trust: Trust,
    pub lock: &'w SysrootLock,
    pub telling: Telling<'w>,
    pub wanted: IsWanted<'w>,
}

/// One transaction.
enum Step<'s> {
    /// Drops what stands before the booted deployment.
    ClearPending,
    /// Puts the booted deployment first again.
    BootedFirst,
    /// Makes a deployment with another image or other packages.
    Deploy(&'s Order),
    /// Makes a deployment with other kernel arguments.
    KernelLine { from: &'s str, to: &'s str },
    /// Drops what stands behind the booted deployment.
    ForgetRollback,
}

impl Work<'_> {
    /// One new deployment from the booted one; says whether its kernel arguments are left to be set by libostree. The daemon
    /// takes them in a transaction of their own, which replaces what the first one staged; a deployment without them is not
    /// left behind.
    pub async fn stage(&mut self, order: &Order) -> Result<bool, OsError> {
        self.start_from_booted().await?;
        if order.image.is_some() || !order.packages.is_empty() {
            self.run(Step::Deploy(order)).await?;
        }
        let Some(wanted) = &order.kargs else { return Ok(false) };
        if self.session.deployments().await?.line_without_daemon() {
            return Ok(true);
        }
        let set = self.set_kernel_line(wanted).await;
        if set.is_err() && self.discard().await.is_err() {
            self.telling.say(NOT_DROPPED);
        }
        set.map(|()| false)
    }

    pub async fn discard(&mut self) -> Result<(), OsError> {
        if self.session.deployments().await?.staged().is_some() {
            self.run(Step::ClearPending).await?;
        }
        Ok(())
    }

    pub async fn forget(&mut self) -> Result<(), OsError> {
        if self.session.deployments().await?.rollback() {
            self.run(Step::ForgetRollback).await?;
        }
        Ok(())
    }

    /// The daemon starts from the first deployment, so the booted one has to be that. One that somebody put before it
    /// without staging it is only put behind it again, where that is possible.
    async fn start_from_booted(&mut self) -> Result<(), OsError> {
        for _ in 0..2 {
            let now = self.session.deployments().await?;
            if now.pending.is_empty() {
                return Ok(());
            }
            let only_reordered = now.staged().is_none() && now.behind.is_empty();
            self.run(if only_reordered { Step::BootedFirst } else { Step::ClearPending }).await?;
        }
        if self.session.deployments().await?.pending.is_empty() {
            return Ok(());
        }
        Err(self
            .session
            .failed("another deployment than the booted one comes first; see \"rpm-ostree status\"".to_owned()))
    }

    /// The line that was ordered, and behind it what the new image may have brought to the one it was made from.
    async fn set_kernel_line(&mut self, wanted: &[String]) -> Result<(), OsError> {
        let locates = |argument: &String| argument.starts_with("ostree=");
        let booted = kargs::split(&self.session.kernel_line(false).await?);
        let booted: Vec<String> = booted.into_iter().filter(|argument| !locates(argument)).collect();
        let from = self.session.kernel_line(true).await?;
        let (locating, has): (Vec<String>, Vec<String>) = kargs::split(&from).into_iter().partition(locates);
        let line = kargs::with_additions(wanted, &booted, &has);
        if line == has {
            return Ok(());
        }
        let to = [line, locating].concat().join(" ");
        self.run(Step::KernelLine { from: &from, to: &to }).await
    }

    async fn run(&mut self, step: Step<'_>) -> Result<(), OsError> {
        let address = self.begin(&step).await?;
        let end = follow(&address, self.session.limits, &mut self.telling, self.wanted).await;
        self.telling.end();
        match end {
            End::Done => {
                // It is done even if the daemon has already gone.
                let _ = self.session.reload().await;
                Ok(())
            }
            End::Failed(text) => Err(verdict::of(self.session.action, &text)),
            End::GivenUp if !(self.wanted)() => {
                Err(OsError::GivenUp { backend: Backend::RpmOstree, action: self.session.action })
            }
            End::GivenUp => Err(too_slow(self.session.action, self.session.limits.transaction)),
            End::Vanished(error) => {
                self.telling.say("rpm-ostree went away; looking at what it has done");
                if self.reached(&step).await.unwrap_or(false) { Ok(()) } else { Err(self.session.vanished(error)) }
            }
        }
    }

    async fn begin(&mut self, step: &Step<'_>) -> Result<String, OsError> {
        let mut turn = Turn::new();
        loop {
            turn.wait(self.session, &mut self.telling).await?;
            match self.ask(step).await {
                Ok(address) => return Ok(address),
                Err(Denied::Busy(words)) => turn.lost(self, &words).await?,
                Err(Denied::Error(error)) => return Err(error),
            }
        }
    }

    async fn ask(&self, step: &Step<'_>) -> Result<String, Denied> {
        match step {
            Step::ClearPending => self.session.request("Cleanup", &(["pending-deploy"].as_slice(),)).await,
            Step::ForgetRollback => self.session.request("Cleanup", &(["rollback-deploy"].as_slice(),)).await,
            Step::BootedFirst => self.session.request("Rollback", &(Options::new(),)).await,
            Step::Deploy(order) => {
                let body = request::update(order, self.trust, self.session.action).map_err(Denied::Error)?;
                self.session.request("UpdateDeployment", &body).await
            }
            Step::KernelLine { from, to } => {
                let none: &[&str] = &[];
                self.session.request("KernelArgs", &(from, none, none, none, request::kernel_line(to))).await
            }
        }
    }

    /// Whether the deployments are what a step leaves. The daemon is started for that if it has to be.
    async fn reached(&self, step: &Step<'_>) -> Result<bool, OsError> {
        self.session.register().await?;
        self.session.reload().await?;
        let now = self.session.deployments().await?;
        Ok(match step {
            Step::ClearPending => now.pending.iter().all(|one| one.pinned),
            Step::BootedFirst => now.pending.is_empty(),
            Step::ForgetRollback => !now.rollback(),
            Step::Deploy(order) => now.staged().is_some_and(|staged| staged.satisfies(order)),
            Step::KernelLine { to, .. } => now.staged().is_some() && self.session.kernel_line(true).await? == **to,
        })
    }
}
