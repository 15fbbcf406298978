//! A node without a cluster: desired configurations from a directory, status to a file.
//!
//! Owns which file is the desired one. The directory holds MachineConfigs, of which the last by file name is desired
//! unless the file `desired` names another; `machineconfiguration.yaml` (or `.json`) holds the settings, and a file
//! `hold` stops updates and says why.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use futures_util::StreamExt;
use inotify::{EventStream, Inotify, WatchMask};
use ostler_core::api::machine_config_node::{MachineConfigNodeSpec, SpecConfigVersion};
use ostler_core::api::{MachineConfigNode, MachineConfiguration, NameRef};
use ostler_core::malformed;
use ostler_core::node::{NodeView, keys};
use ostler_core::protocol::Sealed;
use serde_json::Value;

use crate::cluster::Change;
use crate::input;

const SETTINGS: &str = "machineconfiguration";
const DESIRED: &str = "desired";
const HOLD: &str = "hold";
/// More files than this are no directory of configurations.
const MAX_FILES: usize = 4096;
/// A name or a reason is short.
const MAX_TEXT: usize = 4096;
const EVENT_BUFFER: usize = 4096;

/// A directory that says what the node is to be.
pub struct Directory {
    path: PathBuf,
    node: String,
    events: EventStream<[u8; EVENT_BUFFER]>,
    /// What we have said of ourselves, as a cluster would keep it.
    said: BTreeMap<String, String>,
    waiting: Vec<Change>,
    target: Option<PathBuf>,
}

impl Directory {
    /// Begins to watch.
    pub fn open(path: &Path, node: &str) -> Result<Self> {
        let name = path.display();
        let inotify = Inotify::init().context("cannot watch directories")?;
        let mask = WatchMask::CLOSE_WRITE | WatchMask::MOVED_TO | WatchMask::MOVED_FROM | WatchMask::DELETE;
        inotify.watches().add(path, mask).with_context(|| format!("cannot watch {name}; give a directory"))?;
        let events = inotify.into_event_stream([0; EVENT_BUFFER]).context("cannot watch directories")?;
        let (path, node) = (path.to_owned(), node.to_owned());
        let mut directory = Self { path, node, events, said: BTreeMap::new(), waiting: Vec::new(), target: None };
        directory.scan()?;
        Ok(directory)
    }

    /// The next change; may be given up and taken up again.
    pub async fn change(&mut self) -> Change {
        loop {
            if let Some(change) = self.waiting.pop() {
                return change;
            }
            match self.events.next().await {
                Some(Ok(_)) => {}
                // The directory cannot be watched any more, which is as if nothing were ever to change in it.
                Some(Err(_)) | None => std::future::pending().await,
            }
            if let Err(error) = self.scan() {
                self.waiting.push(Change::Lost(format!("{error:#}")));
            }
        }
    }

    /// The desired configuration.
    pub fn config(&self) -> Result<Sealed> {
        let path = self.target.as_deref().context("there is no configuration in the directory")?;
        input::document(path).map(Sealed::new)
    }

    /// Keeps what is said of the node.
    pub fn annotate(&mut self, changes: &BTreeMap<&'static str, Option<String>>) -> Result<NodeView> {
        for (key, value) in changes {
            match value {
                Some(value) => self.said.insert((*key).to_owned(), value.clone()),
                None => self.said.remove(*key),
            };
        }
        Ok(self.view(self.desired()?))
    }

    fn scan(&mut self) -> Result<()> {
        self.target = self.find()?;
        let view = self.view(self.desired()?);
        let settings = self.settings()?;
        self.waiting = vec![Change::Node(Some(Box::new(view))), Change::Settings(settings.map(Box::new))];
        Ok(())
    }

    fn view(&self, desired: Option<String>) -> NodeView {
        let mut annotations = self.said.clone();
        annotations.extend(desired.map(|desired| (keys::DESIRED_CONFIG.to_owned(), desired)));
        annotations.extend(self.text(HOLD).map(|reason| (keys::HOLD.to_owned(), reason)));
        NodeView::new(&self.node, "", false, &annotations)
    }

    /// The name in the desired file; where it cannot be read, the file's, so that the trouble with it is told.
    fn desired(&self) -> Result<Option<String>> {
        let Some(path) = self.target.as_deref() else { return Ok(None) };
        let named = input::document(path).ok().and_then(|document| name_of(&document));
        Ok(named.or_else(|| stem(path)))
    }

    fn find(&self) -> Result<Option<PathBuf>> {
        let mut files = self.files()?;
        files.sort();
        files.retain(|path| stem(path).is_some_and(|stem| stem != SETTINGS));
        match self.text(DESIRED) {
            None => Ok(files.pop()),
            Some(name) => {
                let is_named = |path: &&PathBuf| stem(path).as_deref() == Some(name.as_str());
                let holds_it = |path: &&PathBuf| {
                    input::document(path).ok().and_then(|document| name_of(&document)).as_deref() == Some(name.as_str())
                };
                let found = files.iter().find(is_named).or_else(|| files.iter().find(holds_it)).cloned();
                Ok(Some(found.unwrap_or_else(|| self.path.join(format!("{name}.yaml")))))
            }
        }
    }

    fn settings(&self) -> Result<Option<MachineConfiguration>> {
        let files = self.files()?;
        let Some(path) = files.iter().find(|path| stem(path).as_deref() == Some(SETTINGS)) else { return Ok(None) };
        let document = input::document(path)?;
        let settings = malformed::read(document);
        Ok(Some(settings.with_context(|| format!("{} is not a MachineConfiguration", path.display()))?))
    }

    fn files(&self) -> Result<Vec<PathBuf>> {
        let unreadable = || format!("cannot list {}", self.path.display());
        let entries = fs::read_dir(&self.path).with_context(unreadable)?;
        let paths = entries.take(MAX_FILES).map(|entry| entry.map(|entry| entry.path()));
        let paths: io::Result<Vec<_>> = paths.collect();
        let is_document = |path: &PathBuf| {
            path.extension().and_then(OsStr::to_str).is_some_and(|kind| ["json", "yaml", "yml"].contains(&kind))
        };
        Ok(paths.with_context(unreadable)?.into_iter().filter(is_document).collect())
    }

    /// A short text in the directory, if it is there.
    fn text(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.path.join(name)).ok()?;
        Some(text.trim().chars().take(MAX_TEXT).collect())
    }
}

fn stem(path: &Path) -> Option<String> {
    path.file_stem().and_then(OsStr::to_str).map(str::to_owned)
}

fn name_of(document: &Value) -> Option<String> {
    document.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned)
}

/// The status object of a node that has no cluster to keep it.
pub fn object(node: &str, desired: &str) -> MachineConfigNode {
    let spec = MachineConfigNodeSpec {
        config_image: None,
        config_version: SpecConfigVersion { desired: desired.to_owned() },
        node: NameRef::new(node),
        pool: NameRef::new(keys::NOT_YET_SET),
    };
    let mut object = MachineConfigNode::new(node, spec);
    object.metadata.generation = Some(1);
    object
}
