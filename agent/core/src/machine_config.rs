//! A MachineConfig as Ostler decides on it: the cluster's object with its Ignition config parsed.

use serde_json::Value;

use crate::api;
use crate::document::DocumentError;
use crate::ignition::{Config, Invalid, ParseError, Source};
use crate::malformed::{self, Malformed};

/// The desired or current configuration of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineConfig {
    /// What its cluster calls it: `metadata.name`, or in a hosted cluster the hash of what was mounted.
    pub name: String,
    /// The Ignition config.
    pub ignition: Config,
    /// Whether Ignition and the daemon would accept that config. A node may well run one that they would not.
    pub validity: Result<(), Invalid>,
    /// The image to run: the one that was built for this configuration, else `spec.osImageURL`.
    pub os_image: String,
    /// The image that was built for this configuration, where the pool builds its own.
    pub built_image: Option<String>,
    /// The hash by which a hosted cluster knows it; empty where it is a hosted cluster's and the hash is not known.
    pub hosted: Option<String>,
    /// `spec.baseOSExtensionsContainerImage`.
    pub extensions_image: String,
    /// `spec.kernelArguments`.
    pub kernel_arguments: Vec<String>,
    /// `spec.kernelType`, as written.
    pub kernel_type: String,
    /// `spec.extensions`.
    pub extensions: Vec<String>,
    /// `spec.fips`.
    pub fips: bool,
}

/// The annotation by which a document carries the image that was built for it. It stays between the halves of the agent
/// and in the journal: other agents keep the image in a file of its own.
const BUILT_IMAGE: &str = "ostler.dev/built-image";

/// The annotation by which a document carries the hash that a hosted cluster knows it by. Other agents keep it only on the
/// Node.
const HOSTED_HASH: &str = "ostler.dev/hosted-hash";

/// Makes a document carry the image that was built for it, or none.
pub fn set_built_image(document: &mut Value, image: Option<&str>) {
    carry(document, BUILT_IMAGE, image);
}

/// Makes a document carry the hash by which a hosted cluster knows it, or none.
pub fn set_hosted_hash(document: &mut Value, hash: Option<&str>) {
    carry(document, HOSTED_HASH, hash);
}

fn carry(document: &mut Value, key: &str, value: Option<&str>) {
    let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(key);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    let Some(value) = value else { return };
    let annotations = metadata.entry("annotations").or_insert(Value::Null);
    if annotations.is_null() {
        *annotations = Value::Object(serde_json::Map::new());
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(key.to_owned(), Value::from(value));
    }
}

/// Why a document holds no MachineConfig.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is no document.
    #[error("the document cannot be read")]
    Unreadable(#[source] DocumentError),
    /// The document is a list or a scalar.
    #[error("the document is not an object")]
    NotAnObject,
    /// The document is an Ignition config by itself.
    #[error("the document is a bare Ignition config; a MachineConfig carries it in spec.config")]
    BareIgnition,
    /// The document is some other object.
    #[error("the document is a {kind}, not a MachineConfig")]
    OtherKind {
        /// Its kind.
        kind: String,
    },
    /// The document has no spec.
    #[error("the document has no spec and is no MachineConfig")]
    NoSpec,
    /// A field of the MachineConfig has the wrong type.
    #[error("the MachineConfig is malformed")]
    Malformed(#[source] Malformed),
    /// The MachineConfig is well-formed, its Ignition config is not.
    #[error("the Ignition config of MachineConfig {name:?} cannot be read")]
    Ignition {
        /// The MachineConfig.
        name: String,
        /// What is wrong.
        #[source]
        source: ParseError,
    },
}

impl MachineConfig {
    /// The name the machine-config-operator gives to the configuration of a machine that has none.
    pub const EMPTY: &str = "mco-empty-mc";

    /// The configuration of a machine that has none yet.
    pub fn empty() -> Self {
        Self {
            name: Self::EMPTY.to_owned(),
            ignition: Config::default(),
            validity: Ok(()),
            os_image: String::new(),
            built_image: None,
            hosted: None,
            extensions_image: String::new(),
            kernel_arguments: Vec::new(),
            kernel_type: String::new(),
            extensions: Vec::new(),
            fips: false,
        }
    }

    /// The same, unless it has no Ignition config: then nobody can want it.
    pub fn wanted(self) -> Result<Self, ConfigError> {
        match self.validity {
            Err(Invalid::Empty) => Err(ConfigError::Ignition { name: self.name, source: ParseError::Empty }),
            Ok(()) | Err(_) => Ok(self),
        }
    }

    /// Reads a parsed document. `kind` may be absent: the daemon's own copy on disk has none.
    pub fn from_document(mut document: Value) -> Result<Self, ConfigError> {
        let fields = document.as_object().ok_or(ConfigError::NotAnObject)?;
        match fields.get("kind").map(|kind| kind.as_str().unwrap_or_default()) {
            None | Some("" | "MachineConfig") => {}
            Some(kind) => return Err(ConfigError::OtherKind { kind: kind.chars().take(64).collect() }),
        }
        if !fields.contains_key("spec") {
            let bare = fields.contains_key("ignition");
            return Err(if bare { ConfigError::BareIgnition } else { ConfigError::NoSpec });
        }
        // The config is nearly all of the document; it is moved, not copied.
        let config = document.pointer_mut("/spec/config").map(Value::take).unwrap_or_default();
        let mut object: api::MachineConfig = malformed::read(document).map_err(ConfigError::Malformed)?;
        object.spec.config = config;
        Self::from_api(object)
    }

    /// Takes the cluster's object.
    pub fn from_api(object: api::MachineConfig) -> Result<Self, ConfigError> {
        let mut annotations = object.metadata.annotations.unwrap_or_default();
        let built_image = annotations.remove(BUILT_IMAGE).filter(|image| !image.is_empty());
        let hosted = annotations.remove(HOSTED_HASH);
        let hash = hosted.clone().filter(|hash| !hash.is_empty());
        let name = hash.or(object.metadata.name).unwrap_or_default();
        let (ignition, validity) = match read(object.spec.config) {
            Ok(read) => read,
            Err(source) => return Err(ConfigError::Ignition { name, source }),
        };
        Ok(Self {
            name,
            validity,
            ignition,
            os_image: built_image.clone().unwrap_or(object.spec.os_image_url),
            built_image,
            hosted,
            extensions_image: object.spec.base_os_extensions_container_image,
            kernel_arguments: object.spec.kernel_arguments,
            kernel_type: object.spec.kernel_type,
            extensions: object.spec.extensions,
            fips: object.spec.fips,
        })
    }
}

/// A machine may be in a configuration without an Ignition config, and leave it; none is brought into one.
fn read(config: Value) -> Result<(Config, Result<(), Invalid>), ParseError> {
    if config.is_null() || config.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok((Config::default(), Err(Invalid::Empty)));
    }
    let source = Source::parse(config)?;
    let validity = source.validate();
    Ok((source.into_config(), validity))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_machine_configs_are_read() {
        for (document, expected) in [
            (json!([]), "the document is not an object"),
            (json!({"kind": "Pod", "spec": {}}), "the document is a Pod, not a MachineConfig"),
            (
                json!({"ignition": {"version": "3.5.0"}}),
                "the document is a bare Ignition config; a MachineConfig carries it in spec.config",
            ),
            (json!({"metadata": {"name": "x"}}), "the document has no spec and is no MachineConfig"),
            (json!({"spec": {"osImageURL": 1}}), "the MachineConfig is malformed"),
            (
                json!({"metadata": {"name": "x"}, "spec": {"config": {"ignition": {"version": "9.0.0"}}}}),
                "the Ignition config of MachineConfig \"x\" cannot be read",
            ),
        ] {
            assert_eq!(MachineConfig::from_document(document).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn an_image_that_was_built_for_it_is_the_one_to_run_and_can_be_taken_off_again() {
        let plain = json!({"metadata": {"name": "a"}, "spec": {"osImageURL": "base"}});
        let mut document = plain.clone();
        set_built_image(&mut document, Some("built"));
        let config = MachineConfig::from_document(document.clone()).unwrap();
        assert_eq!((config.os_image.as_str(), config.built_image.as_deref()), ("built", Some("built")));
        set_built_image(&mut document, None);
        assert_eq!(document, plain);
        let config = MachineConfig::from_document(document).unwrap();
        assert_eq!((config.os_image.as_str(), config.built_image), ("base", None));
    }

    #[test]
    fn a_hosted_clusters_hash_is_the_name_where_it_is_known() {
        let plain = json!({"metadata": {"name": "a"}, "spec": {}});
        for (hash, name) in [(Some("1f"), "1f"), (Some(""), "a"), (None, "a")] {
            let mut document = plain.clone();
            set_hosted_hash(&mut document, hash);
            let config = MachineConfig::from_document(document.clone()).unwrap();
            assert_eq!((config.name.as_str(), config.hosted.as_deref()), (name, hash));
            set_hosted_hash(&mut document, None);
            assert_eq!(document, plain);
        }
    }

    #[test]
    fn the_daemons_copy_without_a_kind_is_read() {
        let config =
            json!({"metadata": {"name": "rendered-worker-1"}, "spec": {"fips": true, "kernelArguments": null}});
        let config = MachineConfig::from_document(config).unwrap();
        assert_eq!((config.name.as_str(), config.fips), ("rendered-worker-1", true));
    }
}
