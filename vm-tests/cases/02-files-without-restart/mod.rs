//! Files and a unit change without a restart where a policy says so, and the unit runs.

use anyhow::{Result, ensure};
use serde_json::json;

use crate::lab::Lab;
use crate::node::{Node, Target};

/// What the policy needs to say for a target of the cases.
const POLICY: &str = "apiVersion: operator.openshift.io/v1\nkind: MachineConfiguration\nmetadata:\n  name: cluster\nspec:\n  \
    managementState: Managed\n  nodeDisruptionPolicy:\n    files:\n      - {path: /etc, actions: [{type: None}]}\n    \
    units:\n      - name: proof.service\n        actions:\n          - {type: DaemonReload}\n          \
    - {type: Restart, restart: {serviceName: proof.service}}\n";
const UNIT: &str = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n";

/// A change of files and of a unit, and the policy that lets it happen without a restart.
pub fn quiet(node: &mut Node<'_>, name: &str) -> Result<Target> {
    node.write("/var/lib/ostler-desired/machineconfiguration.yaml", POLICY)?;
    let units = json!({"units": [{"name": "proof.service", "enabled": true, "contents": UNIT}]});
    let kargs = Target::old().kargs;
    Ok(Target { name: name.to_owned(), os: 0, kargs, more: json!({ "systemd": units }) })
}

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut node = lab.node()?;
    let before = node.read("/proc/sys/kernel/random/boot_id")?;
    let target = quiet(&mut node, "quiet")?;
    node.desire(&target)?;
    node.wait_until("the node is in quiet", |node| node.is_in("quiet"))?;
    node.check(&target)?;
    ensure!(node.read("/proc/sys/kernel/random/boot_id")? == before, "it has restarted");
    node.machine.run("systemctl is-active proof.service && systemctl is-enabled proof.service").map(drop)
}
