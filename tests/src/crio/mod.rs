//! CRI-O's image service over a real socket, with images that are only names and registries that do as they are told.
//!
//! Owns the protocol's server side and the waiting for what clients do. Pulls nothing and stores nothing.

#[allow(missing_docs, unused_qualifications, clippy::all, clippy::unwrap_used, clippy::cognitive_complexity)]
#[rustfmt::skip]
#[allow(clippy::too_many_lines)]
mod generated;
mod service;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// What becomes of a pull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The image is there afterwards.
    Succeed,
    /// The image is called pulled and is not there.
    Lose,
    /// It fails in these words.
    Fail(String),
    /// Nothing comes until the client gives up or [`Crio::let_go`].
    Hang,
}

impl Answer {
    /// The disk is full.
    pub fn full() -> Self {
        Self::Fail(
            "writing blob: storing blob to file \"/var/tmp/x\": write /var/tmp/x: no space left on device".to_owned(),
        )
    }
}

/// A pull that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pull {
    /// Of which image.
    pub image: String,
    /// As whom.
    pub user: Option<String>,
}

/// What the server knows and what it has seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// Images that are there.
    pub images: BTreeSet<String>,
    /// Pulls, in the order in which they began.
    pub pulls: Vec<Pull>,
    /// Pulls under way.
    pub under_way: usize,
    /// The most pulls under way at any moment.
    pub most_under_way: usize,
    /// Pulls whose client went away.
    pub given_up: usize,
    answers: BTreeMap<String, VecDeque<Answer>>,
    storage: String,
    let_go: bool,
}

#[derive(Debug, Default)]
struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
    released: tokio::sync::Notify,
}

/// A CRI-O that serves until it is dropped.
#[derive(Debug)]
pub struct Crio {
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Crio {
    /// Listens at a path, in whose place nothing may be.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn listen(path: &Path) -> std::io::Result<Self> {
        let listener = std::os::unix::net::UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        let shared = Arc::new(Shared::default());
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&shared);
        let thread = std::thread::spawn(move || service::serve(listener, &served, stopped));
        Ok(Self { shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Says on which filesystem images are.
    pub fn store_at(&self, directory: &str) {
        directory.clone_into(&mut self.shared.lock().storage);
    }

    /// Makes an image be there.
    pub fn put(&self, image: &str) {
        self.shared.lock().images.insert(image.to_owned());
    }

    /// Says what becomes of the next pulls of an image, in turn; pulls after those succeed.
    pub fn answer(&self, image: &str, answers: impl IntoIterator<Item = Answer>) {
        self.shared.lock().answers.entry(image.to_owned()).or_default().extend(answers);
    }

    /// Lets pulls that hang succeed, now and from now on.
    pub fn let_go(&self) {
        self.shared.lock().let_go = true;
        self.shared.released.notify_waiters();
    }

    /// What is known at this moment.
    pub fn look<T>(&self, what: impl FnOnce(&Seen) -> T) -> T {
        what(&self.shared.lock())
    }

    /// Waits until something is so.
    ///
    /// # Panics
    /// When that takes too long.
    #[allow(clippy::panic)]
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&Seen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.shared.lock();
        while !is_so(&seen) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain until {what}: {seen:?}");
            seen = self.shared.changed.wait_timeout(seen, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Crio {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It has panicked, which the test has seen for itself.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.notify_all();
        changed
    }
}
