//! Who holds libostree's lock on the deployments.
//!
//! Everybody who changes deployments takes it, and waits for it without a word: bootc even to tell its status. Refuses to take
//! it, which the process that makes a change does.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{OsError, Told};

const FILE: &str = "ostree/lock";
const PROCESSES: &str = "/proc";
const PAUSE: Duration = Duration::from_millis(500);

/// The lock of a machine.
#[derive(Clone, Debug)]
pub struct SysrootLock {
    file: PathBuf,
}

impl SysrootLock {
    /// That of the machine with this root.
    pub fn at(root: &Path) -> Self {
        Self { file: root.join(FILE) }
    }

    /// The process that holds it, in words; none where nobody does, or nobody can be seen.
    pub fn holder(&self) -> Option<String> {
        let lock = fs::metadata(&self.file).ok()?;
        let processes = fs::read_dir(PROCESSES).ok()?.flatten().map(|entry| entry.path());
        processes.filter(|process| holds(process, (lock.dev(), lock.ino()))).find_map(|process| describe(&process))
    }

    /// Waits until nobody holds it, and tells for whom. Somebody may still be faster afterwards.
    pub fn wait(&self, within: Duration, told: Told<'_>) -> Result<(), OsError> {
        let start = Instant::now();
        let mut watch = self.watch(None);
        while let Some(occupant) = watch.look(told) {
            if start.elapsed() >= within {
                return Err(OsError::Busy { occupant, seconds: within.as_secs() });
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Looks for others than a service of ours, which takes the lock itself.
    pub(super) fn watch<'w>(&'w self, service: Option<&'w str>) -> Watch<'w> {
        Watch { lock: self, service, known: None }
    }
}

/// Tells of each holder once.
pub(super) struct Watch<'w> {
    lock: &'w SysrootLock,
    service: Option<&'w str>,
    known: Option<String>,
}

impl Watch<'_> {
    /// Who holds it now.
    pub fn look(&mut self, told: Told<'_>) -> Option<String> {
        let others = |holder: &String| self.service.is_none_or(|service| !holder.contains(service));
        let holder = self.lock.holder().filter(others)?;
        if self.known.as_ref() != Some(&holder) {
            told(&waiting_for(&holder));
            self.known = Some(holder.clone());
        }
        Some(holder)
    }
}

/// What is told of waiting for a holder.
pub(super) fn waiting_for(holder: &str) -> String {
    format!("waiting for {holder}, which holds the lock on the deployments")
}

/// Whether a process holds a lock on a file. The file is told by its number: processes have it at different paths.
fn holds(process: &Path, file: (u64, u64)) -> bool {
    let opened = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let mut same = opened.filter(|entry| fs::metadata(entry.path()).is_ok_and(|stat| (stat.dev(), stat.ino()) == file));
    same.any(|entry| {
        let text = fs::read_to_string(process.join("fdinfo").join(entry.file_name()));
        text.is_ok_and(|text| text.lines().any(|line| line.starts_with("lock:")))
    })
}

/// Its name, unit and number; not its arguments, which may hold secrets.
fn describe(process: &Path) -> Option<String> {
    let number = process.file_name()?.to_str()?.parse::<u32>().ok()?;
    let name = fs::read_to_string(process.join("comm")).ok()?;
    let groups = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
    let unit = groups.trim().rsplit('/').next().filter(|unit| unit.ends_with(".service") || unit.ends_with(".scope"));
    let unit = unit.map(|unit| format!(" in {unit}")).unwrap_or_default();
    Some(format!("{}{unit}, process {number}", name.trim()))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_holder_is_named_while_it_holds() {
        let root = tempfile::tempdir().unwrap();
        let lock = SysrootLock::at(root.path());
        assert_eq!(lock.holder(), None);
        fs::create_dir(root.path().join("ostree")).unwrap();
        let file = File::create(root.path().join(FILE)).unwrap();
        assert_eq!(lock.holder(), None, "it is only open");
        file.lock().unwrap();
        let holder = lock.holder().unwrap();
        assert!(holder.ends_with(&format!(", process {}", std::process::id())), "{holder}");
        let mut lines = Vec::new();
        let error = lock.wait(Duration::ZERO, &mut |line| lines.push(line.to_owned())).unwrap_err();
        assert!(matches!(error, OsError::Busy { occupant, seconds: 0 } if occupant == holder));
        let name = holder.split(',').next();
        assert_eq!(lock.watch(name).look(&mut |line| lines.push(line.to_owned())), None, "it is ours");
        let mut file = Some(file);
        let released = lock.wait(Duration::from_secs(180), &mut |line| {
            lines.push(line.to_owned());
            drop(file.take());
        });
        released.unwrap();
        let line = format!("waiting for {holder}, which holds the lock on the deployments");
        assert_eq!(lines, [line.clone(), line], "once by each that waits");
    }
}
