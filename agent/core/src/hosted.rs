//! What a hosted cluster mounts for a node: an Ignition config, packed or not, that carries the node's MachineConfig, and
//! the hash by which the cluster knows it.
//!
//! Owns how both are read and which name the machine's own configuration goes by there. Refuses to look at a directory.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::document::{self, DocumentError};
use crate::ignition::{ContentsError, Limits, ParseError, Source, gunzip};
use crate::machine_config::{ConfigError, MachineConfig};
use crate::node::NodeView;
use crate::status::Status;

/// The file of the Ignition config that is the MachineConfig.
pub const CONTENT: &str = "/etc/mcs-machine-config-content.json";

/// What a mounted file may hold, as it is and unpacked. A ConfigMap has at most one MiB.
const LIMITS: Limits = Limits { bytes: document::MAX_BYTES, ratio: 1100 };
/// Base64 around gzip is what clusters write; more than this around a config is no packing any more.
const MOST_LAYERS: usize = 2;
const GZIP: &[u8] = &[0x1f, 0x8b];
/// The hash has to fit into a request to drain, which has to fit into an annotation that people read.
const LONGEST_HASH: usize = 128;

/// Why what was mounted is of no use. None of it shows what is in the files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostedError {
    /// There is no hash.
    #[error("the hash is empty")]
    NoHash,
    /// It cannot be a hash.
    #[error("the hash has other characters than letters, digits, - _ and ., or more than {LONGEST_HASH} of them")]
    Hash,
    /// The text is nothing that an Ignition config is packed as.
    #[error("the text is neither JSON nor gzip nor base64")]
    Packing,
    /// The text is packed more often than anybody does.
    #[error("the text is packed more than {MOST_LAYERS} times")]
    Layers,
    /// What is packed cannot be unpacked.
    #[error("the text cannot be unpacked")]
    Packed(#[source] ContentsError),
    /// What was unpacked is no JSON.
    #[error("the Ignition config is not readable")]
    Document(#[source] DocumentError),
    /// What was unpacked is no Ignition config.
    #[error("the Ignition config is not valid")]
    Ignition(#[source] ParseError),
    /// The Ignition config carries no MachineConfig.
    #[error("the Ignition config has no file {CONTENT}, which carries the MachineConfig")]
    NoContent,
    /// The Ignition config carries several.
    #[error("the Ignition config has {count} files {CONTENT}, so that it is not clear which one counts")]
    Ambiguous {
        /// How many.
        count: usize,
    },
    /// What carries the MachineConfig cannot be decoded.
    #[error("the contents of {CONTENT} in the Ignition config cannot be decoded")]
    Contents(#[source] ContentsError),
    /// It is no JSON.
    #[error("{CONTENT} in the Ignition config is not readable")]
    Text(#[source] DocumentError),
    /// It is no MachineConfig.
    #[error("{CONTENT} in the Ignition config is no usable MachineConfig")]
    Config(#[source] ConfigError),
    /// It has no name.
    #[error("the MachineConfig in {CONTENT} has no metadata.name")]
    Unnamed,
}

/// The hash out of its file.
pub fn hash(text: &[u8]) -> Result<String, HostedError> {
    let text = text.trim_ascii();
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    if text.is_empty() {
        return Err(HostedError::NoHash);
    }
    let hash = std::str::from_utf8(text)
        .ok()
        .filter(|hash| hash.len() <= LONGEST_HASH && hash.bytes().all(|byte| fits(&byte)));
    hash.map(str::to_owned).ok_or(HostedError::Hash)
}

/// The MachineConfig out of the mounted Ignition config.
pub fn machine_config(text: &[u8]) -> Result<Value, HostedError> {
    let document = document::parse(&unpacked(text, LIMITS)?).map_err(HostedError::Document)?;
    let config = Source::parse(document).map_err(HostedError::Ignition)?.into_config();
    let mut carriers = config.files.iter().filter(|file| file.path == CONTENT);
    let carrier = match (carriers.next(), carriers.count()) {
        (None, _) => return Err(HostedError::NoContent),
        (Some(carrier), 0) => carrier,
        (Some(_), others) => return Err(HostedError::Ambiguous { count: others.saturating_add(1) }),
    };
    let contents = carrier.contents.decode(LIMITS).map_err(HostedError::Contents)?;
    let document = document::parse(contents.expose()).map_err(HostedError::Text)?;
    let config = MachineConfig::from_document(document.clone()).and_then(MachineConfig::wanted);
    let config = config.map_err(HostedError::Config)?;
    if config.name.is_empty() { Err(HostedError::Unnamed) } else { Ok(document) }
}

/// Takes off what is around the JSON.
fn unpacked(text: &[u8], limits: Limits) -> Result<Vec<u8>, HostedError> {
    let mut text = text.trim_ascii().to_vec();
    for _ in 0..=MOST_LAYERS {
        if text.len() > limits.bytes {
            return Err(HostedError::Packed(ContentsError::TooLarge { limit: limits.bytes }));
        }
        if text.starts_with(b"{") {
            return Ok(text);
        }
        let inner = if text.starts_with(GZIP) {
            gunzip(&text, limits).map_err(HostedError::Packed)?
        } else {
            text.retain(|byte| !byte.is_ascii_whitespace());
            BASE64_STANDARD.decode(&text).ok().filter(|inner| !inner.is_empty()).ok_or(HostedError::Packing)?
        };
        text = inner.trim_ascii_start().to_vec();
    }
    Err(HostedError::Layers)
}

/// What a machine's own configuration is called in a hosted cluster. Where the machine has no hash on record and we have
/// never changed it, another agent may have: that one says the hash on the Node, and nowhere else.
pub fn known_as(machine: &Status, node: Option<&NodeView>) -> Option<String> {
    if machine.hosted {
        return machine.config.clone();
    }
    let untouched = machine.last.is_none() && machine.open.is_none() && machine.config.is_some();
    node.filter(|_| untouched).and_then(NodeView::current).map(|current| current.config)
}

#[cfg(test)]
mod tests;
