//! `MachineConfig`: what a machine should be.
//!
//! Owns the envelope; `spec.config` stays JSON here, `crate::ignition` reads it.

use super::absent::null_as_default;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Annotation in which kubectl repeats the whole object, file contents included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The desired files, units, users, kernel arguments and OS image of a machine.
///
/// Every field except `config` is written even when empty, as the cluster's own controller does.
#[derive(CustomResource, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "MachineConfig",
    plural = "machineconfigs",
    singular = "machineconfig",
    shortname = "mc",
    doc = "A machine's configuration as the cluster stores it. `Debug` shows its annotations: see `forget_applied_copy`.",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigSpec {
    /// Image holding the packages that extensions are installed from.
    #[serde(rename = "baseOSExtensionsContainerImage", deserialize_with = "null_as_default")]
    pub base_os_extensions_container_image: String,
    /// Ignition configuration, null when absent. Holds contents and hashes: `Debug` leaves it out.
    #[serde(skip_serializing_if = "Value::is_null")]
    #[schemars(schema_with = "preserved_object")]
    pub config: Value,
    /// Names of extension groups to install.
    #[serde(deserialize_with = "null_as_default")]
    pub extensions: Vec<String>,
    /// Whether the machine runs in FIPS mode.
    #[serde(deserialize_with = "null_as_default")]
    pub fips: bool,
    /// Kernel arguments, in order.
    #[serde(deserialize_with = "null_as_default")]
    pub kernel_arguments: Vec<String>,
    /// `default`, `realtime` or `64k-pages`; empty means default.
    #[serde(deserialize_with = "null_as_default")]
    pub kernel_type: String,
    /// Pull specification of the OS image.
    #[serde(rename = "osImageURL", deserialize_with = "null_as_default")]
    pub os_image_url: String,
}

impl fmt::Debug for MachineConfigSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MachineConfigSpec")
            .field("base_os_extensions_container_image", &self.base_os_extensions_container_image)
            .field("extensions", &self.extensions)
            .field("fips", &self.fips)
            .field("kernel_arguments", &self.kernel_arguments)
            .field("kernel_type", &self.kernel_type)
            .field("os_image_url", &self.os_image_url)
            .finish_non_exhaustive()
    }
}

impl MachineConfig {
    /// Removes the copy of the object that kubectl leaves in an annotation; call it where objects come in, since
    /// annotations are formatted and the copy holds what `spec.config` holds.
    pub fn forget_applied_copy(&mut self) {
        if let Some(annotations) = self.metadata.annotations.as_mut() {
            annotations.remove(LAST_APPLIED);
        }
    }
}

fn preserved_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> MachineConfig {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn null_and_absent_fields_read_as_empty() {
        let nulls = json!({"kernelArguments": null, "extensions": null, "fips": null, "kernelType": null,
            "osImageURL": null, "baseOSExtensionsContainerImage": null, "config": null});
        for spec in [nulls, json!({})] {
            assert_eq!(read(json!({"metadata": {"name": "a"}, "spec": spec})).spec, MachineConfigSpec::default());
        }
    }

    #[test]
    fn every_field_has_the_name_of_the_crd() {
        let spec = json!({
            "baseOSExtensionsContainerImage": "e", "config": {"ignition": {"version": "3.5.0"}, "later": [1]},
            "extensions": ["usbguard"], "fips": true, "kernelArguments": ["a", "b=c"], "kernelType": "realtime",
            "osImageURL": "o",
        });
        let object = json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {"name": "99-a"}, "spec": spec});
        assert_eq!(serde_json::to_value(read(object.clone())).unwrap(), object);
    }

    #[test]
    fn an_absent_config_is_not_written_as_null() {
        let written = serde_json::to_value(MachineConfigSpec::default()).unwrap();
        assert_eq!(written.get("config"), None);
        assert_eq!(written["kernelArguments"], json!([]));
    }

    #[test]
    fn debug_output_holds_no_contents() {
        let object = json!({
            "metadata": {"name": "99-a", "annotations": {LAST_APPLIED: "hunter2", "kept": "yes"}},
            "spec": {"config": {"storage": {"files": [{"contents": {"source": "data:,hunter2"}}]}}},
        });
        let mut config = read(object);
        config.forget_applied_copy();
        let debug = format!("{config:?}");
        assert!(!debug.contains("hunter2"), "{debug}");
        assert!(debug.contains("kept"), "{debug}");
    }

    #[test]
    fn unknown_fields_are_ignored() {
        assert!(read(json!({"metadata": {}, "spec": {"fips": true, "new": 1}, "status": {}})).spec.fips);
    }
}
