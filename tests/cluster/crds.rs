//! The kinds of the machine-config operator, made from Ostler's own types or taken from the real cluster.
//!
//! Owns what a type cannot say and the API server enforces: keys of lists and limits. Rules in CEL are kept only where
//! the server evaluates them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, CustomResourceExt};
use ostler_core::api::machine_config_node::{
    MAX_CHANGES, MAX_CONDITION_MESSAGE, MAX_CONDITION_REASON, MAX_CONDITION_TYPE, MAX_CONDITIONS, MAX_DIFF,
    MAX_FIELD_PATH, MAX_NAME, MAX_PINNED_IMAGE_SET_ERROR, MAX_PINNED_IMAGE_SETS,
};
use ostler_core::api::{
    ControllerConfig, MachineConfig, MachineConfigNode, MachineConfigPool, MachineConfiguration, PinnedImageSet,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::time::sleep;

const PATIENCE: Duration = Duration::from_secs(180);
const NAP: Duration = Duration::from_millis(50);
const SCHEMA: &str = "/spec/versions/0/schema/openAPIV3Schema";
/// The first minor version of Kubernetes 1 that evaluates rules.
const WITH_RULES: u32 = 25;

/// Files of the real definitions, in the shared material.
pub const REAL: [&str; 7] = [
    "0000_10_config-operator_01_featuregates",
    "0000_80_machine-config_01_controllerconfigs-Default",
    MACHINE_CONFIG_NODES,
    "0000_80_machine-config_01_machineconfigpools",
    "0000_80_machine-config_01_machineconfigs",
    "0000_80_machine-config_01_machineconfigurations",
    "0000_80_machine-config_01_pinnedimagesets",
];
/// The one of them with limits.
pub const MACHINE_CONFIG_NODES: &str = "0000_80_machine-config_01_machineconfignodes-SelfManagedHA-Default";

/// Defines the kinds and waits until they are served: our own, or with `OSTLER_CRDS=real` those of the real cluster.
pub async fn install(admin: &Client) {
    let real = std::env::var_os("OSTLER_CRDS").is_some_and(|value| value == "real");
    let mut definitions = if real { real_ones() } else { own() };
    let version = admin.apiserver_version().await.unwrap();
    let minor: u32 = version.minor.trim_end_matches('+').parse().unwrap();
    if version.major == "1" && minor < WITH_RULES {
        definitions.iter_mut().for_each(without_rules);
    }
    let resource = ApiResource::erase::<CustomResourceDefinition>(&());
    let api: Api<DynamicObject> = Api::all_with(admin.clone(), &resource);
    for definition in &definitions {
        let object: DynamicObject = serde_json::from_value(definition.clone()).unwrap();
        let created = api.create(&PostParams::default(), &object).await;
        created.unwrap_or_else(|error| panic!("{}: {error}", definition["metadata"]["name"]));
    }
    for definition in &definitions {
        wait_until_served(admin, definition).await;
    }
}

/// Definitions made from our own types, and a feature gate of any content.
pub fn own() -> Vec<Value> {
    let definitions = [
        MachineConfig::crd(),
        MachineConfigNode::crd(),
        MachineConfiguration::crd(),
        ControllerConfig::crd(),
        MachineConfigPool::crd(),
        PinnedImageSet::crd(),
    ];
    let mut definitions = definitions.map(|definition| serde_json::to_value(definition).unwrap());
    for (pointer, keywords) in node_limits() {
        let schema = definitions[1].pointer_mut(&below_schema(pointer));
        let schema = schema.unwrap_or_else(|| panic!("{pointer} is no field")).as_object_mut().unwrap();
        schema.extend(keywords.as_object().unwrap().clone());
    }
    definitions.into_iter().chain([feature_gate()]).collect()
}

/// What is added to the definition of `MachineConfigNode`: where, and which keywords.
pub fn node_limits() -> Vec<(&'static str, Value)> {
    let list = |key: &str, most: usize| {
        json!({
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key], "maxItems": most,
        })
    };
    let rising = |field: &str| {
        let message = format!("{field} must not decrease");
        json!({"minimum": 1, "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": message}]})
    };
    vec![
        ("status/conditions", list("type", MAX_CONDITIONS)),
        ("status/conditions/[]/message", json!({"maxLength": MAX_CONDITION_MESSAGE})),
        (
            "status/conditions/[]/reason",
            json!({"minLength": 1, "maxLength": MAX_CONDITION_REASON,
                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"}),
        ),
        ("status/conditions/[]/status", json!({"enum": ["True", "False", "Unknown"]})),
        ("status/conditions/[]/type", json!({"maxLength": MAX_CONDITION_TYPE})),
        ("status/observedGeneration", json!({"minimum": 1})),
        ("status/configVersion/desired", json!({"maxLength": MAX_NAME})),
        ("status/pinnedImageSets", list("name", MAX_PINNED_IMAGE_SETS)),
        ("status/pinnedImageSets/[]/lastFailedGenerationError", json!({"maxLength": MAX_PINNED_IMAGE_SET_ERROR})),
        ("status/pinnedImageSets/[]/currentGeneration", rising("currentGeneration")),
        ("status/pinnedImageSets/[]/desiredGeneration", rising("desiredGeneration")),
        ("status/pinnedImageSets/[]/lastFailedGeneration", rising("lastFailedGeneration")),
        ("status/irreconcilableChanges", list("fieldPath", MAX_CHANGES)),
        ("status/irreconcilableChanges", json!({"minItems": 1})),
        ("status/irreconcilableChanges/[]/fieldPath", json!({"minLength": 1, "maxLength": MAX_FIELD_PATH})),
        ("status/irreconcilableChanges/[]/diff", json!({"minLength": 1, "maxLength": MAX_DIFF})),
        ("spec/configVersion/desired", json!({"maxLength": MAX_NAME})),
    ]
}

/// The pointer into a definition for a path of fields, `[]` being the entries of a list.
pub fn below_schema(path: &str) -> String {
    let step = |field: &str| if field == "[]" { "/items".to_owned() } else { format!("/properties/{field}") };
    SCHEMA.to_owned() + &path.split('/').map(step).collect::<String>()
}

fn feature_gate() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "featuregates.config.openshift.io"},
        "spec": {
            "group": "config.openshift.io", "scope": "Cluster",
            "names": {"kind": "FeatureGate", "plural": "featuregates", "singular": "featuregate",
                "listKind": "FeatureGateList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
            }],
        },
    })
}

fn real_ones() -> Vec<Value> {
    let read = |name: &str| {
        let path =
            ostler_tests::shared(&format!("crds/{name}.crd.yaml")).expect("OSTLER_CRDS=real, but they are absent");
        ostler_tests::yaml(&path).unwrap()
    };
    REAL.map(read).into()
}

fn without_rules(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("x-kubernetes-validations");
            fields.values_mut().for_each(without_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(without_rules),
        _ => {}
    }
}

async fn wait_until_served(admin: &Client, definition: &Value) {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).expect(pointer).to_owned();
    let kind = GroupVersionKind::gvk(&text("/spec/group"), &text("/spec/versions/0/name"), &text("/spec/names/kind"));
    let resource = ApiResource::from_gvk_with_plural(&kind, &text("/spec/names/plural"));
    let api: Api<DynamicObject> = Api::all_with(admin.clone(), &resource);
    let start = Instant::now();
    while let Err(error) = api.list(&ListParams::default().limit(1)).await {
        assert!(start.elapsed() < PATIENCE, "{kind:?} is not served: {error}");
        sleep(NAP).await;
    }
}
