//! Paths that no configuration may touch, because the agent itself stands on them.
//!
//! Owns the list and nothing else. A config that could rewrite the agent, its state or its units could make any promise
//! of the agent void, and it would do so in the middle of being applied.

/// Files that are reserved as they are.
const FILES: &[&str] = &[
    "/usr/bin/ostler",
    "/usr/bin/ostler-applier",
    "/usr/bin/ostler-cluster",
    "/usr/local/bin/ostler",
    "/usr/local/bin/ostler-applier",
    "/etc/machine-config-daemon/currentconfig",
    "/etc/machine-config-daemon/currentimage",
    "/etc/machine-config-daemon/ostler-currenthash",
    "/etc/mcd-currentconfig.json",
];

/// Directories that are reserved with everything below them.
const TREES: &[&str] = &[
    "/var/lib/ostler",
    "/run/ostler",
    "/var/run/ostler",
    "/usr/lib/ostler",
    "/usr/libexec/ostler",
    "/etc/machine-config-daemon/orig",
    "/etc/machine-config-daemon/noorig",
];

/// Where the kernel shows its own state, or nothing outlives a restart by design: no file here can be replaced as a whole,
/// kept and put back.
const KERNEL_TREES: &[&str] = &["/proc", "/sys", "/dev"];

/// Where systemd looks for units.
const UNIT_DIRECTORIES: &[&str] = &[
    "/etc/systemd/system/",
    "/run/systemd/system/",
    "/usr/lib/systemd/system/",
    "/lib/systemd/system/",
    "/usr/local/lib/systemd/system/",
];

/// Whether a file at this path would be one of the agent's own. The path is in its shortest form.
pub fn is_reserved_path(path: &str) -> bool {
    let unit = UNIT_DIRECTORIES.iter().find_map(|directory| path.strip_prefix(*directory));
    FILES.contains(&path) || TREES.iter().any(|tree| is_in(tree, path)) || unit.is_some_and(names_unit)
}

/// The tree of the kernel's that a path lies in. The path is in its shortest form.
pub fn kernel_tree(path: &str) -> Option<&'static str> {
    KERNEL_TREES.iter().copied().find(|tree| is_in(tree, path))
}

fn is_in(tree: &str, path: &str) -> bool {
    path.strip_prefix(tree).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path below a unit directory is a unit's file, its drop-ins, or a link to it in the directory of another.
fn names_unit(below: &str) -> bool {
    match below.split_once('/') {
        None => is_reserved_unit(below),
        Some((directory, entry)) => {
            let links = [".wants", ".requires", ".upholds"].iter().any(|suffix| directory.ends_with(suffix));
            is_reserved_unit(directory) || (links && is_reserved_unit(entry))
        }
    }
}

/// Whether a unit, or the directory of a unit's drop-ins, is one of the agent's own.
pub fn is_reserved_unit(name: &str) -> bool {
    name.strip_prefix("ostler").is_some_and(|rest| rest.starts_with(['.', '-', '@']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_trees_are_known_and_their_neighbours_are_not_in_them() {
        for (path, expected) in [
            ("/proc/sys/vm/swappiness", Some("/proc")),
            ("/proc", Some("/proc")),
            ("/sys/fs/cgroup/cpu.max", Some("/sys")),
            ("/dev/shm/file", Some("/dev")),
            ("/device", None),
            ("/etc/proc", None),
            ("/sysroot/file", None),
            ("/run/file", None),
        ] {
            assert_eq!(kernel_tree(path), expected, "{path}");
        }
    }

    #[test]
    fn the_agents_own_paths_are_reserved_and_their_neighbours_are_not() {
        for (path, expected) in [
            ("/usr/bin/ostler", true),
            ("/usr/bin/ostler2", false),
            ("/var/lib/ostler", true),
            ("/var/lib/ostler/journal/plan", true),
            ("/var/lib/ostler-notes", false),
            ("/etc/machine-config-daemon/currentconfig", true),
            ("/etc/machine-config-daemon/orig/etc/motd.mcdorig", true),
            ("/etc/machine-config-daemon/no-reboot/containers-gpg.pub", false),
            ("/etc/systemd/system/ostler.service", true),
            ("/etc/systemd/system/ostler-applier.socket", true),
            ("/etc/systemd/system/ostler.service.d/10-x.conf", true),
            ("/etc/systemd/system/multi-user.target.wants/ostler.service", true),
            ("/etc/systemd/system/ostlerish.service", false),
            ("/etc/systemd/system/kubelet.service.d/ostler.conf", false),
            ("/etc/systemd/system/kubelet.service", false),
            ("/etc/ostler/policy.yaml", false),
        ] {
            assert_eq!(is_reserved_path(path), expected, "{path}");
        }
    }
}
