//! One object of each kind with every field filled, as large as the limits let it be where Ostler writes it.

use ostler_core::api::machine_config_node::{
    self as node, ConditionStatus, InternalRelease, InternalReleaseImage, PinnedImageSetProgress, SpecConfigVersion,
    StatusConfigVersion, condition,
};
use ostler_core::api::machine_config_pool::{CertExpiry, PoolCondition, PoolConfiguration, PoolSynchronizerStatus};
use ostler_core::api::machine_configuration::{
    self as configuration, AutomaticBootImage, BootImageSkewEnforcement, BootImageSkewEnforcementStatus,
    IrreconcilableValidationOverrides, MachineManager, MachineManagerSelection, ManagedBootImages, ManualBootImage,
    NodeDisruptionPolicyStatus, PartialSelection,
};
use ostler_core::api::os_image_stream::{self, OSImageStreamSet};
use ostler_core::api::*;
use serde_json::{from_value, json};

fn image() -> String {
    format!("registry.example/openshift/os@sha256:{}", "0".repeat(64))
}

fn when() -> Time {
    from_value(json!("2026-01-02T03:04:05Z")).unwrap()
}

fn name(name: &str) -> NameRef {
    NameRef::new(name)
}

pub fn machine_config() -> MachineConfig {
    let spec = MachineConfigSpec {
        base_os_extensions_container_image: image(),
        config: json!({"ignition": {"version": "3.5.0"}}),
        extensions: vec!["usbguard".to_owned()],
        fips: true,
        kernel_arguments: vec!["quiet".to_owned()],
        kernel_type: "realtime".to_owned(),
        os_image_url: image(),
    };
    MachineConfig::new("rendered-worker-1", spec)
}

/// A node as full as the limits allow, but for the length of its messages, which the caller chooses: they cost time.
pub fn machine_config_node(message: usize) -> MachineConfigNode {
    let spec = MachineConfigNodeSpec {
        config_image: None,
        config_version: SpecConfigVersion { desired: "rendered-worker-1".to_owned() },
        node: name("node-0.example.com"),
        pool: name("worker"),
    };
    let mut object = MachineConfigNode::new("node-0.example.com", spec);
    object.status = Some(node_status(message));
    object
}

fn node_status(message: usize) -> MachineConfigNodeStatus {
    let made = |index: usize| {
        let message = "é".repeat(message);
        let made = condition(&format!("Type{index}"), ConditionStatus::Unknown, "Waiting_1", message, when()).unwrap();
        Condition { observed_generation: Some(1), ..made }
    };
    let change = |index: usize| {
        let digits = node::MAX_FIELD_PATH - "spec.config.storage.disks[]".len();
        let path = format!("spec.config.storage.disks[{index:0>digits$}]");
        IrreconcilableChange::new(path, "é".repeat(node::MAX_DIFF)).unwrap()
    };
    let release = InternalRelease {
        conditions: (0..5).map(made).collect(),
        image: Some(image()),
        name: "ocp-release-bundle-4.20.1-x86_64".to_owned(),
    };
    let set = |index: usize| PinnedImageSetProgress {
        current_generation: Some(1),
        desired_generation: Some(3),
        last_failed_generation: Some(2),
        last_failed_generation_error: Some("no space left".to_owned()),
        name: format!("set-{index}"),
    };
    MachineConfigNodeStatus {
        conditions: (0..node::MAX_CONDITIONS).map(made).collect(),
        config_image: None,
        config_version: Some(StatusConfigVersion {
            current: Some("rendered-worker-0".to_owned()),
            desired: "rendered-worker-1".to_owned(),
        }),
        internal_release_image: Some(InternalReleaseImage { releases: vec![release] }),
        irreconcilable_changes: (0..node::MAX_CHANGES).map(change).collect(),
        observed_generation: Some(2),
        pinned_image_sets: (0..node::MAX_PINNED_IMAGE_SETS).map(set).collect(),
    }
}

pub fn machine_config_pool() -> MachineConfigPool {
    let selector = json!({"matchLabels": {"role": "worker"},
        "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]});
    let source = json!([{"apiVersion": "v1", "fieldPath": "f", "kind": "MachineConfig", "name": "00-worker",
        "namespace": "n", "resourceVersion": "1", "uid": "u"}]);
    let rendered = PoolConfiguration {
        api_version: Some("machineconfiguration.openshift.io/v1".to_owned()),
        field_path: Some("f".to_owned()),
        kind: Some("MachineConfig".to_owned()),
        name: Some("rendered-worker-1".to_owned()),
        namespace: Some("n".to_owned()),
        resource_version: Some("1".to_owned()),
        source: from_value(source).unwrap(),
        uid: Some("u".to_owned()),
    };
    let spec = MachineConfigPoolSpec {
        configuration: Some(rendered.clone()),
        machine_config_selector: from_value(selector.clone()).unwrap(),
        max_unavailable: from_value(json!("10%")).unwrap(),
        node_selector: from_value(selector).unwrap(),
        os_image_stream: Some(name("rhel-9")),
        paused: true,
        pinned_image_sets: vec![name("set-0")],
    };
    let mut pool = MachineConfigPool::new("worker", spec);
    pool.status = Some(pool_status(rendered));
    pool
}

fn pool_status(rendered: PoolConfiguration) -> MachineConfigPoolStatus {
    let updated = PoolCondition {
        last_transition_time: Some(when()),
        message: "all nodes are updated".to_owned(),
        reason: String::new(),
        status: "True".to_owned(),
        type_: "Updated".to_owned(),
    };
    let synchronizer = PoolSynchronizerStatus {
        available_machine_count: 2,
        machine_count: 3,
        observed_generation: Some(1),
        pool_synchronizer_type: "PinnedImageSets".to_owned(),
        ready_machine_count: 1,
        unavailable_machine_count: 1,
        updated_machine_count: 1,
    };
    MachineConfigPoolStatus {
        cert_expirys: vec![CertExpiry { bundle: "b".to_owned(), expiry: Some(when()), subject: "s".to_owned() }],
        conditions: vec![updated],
        configuration: Some(rendered),
        degraded_machine_count: 1,
        machine_count: 3,
        observed_generation: Some(1),
        os_image_stream: Some(name("rhel-9")),
        pool_synchronizers_status: vec![synchronizer],
        ready_machine_count: 1,
        unavailable_machine_count: 1,
        updated_machine_count: 1,
    }
}

fn policies(table_action: PolicyAction) -> NodeDisruptionPolicyConfig {
    let actions = vec![
        PolicyAction::plain(PolicyActionType::Drain),
        PolicyAction::reload("crio.service"),
        PolicyAction::restart("kubelet.service"),
        PolicyAction::plain(PolicyActionType::DaemonReload),
    ];
    NodeDisruptionPolicyConfig {
        files: vec![
            FilePolicy { path: "/etc/a".to_owned(), actions: actions.clone() },
            FilePolicy { path: "/etc/b".to_owned(), actions: vec![table_action] },
        ],
        units: vec![UnitPolicy { name: "a.service".to_owned(), actions: actions.clone() }],
        sshkey: SshKeyPolicy { actions },
    }
}

fn managed(mode: &str, partial: Option<PartialSelection>) -> Option<ManagedBootImages> {
    let selection = MachineManagerSelection { mode: mode.to_owned(), partial };
    let manager =
        MachineManager { api_group: "machine.openshift.io".to_owned(), resource: "machinesets".to_owned(), selection };
    Some(ManagedBootImages { machine_managers: Some(vec![manager]) })
}

/// Skew enforced by the word of the administrator, who names a release or an OS; boot images of some machine sets managed.
pub fn manual_configuration(by_release: bool) -> MachineConfiguration {
    let selector =
        json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]});
    let partial = || Some(PartialSelection { machine_resource_selector: from_value(selector.clone()).unwrap() });
    let declared = ManualBootImage {
        mode: if by_release { "OCPVersion" } else { "RHCOSVersion" }.to_owned(),
        ocp_version: by_release.then(|| "4.20.1".to_owned()),
        rhcos_version: (!by_release).then(|| "9.6.20250101-0".to_owned()),
    };
    let overrides = vec![StorageOverride::Disks, StorageOverride::FileSystems, StorageOverride::Raid];
    let spec = MachineConfigurationSpec {
        boot_image_skew_enforcement: Some(BootImageSkewEnforcement {
            manual: Some(declared.clone()),
            mode: "Manual".to_owned(),
        }),
        irreconcilable_validation_overrides: IrreconcilableValidationOverrides { storage: overrides },
        managed_boot_images: managed("Partial", partial()),
        node_disruption_policy: Some(policies(PolicyAction::plain(PolicyActionType::None))),
    };
    let enforcement =
        BootImageSkewEnforcementStatus { automatic: None, manual: Some(declared), mode: "Manual".to_owned() };
    let mut object = MachineConfiguration::new(configuration::NAME, spec);
    object.status = Some(configuration_status(enforcement, managed("Partial", partial())));
    object
}

/// Skew enforced by the operator, boot images of all machine sets managed.
pub fn automatic_configuration() -> MachineConfiguration {
    let spec = MachineConfigurationSpec {
        boot_image_skew_enforcement: None,
        managed_boot_images: managed("All", None),
        ..manual_configuration(true).spec
    };
    let found = AutomaticBootImage {
        ocp_version: Some("4.20.1".to_owned()),
        rhcos_version: Some("9.6.202501010000-0".to_owned()),
    };
    let enforcement =
        BootImageSkewEnforcementStatus { automatic: Some(found), manual: None, mode: "Automatic".to_owned() };
    let mut object = MachineConfiguration::new(configuration::NAME, spec);
    object.status = Some(configuration_status(enforcement, managed("All", None)));
    object
}

fn configuration_status(
    enforcement: BootImageSkewEnforcementStatus,
    boot_images: Option<ManagedBootImages>,
) -> MachineConfigurationStatus {
    let made = condition("BootImageUpdateProgressing", ConditionStatus::False, "Done", "", when()).unwrap();
    MachineConfigurationStatus {
        boot_image_skew_enforcement_status: Some(enforcement),
        conditions: vec![Condition { observed_generation: Some(1), ..made }],
        managed_boot_images_status: boot_images,
        node_disruption_policy_status: Some(NodeDisruptionPolicyStatus {
            cluster_policies: policies(PolicyAction::plain(PolicyActionType::Special)),
        }),
        observed_generation: Some(1),
    }
}

pub fn os_image_stream() -> OSImageStream {
    let spec = OSImageStreamSpec { default_stream: "rhel-9".to_owned() };
    let set = OSImageStreamSet { name: "rhel-9".to_owned(), os_extensions_image: image(), os_image: image() };
    let mut object = OSImageStream::new(os_image_stream::NAME, spec);
    object.status = Some(OSImageStreamStatus { available_streams: vec![set], default_stream: "rhel-9".to_owned() });
    object
}

pub fn pinned_image_set() -> PinnedImageSet {
    PinnedImageSet::new("set-0", PinnedImageSetSpec { pinned_images: vec![name(&image())] })
}
