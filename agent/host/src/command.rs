//! Other programs, run to their end within bounds of time and output.
//!
//! Owns a child process from its start until it and everything it started is gone. Refuses shells, standard input, and
//! to know what a program is for. What is passed in the environment is not shown.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use ostler_core::secret::Secret;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How much is kept of what a program writes to its standard error: the end of it.
const STDERR: usize = 16 * 1024;
/// How often a running program is looked at.
const PAUSE: Duration = Duration::from_millis(10);
/// Nothing but the system's own directories is searched for programs.
const SEARCH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A program to be run.
#[derive(Clone, Debug)]
pub struct Command {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Secret<OsString>)>,
    limit: Duration,
    most: usize,
    whatever_status: bool,
}

/// What a program that succeeded has written.
#[derive(Debug)]
pub struct Output {
    /// To its standard output, all of it.
    pub stdout: Vec<u8>,
    /// To its standard error, the end of it.
    pub stderr: String,
}

/// Why a program did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// There is no such program.
    #[error("{program} is not installed")]
    Missing {
        /// Which.
        program: String,
    },
    /// It could not be run or listened to.
    #[error("{program} could not be run")]
    Run {
        /// Which.
        program: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It took too long and was ended.
    #[error("{program} did not end within {seconds} seconds")]
    TooSlow {
        /// Which.
        program: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// It wrote too much.
    #[error("{program} wrote more than {most} bytes")]
    TooMuch {
        /// Which.
        program: String,
        /// How much was expected at most.
        most: usize,
    },
    /// It says that it failed.
    #[error("{program} failed with {status}")]
    Failed {
        /// Which.
        program: String,
        /// Its exit code or signal.
        status: String,
        /// The end of its standard error.
        stderr: String,
    },
}

impl Command {
    /// A program with nothing in its environment but where to find others.
    pub fn new(program: impl Into<PathBuf>, limit: Duration, most: usize) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            limit,
            most,
            whatever_status: false,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Takes any exit status for success: some programs answer by it.
    #[must_use]
    pub fn whatever_status(mut self) -> Self {
        self.whatever_status = true;
        self
    }

    /// Adds something to the environment.
    #[must_use]
    pub fn environment(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), Secret::new(value.into())));
        self
    }

    /// Runs it to its end, or ends it. Nothing it has started in its process group is left.
    pub fn run(&self) -> Result<Output, CommandError> {
        let mut running = Running::start(self)?;
        let ended = running.follow(self.limit);
        running.end();
        let status = running.child.wait().map_err(|source| self.unrun(source))?;
        let (stdout, stderr) = (running.output(), running.complaint());
        if !ended.map_err(|source| self.unrun(source))? {
            return Err(CommandError::TooSlow { program: self.name(), seconds: self.limit.as_secs() });
        }
        if !status.success() && !self.whatever_status {
            return Err(CommandError::Failed { program: self.name(), status: status.to_string(), stderr });
        }
        match stdout {
            Some(stdout) => Ok(Output { stdout, stderr }),
            None => Err(CommandError::TooMuch { program: self.name(), most: self.most }),
        }
    }

    fn name(&self) -> String {
        self.program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    fn unrun(&self, source: io::Error) -> CommandError {
        let missing = source.kind() == ErrorKind::NotFound;
        let program = self.name();
        if missing { CommandError::Missing { program } } else { CommandError::Run { program, source } }
    }

    fn spawn(&self) -> io::Result<Child> {
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.arguments).env_clear().env("PATH", SEARCH).env("LC_ALL", "C.UTF-8");
        command.envs(self.environment.iter().map(|(name, value)| (name, value.expose())));
        command.current_dir(Path::new("/")).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }
}

/// A program that runs, and those who listen to it.
struct Running {
    child: Child,
    group: Option<Pid>,
    stdout: Receiver<Option<Vec<u8>>>,
    stderr: Receiver<String>,
}

impl Running {
    fn start(command: &Command) -> Result<Self, CommandError> {
        let mut child = command.spawn().map_err(|source| command.unrun(source))?;
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
        let (said, stdout) = channel();
        let (complained, stderr) = channel();
        if let Some(pipe) = child.stdout.take() {
            let most = command.most;
            thread::spawn(move || tell(&said, whole(pipe, most)));
        }
        if let Some(pipe) = child.stderr.take() {
            thread::spawn(move || tell(&complained, tail(pipe)));
        }
        Ok(Self { child, group, stdout, stderr })
    }

    /// Waits for the end without taking notice of it, so that the process keeps its number and with it its group.
    fn follow(&self, limit: Duration) -> io::Result<bool> {
        let Some(pid) = self.group else { return Ok(false) };
        let started = Instant::now();
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            if waitid(WaitId::Pid(pid), options)?.is_some() {
                return Ok(true);
            }
            if started.elapsed() >= limit {
                return Ok(false);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Ends whatever is left of the group. None left is what is wanted.
    fn end(&self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// None where it was too much. What left the group and kept the pipe open is not waited for.
    fn output(&self) -> Option<Vec<u8>> {
        self.stdout.recv_timeout(Duration::from_secs(1)).ok().flatten()
    }

    fn complaint(&self) -> String {
        self.stderr.recv_timeout(Duration::from_secs(1)).unwrap_or_default()
    }
}

/// Whoever asked may be gone by now, which is no loss.
fn tell<T>(listener: &Sender<T>, what: T) {
    let _ = listener.send(what);
}

/// Everything, or nothing where it is more than `most`; read to the end so that the writer is not held up.
fn whole(mut pipe: impl Read, most: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let read = pipe.by_ref().take(limit).read_to_end(&mut bytes);
    let drained = io::copy(&mut pipe, &mut io::sink());
    (read.is_ok() && drained.is_ok() && bytes.len() <= most).then_some(bytes)
}

fn tail(mut pipe: impl Read) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut buffer = [0_u8; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        kept.extend(buffer.iter().take(count));
        let surplus = kept.len().saturating_sub(STDERR);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(120);

    fn shell(script: &str, limit: Duration) -> Command {
        Command::new("/bin/sh", limit, 1000).arguments(["-c", script])
    }

    #[test]
    fn what_a_program_writes_is_kept_apart() {
        let output = shell("echo out; echo err >&2", LONG).run().unwrap();
        assert_eq!((output.stdout, output.stderr), (b"out\n".to_vec(), "err\n".to_owned()));
    }

    #[test]
    fn a_failure_keeps_the_end_of_its_words() {
        let error = shell("yes x | head -c 100000 >&2; echo the end >&2; exit 3", LONG).run().unwrap_err();
        let CommandError::Failed { program, status, stderr } = error else { panic!("{error}") };
        assert_eq!((program.as_str(), status.as_str()), ("sh", "exit status: 3"));
        assert!(stderr.ends_with("the end\n") && stderr.len() == STDERR);
    }

    #[test]
    fn one_that_is_too_slow_is_ended_with_all_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let pids = directory.path().join("pids");
        let script = format!("sleep 600 & echo $! $$ > {}; wait", pids.display());
        let started = Instant::now();
        let error = shell(&script, Duration::from_secs(5)).run().unwrap_err();
        assert!(matches!(error, CommandError::TooSlow { seconds: 5, .. }), "{error}");
        assert!(started.elapsed() < LONG);
        for pid in std::fs::read_to_string(pids).unwrap().split_whitespace() {
            // The kernel takes a moment, and whoever inherits a dead process may take longer to notice.
            let runs = || {
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                !(stat.is_empty() || stat.contains(") Z ") || stat.contains(") X "))
            };
            assert!(
                (0..500).any(|_| !runs() || {
                    thread::sleep(PAUSE);
                    false
                }),
                "{pid} still runs"
            );
        }
    }

    #[test]
    fn what_is_left_behind_in_the_background_is_not_waited_for() {
        let started = Instant::now();
        let output = shell("sleep 600 & echo done", LONG).run().unwrap();
        assert_eq!(output.stdout, b"done\n");
        assert!(started.elapsed() < LONG);
    }

    #[test]
    fn too_much_output_is_an_error_and_holds_nobody_up() {
        let error = shell("yes x | head -c 1000000", LONG).run().unwrap_err();
        assert!(matches!(error, CommandError::TooMuch { most: 1000, .. }), "{error}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = Command::new("/nowhere/skopeo", LONG, 10).run().unwrap_err();
        assert_eq!(error.to_string(), "skopeo is not installed");
    }

    #[test]
    fn the_environment_is_what_is_given_and_is_not_shown() {
        let command = shell("echo $HOME-$PROXY", LONG).environment("PROXY", "hunter2");
        assert_eq!(command.run().unwrap().stdout, b"-hunter2\n");
        assert!(!format!("{command:?}").contains("hunter2"));
    }
}
