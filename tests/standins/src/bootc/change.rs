//! `bootc switch`, `upgrade` and `rollback`: what they change, and what they print.

use anyhow::{Context, Result, bail};
use ostree_ext::container::deploy::prune;
use ostree_ext::container::{ImageReference, OstreeImageReference, SignatureSource, Transport};
use ostree_ext::sysroot::SysrootLock;
use ostree_ext::{glib, ostree};

use super::kargs_d;
use super::release::Release;
use super::status::{self, Host};
use crate::narrator::Narrator;
use crate::sysroot::deploy::{self, NewDeployment};
use crate::sysroot::facts::Reference;
use crate::sysroot::image::{Found, Pulled};
use crate::sysroot::{NONE, image, origin, osnames, roles, tidy};

/// How often it is looked whether the lock is free.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);

/// The reference that `bootc switch` is given in parts.
pub fn reference(transport: &str, target: &str, enforce_policy: bool) -> Result<OstreeImageReference> {
    let transport = Transport::try_from(transport).with_context(|| format!("Parsing transport {transport:?}"))?;
    let sigverify =
        if enforce_policy { SignatureSource::ContainerPolicy } else { SignatureSource::ContainerPolicyAllowInsecure };
    Ok(OstreeImageReference { sigverify, imgref: ImageReference { transport, name: target.to_owned() } })
}

/// Deploys `image` and follows it from now on.
pub async fn switch(
    sysroot: &ostree::Sysroot,
    image: &OstreeImageReference,
    retain: bool,
    narrator: &Narrator,
) -> Result<()> {
    let lock = lock(sysroot).await?;
    let host = status::read(&lock)?;
    if host.spec.image == Some(status::ImageReference::from(image.clone())) {
        println!("Image specification is unchanged.");
        return Ok(());
    }
    refuse_incompatible(&host)?;
    let pulled = image::pull(&lock, image, narrator).await?;
    stage(&lock, image, &pulled, narrator).await?;
    if !retain {
        prune(&lock)?;
    }
    announce(image, &pulled);
    Ok(())
}

/// Deploys the newest image of the reference that is followed, or only looks for it.
pub async fn upgrade(sysroot: &ostree::Sysroot, check: bool, narrator: &Narrator) -> Result<()> {
    let lock = lock(sysroot).await?;
    let host = status::read(&lock)?;
    refuse_incompatible(&host)?;
    let image = followed(&lock).context("No image specified")?;
    let image = image::parse(&image)?;
    if check {
        narrator.message(format!("Fetching {image}")).await?;
        match image::check(&lock, &image).await? {
            Found::Present(_) => println!("No changes in: {image}"),
            Found::Newer(digest, version) => {
                println!(
                    "Update available for: {image}\n  Version: {}\n  Digest: {digest}",
                    version.unwrap_or_default()
                );
            }
        }
        return Ok(());
    }
    let pulled = image::pull(&lock, &image, narrator).await?;
    let deployed = [&host.status.staged, &host.status.booted];
    let first = host.status.other_deployments.first();
    let mut digests = deployed.into_iter().flatten().chain(first).filter_map(|entry| entry.image.as_ref());
    if digests.any(|image| image.image_digest == pulled.digest) {
        println!("No update available.");
        return Ok(());
    }
    stage(&lock, &image, &pulled, narrator).await?;
    prune(&lock)?;
    announce(&image, &pulled);
    Ok(())
}

/// Puts the other deployment first, and drops a staged one.
pub async fn rollback(sysroot: &ostree::Sysroot, narrator: &Narrator) -> Result<()> {
    let lock = lock(sysroot).await?;
    tidy::drop_staged(&lock)?;
    let target = tidy::rollback_target(&lock, &osname(&lock)?).ok().context("No rollback available")?;
    narrator.message(format!("Moving {}.{} first", target.csum(), target.deployserial())).await?;
    let booted = lock.booted_deployment().is_some_and(|booted| booted.equal(&target));
    tidy::make_default(&lock, &target)?;
    println!("Next boot: {} deployment", if booted { "current" } else { "rollback" });
    Ok(())
}

/// Waits for the lock, and tells it on standard output up to release 1.6.
pub async fn lock(sysroot: &ostree::Sysroot) -> Result<SysrootLock> {
    let lock = if Release::current()?.tells_of_lock() {
        SysrootLock::new_from_sysroot(sysroot).await?
    } else {
        while !sysroot.try_lock()? {
            tokio::time::sleep(LOOK).await;
        }
        SysrootLock::from_assumed_locked(sysroot)
    };
    // What was loaded before the lock may be stale.
    lock.load(NONE)?;
    Ok(lock)
}

async fn stage(
    sysroot: &SysrootLock,
    image: &OstreeImageReference,
    pulled: &Pulled,
    narrator: &Narrator,
) -> Result<()> {
    narrator.message("Deploying").await?;
    let osname = osname(sysroot)?;
    // Unlike rpm-ostree, bootc takes the arguments of the booted deployment, not of a pending one.
    let kargs = match sysroot.merge_deployment(Some(&osname)) {
        Some(merge) => Some(kargs_d::line(sysroot, &merge, &pulled.commit)?),
        None => None,
    };
    let new_origin = glib::KeyFile::new();
    origin::set_image(&new_origin, image);
    let new = NewDeployment {
        osname: &osname,
        commit: &pulled.commit,
        origin: &new_origin,
        kargs: kargs.as_deref(),
        locked: false,
    };
    deploy::write(sysroot, &new)?;
    narrator.message("Deployed").await
}

fn followed(sysroot: &ostree::Sysroot) -> Option<String> {
    let osname = osname(sysroot).ok()?;
    let roles = roles(sysroot, &osname);
    match origin::reference(&roles.origin_merge()?.origin()?) {
        Some(Reference::Image(image)) => Some(image),
        _ => None,
    }
}

fn refuse_incompatible(host: &Host) -> Result<()> {
    let status = &host.status;
    let mut entries = [&status.staged, &status.booted].into_iter().flatten().chain(&status.other_deployments);
    if entries.any(|entry| entry.incompatible) {
        bail!(
            "Deployment contains local rpm-ostree modifications; cannot upgrade via bootc. You can run `rpm-ostree reset` to undo the modifications."
        );
    }
    Ok(())
}

fn osname(sysroot: &ostree::Sysroot) -> Result<String> {
    let booted = sysroot.booted_deployment().map(|booted| booted.osname().to_string());
    booted.or_else(|| osnames(sysroot).into_iter().next()).context("no deployments")
}

fn announce(image: &OstreeImageReference, pulled: &Pulled) {
    println!("Queued for next boot: {image}\n  Digest: {}", pulled.digest);
}
