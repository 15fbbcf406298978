//! What starts when the recovery does not come to its end: nothing that hosts workloads, until it does.

use super::order::{KUBELET, surround};
use super::{AGENT, Packaged};

const RECOVERY: &str = "ostler-recover.service";
const CRIO: &str = "crio.service";
const CRIO_UNIT: &str = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n";
/// A kubelet that comes without the target of its dependencies.
const BARE: &str = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n";

/// Boots a machine whose recovery ends as this command does until there is `/var/go`.
fn boot(packaged: &mut Packaged, ends: &str) {
    packaged.write(
        &format!("etc/systemd/system/{RECOVERY}.d/test.conf"),
        &format!("[Service]\nRestartSec=1s\nTimeoutStartSec=3s\nExecStart=\nExecStart=/bin/sh -c 'test -e /var/go || {ends}'\n"),
    );
    packaged.node.machine.reboot();
}

#[test]
fn no_workload_starts_until_the_recovery_has_come_to_its_end_and_then_it_does_by_itself() {
    for (ends, bare) in [("exit 5", false), ("exit 5", true), ("kill -KILL $$", true), ("sleep infinity", true)] {
        let Some(mut packaged) = Packaged::install() else { return };
        surround(&packaged);
        packaged.standalone();
        packaged.unit(CRIO, CRIO_UNIT, "multi-user.target.wants");
        if bare {
            packaged.write(&format!("etc/systemd/system/{KUBELET}"), BARE);
        }
        boot(&mut packaged, ends);
        packaged.wait_until("it was tried twice", || packaged.show(RECOVERY, "NRestarts").parse::<u32>().unwrap() > 1);
        for unit in [KUBELET, CRIO] {
            assert_eq!(packaged.show(unit, "ActiveState"), "inactive", "{ends}: {unit}");
        }
        packaged.wait_until("the agent runs all the same", || packaged.show(AGENT, "ActiveState") == "active");
        packaged.write("var/go", "");
        for unit in [KUBELET, CRIO] {
            packaged.wait_until("what was turned away is started", || packaged.show(unit, "ActiveState") == "active");
        }
    }
}

#[test]
fn the_outcome_undone_is_an_end() {
    let Some(mut packaged) = Packaged::install() else { return };
    surround(&packaged);
    packaged.standalone();
    boot(&mut packaged, "exit 1");
    packaged.wait_until("the kubelet runs", || packaged.show(KUBELET, "ActiveState") == "active");
    assert_eq!(packaged.show(RECOVERY, "Result"), "success");
}
