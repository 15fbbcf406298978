//! Another agent that looks after the same node: what its processes look like, and what a person can do about it.
//!
//! Owns who counts as one. Refuses to look for processes: whoever can see them hands them in. Of their arguments only the
//! words of the command line matter, and none is kept.

use serde::{Deserialize, Serialize};

/// What machine-config-daemon's program is called, wherever it lies.
const PROGRAM: &str = "machine-config-daemon";
/// What the builds of it for one major version of the OS are called in its image.
const BUILD: &str = "machine-config-daemon.rhel";
/// What the kernel puts behind the name of a program whose file is gone; the daemon's is replaced when it is updated.
const DELETED: &str = " (deleted)";
/// The command by which it completes the first boot, and goes back to an image without layers.
const FIRST_BOOT: &str = "firstboot-complete-machineconfig";
/// The file by which the second is told from the first.
const REVERT: &str = "machineconfig-revert.json";
/// Commands of it that only print something.
const HARMLESS: [&str; 6] = ["version", "help", "completion", "--help", "-h", "--version"];

/// How to keep it off a node, in one line; the whole way is in the documentation.
pub const REMEDY: &str = "keep the DaemonSet openshift-machine-config-operator/machine-config-daemon off this node, as \
                          docs/usage/hand-over.md tells, or stop ostler and leave the node to it";

/// A process as it can be seen from outside.
#[derive(Clone, Copy, Debug)]
pub struct Process<'a> {
    /// Its number.
    pub pid: u32,
    /// The file that it runs, where that can be told.
    pub executable: Option<&'a str>,
    /// Its command line, beginning with the name it was called by.
    pub arguments: &'a [&'a str],
    /// Whether it has ended, and only its parent has yet to notice.
    pub ended: bool,
}

/// Another agent at work on the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rival {
    /// Its process.
    pub pid: u32,
    /// What it is at.
    pub task: Task,
}

/// What a rival is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Task {
    /// It looks after the node, or may be about to.
    Node,
    /// It completes the first boot.
    FirstBoot,
    /// It goes back from an image that was built for the node.
    Revert,
}

impl Rival {
    /// The process as a rival, if it is one.
    pub fn of(process: &Process<'_>) -> Option<Self> {
        let called = process.arguments.first().copied();
        let is_one = [process.executable, called].into_iter().flatten().any(is_program);
        if !is_one || process.ended {
            return None;
        }
        let rest = process.arguments.get(1..).unwrap_or_default();
        // One whose arguments cannot be seen may be about to do anything.
        if rest.first().is_some_and(|first| HARMLESS.contains(first)) {
            return None;
        }
        let task = match rest.contains(&FIRST_BOOT) {
            true if rest.iter().any(|word| word.ends_with(REVERT)) => Task::Revert,
            true => Task::FirstBoot,
            false => Task::Node,
        };
        Some(Self { pid: process.pid, task })
    }

    /// Who it is, in words.
    pub const fn what(&self) -> &'static str {
        match self.task {
            Task::Node => "machine-config-daemon",
            Task::FirstBoot => "machine-config-daemon, at the completion of the first boot,",
            Task::Revert => "machine-config-daemon, on the way back to an image without layers,",
        }
    }

    /// Who it is, and where to find it.
    pub fn words(&self) -> String {
        format!("{} runs on this node as process {}", self.what(), self.pid)
    }
}

/// Whether a path, or the name that a program was called by, is the program's.
fn is_program(path: &str) -> bool {
    let path = path.strip_suffix(DELETED).unwrap_or(path);
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name == PROGRAM || name.strip_prefix(BUILD).is_some_and(|major| major.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(executable: Option<&str>, arguments: &[&str]) -> Option<Task> {
        Rival::of(&Process { pid: 7, executable, arguments, ended: false }).map(|rival| rival.task)
    }

    #[test]
    fn the_daemon_is_known_by_its_program_or_by_the_name_it_was_called_by() {
        let revert =
            ["machine-config-daemon", FIRST_BOOT, "--machineconfig-file", "/etc/mco/machineconfig-revert.json"];
        for (executable, arguments, expected) in [
            (Some("/run/bin/machine-config-daemon"), &["/usr/bin/machine-config-daemon", "start"][..], Task::Node),
            (Some("/run/bin/machine-config-daemon (deleted)"), &[], Task::Node),
            (Some("/usr/bin/machine-config-daemon.rhel9"), &["x", "start", "--v=2"], Task::Node),
            (None, &["machine-config-daemon", "start", "--payload-version=version"], Task::Node),
            (Some("/usr/bin/qemu-x86_64"), &["machine-config-daemon", "--v=4", "start"], Task::Node),
            (None, &["/usr/bin/machine-config-daemon", FIRST_BOOT], Task::FirstBoot),
            (None, &revert, Task::Revert),
        ] {
            assert_eq!(found(executable, arguments), Some(expected), "{executable:?} {arguments:?}");
        }
    }

    #[test]
    fn who_only_speaks_of_it_is_none() {
        for (executable, arguments) in [
            (Some("/usr/bin/grep"), &["grep", "machine-config-daemon"][..]),
            (Some("/usr/bin/vi"), &["vi", "/usr/bin/machine-config-daemon"]),
            (Some("/usr/bin/podman"), &["podman", "run", "--entrypoint", "machine-config-daemon", "x", FIRST_BOOT]),
            (Some("/usr/bin/machine-config-operator"), &["machine-config-operator", "start"]),
            (Some("/usr/bin/machine-config-daemon.rhel-notes"), &["notes"]),
            (Some("/usr/bin/machine-config-daemon"), &["machine-config-daemon", "version"]),
            (Some("/opt/machine-config-daemon/bin/tool"), &["tool", "start"]),
            (None, &[]),
            (Some(""), &[""]),
        ] {
            assert_eq!(found(executable, arguments), None, "{executable:?} {arguments:?}");
        }
    }

    #[test]
    fn one_that_has_ended_does_nothing_any_more() {
        let process = Process { pid: 7, executable: None, arguments: &["machine-config-daemon", "start"], ended: true };
        assert_eq!(Rival::of(&process), None);
        let rival = Rival::of(&Process { ended: false, ..process }).unwrap();
        assert_eq!(rival.words(), "machine-config-daemon runs on this node as process 7");
    }
}
