//! Looks among the processes of a machine for another agent. Reads `/proc` below the root, and nothing of a process but
//! the name of its program, its command line and whether it lives; core knows who counts as one.

use std::io::{self, ErrorKind};

use ostler_core::rival::{Process, Rival};

use crate::disk::{Disk, RootPath};

const PROCESSES: &str = "/proc";
/// A longer command line is not the daemon's.
const MOST_ARGUMENTS: u64 = 16 << 10;
/// A longer line of state is not the kernel's.
const MOST_STATE: u64 = 4 << 10;

/// The first rival there is; none as well where the root has no processes.
pub fn find(disk: &impl Disk) -> io::Result<Option<Rival>> {
    let processes = RootPath::new(PROCESSES).map_err(io::Error::other)?;
    let names = match disk.list(&processes) {
        Ok(names) => names,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(error),
    };
    let pids = names.iter().filter_map(|name| name.to_str()?.parse().ok());
    for pid in pids {
        if let Some(rival) = look_at(disk, pid)? {
            return Ok(Some(rival));
        }
    }
    Ok(None)
}

/// A process may end while it is looked at, and then nothing of it can be read.
fn look_at(disk: &impl Disk, pid: u32) -> io::Result<Option<Rival>> {
    let at = |name: &str| RootPath::new(format!("{PROCESSES}/{pid}/{name}")).map_err(io::Error::other);
    let executable = disk.read_link(&at("exe")?).ok().map(|target| target.to_string_lossy().into_owned());
    let line = disk.read(&at("cmdline")?, MOST_ARGUMENTS).unwrap_or_default();
    let line = String::from_utf8_lossy(&line);
    let arguments: Vec<&str> = line.split_terminator('\0').collect();
    let process = Process { pid, executable: executable.as_deref(), arguments: &arguments, ended: false };
    if Rival::of(&process).is_none() {
        return Ok(None);
    }
    let state = disk.read(&at("stat")?, MOST_STATE).unwrap_or_default();
    Ok(Rival::of(&Process { ended: has_ended(&String::from_utf8_lossy(&state)), ..process }))
}

/// The state is the word behind the name, which is in brackets and may hold any character.
fn has_ended(state: &str) -> bool {
    let word = state.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    matches!(word, Some("Z" | "X" | "x"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use ostler_core::rival::Task;

    use super::*;
    use crate::disk::RootDisk;
    use crate::disk::memory::MemoryDisk;

    fn machine(executable: &str, line: &str, state: &str) -> MemoryDisk {
        let disk = MemoryDisk::with(&[
            ("/proc/sys/kernel/random/boot_id", "x\n", 0o444),
            ("/proc/1/cmdline", "/usr/lib/systemd/systemd\0--switched-root\0", 0o444),
            ("/proc/42/cmdline", line, 0o444),
            ("/proc/42/stat", state, 0o444),
        ])
        .unwrap();
        disk.link(&RootPath::new("/proc/42/exe").unwrap(), executable).unwrap();
        disk
    }

    #[test]
    fn a_daemon_among_the_processes_is_found_and_one_that_has_ended_is_not() {
        let (program, line) = ("/run/bin/machine-config-daemon", "/usr/bin/machine-config-daemon\0start\0");
        let lives = "42 (machine-config-) S 1 42";
        for (executable, line, state, expected) in [
            (program, line, lives, Some(Task::Node)),
            (program, "", lives, Some(Task::Node)),
            (program, line, "42 (odd) name) Z 1", None),
            ("/usr/bin/grep", "grep\0machine-config-daemon\0", lives, None),
            ("/usr/bin/grep", "machine-config-daemon\0firstboot-complete-machineconfig\0", "", Some(Task::FirstBoot)),
        ] {
            let found = find(&machine(executable, line, state)).unwrap();
            assert_eq!(found, expected.map(|task| Rival { pid: 42, task }), "{executable} {line:?} {state}");
        }
    }

    #[test]
    fn a_root_without_processes_has_no_rival() {
        let disk = MemoryDisk::with(&[("/etc/", "", 0o755)]).unwrap();
        assert_eq!(find(&disk).unwrap(), None);
    }

    #[test]
    fn a_real_process_is_found_by_the_name_of_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("machine-config-daemon");
        std::fs::copy("/bin/sleep", &program).unwrap();
        let mut child = Command::new(&program).arg("600").spawn().unwrap();
        let disk = RootDisk::open(Path::new("/")).unwrap();
        let found = look_at(&disk, child.id());
        child.kill().unwrap();
        // Until its parent asks, it is a zombie.
        while std::fs::read_link(format!("/proc/{}/exe", child.id())).is_ok() {
            std::thread::yield_now();
        }
        let ended = look_at(&disk, child.id());
        child.wait().unwrap();
        assert_eq!(found.unwrap(), Some(Rival { pid: child.id(), task: Task::Node }));
        assert_eq!(ended.unwrap(), None);
    }
}
