//! An operating system whose boot is never complete is left by itself, together with its configuration, and not tried again.

use anyhow::{Result, ensure};

use crate::lab::Lab;
use crate::node::Target;

/// With this a boot has succeeded or failed when the agent first looks.
const IMPATIENT: &str = "[Unit]\nAfter=boot-complete.target\n[Service]\nExecStart=\nExecStart=/usr/bin/ostler daemon \
    --standalone /var/lib/ostler-desired --reboot=auto --node-name=node-1 --metrics=none --prove-within=0";

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut node = lab.node()?;
    node.write("/etc/systemd/system/ostler.service.d/20-case.conf", IMPATIENT)?;
    node.machine.run("systemctl daemon-reload && systemctl restart ostler.service")?;
    node.wait_until("the agent is back", |node| node.is_in("old"))?;
    node.desire(&Target::new("sick", 2))?;
    node.follow_until("what was given up is told", |node| node.is("NodeDegraded"))?;
    node.check(&Target::old())?;
    ensure!(node.seen()?.last().is_some_and(|(_, found)| *found == Ok(0)), "not old as a whole: {:?}", node.seen()?);
    ensure!(node.seen()?.iter().any(|(_, found)| *found == Ok(2)), "it was never tried: {:?}", node.seen()?);
    let status = node.status()?;
    ensure!(status.pointer("/rejected/0/config").is_some_and(|config| config == "sick"), "{status:#}");
    // It is not tried again, and another one is.
    let boot = node.read("/proc/sys/kernel/random/boot_id")?;
    node.machine.run("systemctl restart ostler.service")?;
    node.wait_until("the agent has looked again", |node| node.is("NodeDegraded"))?;
    ensure!(node.read("/proc/sys/kernel/random/boot_id")? == boot, "it was tried again");
    node.desire(&Target::new_os())?;
    node.follow_to(&Target::new_os())
}
