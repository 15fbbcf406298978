//! The operations of a disk, with the error numbers that Linux gives.

use std::ffi::OsString;
use std::io;

use nix::errno::Errno;

use super::fault::Space;
use super::inode::{Body, Contents, Entries, Ino, Place, Versions};
use super::{BORN_DIRECTORY, BORN_FILE, MemoryDisk, MemoryLock, PowerCut, State, held};
use crate::disk::{Attributes, Disk, Free, Kind, Obstacle, RootPath, Stat, Xattrs};

const MAX_TARGET: usize = 4095;

impl Disk for MemoryDisk {
    type Lock = MemoryLock;

    fn stat(&self, path: &RootPath) -> io::Result<Option<Stat>> {
        let mut state = self.state();
        state.read()?;
        let ino = match state.inodes.locate(path) {
            Ok(Place { found: Some(ino), .. }) => ino,
            Ok(Place { found: None, .. }) => return Ok(None),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let inode = state.inodes.get(ino)?;
        let Attributes { mode, uid, gid } = inode.attributes.now().attributes;
        let (kind, size) = match &inode.body {
            Body::File(contents) => (Kind::File, contents.bytes.len()),
            Body::Directory(_) => (Kind::Directory, 0),
            Body::Link(target) => (Kind::Link, target.len()),
        };
        Ok(Some(Stat { kind, mode, uid, gid, size: u64::try_from(size).unwrap_or(u64::MAX) }))
    }

    fn resolve(&self, path: &RootPath) -> io::Result<RootPath> {
        let mut state = self.state();
        state.read()?;
        state.inodes.resolve(path)
    }

    fn obstacle(&self, path: &RootPath) -> io::Result<Option<Obstacle>> {
        let mut state = self.state();
        state.read()?;
        let resolved = state.inodes.resolve(path)?;
        let obstructs = |(at, obstacle): &&(RootPath, Obstacle)| match obstacle {
            Obstacle::MountPoint => *at == resolved,
            Obstacle::Immutable | Obstacle::AppendOnly => *at == resolved || resolved.parent().as_ref() == Some(at),
            Obstacle::Kernel(_) | Obstacle::ReadOnly => resolved.ancestors().contains(at),
        };
        Ok(state.traits.obstacles.iter().find(obstructs).map(|(_, obstacle)| *obstacle))
    }

    fn read(&self, path: &RootPath, most: u64) -> io::Result<Vec<u8>> {
        let mut state = self.state();
        state.read()?;
        let ino = state.inodes.locate(path)?.existing()?;
        match &state.inodes.get(ino)?.body {
            Body::Directory(_) => Err(Errno::EISDIR.into()),
            Body::Link(_) => Err(Errno::ELOOP.into()),
            Body::File(contents) if u64::try_from(contents.bytes.len()).is_ok_and(|size| size <= most) => {
                Ok(contents.bytes.to_vec())
            }
            Body::File(_) => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }

    fn read_link(&self, path: &RootPath) -> io::Result<OsString> {
        let mut state = self.state();
        state.read()?;
        let ino = state.inodes.locate(path)?.existing()?;
        match &state.inodes.get(ino)?.body {
            Body::Link(target) => Ok(target.into()),
            Body::File(_) | Body::Directory(_) => Err(Errno::EINVAL.into()),
        }
    }

    fn list(&self, directory: &RootPath) -> io::Result<Vec<OsString>> {
        let mut state = self.state();
        state.read()?;
        let ino = state.inodes.locate(directory)?.existing()?;
        Ok(state.inodes.names(ino)?.keys().map(OsString::from).collect())
    }

    fn make_directory(&self, path: &RootPath, attributes: Attributes) -> io::Result<()> {
        let mut state = self.state();
        let place = state.vacant(path)?;
        state.effect(Space::Takes)?;
        let body = Body::Directory(Entries::default());
        let ino = state.inodes.add(&place, Versions::settled(BORN_DIRECTORY), body)?;
        state.finish(&place, ino, attributes)
    }

    fn create(&self, path: &RootPath, contents: &[u8], attributes: Attributes) -> io::Result<()> {
        let mut state = self.state();
        let place = state.vacant(path)?;
        state.effect(Space::Takes)?;
        let half = contents.iter().copied().take(contents.len() / 2).collect();
        let body = Body::File(Contents { bytes: half, ..Contents::default() });
        let ino = state.inodes.add(&place, Versions::settled(BORN_FILE), body)?;
        state.finish(&place, ino, attributes)?;
        if let Body::File(file) = &mut state.inodes.get_mut(ino)?.body {
            file.bytes = contents.into();
        }
        Ok(())
    }

    fn link(&self, path: &RootPath, target: &str) -> io::Result<()> {
        let mut state = self.state();
        state.running()?;
        match target {
            "" => return Err(Errno::ENOENT.into()),
            _ if target.contains('\0') => return Err(Errno::EINVAL.into()),
            _ if target.len() > MAX_TARGET => return Err(Errno::ENAMETOOLONG.into()),
            _ => {}
        }
        let place = state.vacant(path)?;
        state.effect(Space::Takes)?;
        let attributes = Versions::settled(Attributes { mode: 0o777, uid: 0, gid: 0 });
        state.inodes.add(&place, attributes, Body::Link(target.to_owned()))?;
        Ok(())
    }

    fn set_attributes(&self, path: &RootPath, attributes: Attributes) -> io::Result<()> {
        let mut state = self.state();
        let ino = state.no_link(path)?;
        state.effect(Space::Spares)?;
        state.inodes.get_mut(ino)?.attributes.set_attributes(attributes);
        Ok(())
    }

    fn label(&self, path: &RootPath) -> io::Result<Option<String>> {
        let mut state = self.state();
        state.read()?;
        let ino = state.inodes.locate(path)?.existing()?;
        Ok(state.inodes.get(ino)?.attributes.now().label.clone())
    }

    fn set_label(&self, path: &RootPath, label: &str) -> io::Result<()> {
        let mut state = self.state();
        state.running()?;
        if label.is_empty() || label.contains('\0') {
            return Err(Errno::EINVAL.into());
        }
        let ino = state.no_link(path)?;
        state.effect(Space::Takes)?;
        state.inodes.get_mut(ino)?.attributes.set_label(label);
        Ok(())
    }

    fn xattrs(&self, path: &RootPath) -> io::Result<Xattrs> {
        let mut state = self.state();
        state.read()?;
        let ino = state.inodes.locate(path)?.existing()?;
        Ok(state.inodes.get(ino)?.attributes.now().xattrs.clone())
    }

    fn set_xattrs(&self, path: &RootPath, xattrs: &Xattrs) -> io::Result<()> {
        let mut state = self.state();
        let ino = state.no_link(path)?;
        state.effect(Space::Takes)?;
        state.inodes.get_mut(ino)?.attributes.set_xattrs(xattrs.clone());
        Ok(())
    }

    fn rename(&self, from: &RootPath, to: &RootPath) -> io::Result<()> {
        let mut state = self.state();
        state.running()?;
        let old = state.inodes.locate(from)?;
        let new = state.inodes.locate(to)?;
        let ino = old.existing()?;
        if state.inodes.get(old.directory)?.filesystem != state.inodes.get(new.directory)?.filesystem {
            return Err(Errno::EXDEV.into());
        }
        if new.found.is_some_and(|target| state.inodes.holds(target, old.directory)) {
            return Err(Errno::ENOTEMPTY.into());
        }
        if [Some(ino), new.found].into_iter().flatten().any(|ino| state.inodes.names(ino).is_ok()) {
            return Err(Errno::EISDIR.into());
        }
        state.effect(Space::Spares)?;
        if new.found == Some(ino) {
            // Two names of one file, as a crash amid a rename across directories leaves them: POSIX keeps both.
            return Ok(());
        }
        let (gone, here) = ((old.name, None), (new.name, Some(ino)));
        if old.directory == new.directory {
            return state.inodes.change(old.directory, vec![gone, here]);
        }
        state.inodes.change(new.directory, vec![here])?;
        state.inodes.change(old.directory, vec![gone])
    }

    fn remove(&self, path: &RootPath) -> io::Result<()> {
        let mut state = self.state();
        state.running()?;
        let place = state.inodes.locate(path)?;
        if state.inodes.names(place.existing()?).is_ok() {
            return Err(Errno::EISDIR.into());
        }
        state.effect(Space::Spares)?;
        state.inodes.change(place.directory, vec![(place.name, None)])
    }

    fn remove_directory(&self, path: &RootPath) -> io::Result<()> {
        let mut state = self.state();
        state.running()?;
        let place = state.inodes.locate(path)?;
        let ino = place.existing()?;
        let empty = state.inodes.names(ino)?.is_empty();
        if state.inodes.get(ino)?.filesystem != state.inodes.get(place.directory)?.filesystem {
            return Err(Errno::EBUSY.into());
        }
        if !empty {
            return Err(Errno::ENOTEMPTY.into());
        }
        state.effect(Space::Spares)?;
        state.inodes.change(place.directory, vec![(place.name, None)])
    }

    fn sync(&self, path: &RootPath) -> io::Result<()> {
        let mut state = self.state();
        let ino = state.no_link(path)?;
        state.effect_of_sync(Some(ino), 0)?;
        state.inodes.sync(ino)
    }

    fn sync_directory(&self, directory: Option<&RootPath>) -> io::Result<()> {
        let mut state = self.state();
        state.running()?;
        let ino = state.inodes.directory(directory)?;
        state.effect_of_sync(Some(ino), 0)?;
        state.inodes.sync(ino)
    }

    fn sync_filesystem(&self, path: &RootPath) -> io::Result<()> {
        let mut state = self.state();
        let ino = state.no_link(path)?;
        let filesystem = state.inodes.get(ino)?.filesystem;
        state.effect_of_sync(None, filesystem)?;
        state.inodes.sync_filesystem(filesystem);
        Ok(())
    }

    fn filesystem(&self, path: &RootPath) -> io::Result<u64> {
        let mut state = self.state();
        state.read()?;
        let ino = state.inodes.locate(path)?.existing()?;
        Ok(state.inodes.get(ino)?.filesystem.into())
    }

    fn free(&self, directory: Option<&RootPath>) -> io::Result<Free> {
        let mut state = self.state();
        state.read()?;
        let ino = state.inodes.directory(directory)?;
        let (bytes, files) = state.traits.free;
        Ok(Free { filesystem: state.inodes.get(ino)?.filesystem.into(), bytes, files })
    }

    fn lock(&self, path: &RootPath) -> io::Result<Option<MemoryLock>> {
        let mut state = self.state();
        state.running()?;
        let place = state.inodes.locate(path)?;
        let ino = match place.found {
            None => {
                state.effect(Space::Takes)?;
                state.inodes.add(&place, Versions::settled(BORN_FILE), Body::File(Contents::default()))?
            }
            Some(ino) => match &state.inodes.get(ino)?.body {
                Body::File(_) => ino,
                Body::Directory(_) => return Err(Errno::EISDIR.into()),
                Body::Link(_) => return Err(Errno::ELOOP.into()),
            },
        };
        let taken = held(&self.locks).insert(ino);
        Ok(taken.then(|| MemoryLock { locks: self.locks.clone(), ino }))
    }
}

impl State {
    fn vacant(&self, path: &RootPath) -> io::Result<Place> {
        self.running()?;
        let place = self.inodes.locate(path)?;
        place.vacant()?;
        Ok(place)
    }

    fn no_link(&self, path: &RootPath) -> io::Result<Ino> {
        self.running()?;
        let ino = self.inodes.locate(path)?.existing()?;
        match &self.inodes.get(ino)?.body {
            Body::Link(_) => Err(Errno::ELOOP.into()),
            Body::File(_) | Body::Directory(_) => Ok(ino),
        }
    }

    /// The second effect of making something. When it fails, the name is removed, unless that fails too.
    fn finish(&mut self, place: &Place, ino: Ino, attributes: Attributes) -> io::Result<()> {
        let Err(error) = self.effect(Space::Takes) else {
            self.inodes.get_mut(ino)?.attributes.set_attributes(attributes);
            return Ok(());
        };
        if !PowerCut::is(&error) && !self.traits.leaves_halves && self.effect(Space::Spares).is_ok() {
            self.inodes.change(place.directory, vec![(place.name.clone(), None)])?;
        }
        Err(error)
    }

    /// An effect whose failure may leave the kernel believing that what it could not write was written.
    fn effect_of_sync(&mut self, ino: Option<Ino>, filesystem: u32) -> io::Result<()> {
        let outcome = self.effect(Space::Spares);
        let lost = [Errno::EIO, Errno::ENOSPC, Errno::EDQUOT].map(|errno| Some(errno as i32));
        if let Err(error) = &outcome
            && lost.contains(&error.raw_os_error())
        {
            self.inodes.forget(ino, filesystem);
        }
        outcome
    }
}
