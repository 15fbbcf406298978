//! A machine that Ignition has just furnished gets its operating system in its first boot, and is Done.

use anyhow::{Result, ensure};
use serde_json::json;

use crate::lab::Lab;
use crate::machine::PATIENCE;
use crate::node::Target;

const SERVED: &str = "/etc/mcs-machine-config-content.json";
const ENCAPSULATED: &str = "/etc/ignition-machine-config-encapsulated.json";
const MARK: &str = "/var/lib/ostler/first-boot";

/// In a view of its own of the mounts: this command of ostree does not make the sysroot writable for itself.
const WITHOUT_ARGUMENT: &str = "unshare --mount sh -e -c 'mount -o remount,rw /sysroot; \
    ostree admin instutil set-kargs \"$@\"' sh $(tr ' ' '\\n' < /proc/cmdline | grep -v -x -e 'ostree=.*' -e old.karg)";

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut node = lab.installed()?;
    node.machine.power_on()?;
    node.machine.wait_for_guest(PATIENCE)?;
    // What Ignition leaves, in a boot that is not counted: this image has no Ignition. What looks at the boot has to be done.
    node.machine.run(
        "systemctl start kubelet.service; systemctl stop ostler.service; printf new | tee /etc/motd > /etc/only-new; \
         rm -rf /var/lib/probe",
    )?;
    // The argument of a configuration that this machine has never been in goes too.
    node.machine.run(WITHOUT_ARGUMENT)?;
    let target = Target::new_os();
    let mut config = node.config(&target)?;
    node.write(SERVED, &config.to_string())?;
    if let Some(spec) = config.pointer_mut("/spec/config") {
        *spec = json!({"ignition": {"version": "3.4.0"}});
    }
    node.write(ENCAPSULATED, &config.to_string())?;
    node.desire(&target)?;
    node.machine.run("sync; systemctl --no-block reboot")?;
    node.follow_to(&target)?;
    let left = node.machine.run(&format!("ls {ENCAPSULATED} {MARK} 2> /dev/null || :"))?;
    ensure!(left.is_empty(), "the first boot is not over: {left}");
    node.machine.run(&format!("test -e {ENCAPSULATED}.bak"))?;
    ensure!(node.seen()?.iter().all(|(_, found)| *found == Ok(1)), "the kubelet was too early: {:?}", node.seen()?);
    ensure!(!node.is("NodeDegraded")?, "{:#}", node.object()?);
    Ok(())
}
