//! What the cluster hands to a node, from the objects it is in, and as it travels to the half that writes it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::api::ControllerConfig;
use crate::protocol::Sealed;
use crate::secret::Secret;

/// Most registries that are taken.
const MOST_REGISTRIES: usize = 4096;

/// What the cluster hands to a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Given {
    /// Registry credentials.
    pub pull_secret: Option<Data>,
    /// What the kubelet is to verify its clients with.
    pub kubelet_ca: Option<Data>,
    /// Certificates of the cloud provider.
    pub cloud_ca: Option<Data>,
    /// Certificates of registries; the last of a name counts.
    pub registries: Vec<Registry>,
    /// What the API server is to be verified with, where that changes.
    pub server_ca: Option<Data>,
}

/// The certificates of a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registry {
    /// Its name, as the cluster writes it.
    pub file: String,
    /// The certificates.
    pub data: Data,
}

/// Contents of a file, which travel and do not format.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Data(Secret<Vec<u8>>);

impl Data {
    /// The bytes.
    pub const fn expose(&self) -> &Vec<u8> {
        self.0.expose()
    }
}

impl From<Vec<u8>> for Data {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Secret::new(bytes))
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(self.expose()))
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(|_| serde::de::Error::custom("contents are not base64"))?;
        Ok(Self::from(bytes))
    }
}

/// What was sent is not what a cluster hands to a node. Never quotes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the certificates that were sent cannot be read, or are for more than {MOST_REGISTRIES} registries")]
pub struct GivenError;

impl Given {
    /// From the operator's object, and the new authority of the API server where there is one.
    pub fn new(config: &ControllerConfig, server_ca: Option<Vec<u8>>) -> Self {
        let spec = &config.spec;
        let data = |secret: &Option<Secret<Vec<u8>>>| secret.clone().map(Data);
        let registries = spec.image_registry_bundle_data.iter().chain(&spec.image_registry_bundle_user_data);
        let registry = |bundle: &crate::api::controller_config::ImageRegistryBundle| Registry {
            file: bundle.file.clone(),
            data: data(&bundle.data).unwrap_or_default(),
        };
        Self {
            pull_secret: data(&spec.internal_registry_pull_secret),
            kubelet_ca: data(&spec.kube_api_server_serving_ca_data),
            cloud_ca: data(&spec.cloud_provider_ca_data),
            registries: registries.map(registry).collect(),
            server_ca: server_ca.map(Data::from),
        }
    }

    /// As it travels.
    pub fn seal(&self) -> Sealed {
        Sealed::new(serde_json::to_value(self).unwrap_or_default())
    }

    /// As it arrives.
    pub fn open(sealed: Sealed) -> Result<Self, GivenError> {
        let given: Self = serde_json::from_value(sealed.open()).map_err(|_| GivenError)?;
        if given.registries.len() > MOST_REGISTRIES { Err(GivenError) } else { Ok(given) }
    }
}

/// A value of a ConfigMap: among its binary data, or among its texts as itself or as base64.
pub fn bundle_of(config_map: &Value, key: &str) -> Option<Vec<u8>> {
    let at = |section: &str| config_map.get(section)?.get(key)?.as_str();
    let decoded = |text: &str| {
        let packed: String = text.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
        STANDARD.decode(packed).ok()
    };
    match (at("binaryData"), at("data")) {
        (Some(binary), _) => decoded(binary),
        (None, Some(text)) if text.contains("-----BEGIN") => Some(text.as_bytes().to_vec()),
        (None, Some(text)) => decoded(text),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config() -> ControllerConfig {
        let data = |text: &str| STANDARD.encode(text);
        serde_json::from_value(json!({"metadata": {}, "spec": {
            "internalRegistryPullSecret": data("pull"), "kubeAPIServerServingCAData": data("kubelet"),
            "cloudProviderCAData": data("cloud"), "imageRegistryBundleData": [{"file": "a", "data": data("one")}],
            "imageRegistryBundleUserData": [{"file": "b..5000", "data": data("two")}, {"file": "c"}],
        }}))
        .unwrap()
    }

    #[test]
    fn everything_of_the_object_is_taken_and_arrives_as_it_was_sent() {
        let given = Given::new(&config(), Some(b"server".to_vec()));
        let names: Vec<&str> = given.registries.iter().map(|registry| registry.file.as_str()).collect();
        assert_eq!(names, ["a", "b..5000", "c"]);
        assert_eq!(given.kubelet_ca.as_ref().unwrap().expose(), b"kubelet");
        let sent: Sealed = serde_json::from_str(&serde_json::to_string(&given.seal()).unwrap()).unwrap();
        assert_eq!(Given::open(sent).unwrap(), given);
        assert_eq!(Given::open(Given::default().seal()).unwrap(), Given::default());
    }

    #[test]
    fn nothing_of_it_is_formatted() {
        let given = Given::new(&config(), Some(b"server".to_vec()));
        let text = format!("{given:?} {:?}", given.seal());
        for secret in ["pull", "cloud", "112, 117"] {
            assert!(!text.contains(&format!("\"{secret}\"")) && !text.contains("112, 117"), "{text}");
        }
        assert!(text.contains("redacted"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_without_being_quoted() {
        let many: Vec<Value> = (0..=MOST_REGISTRIES).map(|_| json!({"file": "a", "data": ""})).collect();
        for document in [
            json!(null),
            json!("hunter2"),
            json!({"pullSecret": "hunter2!"}),
            json!({"registries": [], "command": "hunter2"}),
            json!({"registries": many}),
        ] {
            let error = Given::open(Sealed::new(document)).unwrap_err();
            assert!(!error.to_string().contains("hunter2"));
        }
    }

    #[test]
    fn a_bundle_is_found_in_all_the_ways_it_is_written() {
        let pem = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n";
        let base64 = STANDARD.encode(pem);
        for (map, expected) in [
            (json!({"binaryData": {"ca-bundle.crt": base64}}), Some(pem)),
            (json!({"data": {"ca-bundle.crt": base64}}), Some(pem)),
            (json!({"data": {"ca-bundle.crt": format!("{base64}\n")}}), Some(pem)),
            (json!({"data": {"ca-bundle.crt": pem}}), Some(pem)),
            (json!({"data": {"other": pem}}), None),
            (json!({"data": {"ca-bundle.crt": "???"}}), None),
            (json!({"binaryData": {"ca-bundle.crt": "???"}, "data": {"ca-bundle.crt": pem}}), None),
            (json!({}), None),
        ] {
            let found = bundle_of(&map, "ca-bundle.crt").map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(found.as_deref(), expected, "{map}");
        }
    }
}
