//! Names of network interfaces that are to stay: the command that knows them.
//!
//! Owns how it is called and for how long. What is asked of which release, and what comes of it, is decided elsewhere.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_core::os::nics::Manner;
use ostler_core::protocol::Reply;
use ostler_host::command::{Command, CommandError};
use ostler_host::disk::{Disk, RootDisk, RootPath};
use ostler_host::machine::{Machine as World, NicNames};

use crate::machine::{Machine, Need, Refused};
use crate::os::LiveOs;

const NMSTATECTL: &str = "/usr/bin/nmstatectl";
/// Where it writes kernel arguments: a place that only root can prepare.
const WRITTEN: &str = "/var/lib/ostler/nic-kargs";
const PATIENCE: Duration = Duration::from_secs(60);
const MOST_OUTPUT: usize = 256 << 10;
const MOST_WRITTEN: u64 = 64 << 10;

/// Makes names stay on a machine that runs a release which is asked for it.
pub(crate) fn answer(machine: &Machine, disk: &RootDisk) -> Result<Reply, Refused> {
    let manner = LiveOs::of(disk, machine.root()).filter(|_| machine.is_live()).and_then(|os| Manner::of(os.release()));
    let Some(manner) = manner else { return Ok(Reply::Nothing) };
    let world = World::open(disk, machine.surroundings(disk, Need::Files)?)?;
    let names = Nmstate { program: PathBuf::from(NMSTATECTL), root: machine.root(), disk };
    let change = world.persist_nics(manner, &names)?;
    Ok(change.map_or(Reply::Nothing, |change| Reply::NicsPersisted { change }))
}

struct Nmstate<'a> {
    program: PathBuf,
    root: &'a Path,
    disk: &'a RootDisk,
}

impl Nmstate<'_> {
    fn written(&self) -> io::Result<Option<Vec<u8>>> {
        let path = RootPath::new(WRITTEN).map_err(io::Error::other)?;
        match self.disk.stat(&path)? {
            None => Ok(None),
            Some(_) => {
                let text = self.disk.read(&path, MOST_WRITTEN);
                self.disk.remove(&path)?;
                text.map(Some)
            }
        }
    }
}

impl NicNames for Nmstate<'_> {
    fn ask(&self, manner: Manner) -> Result<Option<Vec<u8>>, CommandError> {
        if !self.program.exists() {
            return Ok(None);
        }
        let unusable = |source| CommandError::Run { program: self.program.display().to_string(), source };
        // What an earlier run left says nothing of this one, whatever it is.
        let _ = self.written();
        let out = self.root.join(WRITTEN.trim_start_matches('/'));
        let (root, out) = (self.root.to_string_lossy(), out.to_string_lossy());
        Command::new(&self.program, PATIENCE, MOST_OUTPUT).arguments(manner.arguments(&root, &out)).run()?;
        Ok(Some(self.written().map_err(unusable)?.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn ask(script: Option<&str>, manner: Manner) -> (Result<Option<Vec<u8>>, CommandError>, tempfile::TempDir) {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("nmstatectl");
        fs::create_dir_all(root.path().join("var/lib/ostler")).unwrap();
        fs::write(root.path().join("var/lib/ostler/nic-kargs"), "of an earlier run").unwrap();
        if let Some(script) = script {
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let disk = RootDisk::open(root.path()).unwrap();
        let answer = Nmstate { program, root: root.path(), disk: &disk }.ask(manner);
        (answer, root)
    }

    #[test]
    fn what_the_command_writes_is_read_and_not_left_behind() {
        let (answer, root) = ask(Some("echo \"$@\" > \"$3/asked\"; printf 'ifname=a:b ' > \"$5\""), Manner::Persist);
        assert_eq!(answer.unwrap().unwrap(), b"ifname=a:b ");
        let at = root.path().display();
        let asked = fs::read_to_string(root.path().join("asked")).unwrap();
        assert_eq!(asked, format!("persist-nic-names --root {at} --kargs-out {at}/var/lib/ostler/nic-kargs\n"));
        assert!(!root.path().join("var/lib/ostler/nic-kargs").exists());
        let (answer, _root) = ask(Some("test \"$6\" = --cleanup"), Manner::Cleanup);
        assert_eq!(answer.unwrap().unwrap(), b"");
    }

    #[test]
    fn a_machine_without_the_command_is_left_alone_and_its_failure_is_told() {
        assert_eq!(ask(None, Manner::Persist).0.unwrap(), None);
        let (answer, _root) = ask(Some("echo no such device >&2; exit 3"), Manner::Persist);
        assert!(matches!(answer, Err(CommandError::Failed { .. })));
        let (answer, _root) = ask(Some("head -c 70000 /dev/zero > \"$5\""), Manner::Persist);
        assert!(matches!(answer, Err(CommandError::Run { .. })));
    }
}
