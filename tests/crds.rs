//! Ostler's API types against the CustomResourceDefinitions and the objects of the real cluster.
#![cfg(test)]

#[path = "crds/agreement.rs"]
mod agreement;
#[path = "crds/instances.rs"]
mod instances;

use instances::*;
use kube::CustomResourceExt;
use ostler_core::api::machine_config_node::*;
use ostler_core::api::*;
use ostler_tests::crd::Crd;
use ostler_tests::{shared, yaml};
use serde_json::{Value, json, to_value};
use std::collections::BTreeSet;

const NODES: &str = "crds/0000_80_machine-config_01_machineconfignodes-SelfManagedHA-Default.crd.yaml";

fn crd(file: &str) -> Option<Crd> {
    Some(Crd::read(&shared(file)?).unwrap())
}

/// Each kind: its definition, ours, and what fills every field of it.
fn kinds() -> Vec<(&'static str, Value, Vec<Value>)> {
    macro_rules! kind {
        ($file:literal, $type:ty $(, $instance:expr)*) => {
            (concat!("crds/0000_80_machine-config_01_", $file, ".crd.yaml"), to_value(<$type>::crd()).unwrap(),
                vec![$(to_value($instance).unwrap()),*])
        };
    }
    vec![
        kind!("controllerconfigs-Default", ControllerConfig),
        kind!(
            "machineconfignodes-SelfManagedHA-Default",
            MachineConfigNode,
            machine_config_node(MAX_CONDITION_MESSAGE)
        ),
        kind!("machineconfigpools", MachineConfigPool, machine_config_pool()),
        kind!("machineconfigs", MachineConfig, machine_config()),
        kind!(
            "machineconfigurations",
            MachineConfiguration,
            manual_configuration(true),
            manual_configuration(false),
            automatic_configuration()
        ),
        kind!("osimagestreams", OSImageStream, os_image_stream()),
        kind!("pinnedimagesets", PinnedImageSet, pinned_image_set()),
    ]
}

#[test]
fn kinds_are_named_as_the_cluster_names_them() {
    for (file, ours, _) in kinds() {
        let Some(theirs) = crd(file) else { return };
        for path in ["/group", "/scope", "/names/kind", "/names/plural", "/names/singular", "/versions/0/name"] {
            assert_eq!(ours["spec"].pointer(path), theirs.spec.pointer(path), "{file} {path}");
        }
        let short = |spec: &Value| spec.pointer("/names/shortNames").cloned().unwrap_or(json!([]));
        assert_eq!(short(&ours["spec"]), short(&theirs.spec), "{file}");
    }
}

#[test]
fn every_field_we_model_exists_in_the_cluster_with_the_same_type() {
    // Behind a gate that the default definition leaves closed.
    let gated = ["spec.configImage", "status.configImage"];
    for (file, ours, _) in kinds() {
        let Some(theirs) = crd(file) else { return };
        let ours = fields_of_schema(&ours["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
        let theirs = fields_of_schema(&theirs.schema);
        let missing: Vec<_> =
            ours.difference(&theirs).filter(|field| !gated.iter().any(|path| field.starts_with(path))).collect();
        assert!(missing.is_empty() && ours.len() > 1, "{file}: {missing:?}");
    }
}

#[test]
fn full_objects_are_accepted_and_leave_no_field_out() {
    // A kind without an instance is one we never write.
    for (file, ours, instances) in kinds().into_iter().filter(|(_, _, instances)| !instances.is_empty()) {
        let Some(theirs) = crd(file) else { return };
        let mut filled = BTreeSet::new();
        for instance in &instances {
            assert_eq!(theirs.violations(instance), [""; 0], "{file}");
            fields_of_value("", instance, &mut filled);
        }
        let modelled = fields_of_schema(&ours["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
        let left_out: Vec<_> = modelled
            .iter()
            .filter_map(|field| field.split_once(' '))
            .map(|(path, _)| path)
            .filter(|path| !filled.contains(*path) && !path.contains("configImage"))
            .collect();
        assert_eq!(left_out, [""; 0], "{file}");
    }
}

#[test]
fn bare_objects_are_accepted() {
    let with_status = |mut object: Value| {
        object["status"] = json!({});
        object
    };
    let node = MachineConfigNode { status: Some(MachineConfigNodeStatus::default()), ..machine_config_node(0) };
    let table = [
        ("machineconfignodes-SelfManagedHA-Default", to_value(node).unwrap()),
        ("machineconfigpools", to_value(MachineConfigPool::default()).unwrap()),
        ("machineconfigs", to_value(MachineConfig::default()).unwrap()),
        ("machineconfigurations", with_status(to_value(MachineConfiguration::default()).unwrap())),
    ];
    for (file, object) in table {
        let Some(crd) = crd(&format!("crds/0000_80_machine-config_01_{file}.crd.yaml")) else { return };
        assert_eq!(crd.violations(&object), [""; 0], "{file}: {object}");
    }
}

/// Sets the value at a pointer of a full node, or removes it, and asks the cluster.
fn node_with(crd: &Crd, pointer: &str, value: Option<Value>) -> Vec<String> {
    let mut node = machine_config_node(0);
    // Their rules are the slowest to evaluate.
    node.status.as_mut().unwrap().pinned_image_sets.truncate(1);
    let mut node = to_value(node).unwrap();
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    let parent = node.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(fields), Some(value)) => drop(fields.insert(last.to_owned(), value)),
        (Value::Object(fields), None) => drop(fields.remove(last).unwrap()),
        (Value::Array(items), Some(value)) => items.push(value),
        _ => panic!("{pointer}"),
    }
    crd.violations(&node)
}

#[test]
fn the_cluster_refuses_what_breaks_a_limit() {
    let Some(crd) = crd(NODES) else { return };
    let change = json!({"fieldPath": "spec.a", "diff": "d"});
    let condition = json!({"type": "Last", "reason": "R", "message": "", "status": "True",
        "lastTransitionTime": "2026-01-02T03:04:05Z"});
    let table = [
        ("/status/irreconcilableChanges/-", Some(change), "breaks maxItems"),
        ("/status/irreconcilableChanges", Some(json!([])), "breaks minItems"),
        (
            "/status/irreconcilableChanges/0/fieldPath",
            Some(json!(format!("spec.{}", "a".repeat(66)))),
            "breaks maxLength",
        ),
        ("/status/irreconcilableChanges/0/fieldPath", Some(json!("config.a")), "must start with"),
        ("/status/irreconcilableChanges/0/fieldPath", Some(json!("spec.a-b")), "must consist only of alphanumeric"),
        ("/status/irreconcilableChanges/0/diff", Some(json!("a".repeat(4097))), "breaks maxLength"),
        ("/status/irreconcilableChanges/0/diff", Some(json!("")), "breaks minLength"),
        ("/status/irreconcilableChanges/0/diff", None, "lacks diff"),
        ("/status/conditions/-", Some(condition), "breaks maxItems"),
        ("/status/conditions/0/reason", Some(json!("not a reason")), "does not match"),
        ("/status/conditions/0/reason", Some(json!("a".repeat(1025))), "breaks maxLength"),
        ("/status/conditions/0/message", Some(json!("a".repeat(32_769))), "breaks maxLength"),
        ("/status/conditions/0/message", Some(json!(null)), "is null"),
        ("/status/conditions/0/type", Some(json!("Type1")), "is a duplicate"),
        ("/status/conditions/0/type", Some(json!("a b")), "does not match"),
        ("/status/conditions/0/status", Some(json!("true")), "is none of the enum"),
        ("/status/conditions/0/lastTransitionTime", Some(json!("yesterday")), "is not of format date-time"),
        ("/status/conditons", Some(json!([])), "is not a field of the schema"),
        ("/status/configVersion/current", Some(json!("Rendered")), "RFC 1123"),
        ("/status/observedGeneration", Some(json!(0)), "is below the minimum"),
        ("/status/pinnedImageSets/0/desiredGeneration", Some(json!(1)), "desired generation must be"),
        ("/status/pinnedImageSets/0/lastFailedGenerationError", None, "must be defined"),
        ("/status/internalReleaseImage/releases/0/image", Some(json!("registry.example/a/b:latest")), "sha256"),
        ("/spec/node/name", Some(json!("node-1")), "should match metadata.name"),
        ("/spec/pool", None, "lacks pool"),
    ];
    for (pointer, value, complaint) in table {
        let found = node_with(&crd, pointer, value);
        assert!(found.iter().any(|line| line.contains(complaint)), "{pointer}: {complaint:?} not in {found:?}");
    }
}

#[test]
fn the_limits_we_keep_are_those_of_the_cluster() {
    let Some(crd) = crd(NODES) else { return };
    let table = [
        ("conditions/maxItems", MAX_CONDITIONS),
        ("conditions/items/properties/message/maxLength", MAX_CONDITION_MESSAGE),
        ("conditions/items/properties/reason/maxLength", MAX_CONDITION_REASON),
        ("conditions/items/properties/type/maxLength", MAX_CONDITION_TYPE),
        ("irreconcilableChanges/maxItems", MAX_CHANGES),
        ("irreconcilableChanges/items/properties/fieldPath/maxLength", MAX_FIELD_PATH),
        ("irreconcilableChanges/items/properties/diff/maxLength", MAX_DIFF),
        ("pinnedImageSets/maxItems", MAX_PINNED_IMAGE_SETS),
        ("pinnedImageSets/items/properties/lastFailedGenerationError/maxLength", MAX_PINNED_IMAGE_SET_ERROR),
        ("configVersion/properties/desired/maxLength", MAX_NAME),
    ];
    for (path, ours) in table {
        let theirs = crd.schema.pointer(&format!("/properties/status/properties/{path}"));
        assert_eq!(theirs, Some(&json!(ours)), "{path}");
    }
}

#[test]
fn objects_of_the_cluster_are_read_and_nothing_of_them_is_lost() {
    let Some(folder) = shared("fixtures") else { return };
    let mut kinds = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let object = yaml(&path).unwrap();
        let kind = object["kind"].as_str().unwrap().to_owned();
        let again = match kind.as_str() {
            "MachineConfig" => to_value(serde_json::from_value::<MachineConfig>(object.clone()).unwrap()).unwrap(),
            "MachineConfigPool" => {
                to_value(serde_json::from_value::<MachineConfigPool>(object.clone()).unwrap()).unwrap()
            }
            "ControllerConfig" => {
                let spec = serde_json::from_value::<ControllerConfig>(object.clone()).unwrap().spec;
                assert!(spec.root_ca_data.unwrap().expose().starts_with(b"-----BEGIN CERTIFICATE-----"));
                assert_eq!(spec.infra.unwrap().status.control_plane_topology, "HighlyAvailable");
                object.clone()
            }
            _ => panic!("{}: no type for {kind}", path.display()),
        };
        assert!(again == object, "{} changed on the way", path.display());
        kinds.insert(kind);
    }
    assert_eq!(kinds.len(), 3, "{kinds:?}");
}

/// Every field below a schema as `path type`, list entries and map values standing for all of their kind.
fn fields_of_schema(schema: &Value) -> BTreeSet<String> {
    fn walk(at: &str, schema: &Value, into: &mut BTreeSet<String>) {
        let type_ = schema["type"].as_str().unwrap_or("any");
        into.insert(format!("{at} {type_}"));
        walk_into(at, "[]", &schema["items"], into);
        walk_into(at, "{}", &schema["additionalProperties"], into);
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            walk(format!("{at}.{name}").trim_start_matches('.'), property, into);
        }
    }
    fn walk_into(at: &str, mark: &str, schema: &Value, into: &mut BTreeSet<String>) {
        if schema.is_object() {
            walk(&format!("{at}{mark}"), schema, into);
        }
    }
    let mut fields = BTreeSet::new();
    walk("", schema, &mut fields);
    fields
}

/// Every field of a value, with a map's value also under `{}`, since the value does not tell a map from an object.
fn fields_of_value(at: &str, value: &Value, into: &mut BTreeSet<String>) {
    into.insert(at.to_owned());
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            into.insert(format!("{at}{{}}"));
            fields_of_value(format!("{at}.{name}").trim_start_matches('.'), value, into);
        }),
        Value::Array(items) => items.iter().for_each(|item| fields_of_value(&format!("{at}[]"), item, into)),
        _ => {}
    }
}
