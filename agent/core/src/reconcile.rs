//! Whether a running node can be brought from one configuration to another: the machine-config-daemon's checks in its
//! order, so that the same change is refused for the same reason.

use crate::api::StorageOverride;
use crate::api::machine_configuration::IrreconcilableValidationOverrides;
use crate::ignition::{Config, Invalid, ParseError, Section};
use crate::machine_config::MachineConfig;
use crate::refusal::{InstallTimeSection, Refusal};

/// The file by which a person forces an update on one node.
pub const FORCE_FILE: &str = "/run/machine-config-daemon-force";

const CORE: &str = "core";

/// Sections of `storage` that may differ because the cluster's administrator said so. They are not applied either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `Disks`.
    pub disks: bool,
    /// `FileSystems`.
    pub filesystems: bool,
    /// `Raid`.
    pub raid: bool,
}

impl From<&IrreconcilableValidationOverrides> for Overrides {
    fn from(overrides: &IrreconcilableValidationOverrides) -> Self {
        Self {
            disks: overrides.allows(StorageOverride::Disks),
            filesystems: overrides.allows(StorageOverride::FileSystems),
            raid: overrides.allows(StorageOverride::Raid),
        }
    }
}

/// The first reason why the target cannot be reached from the current configuration.
pub fn check(current: &MachineConfig, target: &MachineConfig, overrides: Overrides) -> Result<(), Refusal> {
    let name = || target.name.clone();
    match &target.validity {
        Ok(()) => {}
        Err(Invalid::Empty) => return Err(Refusal::UnreadableTarget { name: name(), source: ParseError::Empty }),
        Err(source) => return Err(Refusal::Invalid { name: name(), source: source.clone() }),
    }
    let (old, new) = (&current.ignition, &target.ignition);
    check_passwd(old, new)?;
    check_sections(old, new, overrides)?;
    check_files(new)?;
    if current.fips == target.fips { Ok(()) } else { Err(Refusal::Fips) }
}

fn check_passwd(old: &Config, new: &Config) -> Result<(), Refusal> {
    if old.groups != new.groups {
        return Err(Refusal::Groups);
    }
    if old.users == new.users {
        return Ok(());
    }
    if new.users.iter().any(|user| user.name != CORE) {
        return Err(Refusal::NonCoreUser);
    }
    // A user that is left out is not removed from the node, so an empty list needs no check. Only the last entry is
    // looked at, as the daemon does; Ignition refuses a second entry of one name anyway.
    match new.users.last() {
        Some(user) if user.password_hash.is_none() && user.ssh_keys.is_empty() => Err(Refusal::UserWithoutCredentials),
        Some(user) if !user.rest.is_empty() => Err(Refusal::UserFields),
        _ => Ok(()),
    }
}

fn check_sections(old: &Config, new: &Config, overrides: Overrides) -> Result<(), Refusal> {
    use InstallTimeSection::{Directories, Disks, Filesystems, KernelArguments, Links, Raid};
    let same = |old: &Section, new: &Section| old == new;
    let checks = [
        (KernelArguments, same(&old.kernel_arguments, &new.kernel_arguments)),
        (Disks, overrides.disks || same(&old.disks, &new.disks)),
        (Filesystems, overrides.filesystems || same(&old.filesystems, &new.filesystems)),
        (Raid, overrides.raid || same(&old.raid, &new.raid)),
        (Directories, same(&old.directories, &new.directories)),
        (Links, new.links.is_empty() || same(&old.links, &new.links)),
    ];
    match checks.into_iter().find(|(_, allowed)| !allowed) {
        Some((section, _)) => Err(Refusal::Section(section)),
        None => Ok(()),
    }
}

fn check_files(new: &Config) -> Result<(), Refusal> {
    for file in &new.files {
        if !file.append.is_empty() {
            return Err(Refusal::Append { path: file.path.clone() });
        }
        if file.path == FORCE_FILE {
            return Err(Refusal::ForceFile { path: file.path.clone() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fixture::{files, ignition, spec, users};

    fn reason(old: &MachineConfig, new: &MachineConfig, overrides: Overrides) -> Option<String> {
        check(old, new, overrides).err().map(|refusal| refusal.reason())
    }

    #[test]
    fn a_section_may_differ_only_under_its_own_override() {
        let none = Overrides::default();
        let disks = Overrides { disks: true, ..none };
        let filesystems = Overrides { filesystems: true, ..none };
        let raid = Overrides { raid: true, ..none };
        for (section, items, helps) in [
            ("disks", json!([{"device": "/dev/sdb"}]), Some(disks)),
            ("filesystems", json!([{"device": "/dev/sdb1", "format": "xfs"}]), Some(filesystems)),
            ("raid", json!([{"name": "md0", "level": "raid1", "devices": ["/dev/sdb", "/dev/sdc"]}]), Some(raid)),
            ("directories", json!([{"path": "/srv"}]), None),
            ("links", json!([{"path": "/etc/a", "target": "/etc/b"}]), None),
        ] {
            let (without, with) = (ignition(json!({})), ignition(json!({"storage": {section: items}})));
            for overrides in [none, disks, filesystems, raid] {
                let expected =
                    (Some(overrides) != helps).then(|| format!("ignition {section} section contains changes"));
                assert_eq!(reason(&without, &with, overrides), expected, "{section} added under {overrides:?}");
                // Links alone may be given up.
                let expected = expected.filter(|_| section != "links");
                assert_eq!(reason(&with, &without, overrides), expected, "{section} removed under {overrides:?}");
            }
            assert_eq!(reason(&with, &with, none), None, "{section} unchanged");
        }
    }

    #[test]
    fn only_credentials_of_core_may_change() {
        const OTHER: &str = "ignition passwd user section contains unsupported changes: non-core user";
        const BARE: &str =
            "ignition passwd user section contains unsupported changes: user must be core and have 1 or more sshKeys";
        const FIELDS: &str = "SSH keys and password hash are not reconcilable";
        let key = || json!(["ssh-ed25519 A"]);
        for (new, expected) in [
            (json!([]), None),
            (json!([{"name": "core", "sshAuthorizedKeys": key()}]), None),
            (json!([{"name": "core", "passwordHash": "x"}]), None),
            (json!([{"name": "core", "passwordHash": ""}]), None),
            (json!([{"name": "core"}]), Some(BARE)),
            (json!([{"name": "alice", "sshAuthorizedKeys": key()}]), Some(OTHER)),
            (json!([{"name": "core", "sshAuthorizedKeys": key(), "shell": "/bin/zsh"}]), Some(FIELDS)),
            (json!([{"name": "core", "sshAuthorizedKeys": key(), "uid": 1000}]), Some(FIELDS)),
        ] {
            let old = users(&json!([{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 B"]}]));
            let expected = expected.map(|text| format!("invalid passwd change(s): {text}"));
            assert_eq!(reason(&old, &users(&new), Overrides::default()), expected, "{new}");
        }
    }

    #[test]
    fn what_was_installed_with_may_stay() {
        let odd = users(&json!([{"name": "alice", "shell": "/bin/zsh"}]));
        assert_eq!(reason(&odd, &odd, Overrides::default()), None);
    }

    #[test]
    fn the_first_reason_in_the_daemons_order_is_given() {
        let fips = |config: Value| spec(&json!({"fips": true, "config": config}));
        let storage = json!({"files": [{"path": FORCE_FILE}], "directories": [{"path": "/srv"}]});
        let old = ignition(json!({}));
        let new = fips(json!({"ignition": {"version": "3.5.0"}, "storage": storage}));
        let expected = "ignition directories section contains changes";
        assert_eq!(reason(&old, &new, Overrides::default()).as_deref(), Some(expected));
        let new = fips(json!({"ignition": {"version": "3.5.0"}, "storage": {"files": [{"path": FORCE_FILE}]}}));
        let expected = "cannot create /run/machine-config-daemon-force via Ignition";
        assert_eq!(reason(&old, &new, Overrides::default()).as_deref(), Some(expected));
        let bare = fips(json!({"ignition": {"version": "3.5.0"}}));
        assert!(matches!(check(&old, &bare, Overrides::default()), Err(Refusal::Fips)));
        // A target without a config is refused before anything of it is looked at.
        let empty = reason(&old, &fips(Value::Null), Overrides::default()).unwrap();
        assert!(empty.contains("spec.config is empty"), "{empty}");
    }

    #[test]
    fn a_file_that_appends_is_refused_even_if_it_was_there_before() {
        let config = files(&json!([{"path": "/etc/hosts", "append": [{"source": "data:,x"}]}]));
        let expected = "ignition file /etc/hosts includes append";
        assert_eq!(reason(&config, &config, Overrides::default()).as_deref(), Some(expected));
    }
}
