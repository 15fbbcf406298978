//! Where objects come from: a running cluster, or a directory that somebody saved of one.
//!
//! Owns reading and what can go wrong with it. Nothing is written through here, and nothing is decided.

mod changes;
mod directory;
mod error;
mod live;
mod scan;
#[cfg(test)]
mod tests;

use anyhow::Result;
use ostler_cluster_core::objects::Resource;
use serde_json::Value;

pub use changes::Mark;
pub use directory::Directory;
pub use error::ReadError;
pub use live::Live;

use crate::cli::ClusterOptions;

/// Which objects of a kind, in the server's own words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Narrow<'a> {
    /// By fields.
    pub fields: Option<&'a str>,
    /// By labels.
    pub labels: Option<&'a str>,
}

/// Where objects come from.
pub enum Source {
    /// A directory of YAML and JSON files, such as a must-gather.
    Directory(Directory),
    /// A running cluster.
    Live(Live),
}

impl Source {
    /// Opens what the command line names: a directory, or else a cluster.
    pub async fn open(options: &ClusterOptions) -> Result<Self> {
        match &options.from_dir {
            Some(directory) => Ok(Self::Directory(Directory::open(directory)?)),
            None => Ok(Self::Live(Live::connect(options).await?)),
        }
    }

    /// The same for those who only read.
    pub async fn open_to_read(options: &ClusterOptions) -> Result<Self> {
        match &options.from_dir {
            Some(directory) => Ok(Self::Directory(Directory::open(directory)?)),
            None => Ok(Self::Live(Live::connect_to_read(options).await?)),
        }
    }

    /// All objects of a kind, in one namespace or in all of them, by namespace and name.
    pub async fn list<T: Resource>(&self, namespace: Option<&str>) -> Result<Vec<T>, ReadError> {
        match self {
            Self::Directory(directory) => directory.list(namespace),
            Self::Live(live) => live.list(namespace).await,
        }
    }

    /// Objects of a kind, narrowed down by the server where there is one; a directory answers with all of them, so that
    /// whoever asks has to look all the same.
    pub async fn list_some<T: Resource>(
        &self,
        namespace: Option<&str>,
        narrow: Narrow<'_>,
    ) -> Result<Vec<T>, ReadError> {
        match self {
            Self::Directory(directory) => directory.list(namespace),
            Self::Live(live) => live.list_some(namespace, narrow).await,
        }
    }

    /// One object; nothing where there is none of this name.
    pub async fn get<T: Resource>(&self, namespace: Option<&str>, name: &str) -> Result<Option<T>, ReadError> {
        match self {
            Self::Directory(directory) => directory.get(namespace, name),
            Self::Live(live) => live.get(namespace, name).await,
        }
    }

    /// What could not be read and was left out, for people.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::Directory(directory) => directory.notes(),
            Self::Live(_) => Vec::new(),
        }
    }

    /// The cluster, for those who write; a directory cannot be written to.
    pub const fn live(&self) -> Option<&Live> {
        match self {
            Self::Directory(_) => None,
            Self::Live(live) => Some(live),
        }
    }
}

/// Namespace and name of an object, as people write them.
fn full_name(object: &Value) -> String {
    let text = |key: &str| object.pointer(key).and_then(Value::as_str).unwrap_or_default();
    match (text("/metadata/namespace"), text("/metadata/name")) {
        (_, "") => "without a name".to_owned(),
        ("", name) => name.to_owned(),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}
