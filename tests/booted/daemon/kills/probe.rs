//! A service that starts when the kubelet would, and writes down which configuration it has found. It judges nothing.

use std::fs;
use std::os::unix::fs::symlink;

use crate::node::Node;

/// As the site has it: a machine that is off, or has just been switched on, has no files of its own.
const SEEN: &str = "sysroot/ostree/deploy/node/var/lib/probe/seen";
const SYSTEM: &str = "etc/systemd/system";
/// One line: the boot, a file that both have, the files that only one has, the system's version, its kernel arguments.
const LOOK: &str = "echo \"$(cat /proc/sys/kernel/random/boot_id) $(cat /etc/motd) $(cd /etc && echo only-*) \
    $(sed -n 's/^VERSION=//p' /usr/lib/os-release | tr -d '\\042') $(tr ' ' '\\n' < /proc/cmdline | grep karg)\" \
    >> /var/lib/probe/seen\n";
const PROBE: &str = "[Unit]\nRequires=kubelet-dependencies.target\nAfter=kubelet-dependencies.target\n\
    [Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh /var/lib/probe/look\n";
const DEPENDENCIES: &str = "[Unit]\nDescription=What the kubelet needs\n";
/// As dbus-broker's unit is, which RHCOS has: there before ordinary services, and so for the recovery. Debian's bus waits for
/// what waits for the recovery, which goes on without it after a minute.
const EARLY_BUS: &str = "[Unit]\nDefaultDependencies=no\nAfter=dbus.socket\nBefore=basic.target shutdown.target\n\
    Conflicts=shutdown.target\n";
/// The shipped unit, but for where the program is on these machines.
const PLACE: &str = "[Service]\nExecStart=\nExecStart=/opt/ostler/ostler recover\n";
const LINKS: &[(&str, &str)] = &[
    ("multi-user.target.wants/kubelet.service", "../kubelet.service"),
    ("basic.target.wants/ostler-recover.service", "/usr/lib/systemd/system/ostler-recover.service"),
    ("kubelet-dependencies.target.requires/ostler-recover.service", "/usr/lib/systemd/system/ostler-recover.service"),
];

/// Puts it on a machine, together with the recovery that comes before it, from the next boot on.
pub fn install(node: &Node) {
    node.write("var/lib/probe/look", LOOK);
    node.write(&format!("{SYSTEM}/kubelet.service"), PROBE);
    node.write(&format!("{SYSTEM}/kubelet-dependencies.target"), DEPENDENCIES);
    node.write(&format!("{SYSTEM}/ostler-recover.service.d/place.conf"), PLACE);
    node.write(&format!("{SYSTEM}/dbus.service.d/early.conf"), EARLY_BUS);
    for (at, target) in LINKS {
        let at = node.machine.path(SYSTEM).join(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(target, at).unwrap();
    }
    node.machine.run("systemctl", &["daemon-reload"]);
}

/// What it has written since a line of this number: the configuration of each boot, or an account of what was neither.
pub fn seen(node: &Node, since: usize) -> Vec<Result<usize, String>> {
    lines(node).lines().skip(since).map(judge).collect()
}

/// Whether it has written its line in a boot.
pub fn has_looked_in(node: &Node, boot: &str) -> bool {
    lines(node).lines().last().is_some_and(|line| line.starts_with(boot))
}

/// How many lines there are.
pub fn count(node: &Node) -> usize {
    lines(node).lines().count()
}

fn lines(node: &Node) -> String {
    fs::read_to_string(node.site().path(SEEN)).unwrap_or_default()
}

fn judge(line: &str) -> Result<usize, String> {
    let found = line.split_once(' ').map_or("", |(_, found)| found);
    let ends = ["old only-old 9.6.1 old.karg", "new only-new 9.6.2 new.karg"];
    ends.iter().position(|end| *end == found).ok_or_else(|| format!("a service has seen {found:?}"))
}
