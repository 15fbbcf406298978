//! Why a spec 2 config is refused, with the entry at fault named and nothing that may be secret.

use std::fmt;

/// Why a spec 2 config has no counterpart in spec 3.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionError {
    /// A version of spec 2 that the machine-config-operator does not read either.
    #[error("Ignition version {version:?} cannot be converted; use 2.0.0, 2.1.0, 2.2.0 or any spec 3 version")]
    UnsupportedVersion {
        /// The version as written; empty when there is none.
        version: String,
    },
    /// A field has the wrong type. What stands there is not repeated: it may be a key or a password.
    #[error("{at} is malformed: it or one of its fields has the wrong type")]
    Malformed {
        /// Where in the config, such as `storage.files[3]`.
        at: String,
    },
    /// Something that spec 2 itself refuses.
    #[error("{subject}: {flaw}")]
    Invalid {
        /// The entry at fault.
        subject: Subject,
        /// What is wrong with it.
        flaw: Flaw,
    },
    /// Any user but `core`.
    #[error("unexpected user with name: {name}. Only core user is supported")]
    UnexpectedUser {
        /// The user's name.
        name: String,
    },
    /// Units of systemd-networkd left Ignition with spec 3.
    #[error("networkd unit {name:?} has no counterpart in spec 3; write it as a file below /etc/systemd/network")]
    NetworkdUnit {
        /// File name of the unit.
        name: String,
    },
    /// A file, directory or link outside the root filesystem.
    #[error("{subject} lies on filesystem {filesystem:?}; only \"root\" can be converted")]
    ForeignFilesystem {
        /// The entry at fault.
        subject: Subject,
        /// The filesystem as written.
        filesystem: String,
    },
    /// A filesystem whose mount point spec 2 does not tell.
    #[error("filesystem {name:?} has no mount point that spec 3 could use; write the config in spec 3 with a path")]
    UnmappedFilesystem {
        /// Spec 2's internal name of the filesystem.
        name: String,
    },
    /// A filesystem that is created only when the device is empty, which spec 3 cannot ask for.
    #[error("filesystem {name:?} has a create section without force; spec 3 can only create by wiping")]
    UnforcedCreation {
        /// Spec 2's internal name of the filesystem.
        name: String,
    },
    /// Partitions of spec 2 are measured in sectors, those of spec 3 in MiB.
    #[error("disk {device:?} has partitions in sectors; write the config in spec 3 with startMiB and sizeMiB")]
    SectorPartitions {
        /// The disk.
        device: String,
    },
    /// Two entries for one path, after the files among themselves have been reduced to the last.
    #[error("{first} and {second} have the same path; keep one of them")]
    DuplicatePath {
        /// The entry met first.
        first: Subject,
        /// The entry that repeats its path.
        second: Subject,
    },
    /// An entry that would be written through a link of the same config, or whose path looks like it.
    #[error("{subject} has a path that begins with that of link {link:?}; name the path the link leads to")]
    BehindLink {
        /// The entry at fault.
        subject: Subject,
        /// Path of the link.
        link: String,
    },
    /// One unit entry with two drop-ins of one name.
    #[error("unit {unit:?} has two drop-ins named {dropin:?}; keep one of them")]
    DuplicateDropin {
        /// File name of the unit.
        unit: String,
        /// File name of the drop-in.
        dropin: String,
    },
}

/// The entry of a config that an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// `storage.files[]`, by path.
    File(String),
    /// `storage.directories[]`, by path.
    Directory(String),
    /// `storage.links[]`, by path.
    Link(String),
    /// `storage.disks[]`, by device.
    Disk(String),
    /// `storage.raid[]`, by name.
    Raid(String),
    /// `storage.filesystems[]`, by name.
    Filesystem(String),
    /// `systemd.units[]`, by name.
    Unit(String),
    /// `systemd.units[].dropins[]`, by unit and name.
    Dropin(String, String),
    /// `passwd.users[]`, by name.
    User(String),
    /// A place in the `ignition` section, such as `ignition.config.append[0]`.
    Reference(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file {path:?}"),
            Self::Directory(path) => write!(f, "directory {path:?}"),
            Self::Link(path) => write!(f, "link {path:?}"),
            Self::Disk(device) => write!(f, "disk {device:?}"),
            Self::Raid(name) => write!(f, "RAID array {name:?}"),
            Self::Filesystem(name) => write!(f, "filesystem {name:?}"),
            Self::Unit(name) => write!(f, "unit {name:?}"),
            Self::Dropin(unit, name) => write!(f, "drop-in {name:?} of unit {unit:?}"),
            Self::User(name) => write!(f, "user {name:?}"),
            Self::Reference(place) => f.write_str(place),
        }
    }
}

/// What spec 2 finds wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// No `filesystem`.
    #[error("it names no filesystem; set filesystem to \"root\"")]
    NoFilesystem,
    /// A relative `path`.
    #[error("its path is not absolute")]
    RelativePath,
    /// A relative or missing device.
    #[error("it names a device whose path is missing or not absolute")]
    RelativeDevice,
    /// More than twelve permission bits.
    #[error("its mode is not between 0 and 0o7777")]
    Mode,
    /// An owner given twice.
    #[error("its user or group has both an id and a name; keep one")]
    IdAndName,
    /// Two ways to write that exclude each other.
    #[error("it asks for both append and overwrite; keep one")]
    AppendAndOverwrite,
    /// An unknown compression.
    #[error("its compression is neither empty nor \"gzip\"")]
    Compression,
    /// A URL that spec 3 cannot fetch.
    #[error("its source is no http, https, tftp, s3 or data URL")]
    Scheme,
    /// A hash that is not `sha512-` and 128 digits.
    #[error("its verification hash is not sha512- followed by 128 digits")]
    Hash,
    /// An unknown RAID level.
    #[error("its RAID level is unknown")]
    RaidLevel,
    /// Spares where nothing is redundant.
    #[error("its RAID level cannot have spares")]
    RaidSpares,
    /// Neither or both of `mount` and `path`.
    #[error("it must have exactly one of mount and path")]
    MountOrPath,
    /// Old and new way to create a filesystem.
    #[error("it has both a create section and mount-level options or wipeFilesystem; keep one")]
    CreateAndMount,
    /// An unknown format.
    #[error("its format is none of ext4, btrfs, xfs, swap and vfat")]
    Format,
    /// A label that the format cannot hold.
    #[error("its label is too long for its format")]
    Label,
    /// A unit name without a unit type.
    #[error("its name does not end in a systemd unit type such as .service")]
    UnitExtension,
    /// A drop-in name that systemd would not read.
    #[error("its name does not end in .conf")]
    DropinExtension,
    /// Old and new way to describe a user.
    #[error("it has both a create section and the field {field}; keep one")]
    CreateAndField {
        /// The field beside `create`.
        field: &'static str,
    },
}
