//! The part of an image that holds the extensions, layer upon layer, as plain files.
//!
//! Owns what an entry of a layer may do: make a directory or a file below one directory, or hide what a lower layer made
//! there. Refuses everything else that could lie there, above all links to follow and devices, and anything without end.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Read};

use ostler_core::os::layer::LayerError;
use tar::{Archive, Entry, EntryType, Header, PaxExtensions};

use crate::disk::{Attributes, Disk, Kind, RootPath};

/// Where the extensions lie in their image.
pub(super) const TREE: &str = "/usr/share/rpm-ostree/extensions";
const TREE_ELEMENTS: [&str; 4] = ["usr", "share", "rpm-ostree", "extensions"];

const MOST_FILES: usize = 20_000;
const MOST_ENTRIES: usize = 2_000_000;
const MOST_FILE: u64 = 512 * 1024 * 1024;
const MOST_TOTAL: u64 = 4 * 1024 * 1024 * 1024;
const MOST_NAME: u64 = 64 * 1024;
const MOST_DEPTH: usize = 32;

const DIRECTORY: Attributes = Attributes { mode: 0o755, uid: 0, gid: 0 };
const FILE: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };

/// Why a layer was not unpacked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// A name that leads elsewhere.
    #[error("the layer names {name:?}, which is no path within an image")]
    Name {
        /// Which.
        name: String,
    },
    /// Something that has no business there.
    #[error("the layer has {what} at {name:?}, where only files and directories may be")]
    Kind {
        /// Where.
        name: String,
        /// What.
        what: &'static str,
    },
    /// More than there could be.
    #[error("the layer has more {what} than an extensions image could")]
    TooMuch {
        /// Of what.
        what: &'static str,
    },
    /// Not an archive.
    #[error("the layer is no valid archive")]
    Archive(#[source] io::Error),
    /// Not the right layer.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The disk did not play along.
    #[error("could not write {path}")]
    Disk {
        /// What.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Unpacks layers, the lowest first, into a disk of which nothing else is used.
pub(super) struct Unpacker<'d, D> {
    disk: &'d D,
    files: usize,
    entries: usize,
    total: u64,
    /// What the layer at hand has made or passed: a layer hides what is below it, never its own.
    fresh: BTreeSet<RootPath>,
}

/// Where a name lies.
enum Where {
    /// Not where the extensions are.
    Outside,
    /// The extensions' directory, or one above it.
    Above,
    /// Among the extensions.
    Within(RootPath),
}

/// What is known of the next entry from those before it.
#[derive(Default)]
struct Announced {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

impl<'d, D: Disk> Unpacker<'d, D> {
    /// With an empty disk.
    pub(super) const fn new(disk: &'d D) -> Self {
        Self { disk, files: 0, entries: 0, total: 0, fresh: BTreeSet::new() }
    }

    /// Whether anything is left of what was found.
    pub(super) fn is_empty(&self) -> Result<bool, UnpackError> {
        let tree = RootPath::new(TREE).map_err(|_| UnpackError::Name { name: TREE.to_owned() })?;
        if self.kind_at(&tree)? != Some(Kind::Directory) {
            return Ok(true);
        }
        Ok(self.disk.list(&tree).map_err(unwritten(&tree))?.is_empty())
    }

    /// Unpacks one layer.
    pub(super) fn layer(&mut self, archive: &mut dyn Read) -> Result<(), UnpackError> {
        self.fresh.clear();
        let mut archive = Archive::new(archive);
        let mut announced = Announced::default();
        // Raw, because the long names of others are only read here within bounds.
        for entry in archive.entries().map_err(UnpackError::Archive)?.raw(true) {
            let mut entry = entry.map_err(UnpackError::Archive)?;
            self.entries = self.entries.saturating_add(1);
            if self.entries > MOST_ENTRIES {
                return Err(UnpackError::TooMuch { what: "entries" });
            }
            if !announced.take(&mut entry)? {
                self.entry(&mut entry, std::mem::take(&mut announced))?;
            }
        }
        Ok(())
    }

    fn entry<R: Read>(&mut self, entry: &mut Entry<'_, R>, announced: Announced) -> Result<(), UnpackError> {
        let name = announced.name.unwrap_or_else(|| entry.header().path_bytes().into_owned());
        let elements = elements(&name)?;
        if let Some(hidden) = elements.last().and_then(|last| last.strip_prefix(".wh.")) {
            return self.hide(&elements, hidden);
        }
        let directory = is_directory(entry.header(), &name);
        match place(&elements, &name)? {
            Where::Outside => Ok(()),
            Where::Above if directory => Ok(()),
            Where::Above => Err(UnpackError::Kind { name: shown(&name), what: kind(entry.header().entry_type()) }),
            Where::Within(path) => {
                self.touch(&path)?;
                match entry.header().entry_type() {
                    _ if directory => self.directory(&path),
                    EntryType::Regular => {
                        let bytes = self.contents(entry, &name)?;
                        self.file(&path, &bytes)
                    }
                    EntryType::Link => {
                        let link =
                            announced.link.or_else(|| entry.header().link_name_bytes().map(|link| link.into_owned()));
                        self.copy(&path, &link.unwrap_or_default())
                    }
                    other => Err(UnpackError::Kind { name: shown(&name), what: kind(other) }),
                }
            }
        }
    }

    /// Counts an entry, and makes the directories above it.
    fn touch(&mut self, path: &RootPath) -> Result<(), UnpackError> {
        self.files = self.files.saturating_add(1);
        if self.files > MOST_FILES {
            return Err(UnpackError::TooMuch { what: "files" });
        }
        for above in path.ancestors() {
            match self.kind_at(&above)? {
                Some(Kind::Directory) => {}
                None => self.disk.make_directory(&above, DIRECTORY).map_err(unwritten(&above))?,
                Some(_) => return Err(UnpackError::Kind { name: path.to_string(), what: "something below a file" }),
            }
            self.fresh.insert(above);
        }
        self.fresh.insert(path.clone());
        Ok(())
    }

    fn directory(&mut self, path: &RootPath) -> Result<(), UnpackError> {
        if self.kind_at(path)? == Some(Kind::Directory) {
            return Ok(());
        }
        self.remove(path)?;
        self.disk.make_directory(path, DIRECTORY).map_err(unwritten(path))
    }

    fn contents<R: Read>(&mut self, entry: &mut Entry<'_, R>, name: &[u8]) -> Result<Vec<u8>, UnpackError> {
        let size = entry.header().entry_size().map_err(UnpackError::Archive)?;
        self.spend(size)?;
        let mut bytes = Vec::new();
        entry.take(size).read_to_end(&mut bytes).map_err(UnpackError::Archive)?;
        if u64::try_from(bytes.len()).ok() == Some(size) {
            return Ok(bytes);
        }
        let cut = io::Error::new(io::ErrorKind::UnexpectedEof, format!("{} is cut off", shown(name)));
        Err(UnpackError::Archive(cut))
    }

    fn spend(&mut self, size: u64) -> Result<(), UnpackError> {
        self.total = self.total.saturating_add(size);
        if size > MOST_FILE || self.total > MOST_TOTAL {
            return Err(UnpackError::TooMuch { what: "bytes" });
        }
        Ok(())
    }

    fn file(&mut self, path: &RootPath, bytes: &[u8]) -> Result<(), UnpackError> {
        self.remove(path)?;
        self.disk.create(path, bytes, FILE).map_err(unwritten(path))
    }

    /// A hard link becomes a file of its own.
    fn copy(&mut self, path: &RootPath, link: &[u8]) -> Result<(), UnpackError> {
        let elsewhere = || UnpackError::Kind { name: shown(link), what: "a hard link to something else" };
        let Where::Within(target) = place(&elements(link)?, link)? else { return Err(elsewhere()) };
        let stat = self.disk.stat(&target).map_err(unwritten(&target))?;
        let size = stat.filter(|stat| stat.kind == Kind::File).ok_or_else(elsewhere)?.size;
        self.spend(size)?;
        let bytes = self.disk.read(&target, MOST_FILE).map_err(unwritten(&target))?;
        self.file(path, &bytes)
    }

    /// Follows a whiteout: one name, or all of a directory, as far as lower layers made it.
    fn hide(&mut self, elements: &[String], hidden: &str) -> Result<(), UnpackError> {
        let mut target: Vec<String> = elements.iter().take(elements.len().saturating_sub(1)).cloned().collect();
        match hidden {
            ".wh..opq" => {}
            _ if hidden.starts_with(".wh.") => return Ok(()),
            "" | "." | ".." => return Err(UnpackError::Name { name: format!(".wh.{hidden}") }),
            hidden => target.push(hidden.to_owned()),
        }
        let name = target.join("/");
        let path = match place(&target, name.as_bytes())? {
            Where::Outside => return Ok(()),
            Where::Above => RootPath::new(TREE).map_err(|_| UnpackError::Name { name })?,
            Where::Within(path) => path,
        };
        if hidden == ".wh..opq" || self.fresh.contains(&path) { self.empty(&path, 0) } else { self.remove(&path) }
    }

    /// Removes what lower layers left in a directory.
    fn empty(&self, path: &RootPath, depth: usize) -> Result<(), UnpackError> {
        if self.kind_at(path)? != Some(Kind::Directory) || depth > MOST_DEPTH {
            return Ok(());
        }
        for name in self.disk.list(path).map_err(unwritten(path))? {
            let below = child(path, &name)?;
            if self.fresh.contains(&below) {
                self.empty(&below, depth.saturating_add(1))?;
            } else {
                self.remove(&below)?;
            }
        }
        Ok(())
    }

    fn remove(&self, path: &RootPath) -> Result<(), UnpackError> {
        remove_tree(self.disk, path, MOST_DEPTH).map(|_| ()).map_err(unwritten(path))
    }

    fn kind_at(&self, path: &RootPath) -> Result<Option<Kind>, UnpackError> {
        Ok(self.disk.stat(path).map_err(unwritten(path))?.map(|stat| stat.kind))
    }
}

impl Announced {
    /// Whether the entry only says something about the next one.
    fn take<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<bool, UnpackError> {
        match entry.header().entry_type() {
            EntryType::GNULongName => self.name = Some(until_nul(bounded(entry)?)),
            EntryType::GNULongLink => self.link = Some(until_nul(bounded(entry)?)),
            EntryType::XHeader => self.pax(&bounded(entry)?)?,
            EntryType::XGlobalHeader => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn pax(&mut self, bytes: &[u8]) -> Result<(), UnpackError> {
        for extension in PaxExtensions::new(bytes) {
            let extension = extension.map_err(UnpackError::Archive)?;
            match extension.key_bytes() {
                b"path" => self.name = Some(extension.value_bytes().to_owned()),
                b"linkpath" => self.link = Some(extension.value_bytes().to_owned()),
                // Readers that disagree about where an entry ends see different archives.
                b"size" => return Err(UnpackError::TooMuch { what: "bytes in one file" }),
                key if key.starts_with(b"GNU.sparse") => {
                    return Err(UnpackError::Kind { name: "a file".to_owned(), what: "holes" });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn bounded<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, UnpackError> {
    let mut bytes = Vec::new();
    entry.take(MOST_NAME.saturating_add(1)).read_to_end(&mut bytes).map_err(UnpackError::Archive)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= MOST_NAME) {
        return Ok(bytes);
    }
    Err(UnpackError::TooMuch { what: "characters in a name" })
}

fn until_nul(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    bytes
}

/// Old archives know a directory by the slash behind its name.
fn is_directory(header: &Header, name: &[u8]) -> bool {
    match header.entry_type() {
        EntryType::Directory => true,
        EntryType::Regular => name.ends_with(b"/"),
        _ => false,
    }
}

/// The elements of a name; one that leads out of the image, or could, is refused wherever it leads.
fn elements(name: &[u8]) -> Result<Vec<String>, UnpackError> {
    let bad = || UnpackError::Name { name: shown(name) };
    if name.starts_with(b"/") || name.contains(&0) {
        return Err(bad());
    }
    let parts = name.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    let elements: Vec<String> = parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect();
    if elements.iter().any(|element| element == "..") { Err(bad()) } else { Ok(elements) }
}

fn place(elements: &[String], name: &[u8]) -> Result<Where, UnpackError> {
    let mut pairs = elements.iter().zip(TREE_ELEMENTS);
    if pairs.any(|(element, wanted)| element != wanted) {
        return Ok(Where::Outside);
    }
    if elements.len() <= TREE_ELEMENTS.len() {
        return Ok(Where::Above);
    }
    let bad = || UnpackError::Name { name: shown(name) };
    if elements.len() > MOST_DEPTH || std::str::from_utf8(name).is_err() {
        return Err(bad());
    }
    RootPath::new(format!("/{}", elements.join("/"))).map(Where::Within).map_err(|_| bad())
}

const fn kind(entry: EntryType) -> &'static str {
    match entry {
        EntryType::Symlink => "a symbolic link",
        EntryType::Link => "a hard link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a pipe",
        EntryType::Regular => "a file",
        _ => "something unknown",
    }
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().take(200).collect()
}

fn unwritten(path: &RootPath) -> impl FnOnce(io::Error) -> UnpackError {
    let path = path.to_string();
    move |source| UnpackError::Disk { path, source }
}

fn child(path: &RootPath, name: &OsStr) -> Result<RootPath, UnpackError> {
    let child = name.to_str().and_then(|name| path.join(name).ok());
    child.ok_or_else(|| UnpackError::Name { name: name.to_string_lossy().into_owned() })
}

/// Removes what stands at a path and everything below it; says whether there was anything.
pub(super) fn remove_tree(disk: &impl Disk, path: &RootPath, depth: usize) -> io::Result<bool> {
    match disk.stat(path)?.map(|stat| stat.kind) {
        None => return Ok(false),
        Some(Kind::Directory) => {}
        Some(_) => return disk.remove(path).map(|()| true),
    }
    let deeper = depth.checked_sub(1).ok_or_else(|| io::Error::other("directories are nested too deeply"))?;
    for name in disk.list(path)? {
        let below = name.to_str().and_then(|name| path.join(name).ok());
        let below = below.ok_or_else(|| io::Error::other("a name is no UTF-8 text"))?;
        remove_tree(disk, &below, deeper)?;
    }
    disk.remove_directory(path).map(|()| true)
}
