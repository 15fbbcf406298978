//! Ignition spec 3.x: every published version read by its own types, then raised to the newest.
//!
//! Each version is read by its own types first because a field that a version does not have is dropped by Ignition,
//! even when a later version gives it a meaning.

use ignition_config::{v3_0, v3_1, v3_2, v3_3, v3_4, v3_6};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::unknown::UnknownKeys;
use crate::malformed::{self, Malformed};

/// A published version of the spec.
#[derive(Clone, Copy)]
pub(super) enum Version {
    V0,
    V1,
    V2,
    V3,
    V4,
    /// 3.5 and 3.6 have the same fields; only what Ignition accepts in them differs.
    V5OrV6,
}

impl Version {
    pub(super) fn of(version: &str) -> Option<Self> {
        Some(match version {
            "3.0.0" => Self::V0,
            "3.1.0" => Self::V1,
            "3.2.0" => Self::V2,
            "3.3.0" => Self::V3,
            "3.4.0" => Self::V4,
            "3.5.0" | "3.6.0" => Self::V5OrV6,
            _ => return None,
        })
    }

    /// Reads a config of this version. The version it declares is kept.
    pub(super) fn read(self, config: Value) -> Result<v3_6::Config, Malformed> {
        match self {
            Self::V0 => raise::<v3_0::Config>(config),
            Self::V1 => raise::<v3_1::Config>(config),
            Self::V2 => raise::<v3_2::Config>(config),
            Self::V3 => raise::<v3_3::Config>(config),
            Self::V4 => raise::<v3_4::Config>(config),
            Self::V5OrV6 => malformed::read(config),
        }
    }

    /// The keys that this version does not have.
    pub(super) fn unknown_keys(self, config: &Value, path: &str) -> UnknownKeys {
        match self {
            Self::V0 => UnknownKeys::of_type::<v3_0::Config>(config, path),
            Self::V1 => UnknownKeys::of_type::<v3_1::Config>(config, path),
            Self::V2 => UnknownKeys::of_type::<v3_2::Config>(config, path),
            Self::V3 => UnknownKeys::of_type::<v3_3::Config>(config, path),
            Self::V4 => UnknownKeys::of_type::<v3_4::Config>(config, path),
            Self::V5OrV6 => UnknownKeys::of_type::<v3_6::Config>(config, path),
        }
    }
}

/// Spec 3 only ever added fields, so a config of an older version is a config of the newest one, and a mistake in it is one
/// there as well. Only the newest version is read so that the place of a mistake is known: that takes several times the code.
fn raise<T: Serialize + DeserializeOwned>(config: Value) -> Result<v3_6::Config, Malformed> {
    let unplaced = Malformed::from;
    match T::deserialize(&config) {
        // As text, which takes a fraction of what a tree of values would. Each form goes before the next one is made: all of
        // them have the contents of every file.
        Ok(known) => {
            drop(config);
            let text = serde_json::to_vec(&known).map_err(unplaced)?;
            drop(known);
            serde_json::from_slice(&text).map_err(unplaced)
        }
        Err(error) => Err(malformed::read::<v3_6::Config>(config).err().unwrap_or_else(|| unplaced(error))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(version: &str, rest: Value) -> Result<v3_6::Config, Malformed> {
        let mut config = rest;
        config["ignition"] = json!({"version": version});
        Version::of(version).unwrap().read(config)
    }

    #[test]
    fn a_field_that_a_version_does_not_have_is_dropped() {
        let arguments = json!({"kernelArguments": {"shouldExist": ["a"]}});
        for (version, kept) in [("3.2.0", false), ("3.3.0", true), ("3.5.0", true), ("3.6.0", true)] {
            assert_eq!(read(version, arguments.clone()).unwrap().kernel_arguments.is_some(), kept, "{version}");
        }
        let luks = json!({"storage": {"luks": [{"name": "a", "device": "/dev/a", "discard": true, "cex": {"enabled": true}}]}});
        let volume = |version| read(version, luks.clone()).unwrap().storage.unwrap().luks.unwrap().remove(0);
        assert_eq!((volume("3.3.0").discard, volume("3.4.0").discard), (None, Some(true)));
        assert_eq!((volume("3.4.0").cex.is_some(), volume("3.5.0").cex.is_some()), (false, true));
    }

    #[test]
    fn every_published_version_is_read_and_no_other() {
        for version in ["3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0", "3.6.0"] {
            assert_eq!(read(version, json!({})).unwrap().ignition.version, version);
        }
        for version in ["", "3", "3.5", "3.7.0", "3.05.0", "3.5.1", "3.5.0-experimental", "4.0.0"] {
            assert!(Version::of(version).is_none(), "{version}");
        }
    }

    #[test]
    fn the_place_of_a_mistake_is_named() {
        for version in ["3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0", "3.6.0"] {
            let error = read(version, json!({"storage": {"files": [{"path": "/a", "mode": "0644"}]}})).unwrap_err();
            assert_eq!(error.to_string(), "storage.files[0].mode: must be a whole number, not a string", "{version}");
        }
    }
}
