//! The MachineConfigNode of a node without a cluster: what an API server would make of our writes, kept in a file.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ostler_core::api::MachineConfigNode;
use ostler_core::node::publication::StatusChange;

use crate::account;

/// What it is called, beside the socket.
const NAME: &str = "machineconfignode.json";

/// A file that holds a MachineConfigNode.
#[derive(Debug)]
pub struct StatusFile {
    path: PathBuf,
}

impl StatusFile {
    /// The file below a root.
    pub fn below(root: &Path) -> Self {
        Self { path: root.join(account::DIRECTORY).join(NAME) }
    }

    /// What it holds. One that cannot be read is as none: it is made anew.
    pub fn load(&self) -> Option<MachineConfigNode> {
        serde_json::from_slice(&fs::read(&self.path).ok()?).ok()
    }

    /// Makes the change to the object and keeps it.
    pub fn publish(
        &self,
        mut object: MachineConfigNode,
        change: &StatusChange,
        desired: &str,
    ) -> Result<MachineConfigNode> {
        desired.clone_into(&mut object.spec.config_version.desired);
        object.status = Some(change.applied_to(&object.status.take().unwrap_or_default()));
        self.save(&object)?;
        Ok(object)
    }

    /// Old or new as a whole, for whoever reads it; it is gone after a restart, so it need not be durable.
    fn save(&self, object: &MachineConfigNode) -> Result<()> {
        let name = self.path.display();
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let write = || -> std::io::Result<()> {
            let temporary = self.path.with_extension("json.new");
            // One that was left by an agent of another user is not ours to write to, but ours to remove.
            let _ = fs::remove_file(&temporary);
            let mut file = fs::File::create(&temporary)?;
            file.write_all(&serde_json::to_vec_pretty(object)?)?;
            fs::rename(&temporary, &self.path)
        };
        write().with_context(|| format!("cannot write {name}"))
    }
}
