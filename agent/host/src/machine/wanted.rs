//! What a configuration wants of each single thing on the machine, with contents decoded and owners resolved.
//!
//! Owns the answer to "what should be at this path", for those who write it and for those who look for drift. Refuses to
//! look at what is there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ostler_core::file_contexts::{FileContexts, FileKind};
use ostler_core::ignition::{File, Limits, Unit};
use ostler_core::machine_config::MachineConfig;
use ostler_core::secret::Secret;
use ostler_core::step::{OwnerRef, Step};

use super::place;
use crate::accounts::Accounts;
use crate::batch::{Directory, Write};
use crate::disk::{Attributes, RootPath};
use crate::transaction::Trouble;

/// The only user whose keys and password a config may have.
pub(crate) const CORE: &str = "core";

const TEXT: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };
const PERMISSIONS: u32 = 0o7777;

/// A configuration, to be asked about single things.
pub(crate) struct Wanted<'a> {
    /// Those that may be asked for.
    files: HashMap<&'a str, &'a File>,
    units: HashMap<&'a str, &'a Unit>,
    config: &'a MachineConfig,
    accounts: &'a Accounts,
    labels: Option<&'a FileContexts>,
}

impl<'a> Wanted<'a> {
    /// Without its files, of which there may be thousands.
    pub(crate) fn new(config: &'a MachineConfig, accounts: &'a Accounts, labels: Option<&'a FileContexts>) -> Self {
        let units = config.ignition.units.iter().map(|unit| (unit.name.as_str(), unit)).collect();
        Self { files: HashMap::new(), units, config, accounts, labels }
    }

    /// Lets all its files be asked for.
    pub(crate) fn with_files(mut self) -> Self {
        self.files = self.config.ignition.files.iter().map(|file| (file.path.as_str(), file)).collect();
        self
    }

    /// Lets the files be asked for that steps write: of thousands, most often a few.
    pub(crate) fn with_files_of<'s>(mut self, steps: impl IntoIterator<Item = &'s Step>) -> Self {
        let path = |step: &'s Step| if let Step::WriteFile { path, .. } = step { Some(path.as_str()) } else { None };
        let written: HashSet<&'s str> = steps.into_iter().filter_map(path).collect();
        let files = self.config.ignition.files.iter().map(|file| (file.path.as_str(), file));
        self.files = files.filter(|(path, _)| written.contains(path)).collect();
        self
    }

    /// A file by its path.
    pub(crate) fn file(&self, path: &str) -> Result<Write, Trouble> {
        let file = self.files.get(path).ok_or_else(|| Trouble::NotInConfig { name: path.to_owned() })?;
        let contents = file.contents.decode(Limits::default());
        let contents = contents.map_err(|source| Trouble::Contents { path: path.to_owned(), source })?;
        let mode = file.permissions() & PERMISSIONS;
        let unknown = |source| Trouble::Owner { path: path.to_owned(), source };
        let uid = self.accounts.uid(&OwnerRef::from(&file.user)).map_err(unknown)?;
        let gid = self.accounts.gid(&OwnerRef::from(&file.group)).map_err(unknown)?;
        self.write(RootPath::new(path).map_err(Trouble::path(path))?, contents, Attributes { mode, uid, gid })
    }

    /// Whether a unit is to be unmasked, whoever masked it: it is said to be, or has a text of its own.
    pub(crate) fn unmasks(&self, name: &str) -> Result<bool, Trouble> {
        let said = self.units.get(name).is_some_and(|unit| unit.mask == Some(false));
        Ok(said || self.unit(name)?.is_some())
    }

    /// A unit's text by its name; `None` when the config has no text for it.
    pub(crate) fn unit(&self, name: &str) -> Result<Option<Write>, Trouble> {
        let text =
            self.units.get(name).and_then(|unit| unit.contents.as_ref()).filter(|text| !text.expose().is_empty());
        text.map(|text| self.text(place::unit(name).map_err(Trouble::path(name))?, text)).transpose()
    }

    /// A drop-in's text; `None` when the config has no text for it.
    pub(crate) fn dropin(&self, unit: &str, name: &str) -> Result<Option<Write>, Trouble> {
        let dropins = self.units.get(unit).map(|unit| unit.dropins.as_slice()).unwrap_or_default();
        let dropin = dropins.iter().rev().find(|dropin| dropin.name == name);
        let text = dropin.and_then(|dropin| dropin.contents.as_ref()).filter(|text| !text.expose().is_empty());
        text.map(|text| self.text(place::dropin(unit, name).map_err(Trouble::path(name))?, text)).transpose()
    }

    /// The file of keys that let `core` in, and the directories above it; `None` on a machine without that user.
    pub(crate) fn keys(&self) -> Result<Option<(Vec<Directory>, Write)>, Trouble> {
        let Some(user) = self.accounts.user(CORE) else { return Ok(None) };
        let (directories, path) = place::keys(CORE).map_err(Trouble::path(CORE))?;
        let owned = |mode| Attributes { mode, uid: user.uid, gid: user.gid };
        let directories = directories.map(|path| Directory {
            label: self.label(&path, FileKind::Directory),
            attributes: owned(0o700),
            path,
        });
        let mut text = Vec::new();
        for key in self.config.ignition.users.iter().flat_map(|user| &user.ssh_keys) {
            text.extend_from_slice(key.expose().as_bytes());
            text.push(b'\n');
        }
        Ok(Some((directories.into(), self.write(path, Secret::new(text), owned(0o600))?)))
    }

    /// A user's password hash; an empty one would let anyone in, and counts as none.
    pub(crate) fn hash(&self, name: &str) -> Option<&'a Secret<String>> {
        let user = self.config.ignition.users.iter().rev().find(|user| user.name == name)?;
        user.password_hash.as_ref().filter(|hash| !hash.expose().is_empty())
    }

    /// A file of the agent's own with this text, which is no secret.
    pub(crate) fn record(&self, path: &str, contents: Arc<Secret<Vec<u8>>>) -> Result<Write, Trouble> {
        self.write(RootPath::new(path).map_err(Trouble::path(path))?, contents, TEXT)
    }

    fn text(&self, path: RootPath, text: &Secret<String>) -> Result<Write, Trouble> {
        self.write(path, Secret::new(text.expose().clone().into_bytes()), TEXT)
    }

    fn write(
        &self,
        path: RootPath,
        contents: impl Into<Arc<Secret<Vec<u8>>>>,
        attributes: Attributes,
    ) -> Result<Write, Trouble> {
        let label = self.label(&path, FileKind::File);
        Ok(Write { path, contents: contents.into(), attributes, label, xattrs: Default::default() })
    }

    pub(crate) fn label(&self, path: &RootPath, kind: FileKind) -> Option<String> {
        self.labels?.lookup(path.as_str(), kind).map(str::to_owned)
    }
}
