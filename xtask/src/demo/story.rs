//! The life of one machine: configured, tampered with, repaired, interrupted, recovered, rolled back, looked after.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::{exit, expect, sandbox};
use crate::workspace;

/// Sections that the examples have and a directory cannot: only an installer writes partitions.
const OVERRIDES: &str = "--overrides Disks,FileSystems";

/// A kill that comes too late is tried again this often.
const TRIES: usize = 5;

struct Story {
    program: PathBuf,
    root: PathBuf,
}

/// Plays all scenes on a directory below the build directory.
pub fn play(program: &Path) -> Result<()> {
    let story = Story { program: program.to_owned(), root: workspace::target().join("demo/root") };
    sandbox::fresh(&story.root)?;
    story.configure()?;
    story.tamper_and_repair()?;
    story.interrupt_and_recover()?;
    story.scene("And back to the configuration before.", "rollback --yes --overrides Disks,FileSystems", exit::FINE)?;
    story.look_after()
}

impl Story {
    fn configure(&self) -> Result<()> {
        let words = format!("apply --to docs/examples/worker-current.yaml {OVERRIDES} --yes");
        self.scene(
            "A machine without a configuration gets one, in a directory instead of on this machine.",
            &words,
            exit::FINE,
        )
    }

    fn tamper_and_repair(&self) -> Result<()> {
        println!("\n# Somebody edits /etc/chrony.conf by hand.");
        sandbox::tamper(&self.root.join("etc/chrony.conf"))?;
        self.scene("The machine knows.", "drift", exit::DIFFERS)?;
        self.scene("And mends it.", "drift --repair --yes", exit::FINE)
    }

    fn interrupt_and_recover(&self) -> Result<()> {
        let target = sandbox::large_config(&self.root)?;
        println!("\n# An update of some thousand files, killed (SIGKILL) while it writes them.");
        for _ in 0..TRIES {
            self.interrupted_apply(&target)?;
            if self.quietly("status")? == exit::DIFFERS {
                self.scene("Neither old nor new, and it says so.", "status", exit::DIFFERS)?;
                self.scene("Recovery needs no human and no network.", "recover", exit::FINE)?;
                return self.scene("The new configuration, whole.", "status", exit::FINE);
            }
            println!("# (it was done before the kill came; once more)");
            self.quietly("rollback --yes")?;
        }
        bail!("the update was done before it could be killed, {TRIES} times in a row")
    }

    /// Kills command and applier as soon as the writing begins.
    fn interrupted_apply(&self, target: &Path) -> Result<()> {
        let mut child = self
            .command(&format!("apply {OVERRIDES} --yes -o json"))
            .arg("--to")
            .arg(target)
            .process_group(0)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start ostler")?;
        let progress = BufReader::new(child.stderr.take().context("ostler has no standard error")?);
        for line in progress.lines() {
            if line?.contains(r#""phase":"write""#) {
                let group = Pid::from_raw(i32::try_from(child.id()).context("no process has such a number")?);
                killpg(group, Signal::SIGKILL).context("cannot kill ostler")?;
                break;
            }
        }
        child.wait().context("cannot wait for ostler")?;
        Ok(())
    }

    /// The agent itself, with a directory in the place of a cluster.
    fn look_after(&self) -> Result<()> {
        let desired = sandbox::desired_directory(&self.root)?;
        let words = format!("daemon --standalone {} --once --node-name demo --metrics none", desired.display());
        println!("\n# The agent itself: desired configurations in a directory, the status in a file, no cluster.");
        println!("$ ostler daemon --standalone DESIRED --root ROOT --once");
        std::io::stdout().flush()?;
        expect(self.command(&words).status().context("cannot start ostler")?, exit::FINE, "daemon")?;
        println!("\n# (What it would have told a cluster is in ROOT/run/ostler/agent/machineconfignode.json.)");
        self.scene("The machine is in the desired configuration.", "status", exit::FINE)
    }

    fn scene(&self, says: &str, words: &str, code: i32) -> Result<()> {
        println!("\n# {says}\n$ ostler {words} --root ROOT");
        std::io::stdout().flush()?;
        let status = self.command(words).status().context("cannot start ostler")?;
        expect(status, code, words)
    }

    fn quietly(&self, words: &str) -> Result<i32> {
        let output = self.command(words).stdin(Stdio::null()).output().context("cannot start ostler")?;
        output.status.code().context("ostler was killed")
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words.split_whitespace()).arg("--root").arg(&self.root).current_dir(workspace::root());
        command
    }
}
