//! The applier, asked without holding up the loop: each question has a thread of its own until it is answered.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Result, anyhow};
use futures_util::future::BoxFuture;
use ostler_core::protocol::{Reply, Request, Sealed};
use ostler_core::transaction::Progress;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};

use super::outlook::words;
use super::stopwatch::Stopwatch;
use crate::applier::{Connection, Line};
use crate::cluster::Keeper;

/// The connection between two questions, and how many there were so far.
#[derive(Default)]
struct Kept {
    connection: Option<Connection>,
    opened: u64,
}

/// Where the applier is found.
#[derive(Clone)]
pub struct RootHalf {
    root: Option<PathBuf>,
    /// Where the connection is kept for the next question; none where each question has its own.
    kept: Option<Arc<Mutex<Kept>>>,
    /// Where a test answers instead.
    #[cfg(test)]
    double: Option<tokio::sync::mpsc::UnboundedSender<tests::Question>>,
}

/// A question that was put.
pub struct Asking {
    /// The answer, once it is there.
    pub answer: JoinHandle<Result<Reply>>,
    /// How far it is, as last heard.
    pub progress: watch::Receiver<Option<Progress>>,
    /// How long its parts took so far.
    timed: Arc<Mutex<Stopwatch>>,
    line: Arc<Mutex<Waiting>>,
}

/// Whether the answer is waited for, and what the question hangs on once it is put.
#[derive(Debug, Default)]
struct Waiting {
    line: Option<Line>,
    given_up: bool,
}

impl Asking {
    /// A question whose answer comes from elsewhere.
    #[cfg(test)]
    pub fn of(answer: JoinHandle<Result<Reply>>, progress: watch::Receiver<Option<Progress>>) -> Self {
        Self { answer, progress, timed: Arc::default(), line: Arc::default() }
    }

    /// Whether it was given up.
    #[cfg(test)]
    pub fn given_up(&self) -> impl Fn() -> bool + Send + 'static {
        let line = Arc::clone(&self.line);
        move || line.lock().unwrap_or_else(PoisonError::into_inner).given_up
    }

    /// How long the parts of the question took, once it is answered.
    pub fn timed(&self) -> Stopwatch {
        std::mem::take(&mut self.timed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives the question up. What the root half can take up again later ends, all else does not; the answer comes.
    pub fn give_up(&self) {
        let mut waiting = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.given_up = true;
        if let Some(line) = &waiting.line {
            line.cut();
        }
    }
}

impl RootHalf {
    /// The root half of this machine, or of a root directory.
    pub const fn new(root: Option<PathBuf>) -> Self {
        Self {
            root,
            kept: None,
            #[cfg(test)]
            double: None,
        }
    }

    /// The same, with one connection for all questions until it [rests](Self::rest).
    pub fn kept(&self) -> Self {
        Self { kept: Some(Arc::default()), ..self.clone() }
    }

    /// Which connection is used: what was prepared over another one may be gone.
    pub fn connection(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| lock(kept).opened)
    }

    /// Closes the connection: an applier that nobody is connected to ends.
    pub fn rest(&self) {
        let Some(connection) = self.kept.as_ref().and_then(|kept| lock(kept).connection.take()) else { return };
        // A child is waited for.
        drop(tokio::task::spawn_blocking(move || drop(connection)));
    }

    /// Where the machine's files are.
    pub fn directory(&self) -> &Path {
        self.root.as_deref().unwrap_or(Path::new("/"))
    }

    /// Puts a question.
    pub fn ask(&self, request: Request) -> Asking {
        #[cfg(test)]
        if let Some(double) = &self.double {
            return tests::put(double, request);
        }
        let (root, kept) = (self.root.clone(), self.kept.clone());
        let (tell, progress) = watch::channel(None);
        let line = Arc::new(Mutex::new(Waiting::default()));
        let shared = Arc::clone(&line);
        let timed = Arc::new(Mutex::new(Stopwatch::default()));
        let watch = Arc::clone(&timed);
        let answer = tokio::task::spawn_blocking(move || {
            let mut connection = connect(root.as_deref(), kept.as_deref())?;
            {
                let mut waiting = shared.lock().unwrap_or_else(PoisonError::into_inner);
                anyhow::ensure!(!waiting.given_up, "the question was given up before it was put");
                waiting.line = Some(connection.line());
            }
            let answer = connection.ask(&request, &mut |step| {
                watch.lock().unwrap_or_else(PoisonError::into_inner).enter(step, Instant::now());
                // The loop may have lost its interest.
                let _ = tell.send(Some(step.clone()));
            });
            watch.lock().unwrap_or_else(PoisonError::into_inner).end(Instant::now());
            if let Some(kept) = kept.filter(|_| answer.is_ok()) {
                lock(&kept).connection = Some(connection);
            }
            answer
        });
        Asking { answer, progress, timed, line }
    }
}

impl Keeper for RootHalf {
    fn credentials(&self) -> BoxFuture<'_, Result<Sealed, String>> {
        Box::pin(async {
            match joined(self.ask(Request::Credentials).answer.await) {
                Ok(Reply::Credentials(document)) => Ok(document),
                Ok(Reply::Failed(failure)) => Err(words(&failure)),
                Ok(_) => Err("the answer is to another question".to_owned()),
                Err(error) => Err(format!("{error:#}")),
            }
        })
    }
}

/// The connection that was kept, or a new one.
fn connect(root: Option<&Path>, kept: Option<&Mutex<Kept>>) -> Result<Connection> {
    let open = kept.and_then(|kept| lock(kept).connection.take()).filter(Connection::is_open);
    if let Some(connection) = open {
        return Ok(connection);
    }
    let connection = Connection::open(root)?;
    kept.into_iter().for_each(|kept| lock(kept).opened += 1);
    Ok(connection)
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The answer of a question whose thread has ended.
pub fn joined(ended: Result<Result<Reply>, JoinError>) -> Result<Reply> {
    ended.unwrap_or_else(|_| Err(anyhow!("the thread that asked the applier ended")))
}

#[cfg(test)]
pub mod tests {
    use tokio::sync::{mpsc, oneshot};

    use super::*;

    /// A request as it reached the applier, to be answered by the test.
    pub struct Question {
        pub request: Request,
        pub answer: oneshot::Sender<Reply>,
        /// Whether the answer is not waited for any more.
        pub given_up: Box<dyn Fn() -> bool + Send>,
    }

    /// An applier whose answers are given by the test.
    pub fn double() -> (RootHalf, mpsc::UnboundedReceiver<Question>) {
        let (put, asked) = mpsc::unbounded_channel();
        (RootHalf { root: None, kept: None, double: Some(put) }, asked)
    }

    pub(super) fn put(double: &mpsc::UnboundedSender<Question>, request: Request) -> Asking {
        let (answer, answered) = oneshot::channel();
        let asking = Asking::of(tokio::spawn(async move { Ok(answered.await?) }), watch::channel(None).1);
        drop(double.send(Question { request, answer, given_up: Box::new(asking.given_up()) }));
        asking
    }
}
