//! Names of annotations, and the values that others compare with.

/// Name of the rendered configuration in effect; ours to write.
pub const CURRENT_CONFIG: &str = "machineconfiguration.openshift.io/currentConfig";
/// Name of the rendered configuration to reach; the controller's to write.
pub const DESIRED_CONFIG: &str = "machineconfiguration.openshift.io/desiredConfig";
/// The image in effect, in pools that build their own; ours to write, and to delete rather than to blank.
pub const CURRENT_IMAGE: &str = "machineconfiguration.openshift.io/currentImage";
/// The image to reach; the controller's to write.
pub const DESIRED_IMAGE: &str = "machineconfiguration.openshift.io/desiredImage";
/// The configuration that was served when the machine was installed.
pub const FIRST_PIVOT_CONFIG: &str = "machineconfiguration.openshift.io/firstPivotConfig";
/// How the node is: one of the `STATE_` values.
pub const STATE: &str = "machineconfiguration.openshift.io/state";
/// Why it is so, where it is bad.
pub const REASON: &str = "machineconfiguration.openshift.io/reason";
/// [`REBOOTING`] from the order of a restart until the node is back; blanked, not deleted.
pub const POST_CONFIG_ACTION: &str = "machineconfiguration.openshift.io/post-config-action";
/// Why the deployment that was staged before the last restart was not finished; blanked, not deleted.
pub const FINALIZE_FAILURE: &str = "machineconfiguration.openshift.io/ostree-finalize-staged-failure";
/// What we ask of the drain controller.
pub const DESIRED_DRAIN: &str = "machineconfiguration.openshift.io/desiredDrain";
/// What the drain controller has done last.
pub const LAST_APPLIED_DRAIN: &str = "machineconfiguration.openshift.io/lastAppliedDrain";
/// How many control-plane nodes the cluster has, in a word.
pub const CONTROL_PLANE_TOPOLOGY: &str = "machineconfiguration.openshift.io/controlPlaneTopology";
/// Version of the ControllerConfig whose certificates the node has; ours to write.
pub const SYNCED_CONTROLLER_CONFIG: &str =
    "machineconfiguration.openshift.io/lastSyncedControllerConfigResourceVersion";
/// Whether the rotation of the API server's authority was last seen to be asked for; ours to write.
pub const OBSERVED_ROTATION: &str = "machineconfiguration.openshift.io/lastObservedServerCAAnnotation";
/// What to do about drift on this node. People write it.
pub const DRIFT_POLICY: &str = "ostler.dev/drift-policy";
/// Stops the next update before its drain; the value says why. People write it.
pub const HOLD: &str = "ostler.dev/hold";
/// That the node was cordoned by somebody else when we asked for its drain, so that it is not ours to uncordon.
pub const CORDONED_BEFORE: &str = "ostler.dev/cordoned-before-drain";
/// Version of the image that the machine was installed from; ours to write, for whoever wonders how old boot images are.
pub const BOOT_IMAGE: &str = "ostler.dev/boot-image-version";

/// What begins every name of the machine-config-operator's.
pub const OPERATOR_PREFIX: &str = "machineconfiguration.openshift.io/";
/// What begins every name of ours.
pub const OWN_PREFIX: &str = "ostler.dev/";

/// The node is in its desired configuration.
pub const STATE_DONE: &str = "Done";
/// The node is on its way.
pub const STATE_WORKING: &str = "Working";
/// The node cannot go on without help.
pub const STATE_DEGRADED: &str = "Degraded";
/// The node cannot have its desired configuration.
pub const STATE_UNRECONCILABLE: &str = "Unreconcilable";
/// Value of [`POST_CONFIG_ACTION`].
pub const REBOOTING: &str = "Rebooting";
/// Value of [`CONTROL_PLANE_TOPOLOGY`] where there is nowhere to drain to.
pub const SINGLE_REPLICA: &str = "SingleReplica";
/// Where the name of a configuration is missing.
pub const NOT_YET_SET: &str = "not-yet-set";

/// Longest reason in the annotation, in characters.
pub const MAX_REASON: usize = 2000;
