//! Which paths belong to packages of the operating system.
//!
//! Owns one question to `rpm` about many paths and the reading of its answer. Refuses to guess: what it does not
//! understand is an error, except that a machine without `rpm` has no packages.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use crate::disk::RootPath;

/// How long `rpm` may take for one question.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether it has ended.
const GLANCE: Duration = Duration::from_millis(10);
/// Bytes of paths in one question, far below what the kernel takes as arguments.
const MOST_ARGUMENTS: usize = 256 << 10;
/// Bytes of an answer; one line per path, its text a little longer than the path.
const MOST_ANSWER: u64 = 16 << 20;
/// Where an operating system has the database, and what one consists of. `rpm` makes a directory where it misses one: where
/// that should have become a link into `/usr`, rpm-ostreed does not start any more.
const DATABASES: [&str; 3] = ["usr/share/rpm", "usr/lib/sysimage/rpm", "var/lib/rpm"];
const DATABASE_FILES: [&str; 3] = ["rpmdb.sqlite", "Packages.db", "Packages"];
/// What is printed for each package that owns a path.
const OWNED: &str = "owned";
/// What is said of paths that went away, or that are links to nowhere.
const ABSENT: [&str; 2] = ["No such file or directory", "Not a directory"];

/// Says which paths packages own.
pub trait PackageOwners {
    /// Whether a package of the operating system owns a path.
    fn owned(&self, path: &RootPath) -> bool;
}

/// For roots that are not this machine's, whose packages cannot be asked: none own anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPackages;

impl PackageOwners for NoPackages {
    fn owned(&self, _path: &RootPath) -> bool {
        false
    }
}

/// What this machine's package database said of some paths.
#[derive(Clone, Debug, Default)]
pub struct PackageDatabase {
    owned: BTreeSet<RootPath>,
}

/// Why the packages' owners are not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// `rpm` did not run.
    #[error("cannot run rpm to ask which packages own files")]
    Run(#[source] io::Error),
    /// `rpm` did not end.
    #[error("rpm did not say within {} s which packages own files; see whether another rpm holds its database", .0.as_secs())]
    Slow(Duration),
    /// `rpm` failed.
    #[error("rpm cannot say which packages own files: {0}")]
    Failed(String),
    /// `rpm` said something else.
    #[error("rpm gave an answer that is not understood when asked which packages own files: {0:?}")]
    Answer(String),
}

impl PackageDatabase {
    /// Asks this machine's `rpm` about paths, in as few processes as they fit in. Paths that do not exist, and those asked
    /// of a machine without `rpm` or without its database, are not owned.
    pub fn query(paths: &[RootPath]) -> Result<Self, PackageError> {
        let Some(database) = database(Path::new("/")) else { return Ok(Self::default()) };
        let options = vec!["--dbpath".into(), database.into()];
        Self::query_with(&Question { program: "rpm".into(), options, patience: PATIENCE }, paths)
    }

    fn query_with(question: &Question, paths: &[RootPath]) -> Result<Self, PackageError> {
        let mut owned = BTreeSet::new();
        // The answer is read line by line, and no package has a name with a line's end in it.
        let asked: BTreeSet<&RootPath> = paths.iter().filter(|path| !path.as_str().contains('\n')).collect();
        for some in chunks(&asked) {
            match question.ask(&some) {
                Ok(answer) => owned.extend(answer.owned_of(&some)?.into_iter().cloned()),
                Err(PackageError::Run(error)) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
                Err(error) => return Err(error),
            }
        }
        Ok(Self { owned })
    }
}

impl PackageOwners for PackageDatabase {
    fn owned(&self, path: &RootPath) -> bool {
        self.owned.contains(path)
    }
}

/// The directory with the database of a machine.
fn database(root: &Path) -> Option<PathBuf> {
    let mut all = DATABASES.iter().map(|directory| root.join(directory));
    all.find(|directory| DATABASE_FILES.iter().any(|file| directory.join(file).is_file()))
}

fn chunks<'p>(paths: &BTreeSet<&'p RootPath>) -> Vec<Vec<&'p RootPath>> {
    let mut chunks: Vec<Vec<&RootPath>> = Vec::new();
    let mut bytes = MOST_ARGUMENTS;
    for path in paths {
        bytes += path.as_str().len() + 1;
        match chunks.last_mut() {
            Some(chunk) if bytes <= MOST_ARGUMENTS => chunk.push(path),
            _ => {
                bytes = path.as_str().len() + 1;
                chunks.push(vec![path]);
            }
        }
    }
    chunks
}

/// How `rpm` is run.
struct Question {
    program: OsString,
    options: Vec<OsString>,
    patience: Duration,
}

impl Question {
    fn ask(&self, paths: &[&RootPath]) -> Result<Answer, PackageError> {
        let mut child = Command::new(&self.program)
            .args(&self.options)
            .args(["-qf", "--queryformat", &format!("{OWNED}\\n"), "--"])
            .args(paths.iter().map(|path| path.as_str()))
            .env("LC_ALL", "C")
            .env_remove("LANGUAGE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(PackageError::Run)?;
        let (said, complained) = (collect(child.stdout.take()), collect(child.stderr.take()));
        let end = Instant::now() + self.patience;
        let status = self.wait(&mut child, end)?;
        let text = |from: Receiver<io::Result<String>>| {
            let left = end.saturating_duration_since(Instant::now());
            from.recv_timeout(left).map_err(|_| PackageError::Slow(self.patience))?.map_err(PackageError::Run)
        };
        Ok(Answer { status, said: text(said)?, complained: text(complained)? })
    }

    fn wait(&self, child: &mut Child, end: Instant) -> Result<ExitStatus, PackageError> {
        loop {
            if let Some(status) = child.try_wait().map_err(PackageError::Run)? {
                return Ok(status);
            }
            if Instant::now() >= end {
                // Whether it was ended in time does not matter any more; it is waited for so that it does not linger.
                let _ = child.kill().and_then(|()| child.wait());
                return Err(PackageError::Slow(self.patience));
            }
            std::thread::sleep(GLANCE);
        }
    }
}

/// Reads to the end beside the caller, so that neither a full pipe nor one that is never closed holds it up.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<io::Result<String>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |pipe| pipe.take(MOST_ANSWER).read_to_end(&mut bytes));
        // Nobody waits any more if it took too long.
        let _ = sender.send(read.map(|_| String::from_utf8_lossy(&bytes).into_owned()));
    });
    receiver
}

struct Answer {
    status: ExitStatus,
    said: String,
    complained: String,
}

impl Answer {
    /// Who of those asked about is owned: all but those that are said not to be, or not to exist. A path that several
    /// packages own is answered several times, so the lines cannot be counted off against the paths.
    fn owned_of<'p>(&self, paths: &[&'p RootPath]) -> Result<BTreeSet<&'p RootPath>, PackageError> {
        let asked: BTreeMap<&str, &RootPath> = paths.iter().map(|path| (path.as_str(), *path)).collect();
        let mut owned: BTreeSet<&RootPath> = paths.iter().copied().collect();
        for line in self.said.lines().filter(|line| *line != OWNED) {
            let name = line.strip_prefix("file ").and_then(|rest| rest.strip_suffix(" is not owned by any package"));
            let path = name.and_then(|name| asked.get(name)).ok_or_else(|| PackageError::Answer(line.to_owned()))?;
            owned.remove(path);
        }
        for line in self.complained.lines().filter(|line| line.starts_with("error:")) {
            let name = line
                .strip_prefix("error: file ")
                .and_then(|rest| ABSENT.iter().find_map(|reason| rest.strip_suffix(reason)?.strip_suffix(": ")));
            let path = name.and_then(|name| asked.get(name)).ok_or_else(|| PackageError::Failed(line.to_owned()))?;
            owned.remove(path);
        }
        let answers = self.said.lines().filter(|line| *line == OWNED).count();
        // It ends with the number of paths that nobody owns.
        if answers < owned.len() || self.status.success() != (owned.len() == paths.len()) {
            let complaint = self.complained.lines().next().unwrap_or("it said too little");
            return Err(PackageError::Failed(format!("{} ({complaint})", self.status)));
        }
        Ok(owned)
    }
}
