//! Another configuration is desired while the restart into an update is pending: the machine ends in the other one.

use anyhow::{Result, ensure};

use crate::lab::Lab;
use crate::node::Target;

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut node = lab.node()?;
    node.machine.run(
        "systemd-run --unit=holder systemd-inhibit --what=shutdown --who=case --why='not yet' --mode=block sleep infinity",
    )?;
    node.wait_until("the restart is held up", |node| {
        Ok(node.machine.run("systemd-inhibit --list --no-legend")?.contains("not yet"))
    })?;
    node.desire(&Target::new_os())?;
    node.wait_until("the update waits for its restart", |node| {
        Ok(node.status()?.pointer("/awaitsReboot").is_some_and(|awaits| awaits == true))
    })?;
    let other = Target::new("other", 1);
    node.desire(&other)?;
    node.machine.run("systemctl --no-block stop holder.service")?;
    node.follow_to(&other)?;
    ensure!(!node.read("/etc/only-new")?.contains("new"), "something of the first is left");
    ensure!(!node.is("NodeDegraded")?, "{:#}", node.object()?);
    Ok(())
}
