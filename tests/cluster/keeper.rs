//! Processes and directories that end with the test process, whatever becomes of that.
//!
//! Each is looked after by a shell that waits for the end of a pipe, so that even a killed test leaves nothing behind.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The log comes first, then the command.
const KEEP: &str = r#"log=$1; shift; "$@" >>"$log" 2>&1 & echo $!; read -r _; kill -KILL $! 2>/dev/null; wait"#;
/// What still writes there is being killed at the same time.
const CLEAN: &str = r#"read -r _; for try in 1 2 3 4 5 6 7 8 9; do rm -rf -- "$1" && exit; sleep 0.2; done"#;
const NAP: Duration = Duration::from_millis(10);

fn shell(script: &str) -> Command {
    let mut shell = Command::new("sh");
    // Nor does it end with a signal from the terminal: it has yet to clean up then.
    shell.args(["-c", script, "keeper"]).stdin(Stdio::piped()).process_group(0);
    shell
}

/// A running process.
pub struct Process {
    keeper: Child,
    pid: Pid,
    log: PathBuf,
}

impl Process {
    /// Starts a command, all of whose output goes to the end of a file.
    pub fn start(command: &Command, log: &Path) -> Self {
        let mut keeper = shell(KEEP);
        keeper.arg(log).arg(command.get_program()).args(command.get_args()).stdout(Stdio::piped());
        let mut keeper = keeper.spawn().expect("sh starts");
        let mut said = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let pid = Pid::from_raw(said.trim_end().parse().expect("the shell says the number of the process"));
        Self { keeper, pid, log: log.to_path_buf() }
    }

    /// Whether it has ended by itself. Its keeper does not reap it, so that the number stays its own.
    pub fn has_ended(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('Z'))
    }

    /// Sends a signal, and kills what has not ended by it in time.
    pub fn end(self, signal: Signal, patience: Duration) {
        let _ = kill(self.pid, signal);
        let start = Instant::now();
        while !self.has_ended() && start.elapsed() < patience {
            sleep(NAP);
        }
    }

    /// The last lines it wrote.
    pub fn last_words(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        dismiss(&mut self.keeper);
    }
}

/// A directory of its own.
pub struct Ground {
    path: PathBuf,
    keeper: Child,
}

impl Ground {
    /// A new, empty directory.
    pub fn new() -> Self {
        let path = tempfile::Builder::new().prefix("ostler-cluster-").tempdir().unwrap().keep();
        let keeper = shell(CLEAN).arg(&path).spawn().expect("sh starts");
        Self { path, keeper }
    }

    /// A path in it.
    pub fn path(&self, below: &str) -> PathBuf {
        self.path.join(below)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        dismiss(&mut self.keeper);
    }
}

fn dismiss(keeper: &mut Child) {
    drop(keeper.stdin.take());
    let _ = keeper.wait();
}
