//! The machine of the demo: a directory with just enough in it to be one, and a config that takes a while to write.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Files of the large config: enough for a kill to hit while they are written.
const FILES: usize = 3000;

/// A fresh machine in a directory of its own.
pub fn fresh(root: &Path) -> Result<()> {
    if root.exists() {
        fs::remove_dir_all(root).with_context(|| format!("cannot remove {}", root.display()))?;
    }
    for (path, text) in [
        ("etc/passwd", "root:x:0:0::/root:/bin/sh\ncore:x:1000:1000::/home/core:/bin/bash\n"),
        ("etc/group", "root:x:0:\ncore:x:1000:\n"),
        ("etc/shadow", "root:*:20000::::::\ncore:!:20000::::::\n"),
        ("etc/motd", "Installed by hand.\n"),
    ] {
        write(&root.join(path), text)?;
    }
    fs::create_dir_all(root.join("home/core"))?;
    Ok(())
}

/// Writes a config with many files beside the machine, and says where.
pub fn large_config(beside: &Path) -> Result<PathBuf> {
    let path = beside.with_file_name("worker-large.json");
    let file = |number| {
        format!(
            r#"{{"path":"/etc/demo/{}/{number}.conf","contents":{{"source":"data:,file%20{number}"}}}}"#,
            number % 40
        )
    };
    let files: Vec<String> = (0..FILES).map(file).collect();
    let text = format!(
        r#"{{"kind":"MachineConfig","metadata":{{"name":"rendered-worker-large"}},"spec":{{"config":{{"ignition":{{"version":"3.4.0"}},"storage":{{"files":[{}]}}}}}}}}"#,
        files.join(",")
    );
    write(&path, &text)?;
    Ok(path)
}

/// A directory that desires the example of a change, under the example of a policy, and says where.
pub fn desired_directory(beside: &Path) -> Result<PathBuf> {
    let directory = beside.with_file_name("desired");
    fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    for (example, name) in [("worker-desired.yaml", "worker.yaml"), ("policy.yaml", "machineconfiguration.yaml")] {
        let from = crate::workspace::root().join("docs/examples").join(example);
        fs::copy(&from, directory.join(name)).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(directory)
}

/// Appends a line to a file of the machine, behind the agent's back.
pub fn tamper(path: &Path) -> Result<()> {
    let mut text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.push_str("# edited by hand at 3 a.m.\n");
    write(path, &text)
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
