//! A directory that somebody saved of a cluster: a must-gather, or any tree of YAML and JSON files.
//!
//! Objects are found by group, kind, namespace and name, whatever their files are called. Files are parsed when a kind in
//! them is asked for, and their objects kept. What cannot be parsed is left out and told.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ostler_cluster_core::documents;
use ostler_cluster_core::objects::{self, Resource};
use serde_json::Value;

use super::scan::{self, Bounds, Scan};
use super::{ReadError, full_name};

/// A directory of objects.
pub struct Directory {
    scan: Scan,
    state: Mutex<State>,
}

/// What was read so far.
#[derive(Default)]
struct State {
    kinds: HashMap<(&'static str, &'static str), Arc<Objects>>,
    notes: Vec<String>,
}

/// Objects of a kind by namespace and name.
type Objects = BTreeMap<(String, String), Value>;

impl Directory {
    /// Looks through the tree; a file instead of a directory is an error.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::bounded(path, Bounds::default())
    }

    fn bounded(path: &Path, bounds: Bounds) -> Result<Self, ReadError> {
        Ok(Self { scan: scan::scan(path, bounds)?, state: Mutex::default() })
    }

    /// All objects of a kind. A dump does not say which kinds the cluster knew, so an unknown one has no objects. Files that
    /// people write by hand often leave the namespace out: such an object may be of any.
    pub fn list<T: Resource>(&self, namespace: Option<&str>) -> Result<Vec<T>, ReadError> {
        let objects = self.objects::<T>();
        let wanted = |in_: &str| !T::NAMESPACED || in_.is_empty() || namespace.is_none_or(|namespace| namespace == in_);
        objects.iter().filter(|((in_, _), _)| wanted(in_)).map(|(_, object)| typed(object)).collect()
    }

    /// One object. Files that people write by hand often leave the namespace out: such an object is in every one.
    pub fn get<T: Resource>(&self, namespace: Option<&str>, name: &str) -> Result<Option<T>, ReadError> {
        let namespace = namespace.filter(|_| T::NAMESPACED).unwrap_or_default();
        let objects = self.objects::<T>();
        let in_ = |namespace: &str| objects.get(&(namespace.to_owned(), name.to_owned()));
        in_(namespace).or_else(|| in_("")).map(typed).transpose()
    }

    /// What was left out, and why.
    pub fn notes(&self) -> Vec<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.scan.notes.iter().chain(&state.notes).cloned().collect()
    }

    fn objects<T: Resource>(&self) -> Arc<Objects> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(objects) = state.kinds.get(&(T::GROUP, T::KIND)) {
            return Arc::clone(objects);
        }
        let mut objects = Objects::new();
        let list = format!("{}List", T::KIND);
        let promising = |kinds: &std::collections::BTreeSet<String>| kinds.contains(T::KIND) || kinds.contains(&list);
        for file in self.scan.candidates.iter().filter(|file| promising(&file.kinds)) {
            match documents_of(&file.path) {
                Ok(found) => keep::<T>(found, &mut objects),
                Err(problem) => state.note(format!("{} is left out: {problem}", file.path.display())),
            }
        }
        let objects = Arc::new(objects);
        state.kinds.insert((T::GROUP, T::KIND), Arc::clone(&objects));
        objects
    }
}

impl State {
    /// A file may hold several kinds; its trouble is told once.
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

fn documents_of(path: &Path) -> Result<Vec<Value>, String> {
    let bytes = scan::read(path).map_err(|error| error.to_string())?.ok_or("it has grown too large")?;
    documents::parse(&bytes).map_err(|error| error.to_string())
}

/// The same object may be in several files, as in a must-gather of two runs; the last by path counts.
fn keep<T: Resource>(found: Vec<Value>, objects: &mut Objects) {
    for object in found.into_iter().flat_map(documents::unfold) {
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, version) = (text("/kind"), text("/apiVersion"));
        let group = version.rsplit_once('/').map_or("", |(group, _)| group);
        if kind == T::KIND && group == T::GROUP {
            let namespace = if T::NAMESPACED { text("/metadata/namespace") } else { String::new() };
            objects.insert((namespace, text("/metadata/name")), object);
        }
    }
}

fn typed<T: Resource>(object: &Value) -> Result<T, ReadError> {
    let malformed = |cause| ReadError::Malformed { kind: T::KIND, name: full_name(object), cause };
    objects::read(object.clone()).map_err(malformed)
}
