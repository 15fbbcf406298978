//! Decisions as the machine-config operator makes them, by table.

mod capi;
mod eligibility;
mod platforms;
mod properties;

use serde_json::{Value, json};

use super::stub::UserData;
use super::*;
use crate::objects::{ConfigMap, read};
use crate::stream_metadata::Architecture;

pub(crate) const GCP_TARGET: &str = "projects/rhcos-cloud/global/images/rhcos-9-6-20260101-0-gcp-x86-64";
pub(crate) const GCP_OLD: &str = "projects/rhcos-cloud/global/images/rhcos-414-92-202308032115-0-gcp-x86-64";

pub(crate) fn stream() -> Value {
    let azure = |publisher: &str, offer: &str, first: &str, second: &str| {
        let image =
            |sku: &str| json!({"publisher": publisher, "offer": offer, "sku": sku, "version": "419.6.20260101"});
        json!({"hyperVGen1": image(first), "hyperVGen2": image(second)})
    };
    json!({
        "stream": "rhel-9.6",
        "architectures": {
            "x86_64": {
                "artifacts": {
                    "vmware": {"release": "9.6.20260101-0", "formats": {"ova": {"disk": {"location": "https://m/x.ova", "sha256": "ab"}}}},
                    "openstack": {"release": "9.6.20260101-0", "formats": {"qcow2.gz": {"disk": {"location": "https://m/o.qcow2.gz", "sha256": "cd"}}}},
                    "nutanix": {"release": "9.6.20260101-0", "formats": {"qcow2": {"disk": {"location": "https://m/n.qcow2", "sha256": "ef"}}}},
                    "metal": {"release": "9.6.20260101-0", "formats": {"iso": {"disk": {"location": "https://m/m.iso", "sha256": "12"}}}},
                    "azure": {"release": "9.6.20260101-0"},
                },
                "images": {
                    "aws": {"regions": {"eu-west-1": {"release": "9.6.20260101-0", "image": "ami-0new"}, "us-east-1": {"release": "9.6.20260101-0", "image": "ami-0other"}}},
                    "gcp": {"release": "9.6.20260101-0", "project": "rhcos-cloud", "name": "rhcos-9-6-20260101-0-gcp-x86-64"},
                    "ibmcloud": {"regions": {"eu-de": {"release": "9.6.20260101-0", "object": "o.qcow2.gz", "bucket": "b", "url": "u"}}},
                    "powervs": {"regions": {"syd": {"release": "9.6.20260101-0", "object": "p.ova.gz", "bucket": "pb", "url": "u"}}},
                    "aliyun": {"regions": {"cn-beijing": {"release": "9.6.20260101-0", "image": "m-new"}}},
                    "kubevirt": {"release": "9.6.20260101-0", "image": "q/disk:1", "digest-ref": "q/disk@sha256:1"},
                },
                "rhel-coreos-extensions": {"marketplace": {"azure": {
                    "no-purchase-plan": azure("azureopenshift", "aro4", "aro_419", "419-v2"),
                    "ocp": azure("redhat", "rh-ocp-worker", "rh-ocp-worker-gen1", "rh-ocp-worker"),
                    "opp": azure("redhat", "rh-opp-worker", "rh-opp-worker-gen1", "rh-opp-worker"),
                    "oke": azure("redhat", "rh-oke-worker", "rh-oke-worker-gen1", "rh-oke-worker"),
                    "ocp-emea": azure("redhat-limited", "rh-ocp-worker", "rh-ocp-worker-gen1", "rh-ocp-worker"),
                }}},
            },
            "aarch64": {
                "images": {"aws": {"regions": {"eu-west-1": {"image": "ami-0arm"}}}},
                "rhel-coreos-extensions": {"marketplace": {"azure": {
                    "no-purchase-plan": {"hyperVGen2": {"publisher": "azureopenshift", "offer": "aro4", "sku": "419-arm", "version": "419.6.20260101"}}}}},
            },
            "s390x": {},
        },
    })
}

pub(crate) fn shipped(data: Value) -> ShippedImages {
    let map: ConfigMap = read(json!({"metadata": {"name": BOOT_IMAGES}, "data": data})).unwrap();
    ShippedImages::of(&map)
}

/// A cluster at rest on a platform, whose only secret with user data is of spec 3.
pub(crate) fn cluster(platform: &str) -> Cluster {
    let secret = read(json!({"metadata": {"name": "worker-user-data", "namespace": "openshift-machine-api"},
        "stringData": {"userData": r#"{"ignition": {"version": "3.2.0"}}"#}}))
    .unwrap();
    let mut cluster = Cluster {
        shipped: Ok(Some(shipped(json!({"releaseVersion": "4.21.0", "stream": stream().to_string()})))),
        infrastructure: Ok(Some(
            read(json!({"spec": {"platformSpec": {"vsphere": {}}}, "status": {"infrastructureName": "c1-abcde",
                "platformStatus": {"type": platform, "aws": {"region": "eu-west-1"}}}}))
            .unwrap(),
        )),
        version: Ok(Some(
            read(json!({"metadata": {"name": "version"}, "status": {"desired": {"version": "4.21.0"},
                "history": [{"state": "Completed", "version": "4.21.0"}]}}))
            .unwrap(),
        )),
        control_plane: Some(Architecture::X86_64),
        user_data: UserData::new(vec![secret], true),
        ..Cluster::default()
    };
    let Ok(Some(shipped)) = &cluster.shipped else { panic!() };
    cluster.known.learn(shipped);
    cluster.known.learn_file("ami-0old\n").unwrap();
    cluster
}

pub(crate) fn set(spec: Value) -> Machine {
    let mut spec = spec;
    if let Some(fields) = spec.as_object_mut() {
        fields.entry("userDataSecret").or_insert_with(|| json!({"name": "worker-user-data"}));
    }
    let raw = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": {"name": "worker-a", "namespace": "openshift-machine-api"},
        "spec": {"replicas": 2, "template": {"metadata": {"labels": {}}, "spec": {"providerSpec": {"value": spec}}}},
    });
    Machine::new(Kind::MachineSet, raw.into())
}

pub(crate) fn edited(machine: &Machine, pointer: &str, value: Value) -> Machine {
    let keys: Vec<&str> = pointer.split('/').skip(1).collect();
    let keys: Vec<String> = keys.iter().map(|key| key.replace("~1", "/")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    Machine::new(machine.kind, merge::applied(&machine.object.raw, &merge::nested(&keys, value)).into())
}

pub(crate) fn judged(cluster: &Cluster, machine: &Machine) -> Item {
    decide(cluster, &gate(cluster), machine)
}

/// The patch of a provider spec, without what it is nested in.
pub(crate) fn leaf(item: &Item) -> Value {
    let patch = item.patch.as_ref().expect("there is a patch");
    patch.pointer("/spec/template/spec/providerSpec/value").cloned().unwrap_or_default()
}

pub(crate) fn gcp(image: &str) -> Machine {
    set(json!({"kind": "GCPMachineProviderSpec", "machineType": "n2-standard-4", "disks": [
        {"autoDelete": true, "boot": true, "image": image, "sizeGb": 128, "type": "pd-ssd", "novel": {"kept": [1, 2]}},
        {"boot": false, "image": "projects/mine/global/images/data", "sizeGb": 10},
    ]}))
}
