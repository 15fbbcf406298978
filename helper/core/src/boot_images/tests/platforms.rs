use serde_json::{Value, json};

use super::*;

#[test]
fn gcp_replaces_the_image_of_boot_disks_and_sends_the_whole_list() {
    let cluster = cluster("GCP");
    let item = judged(&cluster, &gcp(GCP_OLD));
    assert_eq!(
        (item.decision, item.target.as_str(), item.release.as_str()),
        (Decision::Patch, GCP_TARGET, "9.6.20260101-0")
    );
    assert_eq!(
        leaf(&item),
        json!({"disks": [
            {"autoDelete": true, "boot": true, "image": GCP_TARGET, "sizeGb": 128, "type": "pd-ssd", "novel": {"kept": [1, 2]}},
            {"boot": false, "image": "projects/mine/global/images/data", "sizeGb": 10},
        ]})
    );
}

#[test]
fn gcp_decides_by_disk() {
    let cluster = cluster("GCP");
    let boot = |image: Value| json!({"boot": true, "image": image});
    for (disks, expected) in [
        (json!([boot(GCP_TARGET.into())]), Decision::Current),
        (json!([]), Decision::Current),
        (Value::Null, Decision::Current),
        (json!([{"image": "projects/mine/global/images/x"}]), Decision::Current),
        (json!([boot("projects/mine/global/images/x".into())]), Decision::Skipped),
        (json!([boot(GCP_OLD.into()), boot("projects/mine/global/images/x".into())]), Decision::Skipped),
        (json!([boot(GCP_TARGET.into()), boot(GCP_OLD.into())]), Decision::Patch),
        (json!([boot(Value::Null)]), Decision::Skipped),
        (json!([boot(json!(3))]), Decision::Error),
        (json!([{"boot": "yes", "image": GCP_OLD}]), Decision::Error),
        (json!("none"), Decision::Error),
        (json!([3]), Decision::Error),
    ] {
        let item = judged(&cluster, &set(json!({"disks": disks})));
        assert_eq!(item.decision, expected, "{disks}: {}", item.reason);
        assert_eq!(item.patch.is_some(), expected == Decision::Patch);
    }
    let item = judged(&cluster, &set(json!({"disks": [{"image": GCP_OLD}]})));
    assert_eq!(item.reason, "machines boot from none of its disks: there is no boot image to update");
    let arm = edited(
        &gcp(GCP_OLD),
        "/metadata/annotations/capacity.cluster-autoscaler.kubernetes.io~1labels",
        "kubernetes.io/arch=arm64".into(),
    );
    let item = judged(&cluster, &arm);
    assert_eq!((item.decision, item.reason.as_str()), (Decision::Error, "the stream names no GCP image for aarch64"));
}

#[test]
fn aws_replaces_known_amis_and_nothing_else() {
    let cluster = cluster("AWS");
    let spec = |ami: Value, region: &str| {
        set(json!({"kind": "AWSMachineProviderConfig", "ami": ami, "placement": {"region": region}}))
    };
    let item =
        judged(&cluster, &spec(json!({"id": "ami-0old", "arn": "arn:x", "filters": [{"name": "a"}]}), "eu-west-1"));
    assert_eq!(leaf(&item), json!({"ami": {"arn": null, "filters": null, "id": "ami-0new"}}));
    let item = judged(&cluster, &spec(json!({"id": "ami-0old", "arn": null}), "eu-west-1"));
    assert_eq!(leaf(&item), json!({"ami": {"id": "ami-0new"}}));
    for (ami, region, expected) in [
        (json!({"id": "ami-0new"}), "eu-west-1", Decision::Current),
        (json!({"id": "ami-0other"}), "eu-west-1", Decision::Patch),
        (json!({"id": "ami-0mine"}), "eu-west-1", Decision::Skipped),
        (json!({"id": "ami-0old"}), "ap-south-9", Decision::Skipped),
        (json!({"filters": [{"name": "tag:Name", "values": ["x"]}]}), "eu-west-1", Decision::Skipped),
        (json!({}), "eu-west-1", Decision::Skipped),
        (Value::Null, "eu-west-1", Decision::Skipped),
        (json!({"id": "ami-0old"}), "", Decision::Error),
        (json!({"id": 3}), "eu-west-1", Decision::Error),
        (json!("ami-0old"), "eu-west-1", Decision::Error),
    ] {
        let item = judged(&cluster, &spec(ami.clone(), region));
        assert_eq!(item.decision, expected, "{ami} {region}: {}", item.reason);
    }
    let marketplace = judged(&cluster, &spec(json!({"id": "ami-0mine"}), "eu-west-1"));
    assert!(marketplace.reason.contains("Marketplace"), "{}", marketplace.reason);
}

fn azure(image: Value) -> Machine {
    set(
        json!({"kind": "AzureMachineProviderSpec", "location": "westeurope", "vmSize": "Standard_D4s_v3", "image": image}),
    )
}

fn marketplace(publisher: &str, offer: &str, sku: &str, kind: &str) -> Value {
    json!({"publisher": publisher, "offer": offer, "sku": sku, "version": "4.18.1", "resourceID": "", "type": kind})
}

#[test]
fn azure_stays_with_what_is_paid_for_and_the_generation() {
    let cluster = cluster("Azure");
    let uploaded = |name: &str| {
        json!({"publisher": "", "offer": "", "sku": "", "version": "",
        "resourceID": format!("/resourceGroups/c1-rg/providers/Microsoft.Compute/galleries/g/images/{name}/versions/latest")})
    };
    for (image, sku, kind) in [
        (uploaded("c1-gen2"), "419-v2", "MarketplaceNoPlan"),
        (uploaded("c1"), "aro_419", "MarketplaceNoPlan"),
        (marketplace("azureopenshift", "aro4", "418-v2", "MarketplaceNoPlan"), "419-v2", "MarketplaceNoPlan"),
        (marketplace("azureopenshift", "aro4", "aro_418", "MarketplaceNoPlan"), "aro_419", "MarketplaceNoPlan"),
        (marketplace("azureopenshift", "aro4", "aro_418", ""), "419-v2", "MarketplaceNoPlan"),
        (
            marketplace("redhat", "rh-ocp-worker", "rh-ocp-worker", "MarketplaceWithPlan"),
            "rh-ocp-worker",
            "MarketplaceWithPlan",
        ),
        (
            marketplace("redhat", "rh-opp-worker", "rh-opp-worker-gen1", "MarketplaceWithPlan"),
            "rh-opp-worker-gen1",
            "MarketplaceWithPlan",
        ),
        (
            marketplace("redhat-limited", "rh-ocp-worker", "rh-ocp-worker", "MarketplaceWithPlan"),
            "rh-ocp-worker",
            "MarketplaceWithPlan",
        ),
    ] {
        let item = judged(&cluster, &azure(image.clone()));
        assert_eq!(item.decision, Decision::Patch, "{image}: {}", item.reason);
        let after = merge::applied(&image, &leaf(&item)["image"]);
        assert_eq!(
            (after["sku"].as_str(), after["type"].as_str(), after["resourceID"].as_str()),
            (Some(sku), Some(kind), Some("")),
            "{image}"
        );
        assert_eq!(after["version"], "419.6.20260101");
    }
}

#[test]
fn azure_sends_what_differs_and_knows_its_limits() {
    let cluster = cluster("Azure");
    let old = marketplace("azureopenshift", "aro4", "419-v2", "MarketplaceNoPlan");
    assert_eq!(leaf(&judged(&cluster, &azure(old.clone()))), json!({"image": {"version": "419.6.20260101"}}));
    let mut current = old.clone();
    current["version"] = "419.6.20260101".into();
    current["novel"] = true.into();
    assert_eq!(judged(&cluster, &azure(current.clone())).decision, Decision::Current);
    current.as_object_mut().unwrap().remove("resourceID");
    assert_eq!(judged(&cluster, &azure(current)).decision, Decision::Current);
    let with = |key: &str, value: Value| {
        edited(&azure(old.clone()), &format!("/spec/template/spec/providerSpec/value/{key}"), value)
    };
    let annotated = |architecture: &str| {
        let labels = format!("kubernetes.io/arch={architecture}");
        edited(
            &azure(old.clone()),
            "/metadata/annotations/capacity.cluster-autoscaler.kubernetes.io~1labels",
            labels.into(),
        )
    };
    for (machine, expected) in [
        (with("securityProfile", json!({"settings": {"securityType": "ConfidentialVM"}})), Decision::Ignored),
        (with("securityProfile", json!({"settings": {}})), Decision::Patch),
        (with("image", json!({"publisher": "me", "offer": "mine"})), Decision::Error),
        (with("image", json!({"publisher": "redhat", "offer": "rh-new-worker"})), Decision::Error),
        (with("image", json!({"publisher": "redhat-limited", "offer": "rh-oke-worker"})), Decision::Error),
        (with("image", json!({"publisher": 3})), Decision::Error),
        (annotated("s390x"), Decision::Ignored),
        (annotated("arm64"), Decision::Patch),
    ] {
        let item = judged(&cluster, &machine);
        assert_eq!(item.decision, expected, "{}", item.reason);
    }
}

#[test]
fn azure_without_a_marketplace_is_left_to_people() {
    for (images, expected) in [
        (json!({}), Decision::Error),
        (json!({"rhel-coreos-extensions": {}}), Decision::Skipped),
        (json!({"rhel-coreos-extensions": {"marketplace": {}}}), Decision::Skipped),
        (json!({"rhel-coreos-extensions": {"marketplace": {"azure": {}}}}), Decision::Error),
        (json!({"rhel-coreos-extensions": {"marketplace": {"azure": {"no-purchase-plan": {}}}}}), Decision::Error),
    ] {
        let mut cluster = cluster("Azure");
        let stream = json!({"architectures": {"x86_64": images}}).to_string();
        cluster.shipped = Ok(Some(shipped(json!({"stream": stream}))));
        let item = judged(&cluster, &azure(marketplace("azureopenshift", "aro4", "419-v2", "MarketplaceNoPlan")));
        assert_eq!(item.decision, expected, "{images}: {}", item.reason);
    }
}

/// Platform, provider spec, the boot image in it, and a step that has to be told.
fn by_hand() -> [(&'static str, Value, &'static str, &'static str); 10] {
    let openstack = "download https://m/o.qcow2.gz (9.6.20260101-0), sha256 cd";
    let metal = "download https://m/m.iso (9.6.20260101-0), sha256 12";
    let nutanix = "download https://m/n.qcow2 (9.6.20260101-0), sha256 ef";
    [
        ("VSphere", json!({"template": "c1-rhcos"}), "c1-rhcos", "download https://m/x.ova, sha256 ab"),
        ("OpenStack", json!({"image": "rhcos-old"}), "rhcos-old", openstack),
        ("OpenStack", json!({"image": "", "rootVolume": {"sourceUUID": "root-old"}}), "root-old", openstack),
        ("Nutanix", json!({"image": {"type": "name", "name": "n-old"}}), "n-old", nutanix),
        ("IBMCloud", json!({"image": "c1-rhcos"}), "c1-rhcos", "in eu-de: import o.qcow2.gz from the bucket b"),
        ("PowerVS", json!({"image": {"name": "p-old"}}), "p-old", "in syd: import p.ova.gz from the bucket pb"),
        ("BareMetal", json!({"image": {"url": "http://x/y.qcow2"}}), "http://x/y.qcow2", metal),
        ("None", json!({}), "", metal),
        ("AlibabaCloud", json!({"imageId": "m-old"}), "m-old", "in cn-beijing: use m-new"),
        ("KubeVirt", json!({}), "", "import the container disk q/disk@sha256:1"),
    ]
}

#[test]
fn other_platforms_are_reported_with_what_there_is_and_what_to_do() {
    for (platform, spec, current, step) in by_hand() {
        let item = judged(&cluster(platform), &set(spec));
        let decision = if platform == "VSphere" { Decision::Skipped } else { Decision::Ignored };
        assert_eq!((item.decision, item.current.as_str()), (decision, current), "{platform}: {}", item.reason);
        assert!(item.steps.iter().any(|told| told == step), "{platform}: {:?}", item.steps);
        let version = (item.release.as_str(), item.target.as_str());
        assert_eq!(version, ("9.6.20260101-0", "RHCOS 9.6.20260101-0"), "{platform}");
        assert!(item.patch.is_none());
    }
    for platform in ["External", "EquinixMetal", "oVirt"] {
        let item = judged(&cluster(platform), &set(json!({})));
        assert!(item.decision == Decision::Ignored && !item.steps.is_empty(), "{platform}: {}", item.reason);
    }
    for platform in ["Moon", ""] {
        assert_eq!(judged(&cluster(platform), &set(json!({}))).decision, Decision::Error, "{platform}");
    }
}

#[test]
fn vsphere_finds_the_template_by_name_or_failure_domain() {
    let mut cluster = cluster("VSphere");
    let domains = json!({"spec": {"platformSpec": {"vsphere": {"failureDomains": [
        {"name": "east", "server": "v", "topology": {"datacenter": "d", "datastore": "/d/datastore/s"}}]}}},
        "status": {"infrastructureName": "c1-abcde", "platformStatus": {"type": "VSphere"}}});
    cluster.infrastructure = Ok(Some(read(domains).unwrap()));
    let spec = |datacenter: &str| {
        set(json!({"workspace": {"server": "v", "datacenter": datacenter, "datastore": "/d/datastore/s"}}))
    };
    let found = judged(&cluster, &spec("d"));
    assert!(found.decision == Decision::Skipped && found.reason.contains("c1-abcde-rhcos-east"), "{}", found.reason);
    assert_eq!(judged(&cluster, &spec("elsewhere")).decision, Decision::Error);
    let bare = json!({"status": {"platformStatus": {"type": "VSphere"}}});
    cluster.infrastructure = Ok(Some(read(bare).unwrap()));
    assert_eq!(judged(&cluster, &spec("d")).decision, Decision::Ignored);
}

#[test]
fn a_boot_image_can_be_put_back_by_its_record() {
    for (platform, machine) in [
        ("GCP", gcp(GCP_OLD)),
        ("AWS", set(json!({"ami": {"id": "ami-0old", "arn": "arn:x"}, "placement": {"region": "eu-west-1"}}))),
        ("Azure", azure(json!({"resourceID": "/x/gen2", "publisher": "", "offer": "", "sku": "", "version": ""}))),
    ] {
        let cluster = cluster(platform);
        let item = judged(&cluster, &machine);
        let Ok(Some(infrastructure)) = &cluster.infrastructure else { panic!() };
        let known = Platform::of(infrastructure).unwrap();
        let before = machine.provider_spec().unwrap();
        let after = merge::applied(before, &leaf(&item));
        let patch = restored(known, &after, item.before.as_ref().unwrap()).unwrap().unwrap();
        assert_eq!(&merge::applied(&after, &patch), before, "{platform}");
        assert_eq!(restored(known, before, item.before.as_ref().unwrap()).unwrap(), None);
        assert_eq!(restored(known, before, &noted(known, before)).unwrap(), None);
        assert!(restored(known, before, &Value::Null).is_err());
    }
}

#[test]
fn every_disk_gets_its_own_image_back() {
    let cluster = cluster("GCP");
    let older = "projects/rhcos-cloud/global/images/older";
    let disks = json!([{"boot": true, "image": GCP_OLD}, {"boot": false}, {"boot": true, "image": older},
        {"boot": true, "image": GCP_TARGET}]);
    let machine = set(json!({"disks": disks}));
    let item = judged(&cluster, &machine);
    let after = merge::applied(machine.provider_spec().unwrap(), &leaf(&item));
    let record = item.before.unwrap();
    let patch = restored(Platform::Gcp, &after, &record).unwrap().unwrap();
    assert_eq!(patch["disks"], disks);
    let fewer = json!({"disks": [{"boot": true, "image": GCP_TARGET}]});
    assert!(restored(Platform::Gcp, &fewer, &record).unwrap_err().contains("more or fewer disks"));
}
