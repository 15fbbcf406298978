//! The real commands, each with a limit of time: one that waits for a pipe's other end must fail and not hang.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::answer::{Answer, programs};

/// No command of these proofs has work for longer.
pub const PATIENCE: Duration = Duration::from_secs(180);
const GLANCE: Duration = Duration::from_millis(1);

/// A command at work, in a process group of its own with the applier that it starts.
pub struct Running {
    child: Child,
    streams: Option<[JoinHandle<String>; 2]>,
    name: String,
}

/// Starts `ostler`.
pub fn start(arguments: &[&str]) -> Running {
    start_with(arguments, |_| ())
}

/// Starts `ostler` with something else about it.
pub fn start_with(arguments: &[&str], change: impl FnOnce(&mut Command)) -> Running {
    let mut command = Command::new(programs().join("ostler"));
    command.args(arguments).env("RUST_BACKTRACE", "1").env("NO_COLOR", "1").env_remove("OSTLER_APPLIER");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    change(&mut command);
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

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, as the service manager does.
    pub fn terminate(&mut self) {
        let _ = killpg(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM);
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

/// Waits until something is so.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "it never came that {what}");
        thread::sleep(GLANCE);
    }
}
