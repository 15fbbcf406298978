use super::*;

const DOCUMENT: &str = r#"{
  "stream": "rhel-9.6", "metadata": {"last-modified": "2026-01-01T00:00:00Z"}, "novelty": [1],
  "architectures": {
    "x86_64": {
      "artifacts": {
        "vmware": {"release": "9.6.20260101-0", "formats": {"ova": {"disk": {"location": "https://x/y.ova", "sha256": "ab"}}}},
        "metal": {"release": "9.6.20260101-0", "formats": {"pxe": {"kernel": {}, "initramfs": {}, "rootfs": {}}, "novel": {"shape": 3}}}
      },
      "images": {
        "aws": {"regions": {"eu-west-1": {"release": "9.6.20260101-0", "image": "ami-1", "more": true}}},
        "gcp": {"release": "9.6.20260101-0", "project": "rhcos-cloud", "name": "rhcos-9-6"},
        "ibmcloud": {"regions": {"eu-de": {"release": "r", "object": "o", "bucket": "b", "url": "u"}}},
        "powervs": {"regions": {"eu-de": {"release": "r", "object": "o"}}},
        "kubevirt": {"release": "r", "image": "i", "digest-ref": "d"},
        "cloud9": {"x": "y"}
      },
      "rhel-coreos-extensions": {"azure-disk": {"release": "r", "url": "u"}, "marketplace": {"azure": {
        "no-purchase-plan": {"hyperVGen1": {"publisher": "azureopenshift", "offer": "aro4", "sku": "aro_419", "version": "1"}},
        "ocp-emea": {"hyperVGen2": {}}}}}
    },
    "aarch64": {"images": {"aws": {"regions": {"eu-west-1": {"image": "ami-2"}}}}},
    "riscv64": {}
  }
}"#;

#[test]
fn every_platform_is_read_and_unknown_keys_are_not_minded() {
    let stream = StreamMetadata::parse(DOCUMENT).unwrap();
    let images = stream.architecture(Architecture::X86_64).unwrap();
    let ova = images.artifacts("vmware").unwrap().formats.as_ref().unwrap()["ova"].disk.as_ref().unwrap();
    assert_eq!(ova.location.as_deref(), Some("https://x/y.ova"));
    let clouds = images.images.as_ref().unwrap();
    assert_eq!(clouds.aws.as_ref().unwrap().region("eu-west-1").unwrap().image.as_deref(), Some("ami-1"));
    assert_eq!(clouds.gcp.as_ref().unwrap().name.as_deref(), Some("rhcos-9-6"));
    assert_eq!(clouds.ibmcloud.as_ref().unwrap().region("eu-de").unwrap().bucket.as_deref(), Some("b"));
    assert_eq!(clouds.kubevirt.as_ref().unwrap().digest_ref.as_deref(), Some("d"));
    let azure = images.rhel_coreos_extensions.as_ref().unwrap().marketplace.as_ref().unwrap().azure.as_ref().unwrap();
    assert!(azure.no_purchase_plan.as_ref().unwrap().second.is_none());
    assert!(azure.ocp_emea.as_ref().unwrap().second.is_some());
    assert_eq!(stream.amis(), ["ami-1", "ami-2"].into());
    assert!(stream.architecture(Architecture::S390x).is_none());
}

#[test]
fn what_is_no_stream_metadata_says_where() {
    for (text, expected) in [
        ("", "the stream metadata are empty"),
        (" \n", "the stream metadata are empty"),
        ("{\"stream\": ", "the stream metadata are no JSON: line 1, column 11"),
        ("{} {}", "the stream metadata are no JSON: line 1, column 4"),
        ("[]", "the stream metadata are malformed at ."),
        (
            r#"{"architectures": {"x86_64": {"images": {"gcp": {"name": 3}}}}}"#,
            "the stream metadata are malformed at architectures.x86_64.images.gcp.name",
        ),
    ] {
        assert_eq!(StreamMetadata::parse(text).unwrap_err().to_string(), expected, "{text}");
    }
    assert_eq!(StreamMetadata::parse("null"), Ok(StreamMetadata::default()));
}
