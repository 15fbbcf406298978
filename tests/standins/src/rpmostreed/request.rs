//! Method arguments turned into jobs, with the refusals of rpm-ostree for combinations that make no sense.

use zbus::Variant;

use super::dict::Dict;
use super::errors::BusError;
use super::jobs::{CleanupJob, DeployOptions, FinalizeJob, Job, KargsJob, UpdateJob};
use crate::sysroot::kargs::KargChange;
use crate::sysroot::origin::RequestChange;

/// Reads the entries of a dictionary one by one, and knows which were left over.
struct Entries {
    what: &'static str,
    dict: Dict,
}

impl Entries {
    fn flag(&mut self, key: &str) -> Result<bool, BusError> {
        Ok(self.take(key, |value| bool::try_from(value).ok())?.unwrap_or(false))
    }

    fn text(&mut self, key: &str) -> Result<Option<String>, BusError> {
        self.take(key, |value| String::try_from(value).ok())
    }

    fn words(&mut self, key: &str) -> Result<Vec<String>, BusError> {
        Ok(self.take(key, |value| Vec::<String>::try_from(value).ok())?.unwrap_or_default())
    }

    fn take<T>(&mut self, key: &str, read: impl FnOnce(Variant<'static>) -> Option<T>) -> Result<Option<T>, BusError> {
        let Some(value) = self.dict.remove(key) else { return Ok(None) };
        let wrong = || BusError::io(format!("the {} '{key}' has the wrong type", self.what));
        read(Variant::from(value)).ok_or_else(wrong).map(Some)
    }

    fn end(self) -> Result<(), BusError> {
        match self.dict.keys().next() {
            Some(key) => Err(BusError::io(format!("the stand-in knows no {} '{key}'", self.what))),
            None => Ok(()),
        }
    }
}

/// The job of `UpdateDeployment`.
pub fn update(modifiers: Dict, options: Dict) -> Result<Job, BusError> {
    let mut entries = Entries { what: "modifier", dict: modifiers };
    let refspec = entries.text("set-refspec")?;
    let mut change = RequestChange {
        install: entries.words("install-packages")?,
        uninstall: entries.words("uninstall-packages")?,
        remove: entries.words("override-remove-packages")?,
        reset: entries.words("override-reset-packages")?,
        ..RequestChange::default()
    };
    entries.end()?;
    let options = deploy_options(options, &mut change)?;
    let touches_overrides = !change.remove.is_empty() || !change.reset.is_empty();
    let refusals = [
        (refspec.is_none() && options.skip_purge, "Can't specify skip-purge if not setting a new refspec"),
        (refspec.is_some() && options.no_pull_base, "Can't specify no-pull-base if setting a new refspec or revision"),
        (options.cache_only && options.download_only, "Can't specify cache-only and download-only"),
        (options.dry_run && options.download_only, "Can't specify dry-run and download-only"),
        (change.no_overrides && touches_overrides, "Can't specify no-overrides if setting override modifiers"),
    ];
    match refusals.into_iter().find(|(refused, _)| *refused) {
        Some((_, text)) => Err(BusError::io(text)),
        None => Ok(Job::Update(UpdateJob { refspec, change, options })),
    }
}

fn deploy_options(options: Dict, change: &mut RequestChange) -> Result<DeployOptions, BusError> {
    let mut entries = Entries { what: "option", dict: options };
    refuse_reboot(&mut entries)?;
    change.idempotent = entries.flag("idempotent-layering")?;
    change.no_layering = entries.flag("no-layering")?;
    change.no_overrides = entries.flag("no-overrides")?;
    // These make no difference here: there is no rpm database, no timestamp check and no update driver.
    for key in ["allow-downgrade", "skip-branch-check", "allow-inactive", "allow-inactive-requests", "no-initramfs"] {
        entries.flag(key)?;
    }
    entries.text("register-driver")?;
    let read = DeployOptions {
        skip_purge: entries.flag("skip-purge")?,
        no_pull_base: entries.flag("no-pull-base")?,
        dry_run: entries.flag("dry-run")?,
        cache_only: entries.flag("cache-only")?,
        download_only: entries.flag("download-only")?,
        lock: entries.flag("lock-finalization")?,
        command_line: entries.text("initiating-command-line")?,
    };
    entries.end()?;
    Ok(read)
}

/// The job of `KernelArgs`.
pub fn kernel_args(
    existing: String,
    added: Vec<String>,
    replaced: Vec<String>,
    removed: Vec<String>,
    options: Dict,
) -> Result<Job, BusError> {
    let mut entries = Entries { what: "option", dict: options };
    refuse_reboot(&mut entries)?;
    let change = KargChange {
        delete: removed,
        delete_if_present: entries.words("delete-if-present")?,
        replace: replaced,
        append: added,
        append_if_missing: entries.words("append-if-missing")?,
        finally: entries.text("final-kernel-args")?,
    };
    let lock = entries.flag("lock-finalization")?;
    let command_line = entries.text("initiating-command-line")?;
    entries.end()?;
    Ok(Job::Kargs(KargsJob { existing, change, lock, command_line }))
}

/// The job of `Cleanup`.
pub fn cleanup(elements: &[String]) -> Result<Job, BusError> {
    let mut job = CleanupJob::default();
    for element in elements {
        match element.as_str() {
            "base" => job.base = true,
            "pending-deploy" => job.pending = true,
            "rollback-deploy" => job.rollback = true,
            "repomd" => job.repomd = true,
            other => return Err(BusError::io(format!("Invalid cleanup type: {other}"))),
        }
    }
    Ok(Job::Cleanup(job))
}

/// The job of `Rollback`.
pub fn rollback(options: Dict) -> Result<Job, BusError> {
    let mut entries = Entries { what: "option", dict: options };
    refuse_reboot(&mut entries)?;
    entries.end()?;
    Ok(Job::Rollback)
}

/// The job of `FinalizeDeployment`, which unlocks the staged deployment and, unlike rpm-ostree, leaves it at that.
pub fn finalize(options: Dict) -> Result<Job, BusError> {
    let mut entries = Entries { what: "option", dict: options };
    let job = FinalizeJob {
        checksum: entries.text("checksum")?,
        allow_missing_checksum: entries.flag("allow-missing-checksum")?,
        allow_unlocked: entries.flag("allow-unlocked")?,
        command_line: entries.text("initiating-command-line")?,
    };
    entries.end()?;
    Ok(Job::Finalize(job))
}

fn refuse_reboot(entries: &mut Entries) -> Result<(), BusError> {
    if entries.flag("reboot")? { Err(BusError::io("the stand-in does not reboot")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zbus::OwnedVariant;

    fn dict(entries: &[(&str, Variant<'static>)]) -> Dict {
        entries.iter().map(|(key, value)| ((*key).to_owned(), OwnedVariant::try_from(value).unwrap())).collect()
    }

    #[test]
    fn senseless_and_unknown_requests_are_refused() {
        let cases = [
            (dict(&[]), dict(&[("skip-purge", true.into())]), "Can't specify skip-purge if not setting a new refspec"),
            (
                dict(&[("set-refspec", "x".into())]),
                dict(&[("no-pull-base", true.into())]),
                "Can't specify no-pull-base if setting a new refspec or revision",
            ),
            (dict(&[("install-package", "x".into())]), dict(&[]), "the stand-in knows no modifier 'install-package'"),
            (dict(&[("set-refspec", 1.into())]), dict(&[]), "the modifier 'set-refspec' has the wrong type"),
            (dict(&[]), dict(&[("reboot", true.into())]), "the stand-in does not reboot"),
        ];
        for (modifiers, options, text) in cases {
            assert_eq!(update(modifiers, options).unwrap_err(), BusError::io(text));
        }
    }

    #[test]
    fn packages_are_read_from_arrays_of_strings() {
        let packages: Variant<'static> = vec!["usbguard".to_owned()].into();
        let Ok(Job::Update(job)) = update(dict(&[("install-packages", packages)]), dict(&[])) else {
            panic!("refused");
        };
        assert_eq!(job.change.install, ["usbguard"]);
    }
}
