//! Kernel arguments of the configuration are on the command line that the boot loader gives the kernel, and others stay.

use anyhow::{Result, ensure};

use crate::lab::Lab;
use crate::node::Target;

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut node = lab.node()?;
    let kargs = ["kargs.karg", "second.karg"].map(str::to_owned).to_vec();
    let target = Target { kargs, ..Target::new("kargs", 0) };
    node.desire(&target)?;
    node.follow_to(&target)?;
    let line = node.read("/proc/cmdline")?;
    for own in ["root=/dev/vda", "rw", "console=ttyS0", "quiet"] {
        ensure!(line.split(' ').any(|word| word == own), "{own} is lost: {line}");
    }
    node.desire(&Target::old())?;
    node.follow_to(&Target::old())
}
