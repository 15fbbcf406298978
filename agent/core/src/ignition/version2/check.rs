//! What spec 2 itself refuses, as far as spec 3's validation would not find it or would name it less well.

use super::error::{ConversionError, Flaw, Subject};
use super::model::{
    Config, Contents, Directory, Disk, File, Filesystem, Link, Mount, Node, Owner, Raid, Reference, Unit, User,
    Verification,
};
use crate::unit_name::is_ignition_type;

type Result<T, E = ConversionError> = std::result::Result<T, E>;

/// Finds the first entry that is invalid in spec 2.
pub(super) fn check(config: &Config) -> Result<()> {
    references(config)?;
    config.users.iter().try_for_each(|user| about(self::user(user), || Subject::User(user.name.clone())))?;
    config.files.iter().try_for_each(|file| about(self::file(file), || Subject::File(file.node.path.clone())))?;
    for entry in &config.directories {
        about(directory(entry), || Subject::Directory(entry.node.path.clone()))?;
    }
    config.links.iter().try_for_each(|entry| about(link(entry), || Subject::Link(entry.node.path.clone())))?;
    config.disks.iter().try_for_each(|entry| about(disk(entry), || Subject::Disk(entry.device.clone())))?;
    config.raid.iter().try_for_each(|entry| about(raid(entry), || Subject::Raid(entry.name.clone())))?;
    for entry in &config.filesystems {
        about(filesystem(entry), || Subject::Filesystem(entry.name.clone()))?;
    }
    config.units.iter().try_for_each(unit)
}

fn about(outcome: Result<(), Flaw>, subject: impl FnOnce() -> Subject) -> Result<()> {
    outcome.map_err(|flaw| ConversionError::Invalid { subject: subject(), flaw })
}

fn ensure(holds: bool, flaw: Flaw) -> Result<(), Flaw> {
    if holds { Ok(()) } else { Err(flaw) }
}

fn references(config: &Config) -> Result<()> {
    let ignition = &config.ignition;
    let authorities = &ignition.security.tls.certificate_authorities;
    for (list, name) in [
        (ignition.config.append.as_slice(), "ignition.config.append"),
        (authorities.as_slice(), "ignition.security.tls.certificateAuthorities"),
    ] {
        for (i, entry) in list.iter().enumerate() {
            about(reference(entry), || Subject::Reference(format!("{name}[{i}]")))?;
        }
    }
    ignition
        .config
        .replace
        .as_ref()
        .map_or(Ok(()), |entry| about(reference(entry), || Subject::Reference("ignition.config.replace".to_owned())))
}

fn reference(reference: &Reference) -> Result<(), Flaw> {
    source(&reference.source)?;
    verification(&reference.verification)
}

/// An empty source is an empty file. The scheme `oem` is missing: spec 2 knows it, spec 3 does not.
fn source(source: &str) -> Result<(), Flaw> {
    let scheme = source.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let known = matches!(scheme.as_deref(), Some("http" | "https" | "tftp" | "s3" | "data"));
    ensure(source.is_empty() || known, Flaw::Scheme)
}

/// Ignition looks at the length of the sum only; digits that are none fail when the sum is compared.
fn verification(verification: &Verification) -> Result<(), Flaw> {
    let Some(hash) = &verification.hash else { return Ok(()) };
    ensure(hash.strip_prefix("sha512-").is_some_and(|sum| sum.len() == 128), Flaw::Hash)
}

/// Every field that the deprecated `create` section excludes.
fn user(user: &User) -> Result<(), Flaw> {
    if user.create.is_none() {
        return Ok(());
    }
    let fields = [
        (user.gecos.is_empty(), "gecos"),
        (user.groups.is_empty(), "groups"),
        (user.home_dir.is_empty(), "homeDir"),
        (!user.no_create_home, "noCreateHome"),
        (!user.no_log_init, "noLogInit"),
        (!user.no_user_group, "noUserGroup"),
        (user.primary_group.is_empty(), "primaryGroup"),
        (user.shell.is_empty(), "shell"),
        (!user.system, "system"),
        (user.uid.is_none(), "uid"),
    ];
    fields.into_iter().try_for_each(|(absent, field)| ensure(absent, Flaw::CreateAndField { field }))
}

fn node(node: &Node) -> Result<(), Flaw> {
    let owner = |owner: &Owner| ensure(owner.id.is_none() || owner.name.is_empty(), Flaw::IdAndName);
    ensure(!node.filesystem.is_empty(), Flaw::NoFilesystem)?;
    ensure(node.path.starts_with('/'), Flaw::RelativePath)?;
    owner(&node.user)?;
    owner(&node.group)
}

fn mode(mode: Option<i64>) -> Result<(), Flaw> {
    ensure(mode.is_none_or(|mode| (0..=0o7777).contains(&mode)), Flaw::Mode)
}

fn file(file: &File) -> Result<(), Flaw> {
    node(&file.node)?;
    ensure(!(file.append && file.node.overwrite == Some(true)), Flaw::AppendAndOverwrite)?;
    mode(file.mode)?;
    contents(&file.contents)
}

fn contents(contents: &Contents) -> Result<(), Flaw> {
    ensure(matches!(contents.compression.as_str(), "" | "gzip"), Flaw::Compression)?;
    source(&contents.source)?;
    verification(&contents.verification)
}

fn directory(directory: &Directory) -> Result<(), Flaw> {
    node(&directory.node)?;
    mode(directory.mode)
}

fn link(link: &Link) -> Result<(), Flaw> {
    node(&link.node)
}

fn device(device: &str) -> Result<(), Flaw> {
    ensure(device.starts_with('/'), Flaw::RelativeDevice)
}

fn disk(disk: &Disk) -> Result<(), Flaw> {
    device(&disk.device)
}

fn raid(raid: &Raid) -> Result<(), Flaw> {
    match raid.level.as_str() {
        "linear" | "raid0" | "0" | "stripe" => ensure(raid.spares == 0, Flaw::RaidSpares)?,
        "raid1" | "1" | "mirror" | "raid4" | "4" | "raid5" | "5" | "raid6" | "6" | "raid10" | "10" => {}
        _ => return Err(Flaw::RaidLevel),
    }
    raid.devices.iter().try_for_each(|path| device(path))
}

fn filesystem(filesystem: &Filesystem) -> Result<(), Flaw> {
    match (&filesystem.mount, &filesystem.path) {
        (Some(mount), None) => self::mount(mount),
        (None, Some(path)) => ensure(path.starts_with('/'), Flaw::RelativePath),
        _ => Err(Flaw::MountOrPath),
    }
}

fn mount(mount: &Mount) -> Result<(), Flaw> {
    let newer = mount.wipe_filesystem || !mount.options.is_empty();
    ensure(!(mount.create.is_some() && newer), Flaw::CreateAndMount)?;
    let longest = match mount.format.as_str() {
        "ext4" => 16,
        "btrfs" => 256,
        "xfs" => 12,
        "swap" => 15,
        "vfat" => 11,
        _ => return Err(Flaw::Format),
    };
    device(&mount.device)?;
    ensure(mount.label.as_ref().is_none_or(|label| label.len() <= longest), Flaw::Label)
}

fn unit(unit: &Unit) -> Result<()> {
    let typed = extension(&unit.name).is_some_and(is_ignition_type);
    about(ensure(typed, Flaw::UnitExtension), || Subject::Unit(unit.name.clone()))?;
    unit.dropins.iter().try_for_each(|dropin| {
        let named = extension(&dropin.name) == Some("conf");
        about(ensure(named, Flaw::DropinExtension), || Subject::Dropin(unit.name.clone(), dropin.name.clone()))
    })
}

/// What follows the last dot of the last path component.
fn extension(name: &str) -> Option<&str> {
    name.rsplit('/').next()?.rsplit_once('.').map(|(_, extension)| extension)
}
