//! Another agent that looks after the same node: what its processes look like, and what a person can do about it.
//!
//! Owns who counts as one, by what only root can bring about: users, cgroup, and where the program lies. A name or an argument
//! counts for nothing by itself, because anybody can call a process anything. Refuses to look for processes: the caller
//! hands them in. Of their arguments only the words of the command line matter, and none is kept.

use serde::{Deserialize, Serialize};

/// What machine-config-daemon's program and units are called.
const PROGRAM: &str = "machine-config-daemon";
/// What the builds of it for one major version of the OS are called in its image.
const BUILD: &str = "machine-config-daemon.rhel";
/// Where the program lies on a machine. In its pod it first copies itself to the machine's `/run/bin`, changes its root
/// directory to the machine's, and starts anew from there.
const DIRECTORIES: [&str; 3] = ["/run/bin", "/usr/bin", "/usr/libexec"];
/// Where its pod has the machine's root directory; the kernel tells of a program by the path in the pod's own mounts.
const MOUNTED: &str = "/rootfs";
/// Its copy on the machine.
const COPY: &str = "/run/bin/machine-config-daemon";
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
    /// Whether all its users are root, and the machine's root and not that of a user namespace.
    pub root: bool,
    /// Its control group, as a path from the root of the hierarchy, where that can be told.
    pub cgroup: Option<&'a str>,
    /// Whether the file that it runs is on the file system of the machine's own `/run`.
    pub in_run: bool,
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
        if process.ended || !process.root || !is_the_daemon(process) {
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

/// What runs a process, by its control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// A pod, whose image and names its author chose.
    Pod,
    /// A unit of the daemon's, or a container that root started: nobody else could.
    Own,
    /// Anything else on the machine.
    Machine,
}

impl Home {
    fn of(cgroup: Option<&str>) -> Self {
        let parts: Vec<_> = cgroup.unwrap_or_default().split('/').filter(|part| !part.is_empty()).collect();
        let is_unit = |name: &str| name.starts_with(PROGRAM) && name.ends_with(".service");
        match parts.as_slice() {
            parts if parts.iter().any(|part| part.starts_with("kubepods")) => Self::Pod,
            ["system.slice", unit, ..] if is_unit(unit) => Self::Own,
            ["machine.slice", scope, ..] if scope.starts_with("libpod-") => Self::Own,
            _ => Self::Machine,
        }
    }
}

/// Whether a process of root's is the daemon. Where its program cannot be told, the name it was called by has to do: of
/// root's own processes only.
fn is_the_daemon(process: &Process<'_>) -> bool {
    let called = process.arguments.first().is_some_and(|name| is_program(name));
    let path = process.executable.map(|path| path.strip_suffix(DELETED).unwrap_or(path));
    match Home::of(process.cgroup) {
        Home::Pod => process.in_run && path.is_some_and(|path| on_the_machine(path) == COPY),
        Home::Own => called || path.is_some_and(is_program),
        Home::Machine => path.map_or(called, |path| {
            let path = on_the_machine(path);
            is_program(path) && path.rsplit_once('/').is_some_and(|(directory, _)| DIRECTORIES.contains(&directory))
        }),
    }
}

fn on_the_machine(path: &str) -> &str {
    path.strip_prefix(MOUNTED).unwrap_or(path)
}

/// Whether a path, or the name that a program was called by, is the program's.
fn is_program(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name == PROGRAM || name.strip_prefix(BUILD).is_some_and(|major| major.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/crio-2.scope";
    const FIRST: &str = "/system.slice/machine-config-daemon-firstboot.service";
    const CONTAINER: &str = "/machine.slice/libpod-3.scope/container";
    const SHELL: &str = "/user.slice/user-0.slice/session-1.scope";

    fn process<'a>(executable: Option<&'a str>, arguments: &'a [&'a str], cgroup: Option<&'a str>) -> Process<'a> {
        Process { pid: 7, executable, arguments, root: true, cgroup, in_run: false, ended: false }
    }

    #[test]
    fn the_daemon_is_known_by_where_it_runs_and_what() {
        let start = &["/usr/bin/machine-config-daemon", "start", "--v=2"][..];
        let revert =
            &["machine-config-daemon", FIRST_BOOT, "--machineconfig-file", "/etc/mco/machineconfig-revert.json"][..];
        let first = &["machine-config-daemon", FIRST_BOOT][..];
        for (executable, arguments, cgroup, expected) in [
            (Some("/run/bin/machine-config-daemon"), start, None, Task::Node),
            (Some("/run/bin/machine-config-daemon (deleted)"), &[], None, Task::Node),
            (Some("/usr/bin/machine-config-daemon.rhel9"), &["x", "start"], Some(SHELL), Task::Node),
            (Some("/usr/libexec/machine-config-daemon"), start, Some("/system.slice/mine.service"), Task::Node),
            (None, start, None, Task::Node),
            (Some("/usr/bin/qemu-x86_64"), first, Some(CONTAINER), Task::FirstBoot),
            (Some("/usr/bin/machine-config-daemon"), first, Some(CONTAINER), Task::FirstBoot),
            (Some("/rootfs/run/bin/machine-config-daemon"), first, Some(CONTAINER), Task::FirstBoot),
            (Some("/opt/machine-config-daemon"), first, Some(FIRST), Task::FirstBoot),
            (Some("/run/bin/machine-config-daemon"), revert, Some(FIRST), Task::Revert),
        ] {
            let found = Rival::of(&process(executable, arguments, cgroup)).map(|rival| rival.task);
            assert_eq!(found, Some(expected), "{executable:?} {arguments:?} {cgroup:?}");
        }
        let copied = process(Some("/rootfs/run/bin/machine-config-daemon"), start, Some(POD));
        assert_eq!(Rival::of(&copied), None);
        assert!(Rival::of(&Process { in_run: true, ..copied }).is_some());
    }

    #[test]
    fn a_name_that_anybody_can_give_makes_none() {
        let named = &["machine-config-daemon", "start"][..];
        for (executable, arguments, cgroup) in [
            (Some("/usr/bin/sleep"), named, None),
            (Some("/usr/bin/sudo"), named, Some(SHELL)),
            (Some("/usr/bin/sleep"), named, Some("/system.slice/other.service")),
            (Some("/home/core/machine-config-daemon"), named, Some(SHELL)),
            (
                Some("/usr/bin/sleep"),
                named,
                Some("/user.slice/user-1000.slice/user@1000.service/machine-config-daemon.service"),
            ),
            // An image has what its author put into it, wherever they put it.
            (Some("/usr/bin/machine-config-daemon"), named, Some(POD)),
            (Some("/run/bin/machine-config-daemon"), named, Some(POD)),
            (Some("/usr/bin/sleep"), named, Some(POD)),
            (None, named, Some(POD)),
            (Some("/usr/bin/grep"), &["grep", "machine-config-daemon"], None),
            (Some("/usr/bin/podman"), &["podman", "run", "--entrypoint", "machine-config-daemon"], Some(FIRST)),
            (Some("/usr/bin/machine-config-operator"), &["machine-config-operator", "start"], None),
            (Some("/usr/bin/machine-config-daemon.rhel-notes"), &["notes"], None),
            (Some("/usr/bin/machine-config-daemon"), &["machine-config-daemon", "version"], None),
            (Some("/opt/machine-config-daemon/bin/tool"), &["tool", "start"], None),
            (None, &[], None),
            (Some(""), &[""], Some("")),
        ] {
            assert_eq!(
                Rival::of(&process(executable, arguments, cgroup)),
                None,
                "{executable:?} {arguments:?} {cgroup:?}"
            );
        }
    }

    #[test]
    fn one_that_has_ended_or_is_not_roots_does_nothing() {
        let process = process(Some("/run/bin/machine-config-daemon"), &["machine-config-daemon", "start"], None);
        assert_eq!(Rival::of(&Process { ended: true, ..process }), None);
        assert_eq!(Rival::of(&Process { root: false, ..process }), None);
        let rival = Rival::of(&process).unwrap();
        assert_eq!(rival.words(), "machine-config-daemon runs on this node as process 7");
    }
}
