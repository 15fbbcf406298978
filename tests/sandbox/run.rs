//! The real commands, each with a limit of time: one that waits for a pipe's other end must fail and not hang.

use std::fmt;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

/// No command of these proofs has work for longer.
pub const PATIENCE: Duration = Duration::from_secs(30);
const GLANCE: Duration = Duration::from_millis(1);

const OSTLER: &str = env!("CARGO_BIN_EXE_ostler");

/// What one run of a command left behind.
pub struct Answer {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "exit {:?}\n{}\n{}", self.code, self.stdout, self.stderr)
    }
}

/// A command at work, in a process group of its own with the applier that it starts.
pub struct Running {
    child: Child,
    streams: Option<[JoinHandle<String>; 2]>,
    name: String,
}

/// Starts `ostler`.
pub fn start(arguments: &[&str]) -> Running {
    static APPLIER: OnceLock<()> = OnceLock::new();
    APPLIER.get_or_init(build_applier);
    let mut command = Command::new(OSTLER);
    command.args(arguments).env("RUST_BACKTRACE", "1").env("NO_COLOR", "1").env_remove("OSTLER_APPLIER");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().expect("ostler starts");
    let streams = [collect(child.stdout.take()), collect(child.stderr.take())];
    Running { child, streams: Some(streams), name: arguments.join(" ") }
}

impl Running {
    /// Waits for the end.
    pub fn end(mut self) -> Answer {
        let Some(status) = self.wait(PATIENCE) else {
            self.kill();
            panic!("still at work after {PATIENCE:?}: {}", self.name);
        };
        let streams = self.streams.take().unwrap();
        let [stdout, stderr] = streams.map(|stream| stream.join().expect("a stream is read to its end"));
        Answer { code: status.code(), stdout, stderr }
    }

    /// Its end, if that comes in time.
    pub fn wait(&mut self, most: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + most;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return Some(status);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            thread::sleep(GLANCE.min(left));
        }
    }

    /// Kills it with the applier, in whatever they are doing; false when it had ended before.
    pub fn kill(&mut self) -> bool {
        let running = self.child.try_wait().expect("a child can be waited for").is_none();
        if running {
            let group = i32::try_from(self.child.id()).unwrap();
            killpg(Pid::from_raw(group), Signal::SIGKILL).expect("a group of our own can be killed");
            self.child.wait().expect("a child can be waited for");
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

fn collect(stream: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    let mut stream = stream.expect("the stream is a pipe");
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("a pipe can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The other half stands beside the command, but only a build of the whole workspace has made sure that it is there and
/// of the same source.
fn build_applier() {
    let profile = Path::new(OSTLER).parent().unwrap();
    let name = match profile.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        other => other,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--package", "ostler-applier", "--profile", name, "--target-dir"])
        .arg(profile.parent().unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.expect("cargo starts").success(), "the applier cannot be built");
}
