//! Files, directories and links, each as it is now and as far as it is known to be on the disk.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use nix::errno::Errno;

use crate::disk::{Attributes, ForeignLink, RootPath, Xattrs};

pub(super) type Ino = u64;

pub(super) const ROOT: Ino = 0;

/// Linux gives up after as many links on one way.
const MOST_HOPS: usize = 40;

/// One file, directory or link, whatever names it has.
#[derive(Clone)]
pub(super) struct Inode {
    pub(super) filesystem: u32,
    pub(super) attributes: Versions,
    pub(super) body: Body,
}

impl Inode {
    /// Whether no power cut can take anything from it.
    pub(super) fn is_settled(&self) -> bool {
        let body = match &self.body {
            Body::File(contents) => contents.synced,
            Body::Directory(entries) => entries.pending.is_empty(),
            Body::Link(_) => true,
        };
        body && self.attributes.pending.is_empty()
    }
}

#[derive(Clone)]
pub(super) enum Body {
    File(Contents),
    Directory(Entries),
    /// A link's target comes with its name, because no call could sync it by itself.
    Link(String),
}

/// What an inode has besides its body.
#[derive(Clone, Hash)]
pub(super) struct Traits {
    pub(super) attributes: Attributes,
    pub(super) label: Option<String>,
    pub(super) xattrs: Xattrs,
}

/// Attributes and label that are durable, and those given since.
#[derive(Clone, Hash)]
pub(super) struct Versions {
    pub(super) durable: Traits,
    pub(super) pending: Vec<Traits>,
}

impl Versions {
    pub(super) fn settled(attributes: Attributes) -> Self {
        Self::of(Traits { attributes, label: None, xattrs: Xattrs::default() })
    }

    pub(super) fn of(durable: Traits) -> Self {
        Self { durable, pending: Vec::new() }
    }

    pub(super) fn now(&self) -> &Traits {
        self.pending.last().unwrap_or(&self.durable)
    }

    pub(super) fn set_attributes(&mut self, attributes: Attributes) {
        self.pending.push(Traits { attributes, ..self.now().clone() });
    }

    pub(super) fn set_label(&mut self, label: &str) {
        self.pending.push(Traits { label: Some(label.to_owned()), ..self.now().clone() });
    }

    pub(super) fn set_xattrs(&mut self, xattrs: Xattrs) {
        self.pending.push(Traits { xattrs, ..self.now().clone() });
    }

    fn sync(&mut self) {
        if let Some(last) = self.pending.pop() {
            self.durable = last;
            self.pending.clear();
        }
    }
}

/// A file's bytes. The disk never writes over a file, so that those not synced have no older version.
#[derive(Clone, Default, Hash)]
pub(super) struct Contents {
    pub(super) bytes: Arc<[u8]>,
    pub(super) synced: bool,
    /// A sync has failed: the kernel forgot that these bytes are not on the disk, and no later sync writes them.
    pub(super) forgotten: bool,
}

/// Changes to names of one directory that happen together or not at all.
pub(super) type Change = Vec<(String, Option<Ino>)>;

/// A directory's names.
#[derive(Clone, Default)]
pub(super) struct Entries {
    pub(super) now: BTreeMap<String, Ino>,
    pub(super) durable: BTreeMap<String, Ino>,
    pub(super) pending: Vec<Change>,
}

impl Entries {
    pub(super) fn settled(names: BTreeMap<String, Ino>) -> Self {
        Self { durable: names.clone(), now: names, pending: Vec::new() }
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.now, &change);
        self.pending.push(change);
    }

    fn sync(&mut self) {
        self.durable.clone_from(&self.now);
        self.pending.clear();
    }
}

/// Makes a change to a set of names.
pub(super) fn apply(names: &mut BTreeMap<String, Ino>, change: &Change) {
    for (name, ino) in change {
        match ino {
            Some(ino) => names.insert(name.clone(), *ino),
            None => names.remove(name),
        };
    }
}

/// Where a path leads: a name in a directory, and what has it.
pub(super) struct Place {
    pub(super) directory: Ino,
    pub(super) name: String,
    pub(super) found: Option<Ino>,
}

impl Place {
    pub(super) fn existing(&self) -> io::Result<Ino> {
        self.found.ok_or_else(|| Errno::ENOENT.into())
    }

    pub(super) fn vacant(&self) -> io::Result<()> {
        self.found.map_or(Ok(()), |_| Err(Errno::EEXIST.into()))
    }
}

/// What is left of a way: names, and the ends of links' targets with the links' owners.
enum Element<'p> {
    Name(&'p str),
    End(&'p str, u32),
}

/// All inodes of a disk. Copies share those that neither has changed since, so that a disk can be copied at every effect.
#[derive(Clone)]
pub(super) struct Inodes {
    table: BTreeMap<Ino, Arc<Inode>>,
    next: Ino,
}

impl Inodes {
    /// A disk with nothing but its root.
    pub(super) fn new() -> Self {
        let attributes = Versions::settled(Attributes { mode: 0o755, uid: 0, gid: 0 });
        let root = Inode { filesystem: 0, attributes, body: Body::Directory(Entries::default()) };
        Self::from_table([(ROOT, Arc::new(root))].into())
    }

    pub(super) fn from_table(table: BTreeMap<Ino, Arc<Inode>>) -> Self {
        let next = table.last_key_value().map_or(ROOT, |(ino, _)| *ino) + 1;
        Self { table, next }
    }

    pub(super) fn get(&self, ino: Ino) -> io::Result<&Inode> {
        self.shared(ino).map(|inode| &**inode)
    }

    /// An inode to be part of another disk too.
    pub(super) fn shared(&self, ino: Ino) -> io::Result<&Arc<Inode>> {
        self.table.get(&ino).ok_or_else(|| Errno::ESTALE.into())
    }

    pub(super) fn get_mut(&mut self, ino: Ino) -> io::Result<&mut Inode> {
        self.table.get_mut(&ino).map(Arc::make_mut).ok_or_else(|| Errno::ESTALE.into())
    }

    pub(super) fn names(&self, ino: Ino) -> io::Result<&BTreeMap<String, Ino>> {
        match &self.get(ino)?.body {
            Body::Directory(entries) => Ok(&entries.now),
            Body::File(_) | Body::Link(_) => Err(Errno::ENOTDIR.into()),
        }
    }

    /// Walks to a path, through links but the last element, never above the root.
    pub(super) fn locate(&self, path: &RootPath) -> io::Result<Place> {
        let directory = self.directory(path.parent().as_ref())?;
        let found = self.names(directory)?.get(path.name()).copied();
        Ok(Place { directory, name: path.name().to_owned(), found })
    }

    /// The directory that a path leads to, through a link too; `None` is the root.
    pub(super) fn directory(&self, path: Option<&RootPath>) -> io::Result<Ino> {
        path.map_or(Ok(ROOT), |path| self.walk(path))
    }

    fn walk(&self, path: &RootPath) -> io::Result<Ino> {
        Ok(self.reach(path)?.last().map_or(ROOT, |(ino, _)| *ino))
    }

    /// The path with all links on the way to its last element followed.
    pub(super) fn resolve(&self, path: &RootPath) -> io::Result<RootPath> {
        let above = path.parent().map(|parent| self.reach(&parent)).transpose()?.unwrap_or_default();
        let names: Vec<String> = above.into_iter().map(|(_, name)| name).chain([path.name().to_owned()]).collect();
        RootPath::new(format!("/{}", names.join("/"))).map_err(io::Error::other)
    }

    /// The directories from the root, which is not among them, to the one that a path leads to.
    fn reach(&self, path: &RootPath) -> io::Result<Vec<(Ino, String)>> {
        let mut above: Vec<(Ino, String)> = Vec::new();
        let mut left: Vec<Element<'_>> = path.as_str().rsplit('/').map(Element::Name).collect();
        let mut hops = 0;
        while let Some(element) = left.pop() {
            let current = above.last().map_or(ROOT, |(ino, _)| *ino);
            let element = match element {
                Element::End(link, owner) => {
                    self.judge(link, owner, current)?;
                    continue;
                }
                Element::Name("" | ".") => continue,
                Element::Name("..") => {
                    above.pop();
                    continue;
                }
                Element::Name(name) => name,
            };
            let next = *self.names(current)?.get(element).ok_or(Errno::ENOENT)?;
            let inode = self.get(next)?;
            match &inode.body {
                Body::Directory(_) => above.push((next, element.to_owned())),
                Body::File(_) => return Err(Errno::ENOTDIR.into()),
                Body::Link(_) if hops == MOST_HOPS => return Err(Errno::ELOOP.into()),
                Body::Link(target) => {
                    hops += 1;
                    if target.starts_with('/') {
                        above.clear();
                    }
                    left.push(Element::End(element, inode.attributes.now().attributes.uid));
                    left.extend(target.rsplit('/').map(Element::Name));
                }
            }
        }
        Ok(above)
    }

    fn judge(&self, link: &str, owner: u32, leads_to: Ino) -> io::Result<()> {
        let found = self.get(leads_to)?.attributes.now().attributes.uid;
        if owner == 0 || owner == found {
            return Ok(());
        }
        Err(ForeignLink { link: link.to_owned(), owner, found }.into())
    }

    /// Whether a directory is another or stands anywhere below it.
    pub(super) fn holds(&self, above: Ino, directory: Ino) -> bool {
        let mut left = vec![above];
        while let Some(ino) = left.pop() {
            if ino == directory {
                return true;
            }
            left.extend(self.names(ino).into_iter().flat_map(BTreeMap::values));
        }
        false
    }

    /// Adds an inode under a name, on its directory's filesystem.
    pub(super) fn add(&mut self, place: &Place, attributes: Versions, body: Body) -> io::Result<Ino> {
        let filesystem = self.get(place.directory)?.filesystem;
        let ino = self.next;
        self.change(place.directory, vec![(place.name.clone(), Some(ino))])?;
        self.next += 1;
        self.table.insert(ino, Arc::new(Inode { filesystem, attributes, body }));
        Ok(ino)
    }

    /// Changes names in a directory. The inodes stay: a crash may bring their names back.
    pub(super) fn change(&mut self, directory: Ino, change: Change) -> io::Result<()> {
        match &mut self.get_mut(directory)?.body {
            Body::Directory(entries) => entries.change(change),
            Body::File(_) | Body::Link(_) => return Err(Errno::ENOTDIR.into()),
        }
        Ok(())
    }

    pub(super) fn sync(&mut self, ino: Ino) -> io::Result<()> {
        sync(self.get_mut(ino)?);
        Ok(())
    }

    pub(super) fn sync_filesystem(&mut self, filesystem: u32) {
        self.on(filesystem).for_each(sync);
    }

    /// After a failed sync of a file, or of the filesystem.
    pub(super) fn forget(&mut self, ino: Option<Ino>, filesystem: u32) {
        match ino.and_then(|ino| self.table.get_mut(&ino)) {
            Some(inode) => forget(Arc::make_mut(inode)),
            None => self.on(filesystem).for_each(forget),
        }
    }

    /// Makes a directory and what is below it from now on a filesystem of its own.
    pub(super) fn mount(&mut self, ino: Ino) -> io::Result<()> {
        self.names(ino)?;
        let filesystem = self.table.values().map(|inode| inode.filesystem).max().unwrap_or(0) + 1;
        let mut left = vec![ino];
        while let Some(ino) = left.pop() {
            if let Ok(names) = self.names(ino) {
                left.extend(names.values());
            }
            self.get_mut(ino)?.filesystem = filesystem;
        }
        Ok(())
    }

    /// Inodes of a filesystem that are not wholly on the disk.
    fn on(&mut self, filesystem: u32) -> impl Iterator<Item = &mut Inode> {
        let unsettled = move |inode: &&mut Arc<Inode>| inode.filesystem == filesystem && !inode.is_settled();
        self.table.values_mut().filter(unsettled).map(Arc::make_mut)
    }
}

fn sync(inode: &mut Inode) {
    inode.attributes.sync();
    match &mut inode.body {
        Body::File(contents) => contents.synced |= !contents.forgotten,
        Body::Directory(entries) => entries.sync(),
        Body::Link(_) => {}
    }
}

fn forget(inode: &mut Inode) {
    if let Body::File(contents) = &mut inode.body {
        contents.forgotten |= !contents.synced;
    }
}
