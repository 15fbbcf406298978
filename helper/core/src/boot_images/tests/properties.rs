use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[a-z]{1,5}", inner, 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn extra() -> impl Strategy<Value = Map<String, Value>> {
    btree_map("x[a-z]{1,5}", anything(), 0..5).prop_map(|fields| fields.into_iter().collect())
}

fn with(mut extra: Map<String, Value>, fields: Value) -> Value {
    extra.extend(fields.as_object().cloned().unwrap_or_default());
    Value::Object(extra)
}

/// A platform, and a provider spec on it whose image is Red Hat's and behind.
fn behind() -> impl Strategy<Value = (&'static str, Value)> {
    let disks = vec((extra(), prop_oneof![Just(GCP_OLD), Just(GCP_TARGET)], any::<bool>()), 1..4);
    let gcp = (extra(), disks).prop_map(|(fields, disks)| {
        let disks = disks.into_iter().map(|(fields, image, boot)| with(fields, json!({"boot": boot, "image": image})));
        let disks = disks.chain([json!({"boot": true, "image": GCP_OLD})]);
        ("GCP", with(fields, json!({"disks": disks.collect::<Vec<_>>()})))
    });
    let aws = (extra(), extra(), option::of("arn:[a-z]{1,4}")).prop_map(|(fields, ami, arn)| {
        let ami = with(ami, json!({"id": "ami-0old", "arn": arn}));
        ("AWS", with(fields, json!({"ami": ami, "placement": {"region": "eu-west-1"}})))
    });
    let azure =
        (extra(), extra(), prop_oneof![Just("/x/gen2"), Just("/x/y"), Just("")]).prop_map(|(fields, image, id)| {
            let image =
                with(image, json!({"resourceID": id, "publisher": "azureopenshift", "offer": "aro4", "sku": "1"}));
            ("Azure", with(fields, json!({"image": image})))
        });
    prop_oneof![gcp, aws, azure]
}

/// What a rule may change, taken out.
fn rest(platform: &str, spec: &Value) -> Value {
    let mut spec = spec.clone();
    match platform {
        "GCP" => {
            for disk in spec["disks"].as_array_mut().unwrap() {
                if disk["boot"] == true {
                    disk.as_object_mut().unwrap().remove("image");
                }
            }
        }
        "AWS" => {
            ["id", "arn", "filters"].iter().for_each(|key| drop(spec["ami"].as_object_mut().unwrap().remove(*key)))
        }
        _ => ["offer", "publisher", "resourceID", "sku", "type", "version"]
            .iter()
            .for_each(|key| drop(spec["image"].as_object_mut().unwrap().remove(*key))),
    }
    spec
}

/// Merge patches cannot tell null from absent.
fn without_nulls(value: &Value) -> Value {
    merge::applied(&Value::Null, value)
}

proptest! {
    #[test]
    fn a_patched_machine_resource_is_current_and_nothing_else_of_it_has_changed((platform, spec) in behind()) {
        let cluster = cluster(platform);
        let machine = set(spec);
        let item = judged(&cluster, &machine);
        prop_assert_eq!(item.decision, Decision::Patch, "{}", item.reason);
        let patch = item.patch.unwrap();
        let patched = Machine::new(Kind::MachineSet, merge::applied(&machine.object.raw, &patch).into());
        prop_assert_eq!(judged(&cluster, &patched).decision, Decision::Current);
        let (before, after) = (machine.provider_spec().unwrap(), patched.provider_spec().unwrap());
        prop_assert_eq!(rest(platform, before), rest(platform, after));
        prop_assert_eq!(without_nulls(&merge::applied(&patched.object.raw, &patch)), without_nulls(&patched.object.raw));
    }

    #[test]
    fn images_of_others_are_never_replaced(fields in extra(), image in "[a-z/-]{0,20}", at in 0usize..3) {
        let (platform, spec) = [
            ("GCP", json!({"disks": [{"boot": true, "image": GCP_OLD}, {"boot": true, "image": image}]})),
            ("AWS", json!({"ami": {"id": format!("ami-mine{image}")}, "placement": {"region": "eu-west-1"}})),
            ("Azure", json!({"image": {"publisher": format!("my{image}"), "offer": "rh-ocp-worker"}})),
        ][at].clone();
        let item = judged(&cluster(platform), &set(with(fields, spec)));
        prop_assert!(matches!(item.decision, Decision::Skipped | Decision::Error), "{:?}", item.decision);
        prop_assert!(item.patch.is_none());
    }

    #[test]
    fn no_object_and_no_stream_makes_anything_panic(
        raw in anything(),
        stream in anything(),
        spec in anything(),
        platform in prop_oneof![Just("GCP"), Just("AWS"), Just("Azure"), Just("VSphere"), Just("Nutanix")],
    ) {
        let mut cluster = cluster(platform);
        cluster.machines = vec![Machine::new(Kind::MachineSet, raw.into()), set(spec)];
        prop_assert_eq!(plan(&cluster, &gate(&cluster)).len(), 2);
        cluster.shipped = Ok(Some(shipped(json!({"stream": stream.to_string(), "streams": stream.to_string()}))));
        prop_assert_eq!(plan(&cluster, &gate(&cluster)).len(), 2);
    }
}
