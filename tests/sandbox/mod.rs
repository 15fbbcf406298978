//! A machine's files under a temporary directory, the real commands run on them, and a look at every path before and
//! after.
#![allow(dead_code, unused_imports, reason = "every proof takes what it needs of it")]

#[path = "../live/answer.rs"]
mod answer;
mod canary;
mod chance;
mod configs;
mod run;
mod tree;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use nix::unistd::Uid;
use serde_json::Value;
use tempfile::TempDir;

pub use answer::{Answer, programs};
pub use canary::forms;
pub use chance::{Chance, SEED};
pub use configs::{base64, data, file, gzip, machine_config, text_file};
pub use run::{PATIENCE, Running, start, start_with, until};
pub use tree::{Tree, differences, tree, tree_with_times};

const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\ncore:x:1000:1000:CoreOS Admin:/home/core:/bin/bash\n";
const GROUP: &str = "root:x:0:\ncore:x:1000:\n";
const SHADOW: &str = "root:*:19000:0:99999:7:::\ncore:*:19000:0:99999:7:::\n";

/// Where the agent keeps its journal, below the root.
pub const JOURNAL: &str = "var/lib/ostler/journal";

/// A root, a directory beside it that nothing may change, and configurations.
pub struct Sandbox {
    directory: TempDir,
    root: PathBuf,
}

impl Sandbox {
    /// With a root of its own in the usual place for temporary files.
    pub fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// With a root of its own below a directory.
    pub fn within(directory: &Path) -> Self {
        let directory = tempfile::Builder::new().prefix("ostler-proof-").tempdir_in(directory).unwrap();
        let root = directory.path().join("root");
        fs::create_dir(&root).unwrap();
        Self::furnished(directory, root)
    }

    /// With its root in a directory that is there already.
    pub fn at(root: &Path) -> Self {
        Self::furnished(tempfile::tempdir().unwrap(), root.to_owned())
    }

    fn furnished(directory: TempDir, root: PathBuf) -> Self {
        let sandbox = Self { directory, root };
        for path in ["etc/systemd/system", "usr/lib/systemd/system", "var/lib", "home/core", "run"] {
            fs::create_dir_all(sandbox.root.join(path)).unwrap();
        }
        for (path, text, mode) in
            [("etc/passwd", PASSWD, 0o644), ("etc/group", GROUP, 0o644), ("etc/shadow", SHADOW, 0o000)]
        {
            sandbox.write(path, text);
            fs::set_permissions(sandbox.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        let home = sandbox.root.join("home/core");
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
        if is_root() {
            chown(&home, Some(1000), Some(1000)).unwrap();
        }
        fs::create_dir(sandbox.outside()).unwrap();
        sandbox
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the root.
    pub fn path(&self, below: &str) -> PathBuf {
        self.root.join(below.trim_start_matches('/'))
    }

    /// Beside the root, and not to be touched through it.
    pub fn outside(&self) -> PathBuf {
        self.directory.path().join("outside")
    }

    /// Writes a file below the root, with the directories above it.
    pub fn write(&self, below: &str, contents: impl AsRef<[u8]>) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    /// Writes a file beside the root.
    pub fn note(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.directory.path().join(name);
        fs::write(&path, contents).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Writes a MachineConfig of this name with this Ignition config.
    pub fn config(&self, name: &str, ignition: &Value) -> String {
        self.note(&format!("{name}.json"), machine_config(name, ignition).to_string())
    }

    /// Starts a command on the root.
    pub fn start(&self, arguments: &[&str]) -> Running {
        let root = self.root.to_str().unwrap();
        let mut all = arguments.to_vec();
        all.extend(["--root", root]);
        start(&all)
    }

    /// Runs a command on the root to its end.
    pub fn ostler(&self, arguments: &[&str]) -> Answer {
        self.start(arguments).end()
    }

    /// Applies a configuration without being asked.
    pub fn apply(&self, config: &str) -> Answer {
        self.ostler(&["apply", "--yes", "--to", config])
    }

    /// The configuration the machine says it is in; fails unless it is settled.
    pub fn settled_in(&self) -> Option<String> {
        let answer = self.ostler(&["status", "-o", "json"]);
        let status = answer.json();
        // What was undone needs attention, and a machine without a configuration has no state to be sure of: both are whole.
        assert!(matches!(answer.code, Some(0 | 4 | 6)), "not settled: {answer}");
        assert_eq!((&status["open"], &status["damaged"]), (&Value::Null, &serde_json::json!([])), "{status}");
        assert_eq!(status["busy"], false, "{status}");
        status["config"].as_str().map(str::to_owned)
    }

    /// Everything below the root but the agent's own state.
    pub fn tree(&self) -> Tree {
        let mut tree = tree(&self.root);
        tree.retain(|path, _| !path.starts_with("var/lib/ostler"));
        tree
    }
}

/// Whether this is run by root, who alone can change owners and mount.
pub fn is_root() -> bool {
    Uid::effective().is_root()
}
