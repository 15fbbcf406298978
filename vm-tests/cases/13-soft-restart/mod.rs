//! A restart of user space alone completes a change of files; where an operating system is staged, the whole machine restarts.

use anyhow::{Result, ensure};

use crate::lab::Lab;
use crate::machine::PATIENCE;
use crate::node::Target;

/// As a service: whoever waits for an answer is ended by it.
const RESTART: &str = "systemd-run --quiet ostler reboot --soft --yes";

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut node = lab.node()?;
    let before = node.read("/proc/sys/kernel/random/boot_id")?;
    node.machine.run("systemctl stop ostler.service")?;
    let target = Target { kargs: Target::old().kargs, ..Target::new("soft", 0) };
    let config = node.config(&target)?.to_string();
    node.write("/var/target.json", &config)?;
    node.desire(&target)?;
    node.machine.run("ostler apply --to /var/target.json --yes -o json")?;
    node.machine.run(RESTART)?;
    node.machine.wait_for_guest(PATIENCE)?;
    node.wait_until("the node is in soft", |node| node.is_in("soft"))?;
    node.check(&target)?;
    ensure!(node.read("/proc/sys/kernel/random/boot_id")? == before, "the machine has restarted as a whole");
    node.machine.run("systemctl stop ostler.service")?;
    let config = node.config(&Target::new_os())?.to_string();
    node.write("/var/target.json", &config)?;
    node.machine.run("ostler apply --to /var/target.json --yes -o json")?;
    let plan = node.machine.run("ostler reboot --soft --dry-run -o json")?;
    let plan: serde_json::Value = serde_json::from_str(&plan)?;
    ensure!(plan.pointer("/staged").is_some_and(|staged| staged == true), "{plan:#}");
    println!("vm: into another operating system: soft {:?}, because {:?}", plan.get("soft"), plan.get("notSoft"));
    node.desire(&Target::new_os())?;
    node.machine.run(RESTART)?;
    node.follow_to(&Target::new_os())
}
