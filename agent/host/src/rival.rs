//! Looks among the processes of a machine for another agent. Reads `/proc` below the root, and nothing of a process but
//! its program, command line, users, control group and whether it lives; core knows which one counts.

use std::io::{self, ErrorKind};

use nix::sys::stat::makedev;
use ostler_core::rival::{Process, Rival};

use crate::disk::{Disk, RootPath};

const PROCESSES: &str = "/proc";
/// Where the other agent has its program on a machine.
const RUN: &str = "/run";
/// A longer command line is not the daemon's.
const MOST_ARGUMENTS: u64 = 16 << 10;
/// Longer files about one process are not the kernel's; lists of mappings can be long, and the program's is the first.
const MOST: u64 = 1 << 20;

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
    let text = |name: &str, most| -> io::Result<String> {
        Ok(String::from_utf8_lossy(&disk.read(&at(name)?, most).unwrap_or_default()).into_owned())
    };
    if !is_root(&text("status", MOST)?) || is_namespaced(disk, pid)? {
        return Ok(None);
    }
    let executable = disk.read_link(&at("exe")?).ok().map(|target| target.to_string_lossy().into_owned());
    let line = text("cmdline", MOST_ARGUMENTS)?;
    let arguments: Vec<&str> = line.split_terminator('\0').collect();
    let cgroups = text("cgroup", MOST)?;
    let process = Process {
        pid,
        executable: executable.as_deref(),
        arguments: &arguments,
        root: true,
        cgroup: cgroup(&cgroups),
        in_run: true,
        ended: false,
    };
    // Where the program lies is costly to find out, and matters only for one that may be the daemon.
    if Rival::of(&process).is_none() {
        return Ok(None);
    }
    let in_run =
        executable.as_deref().is_some_and(|path| is_in_run(disk, &text("maps", MOST).unwrap_or_default(), path));
    Ok(Rival::of(&Process { in_run, ended: has_ended(&text("stat", MOST)?), ..process }))
}

/// Whether all users of a process are root: its own, the one it acts as, the one it can go back to, and that of its files.
/// A program that its file makes root is still its caller's.
fn is_root(status: &str) -> bool {
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    users.is_some_and(|users| users.split_whitespace().count() == 4 && users.split_whitespace().all(|user| user == "0"))
}

/// Whether a process has another user namespace than the first of the machine. Root of such a one is somebody else here,
/// which its users tell as well: where the namespace cannot be read, they have to do.
fn is_namespaced(disk: &impl Disk, pid: u32) -> io::Result<bool> {
    let of = |pid: u32| {
        let path = RootPath::new(format!("{PROCESSES}/{pid}/ns/user")).map_err(io::Error::other)?;
        Ok::<_, io::Error>(disk.read_link(&path).ok())
    };
    Ok(matches!((of(1)?, of(pid)?), (Some(first), Some(own)) if first != own))
}

/// The control group: of the one hierarchy, or of systemd's where there are many.
fn cgroup(text: &str) -> Option<&str> {
    let of = |kind: &str| text.lines().find_map(|line| line.split_once(kind).map(|(_, path)| path));
    of(":name=systemd:").or_else(|| of("0::"))
}

/// Whether a program was mapped from the file system that holds the machine's own `/run`, by the list of mappings: its path
/// says where it is for a container, and a container can have anything there.
fn is_in_run(disk: &impl Disk, maps: &str, program: &str) -> bool {
    let mapped = maps.lines().find(|line| line.ends_with(program));
    let device = mapped.and_then(|line| line.split_whitespace().nth(3)).and_then(|device| {
        let (major, minor) = device.split_once(':')?;
        Some(makedev(u64::from_str_radix(major, 16).ok()?, u64::from_str_radix(minor, 16).ok()?))
    });
    let run = RootPath::new(RUN).ok().and_then(|run| disk.filesystem(&run).ok());
    run.is_some() && run == device
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

    const ROOT: &str = "Name:\tx\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n";
    const NOBODY: &str = "Name:\tx\nUid:\t65534\t65534\t65534\t65534\n";
    const SETUID: &str = "Name:\tx\nUid:\t65534\t0\t0\t0\n";
    const PROGRAM: &str = "/run/bin/machine-config-daemon";
    const LINE: &str = "/usr/bin/machine-config-daemon\0start\0";
    const LIVES: &str = "42 (machine-config-) S 1 42";

    /// A machine with one process beside the first; files of it are given by name and text.
    fn machine(executable: &str, files: &[(&str, &str)]) -> MemoryDisk {
        let paths: Vec<_> = files.iter().map(|(name, text)| (format!("/proc/42/{name}"), *text)).collect();
        let mut all = vec![
            ("/proc/sys/kernel/random/boot_id", "x\n", 0o444),
            ("/proc/1/cmdline", "/usr/lib/systemd/systemd\0--switched-root\0", 0o444),
            ("/proc/1/status", ROOT, 0o444),
            ("/run/", "", 0o755),
        ];
        all.extend(paths.iter().map(|(path, text)| (path.as_str(), *text, 0o444)));
        let disk = MemoryDisk::with(&all).unwrap();
        disk.link(&RootPath::new("/proc/42/exe").unwrap(), executable).unwrap();
        disk
    }

    #[test]
    fn a_daemon_of_roots_is_found_and_one_that_has_ended_or_is_anybodys_is_not() {
        for (executable, line, status, state, expected) in [
            (PROGRAM, LINE, ROOT, LIVES, Some(Task::Node)),
            (PROGRAM, "", ROOT, LIVES, Some(Task::Node)),
            (PROGRAM, "x\0firstboot-complete-machineconfig\0", ROOT, "", Some(Task::FirstBoot)),
            (PROGRAM, LINE, ROOT, "42 (odd) name) Z 1", None),
            (PROGRAM, LINE, NOBODY, LIVES, None),
            (PROGRAM, LINE, SETUID, LIVES, None),
            (PROGRAM, LINE, "", LIVES, None),
            ("/usr/bin/sleep", LINE, ROOT, LIVES, None),
        ] {
            let disk = machine(executable, &[("cmdline", line), ("status", status), ("stat", state)]);
            let found = find(&disk).unwrap();
            assert_eq!(found, expected.map(|task| Rival { pid: 42, task }), "{executable} {line:?} {status} {state}");
        }
    }

    #[test]
    fn root_of_another_user_namespace_is_somebody_else() {
        for (own, expected) in [("user:[1]", true), ("user:[2]", false)] {
            let disk = machine(PROGRAM, &[("cmdline", LINE), ("status", ROOT), ("stat", LIVES)]);
            disk.make_directory(&RootPath::new("/proc/1/ns").unwrap(), DIRECTORY).unwrap();
            disk.make_directory(&RootPath::new("/proc/42/ns").unwrap(), DIRECTORY).unwrap();
            disk.link(&RootPath::new("/proc/1/ns/user").unwrap(), "user:[1]").unwrap();
            disk.link(&RootPath::new("/proc/42/ns/user").unwrap(), own).unwrap();
            assert_eq!(find(&disk).unwrap().is_some(), expected, "{own}");
        }
    }

    const DIRECTORY: crate::disk::Attributes = crate::disk::Attributes { mode: 0o755, uid: 0, gid: 0 };

    #[test]
    fn in_a_pod_only_a_program_from_the_machines_own_run_counts() {
        let run = machine(PROGRAM, &[("stat", LIVES)]).filesystem(&RootPath::new(RUN).unwrap()).unwrap();
        let (own, other) = (format!("{:02x}:{:02x}", nix::sys::stat::major(run), nix::sys::stat::minor(run)), "fd:63");
        for (device, expected) in [(own.as_str(), true), (other, false), ("", false)] {
            let maps =
                format!("00400000-00f00000 r-xp 00000000 {device} 77   /rootfs{PROGRAM}\n7f00-7f01 rw-p 0 00:00 0\n");
            let files = [
                ("cmdline", LINE),
                ("status", ROOT),
                ("stat", LIVES),
                ("cgroup", "0::/kubepods.slice/kubepods-pod1.slice/crio-2.scope\n"),
                ("maps", &maps),
            ];
            let disk = machine(&format!("/rootfs{PROGRAM}"), &files);
            assert_eq!(find(&disk).unwrap().is_some(), expected, "{device}");
        }
    }

    #[test]
    fn the_control_group_is_read_of_either_kind_of_hierarchy() {
        for (text, expected) in [
            ("0::/system.slice/a.service\n", Some("/system.slice/a.service")),
            ("2:cpu:/x\n1:name=systemd:/system.slice/a.service\n0::/\n", Some("/system.slice/a.service")),
            ("", None),
        ] {
            assert_eq!(cgroup(text), expected, "{text}");
        }
    }

    #[test]
    fn a_root_without_processes_has_no_rival() {
        let disk = MemoryDisk::with(&[("/etc/", "", 0o755)]).unwrap();
        assert_eq!(find(&disk).unwrap(), None);
    }

    #[test]
    fn a_real_process_is_not_found_by_a_name_that_anybody_could_give_it() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("machine-config-daemon");
        std::fs::copy("/bin/sleep", &program).unwrap();
        let mut child = Command::new(&program).arg("600").spawn().unwrap();
        let disk = RootDisk::open(Path::new("/")).unwrap();
        let found = look_at(&disk, child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found.unwrap(), None);
    }
}
