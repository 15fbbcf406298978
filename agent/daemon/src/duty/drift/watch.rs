//! Changes on the disk, listened for: one watch for each directory in which something configured is, or could be.
//!
//! Owns what is watched and which events matter. Refuses to look at files: an event is only a reason to look.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use inotify::{Event, EventMask, EventStream, Inotify, WatchDescriptor, WatchMask, Watches};
use nix::errno::Errno;
use ostler_core::drift::UNIT_DIRECTORY;
use ostler_core::drift::watched::{Heard, Interest, Names};
use tokio::time::Instant;

use super::inside::Inside;

const EVENT_BUFFER: usize = 16 * 1024;
/// Reads in one go; what is still there then has come meanwhile and rouses us again.
const MOST_READS: usize = 512;
/// Directories of links that are looked into.
const MOST_LINK_DIRECTORIES: usize = 4096;
/// After events nobody listens for this long, so that a busy directory does not keep us busy; longer, up to the longest,
/// while nothing of it matters.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(1600);

/// Why a directory cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The kernel has no watch left.
    #[error("no watch is left for {path}: raise the sysctl fs.inotify.max_user_watches")]
    TooMany {
        /// The directory.
        path: String,
    },
    /// It is not for us to listen to, as for an agent that is not root.
    #[error("{path} is root's alone: what is in it is compared every 5 to 8 minutes, all else as soon as it changes")]
    Private {
        /// The directory.
        path: String,
    },
    /// The kernel refuses.
    #[error("{path} cannot be watched: {source}")]
    Refused {
        /// The directory.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// What is listened for, by the kernel's number of the watch.
type Listening = HashMap<i32, (WatchDescriptor, Names)>;

/// The listening.
pub struct Watch {
    inside: Inside,
    /// Wakes us, and has then taken some events itself.
    events: EventStream<[u8; EVENT_BUFFER]>,
    /// The same events, for who does not wait to be woken.
    waiting: Inotify,
    listening: Listening,
    pause: Duration,
    paused_until: Option<Instant>,
}

impl Watch {
    /// Listens to nothing yet.
    pub fn new(root: &Path) -> io::Result<Self> {
        let inotify = Inotify::init()?;
        let waiting = Inotify::from(inotify.as_fd().try_clone_to_owned()?);
        let events = inotify.into_event_stream([0; EVENT_BUFFER])?;
        let inside = Inside::new(root);
        Ok(Self { inside, events, waiting, listening: HashMap::new(), pause: PAUSE, paused_until: None })
    }

    /// Listens to this from now on, wherever it leads by now. Where a directory cannot be listened to the others are.
    pub fn listen(&mut self, interest: &Interest) -> Result<(), WatchError> {
        let mut arming = Arming {
            inside: &self.inside,
            watches: self.events.watches(),
            listening: HashMap::new(),
            armed: BTreeMap::new(),
            trouble: None,
        };
        arming.arm(interest);
        let Arming { mut watches, listening, trouble, .. } = arming;
        for (_, (watch, _)) in self.listening.drain().filter(|(number, _)| !listening.contains_key(number)) {
            // It may be gone with its directory.
            let _ = watches.remove(watch);
        }
        self.listening = listening;
        trouble.map_or(Ok(()), Err)
    }

    /// Waits for a change that matters; may be given up and taken up again.
    pub async fn change(&mut self) {
        loop {
            if let Some(at) = self.paused_until {
                tokio::time::sleep_until(at).await;
                self.paused_until = None;
            }
            let first = match self.events.next().await {
                Some(Ok(event)) => is_relevant(&self.listening, &event),
                // Nothing is heard any more: the rare look is all that is left.
                Some(Err(_)) | None => std::future::pending().await,
            };
            let matters = self.take_waiting() || first;
            self.pause = if matters { PAUSE } else { LONGEST_PAUSE.min(self.pause * 2) };
            self.paused_until = Some(Instant::now() + self.pause);
            if matters {
                return;
            }
        }
    }

    /// Takes all events that are there already; whether any of them matters.
    pub fn take_waiting(&mut self) -> bool {
        let mut matters = false;
        for _ in 0..MOST_READS * EVENT_BUFFER {
            let Some(Some(Ok(event))) = self.events.next().now_or_never() else { break };
            matters |= is_relevant(&self.listening, &event);
        }
        let mut buffer = [0; EVENT_BUFFER];
        for _ in 0..MOST_READS {
            let Ok(events) = self.waiting.read_events(&mut buffer) else { break };
            matters = events.fold(matters, |known, event| known | is_relevant(&self.listening, &event));
        }
        matters
    }
}

fn is_relevant<N: AsRef<OsStr>>(listening: &Listening, event: &Event<N>) -> bool {
    if event.mask.contains(EventMask::Q_OVERFLOW) {
        return true;
    }
    let Some((_, names)) = listening.get(&event.wd.get_watch_descriptor_id()) else { return false };
    match &event.name {
        None => event.mask.intersects(GONE),
        Some(name) => match names.hear(&name.as_ref().to_string_lossy()) {
            None => false,
            // The permissions of a directory on the way are nobody's configuration.
            Some(Heard::Step) => !event.mask.contains(EventMask::ISDIR | EventMask::ATTRIB),
            Some(Heard::Leaf) => true,
        },
    }
}

/// What says that a directory is not where it was.
const GONE: EventMask =
    EventMask::DELETE_SELF.union(EventMask::MOVE_SELF).union(EventMask::UNMOUNT).union(EventMask::IGNORED);

fn mask() -> WatchMask {
    WatchMask::CREATE
        | WatchMask::DELETE
        | WatchMask::MOVE
        | WatchMask::CLOSE_WRITE
        | WatchMask::MODIFY
        | WatchMask::ATTRIB
        | WatchMask::DELETE_SELF
        | WatchMask::MOVE_SELF
        | WatchMask::ONLYDIR
        | WatchMask::DONT_FOLLOW
}

/// Watches being set, a directory always before what is in it: what changes meanwhile is an event then.
struct Arming<'a> {
    inside: &'a Inside,
    watches: Watches,
    listening: Listening,
    armed: BTreeMap<PathBuf, Option<WatchDescriptor>>,
    trouble: Option<WatchError>,
}

impl Arming<'_> {
    fn arm(&mut self, interest: &Interest) {
        let mut places: HashMap<&str, PathBuf> = HashMap::new();
        for (path, names) in interest.directories() {
            let place = match path.rsplit_once('/') {
                Some(("", "")) | None => Some(PathBuf::new()),
                Some((above, name)) => {
                    let above = places.get(if above.is_empty() { "/" } else { above }).cloned();
                    above.and_then(|above| self.enter(&above, OsStr::new(name)))
                }
            };
            if let Some(place) = place {
                self.watch(&place, names);
                places.insert(path, place);
            }
        }
        if let Some(units) = places.get(UNIT_DIRECTORY) {
            self.link_directories(units, interest.links());
        }
    }

    /// Where a name leads; everything on the way is listened to.
    fn enter(&mut self, place: &Path, name: &OsStr) -> Option<PathBuf> {
        let inside = self.inside;
        inside.enter(place, name, &mut |place, name| {
            let mut names = Names::default();
            names.add(&name.to_string_lossy(), Heard::Step);
            self.watch(place, &names);
        })
    }

    fn link_directories(&mut self, units: &Path, links: &Names) {
        if *links == Names::default() {
            return;
        }
        let Ok(entries) = fs::read_dir(self.inside.on_disk(units)) else { return };
        let names = entries.flatten().map(|entry| entry.file_name());
        let directories = names.filter(|name| Interest::is_link_directory(&name.to_string_lossy()));
        for name in directories.take(MOST_LINK_DIRECTORIES) {
            if let Some(place) = self.enter(units, &name) {
                self.watch(&place, links);
            }
        }
    }

    fn watch(&mut self, place: &Path, names: &Names) {
        let watch = match self.armed.get(place) {
            Some(watch) => watch.clone(),
            None => {
                let watch = self.set(place);
                self.armed.insert(place.to_owned(), watch.clone());
                watch
            }
        };
        if let Some(watch) = watch {
            let number = watch.get_watch_descriptor_id();
            self.listening.entry(number).or_insert_with(|| (watch, Names::default())).1.join(names);
        }
    }

    fn set(&mut self, place: &Path) -> Option<WatchDescriptor> {
        let error = match self.watches.add(self.inside.on_disk(place), mask()) {
            Ok(watch) => return Some(watch),
            Err(error) => error,
        };
        let path = format!("/{}", place.display());
        let trouble = match error.raw_os_error().map(Errno::from_raw) {
            // It has gone meanwhile, which is an event above it.
            Some(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => return None,
            Some(Errno::ENOSPC) => WatchError::TooMany { path },
            Some(Errno::EACCES | Errno::EPERM) => WatchError::Private { path },
            _ => WatchError::Refused { path, source: error },
        };
        // What somebody can do something about goes before what is so by design.
        if self.trouble.as_ref().is_none_or(|known| matches!(known, WatchError::Private { .. })) {
            self.trouble = Some(trouble);
        }
        None
    }
}

#[cfg(test)]
mod tests;
