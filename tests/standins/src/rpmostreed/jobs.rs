//! What transactions do to the sysroot, in the order and mostly in the words of rpm-ostree.
//!
//! A job holds the sysroot's lock through its worker. It decides nothing about who may run it.

use std::path::Path;

use anyhow::{Context, Result, bail};
use ostree_ext::container::deploy::prune;
use ostree_ext::sysroot::SysrootLock;
use ostree_ext::{glib, ostree};

use crate::narrator::{Narrator, Note};
use crate::packages;
use crate::sysroot::deploy::{self, NewDeployment};
use crate::sysroot::facts::Reference;
use crate::sysroot::kargs::{self, KargChange};
use crate::sysroot::origin::{self, RequestChange, Requests};
use crate::sysroot::{file_of_commit, image, roles, tidy};

/// The work of one transaction. Equal jobs of one method share a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    /// `UpdateDeployment` and its older relatives.
    Update(UpdateJob),
    /// `KernelArgs`
    Kargs(KargsJob),
    /// `Cleanup`
    Cleanup(CleanupJob),
    /// `Rollback`
    Rollback,
    /// `FinalizeDeployment`
    Finalize(FinalizeJob),
    /// `RefreshMd`, which finds nothing to refresh.
    RefreshMd,
}

/// Options of `UpdateDeployment`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeployOptions {
    pub skip_purge: bool,
    pub no_pull_base: bool,
    pub dry_run: bool,
    pub cache_only: bool,
    pub download_only: bool,
    pub lock: bool,
    pub command_line: Option<String>,
}

/// A new base, other packages, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpdateJob {
    pub refspec: Option<String>,
    pub change: RequestChange,
    pub options: DeployOptions,
}

/// Other kernel arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KargsJob {
    pub existing: String,
    pub change: KargChange,
    pub lock: bool,
    pub command_line: Option<String>,
}

/// Deployments and caches to drop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanupJob {
    pub base: bool,
    pub pending: bool,
    pub rollback: bool,
    pub repomd: bool,
}

/// The staged deployment to unlock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FinalizeJob {
    pub checksum: Option<String>,
    pub allow_missing_checksum: bool,
    pub allow_unlocked: bool,
    pub command_line: Option<String>,
}

/// Where a job works.
pub struct Bench<'a> {
    pub sysroot: &'a ostree::Sysroot,
    pub osname: &'a str,
    pub repos_dir: &'a Path,
    pub narrator: &'a Narrator,
}

impl Job {
    /// The title of the transaction.
    pub fn title(&self) -> String {
        let (command_line, title) = match self {
            Self::Update(job) => (job.options.command_line.as_ref(), job.kind()),
            Self::Kargs(job) => (job.command_line.as_ref(), "kargs"),
            Self::Finalize(job) => (job.command_line.as_ref(), "finalize-deployment"),
            Self::Cleanup(_) => (None, "cleanup"),
            Self::Rollback => (None, "rollback"),
            Self::RefreshMd => (None, "refresh-md"),
        };
        command_line.cloned().unwrap_or_else(|| title.to_owned())
    }

    /// Does the work.
    pub async fn run(&self, bench: &Bench<'_>) -> Result<()> {
        match self {
            Self::Update(job) => job.run(bench).await,
            Self::Kargs(job) => job.run(bench).await,
            Self::Cleanup(job) => job.run(bench).await,
            Self::Rollback => bench.roll_back().await,
            Self::Finalize(job) => job.run(bench).await,
            Self::RefreshMd => bench.narrator.message("Enabled rpm-md repositories:").await,
        }
    }
}

impl UpdateJob {
    fn kind(&self) -> &'static str {
        let change = &self.change;
        if self.refspec.is_some() {
            "rebase"
        } else if !change.remove.is_empty() || !change.reset.is_empty() {
            "override"
        } else if !change.install.is_empty() {
            "install"
        } else if !change.uninstall.is_empty() {
            "uninstall"
        } else {
            "upgrade"
        }
    }

    async fn run(&self, bench: &Bench<'_>) -> Result<()> {
        let roles = roles(bench.sysroot, bench.osname);
        let merge = roles.origin_merge().with_context(|| format!("No deployments found for os {}", bench.osname))?;
        let origin = origin::copy(merge.origin().as_ref())?;
        self.refuse_same(&origin)?;
        let before = Requests::read(&origin);
        let after = before.changed(&self.change)?;
        let commit = self.base(bench, &origin, merge.csum().as_str()).await?;
        let base_changed = commit != merge.csum().as_str();
        packages::require_base(
            file_of_commit(bench.sysroot, &commit, packages::BASE_LIST).as_deref(),
            &self.change.remove,
        )?;
        if base_changed || !self.change.install.is_empty() {
            // Layered packages are resolved anew on every new base, not only when they are asked for.
            packages::require(bench.repos_dir, &after.packages)?;
        }
        let changed = base_changed || before != after;
        if !changed && self.refspec.is_none() {
            let upgrade = self.kind() == "upgrade";
            return bench.narrator.message(if upgrade { "No upgrade available." } else { "No change." }).await;
        }
        if self.options.dry_run {
            return Ok(());
        }
        if self.options.download_only {
            return bench.narrator.message(if changed { "Update downloaded." } else { "No changes." }).await;
        }
        after.write(&origin);
        bench.deploy(&commit, &origin, &kargs::of(merge), self.options.lock).await
    }

    /// A rebase to what is followed already is refused, whatever else changes with it.
    fn refuse_same(&self, origin: &glib::KeyFile) -> Result<()> {
        let Some(refspec) = &self.refspec else { return Ok(()) };
        let same = matches!(origin::reference(origin), Some(Reference::Image(current)) if current == *refspec);
        if same { bail!("Old and new refs are equal: {refspec}") } else { Ok(()) }
    }

    /// The commit of the base: pulled from where the origin says, unless it is to stay.
    async fn base(&self, bench: &Bench<'_>, origin: &glib::KeyFile, current: &str) -> Result<String> {
        let reference = match &self.refspec {
            Some(refspec) => {
                let reference = image::parse(refspec)?;
                origin::set_image(origin, &reference);
                reference
            }
            None if self.options.no_pull_base || self.options.cache_only => return Ok(current.to_owned()),
            None => match origin::reference(origin) {
                Some(Reference::Image(reference)) => image::parse(&reference)?,
                _ => bail!("the stand-in pulls from container images only"),
            },
        };
        Ok(image::pull(bench.sysroot, &reference, bench.narrator).await?.commit)
    }
}

impl KargsJob {
    async fn run(&self, bench: &Bench<'_>) -> Result<()> {
        let roles = roles(bench.sysroot, bench.osname);
        let merge = roles.origin_merge().with_context(|| format!("No deployments found for os {}", bench.osname))?;
        let Some(kargs) = kargs::changed(&self.existing, &self.change)? else {
            return bench.narrator.message("No changes.").await;
        };
        let origin = origin::copy(merge.origin().as_ref())?;
        bench.deploy(merge.csum().as_str(), &origin, &kargs, self.lock).await
    }
}

impl CleanupJob {
    async fn run(&self, bench: &Bench<'_>) -> Result<()> {
        if self.pending || self.rollback {
            let changed = tidy::drop_deployments(bench.sysroot, bench.osname, self.pending, self.rollback)?;
            if !changed {
                bench.narrator.message("Deployments unchanged.").await?;
            }
            if self.pending {
                deploy::set_lock(false)?;
            }
        }
        if self.base || self.pending || self.rollback {
            bench.prune().await?;
        }
        Ok(())
    }
}

impl FinalizeJob {
    async fn run(&self, bench: &Bench<'_>) -> Result<()> {
        let staged = bench.sysroot.staged_deployment().context("No pending staged deployment found")?;
        match &self.checksum {
            Some(expected) if staged.csum() != expected.as_str() => {
                bail!("Expected staged base checksum {expected}, but found {}", staged.csum())
            }
            None if !self.allow_missing_checksum => bail!("Missing expected checksum"),
            _ => {}
        }
        if !deploy::finalization_lock().exists() && !self.allow_unlocked {
            bail!("Staged deployment already unlocked");
        }
        deploy::set_lock(false)?;
        bench.narrator.message("Staged deployment unlocked; the stand-in leaves the reboot to its caller").await
    }
}

impl Bench<'_> {
    async fn deploy(&self, commit: &str, origin: &glib::KeyFile, kargs: &[String], locked: bool) -> Result<()> {
        let requests = Requests::read(origin);
        if !requests.is_empty() {
            // Every new deployment is put together from its packages again, whatever it was made for.
            self.narrator.message("Assembling the packages").await?;
        }
        self.narrator.say(Note::TaskBegin("Staging deployment".to_owned())).await?;
        let new = NewDeployment { osname: self.osname, commit, origin, kargs: Some(kargs), locked };
        deploy::write(self.sysroot, &new)?;
        self.narrator.say(Note::TaskEnd("done".to_owned())).await?;
        self.prune().await
    }

    async fn prune(&self) -> Result<()> {
        let pruned = prune(&SysrootLock::from_assumed_locked(self.sysroot))?;
        if pruned.is_empty() {
            return Ok(());
        }
        self.narrator.message(format!("Freed: {}", glib::format_size(pruned.objsize))).await
    }

    async fn roll_back(&self) -> Result<()> {
        let target = tidy::rollback_target(self.sysroot, self.osname)?;
        let text = format!("Moving '{}.{}' to be first deployment", target.csum(), target.deployserial());
        self.narrator.message(text).await?;
        tidy::make_default(self.sysroot, &target)
    }
}
