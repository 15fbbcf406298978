//! The order of a boot, and who runs as whom.

use super::{AGENT, APPLIER, Packaged, UNITS};
use crate::first_boot::furnish;

/// What the machine-config-operator has on every node.
const DEPENDENCIES: &str = "[Unit]\nRequires=basic.target\nAfter=basic.target\n";
const OS_UPDATE: &str = "[Unit]\nDescription=First boot\n";
pub const KUBELET: &str = "kubelet.service";
/// Writes down which operating system it is started on.
const KUBELET_UNIT: &str = "[Unit]\nRequires=kubelet-dependencies.target\nAfter=kubelet-dependencies.target\n\
    [Service]\nType=oneshot\nRemainAfterExit=yes\n\
    ExecStart=/bin/sh -c 'sed -n s/^VERSION=//p /usr/lib/os-release >> /var/kubelet-saw'\n";
pub const SEEN: &str = "var/kubelet-saw";
const RIVALS: [&str; 2] = ["machine-config-daemon-pull.service", "machine-config-daemon-firstboot.service"];
const RIVAL: &str = "[Unit]\nConditionPathExists=/etc/ignition-machine-config-encapsulated.json\n\
    [Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/touch /var/rival\n";

/// Gives a machine what the cluster's own configuration has beside the agent.
pub fn surround(packaged: &Packaged) {
    packaged.unit("kubelet-dependencies.target", DEPENDENCIES, "multi-user.target.wants");
    packaged.unit("firstboot-osupdate.target", OS_UPDATE, "multi-user.target.wants");
    packaged.unit(KUBELET, KUBELET_UNIT, "multi-user.target.wants");
    for rival in RIVALS {
        packaged.unit(rival, RIVAL, "firstboot-osupdate.target.requires");
    }
}

/// The operating systems that the kubelet was started on.
pub fn seen(packaged: &Packaged) -> Vec<String> {
    packaged.node.read(SEEN).lines().map(|line| line.trim_matches('"').to_owned()).collect()
}

#[test]
fn a_first_boot_goes_from_recovery_over_the_first_boot_to_the_agent() {
    let Some(mut packaged) = Packaged::install() else { return };
    for unit in UNITS {
        assert_eq!(packaged.systemctl(&["is-enabled", unit]), "enabled", "{unit}");
    }
    // It has the operating system of its configuration already.
    furnish(&packaged.node, &packaged.node.config("old", 0, &["old.karg"]));
    surround(&packaged);
    // The kubelet's credentials and drift are others' business here.
    packaged.standalone();
    packaged.node.machine.reboot();
    packaged.wait_until("the agent is ready", || packaged.show(AGENT, "ActiveState") == "active");
    in_order(&packaged);
    for rival in RIVALS {
        assert_eq!(packaged.show(rival, "ConditionResult"), "no", "{rival}");
    }
    assert!(!packaged.node.machine.path("var/rival").exists());
    packaged.wait_until("the node is in its configuration", || packaged.rests_in("old"));
    runs_as_itself(&packaged);
    is_asked_by_its_own(&packaged);
    is_told_of(&packaged);
    is_started_again_when_it_hangs(&packaged);
}

fn in_order(packaged: &Packaged) {
    let (recovered, begun) = ("ostler-recover.service", "ostler-firstboot.service");
    let moments = [
        packaged.moment(recovered, "ExecMainStart"),
        packaged.moment(recovered, "ExecMainExit"),
        packaged.moment(begun, "ExecMainStart"),
        packaged.moment(begun, "ExecMainExit"),
        packaged.moment("kubelet.service", "ExecMainStart"),
    ];
    let journal = packaged.node.machine.journal(&["--boot", "--lines=150"]);
    assert!(moments[0] > 0 && moments.is_sorted(), "{moments:?}\n{journal}");
    assert!(packaged.moment(AGENT, "ExecMainStart") > moments[3], "{moments:?}");
    for unit in [recovered, begun] {
        assert_eq!(packaged.show(unit, "Result"), "success", "{journal}");
    }
    let there = |path: &str| packaged.node.machine.path(path).exists();
    assert!(there("etc/ignition-machine-config-encapsulated.json.bak") && !there("var/lib/ostler/first-boot"));
}

/// A user with no rights, and a root half that is there only when it is needed.
fn runs_as_itself(packaged: &Packaged) {
    let machine = &packaged.node.machine;
    let uid = machine.run("id", &["--user", "ostler"]).trim_end().to_owned();
    let pid = packaged.show(AGENT, "MainPID");
    assert_eq!(packaged.process(&pid, "Uid"), [uid.as_str(); 4].join(" "));
    for set in ["CapEff", "CapPrm", "CapBnd", "CapAmb"] {
        assert_eq!(packaged.process(&pid, set), "0000000000000000", "{set}");
    }
    assert_eq!(packaged.process(&pid, "NoNewPrivs"), "1");
    let users = std::fs::read_to_string(machine.path(&format!("proc/{pid}/uid_map"))).unwrap();
    let users: Vec<_> = users.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(users, [["0", "0", "1"], [&uid, &uid, "1"]], "it knows root and itself, and nobody else");
    let files = machine.run("stat", &["--format=%a %U %G", "/run/ostler/agent", "/run/ostler/agent/agent.sock"]);
    assert_eq!(files, "750 ostler ostler\n660 ostler ostler\n");
    for line in packaged.lines() {
        assert_eq!((line["_UID"].as_str(), line["MESSAGE_ID"].as_str().map(str::len)), (Some(uid.as_str()), Some(32)));
    }
    packaged.wait_until("the root half ends when nobody asks", || packaged.show(APPLIER, "ActiveState") == "inactive");
    assert_eq!(packaged.show(APPLIER, "Result"), "success");
    assert_eq!(packaged.systemctl(&["is-active", "ostler-applier.socket"]), "active");
}

fn is_asked_by_its_own(packaged: &Packaged) {
    let socket = packaged.node.machine.run("stat", &["--format=%a %U %G", "/run/ostler/applier.sock"]);
    assert_eq!(socket, "660 root ostler\n");
    let status = ["/usr/bin/ostler", "status"];
    packaged.as_user("ostler", "ostler", &status).exits(0).says("Up to date");
    packaged.as_user("root", "root", &status).exits(0).says("Up to date");
    packaged.as_user("core", "core", &status).exits(1).says("not allowed to use the applier");
    // Whoever gets as far as the socket is asked for by the kernel's word.
    packaged.as_user("core", "ostler", &status).exits(1).says("user 1000 may not use the applier");
    packaged.as_user("core", "core", &["cat", "/run/ostler/agent/machineconfignode.json"]).exits(1);
}

/// Over the bus, by metrics, and in the journal.
fn is_told_of(packaged: &Packaged) {
    assert_eq!(packaged.systemctl(&["service-log-level", AGENT]), "info");
    packaged.systemctl(&["service-log-level", AGENT, "debug"]);
    assert_eq!(packaged.systemctl(&["service-log-level", AGENT]), "debug");
    let ask = "exec 3<> /dev/tcp/127.0.0.1/8797; printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3";
    let metrics = packaged.node.machine.run("bash", &["-c", ask]);
    assert!(metrics.contains("mcd_state{") && metrics.contains("ostler_phase"), "{metrics}");
    packaged.write("etc/motd", "changed by hand");
    packaged.wait_until("drift is told", || packaged.said("1 difference from old: ") > 0);
}

fn is_started_again_when_it_hangs(packaged: &Packaged) {
    let before = packaged.show(AGENT, "MainPID");
    packaged.systemctl(&["kill", "--signal=STOP", "--kill-whom=main", AGENT]);
    packaged.wait_until("another agent runs", || {
        packaged.show(AGENT, "ActiveState") == "active" && packaged.show(AGENT, "MainPID") != before
    });
    let journal = packaged.node.machine.journal(&["--boot", &format!("--unit={AGENT}")]);
    assert!(journal.contains("Watchdog timeout"), "{journal}");
    packaged.wait_until("it is asked again", || packaged.said("looks after this node") == 2);
}
