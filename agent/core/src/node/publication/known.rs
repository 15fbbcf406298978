//! The condition types of a `MachineConfigNode`: their order, who writes them, and with which gate they exist.

/// Whether the update can be made.
pub(super) const UPDATE_PREPARED: &str = "UpdatePrepared";
/// Whether cordon, drain and the change of the machine are done.
pub(super) const UPDATE_EXECUTED: &str = "UpdateExecuted";
/// Whether services were told.
pub(super) const POST_ACTION_COMPLETE: &str = "UpdatePostActionComplete";
/// Whether the node was uncordoned at the end.
const UPDATE_COMPLETE: &str = "UpdateComplete";
/// Whether the node works again.
pub(super) const RESUMED: &str = "Resumed";
/// Whether workloads have left.
pub(super) const DRAINED: &str = "Drained";
/// Whether the machine has its new files and OS.
pub(super) const APPLIED_FILES_AND_OS: &str = "AppliedFilesAndOS";
/// Whether the machine has its new files.
pub(super) const APPLIED_FILES: &str = "AppliedFiles";
/// Whether the machine has its new OS.
pub(super) const APPLIED_OS_IMAGE: &str = "AppliedOSImage";
/// Whether workloads are kept out.
const CORDONED: &str = "Cordoned";
/// Whether the machine has restarted.
pub(super) const REBOOTED_NODE: &str = "RebootedNode";
/// Whether the node is in its desired configuration.
pub(super) const UPDATED: &str = "Updated";
/// Whether workloads are let in again.
const UNCORDONED: &str = "Uncordoned";
/// Whether the image was pulled.
pub(super) const IMAGE_PULLED: &str = "ImagePulledFromRegistry";
/// Whether the node needs help.
pub(super) const NODE_DEGRADED: &str = "NodeDegraded";

/// Whether images that are to be kept cannot be had.
pub(super) const PINNED_DEGRADED: &str = "PinnedImageSetsDegraded";
/// Whether images that are to be kept are pulled.
pub(super) const PINNED_PROGRESSING: &str = "PinnedImageSetsProgressing";

/// Reason of a condition of which nothing is known yet.
pub(super) const NOT_YET_OCCURRED: &str = "NotYetOccurred";

/// Who writes a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// Only a daemon, in the course of updates.
    Daemon,
    /// The controller, and a daemon in some phases.
    Controller,
    /// Those who look after pinned images: the duty, once it has something to say.
    Others,
}

/// With which gate a type exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exists {
    Always,
    WithImageMode,
    WithoutImageMode,
}

struct Known(&'static str, Writer, Exists);

const KNOWN: [Known; 17] = [
    Known(UPDATE_PREPARED, Writer::Daemon, Exists::Always),
    Known(UPDATE_EXECUTED, Writer::Controller, Exists::Always),
    Known(POST_ACTION_COMPLETE, Writer::Daemon, Exists::Always),
    Known(UPDATE_COMPLETE, Writer::Controller, Exists::Always),
    Known(RESUMED, Writer::Daemon, Exists::Always),
    Known(DRAINED, Writer::Controller, Exists::Always),
    Known(APPLIED_FILES_AND_OS, Writer::Daemon, Exists::WithoutImageMode),
    Known(APPLIED_FILES, Writer::Daemon, Exists::WithImageMode),
    Known(APPLIED_OS_IMAGE, Writer::Daemon, Exists::WithImageMode),
    Known(CORDONED, Writer::Controller, Exists::Always),
    Known(REBOOTED_NODE, Writer::Daemon, Exists::Always),
    Known(UPDATED, Writer::Daemon, Exists::Always),
    Known(UNCORDONED, Writer::Controller, Exists::Always),
    Known(IMAGE_PULLED, Writer::Daemon, Exists::WithImageMode),
    Known(NODE_DEGRADED, Writer::Daemon, Exists::Always),
    Known(PINNED_DEGRADED, Writer::Others, Exists::Always),
    Known(PINNED_PROGRESSING, Writer::Others, Exists::Always),
];

/// The types of a writer, in order.
pub(super) fn types(writer: Writer, image_mode: bool) -> impl Iterator<Item = &'static str> {
    KNOWN.iter().filter(move |known| known.1 == writer && exists(known.2, image_mode)).map(|known| known.0)
}

/// The types that a gate takes away.
pub(super) fn without(image_mode: bool) -> impl Iterator<Item = &'static str> {
    KNOWN.iter().filter(move |known| !exists(known.2, image_mode)).map(|known| known.0)
}

/// Where a type stands among the known ones; unknown ones are behind.
pub(super) fn position(type_: &str) -> usize {
    KNOWN.iter().position(|known| known.0 == type_).unwrap_or(KNOWN.len())
}

const fn exists(exists: Exists, image_mode: bool) -> bool {
    match exists {
        Exists::Always => true,
        Exists::WithImageMode => image_mode,
        Exists::WithoutImageMode => !image_mode,
    }
}
