//! The Ignition config inside a MachineConfig: parsed from any supported version, validated, held as one model.
//!
//! Owns spec versions, validation and decoding. Refuses to know what a change between two configs means.

mod contents;
mod data_url;
mod keys;
mod model;
mod section;
mod stub;
mod unknown;
mod validate;
mod version2;
mod version3;

use std::borrow::Cow;
use std::fmt;

use ignition_config::v3_6 as spec;
use serde_json::Value;

use crate::malformed::Malformed;

pub(crate) use contents::gunzip;
pub use contents::{ContentsError, Limits};
pub use data_url::DataUrlError;
pub use model::{Config, Dropin, File, Owner, Resource, Unit, User};
pub use section::Section;
pub use stub::{STUB_VERSION, raise_stub};
pub use unknown::{UnknownKey, UnknownKeys};
pub use validate::{Invalid, Problem};
pub use version2::ConversionError;

/// Why a value is no Ignition config that Ostler can read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// There is no config. The machine-config-daemon refuses to parse it as well.
    #[error("spec.config is empty: it has no Ignition config")]
    Empty,
    /// The config is not a JSON object.
    #[error("the Ignition config is not an object")]
    NotAnObject,
    /// `ignition.version` is absent or not text.
    #[error("the Ignition config has no ignition.version")]
    NoVersion,
    /// A version that neither Ostler nor the machine-config-daemon knows.
    #[error("Ignition version {version:?} is not supported; use one of 3.0.0 to 3.6.0, or 2.0.0 to 2.2.0")]
    UnsupportedVersion {
        /// The version as written.
        version: String,
    },
    /// A field has the wrong type, or a required one is missing.
    #[error("the Ignition config is malformed")]
    Malformed(#[source] Malformed),
    /// A spec 2 config that cannot be expressed in spec 3.
    #[error("the Ignition spec 2 config cannot be converted to spec 3")]
    Conversion(#[from] ConversionError),
}

/// A config as written: parsed and raised to the newest spec, not yet validated.
pub struct Source(spec::Config);

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl Source {
    /// Reads `spec.config` of a MachineConfig. Null means an empty config, as in a fragment that sets only arguments.
    pub fn parse(config: Value) -> Result<Self, ParseError> {
        if config.is_null() {
            return Ok(Self(spec::Config::default()));
        }
        let config = keys::canonical(Cow::Owned(config)).into_owned();
        let version = version(&config)?;
        match Release::of(version) {
            Some(Release::Two) => Ok(Self(version2::upgrade(&config)?)),
            Some(Release::Three(version)) => version.read(config).map(Self).map_err(ParseError::Malformed),
            None => Err(ParseError::UnsupportedVersion { version: version.chars().take(32).collect() }),
        }
    }

    /// Checks what Ignition itself would refuse, and what the machine-config-daemon adds to that.
    pub fn validate(&self) -> Result<(), Invalid> {
        validate::validate(&self.0)
    }

    /// The model that everything else decides on.
    pub fn into_config(self) -> Config {
        Config::from(self.0)
    }
}

/// A family of spec versions that one reader serves.
enum Release {
    Two,
    Three(version3::Version),
}

impl Release {
    fn of(version: &str) -> Option<Self> {
        match version {
            "2.0.0" | "2.1.0" | "2.2.0" => Some(Self::Two),
            _ => version3::Version::of(version).map(Self::Three),
        }
    }
}

fn version(config: &Value) -> Result<&str, ParseError> {
    let fields = config.as_object().ok_or(ParseError::NotAnObject)?;
    fields
        .get("ignition")
        .and_then(|ignition| ignition.get("version"))
        .and_then(Value::as_str)
        .ok_or(ParseError::NoVersion)
}
