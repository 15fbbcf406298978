//! Unit files of a root, with what a transaction is about to change laid over them.

use std::collections::BTreeMap;
use std::io;

use ostler_core::secret::Secret;

use super::{UnitText, UnitTexts};
use crate::disk::{Disk, Kind, RootPath};

/// Longest unit file that is read.
const MOST_BYTES: u64 = 1 << 20;

const DIRECTORIES: &[&str] =
    &["/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];

/// The unit files of a disk.
#[derive(Debug)]
pub struct DiskTexts<'a, D> {
    /// Where they stand.
    pub disk: &'a D,
    /// What will be different: `None` where `/etc/systemd/system` will have no such file.
    pub overlay: BTreeMap<String, Option<UnitText>>,
}

impl<D: Disk> UnitTexts for DiskTexts<'_, D> {
    fn unit(&self, name: &str) -> io::Result<UnitText> {
        let skip = match self.overlay.get(name) {
            Some(Some(text)) => return Ok(text.clone()),
            Some(None) => 1,
            None => 0,
        };
        for directory in DIRECTORIES.iter().skip(skip) {
            let path = RootPath::new(format!("{directory}/{name}")).map_err(io::Error::other)?;
            match self.disk.stat(&path)?.map(|stat| stat.kind) {
                Some(Kind::File) => return self.file(path),
                Some(Kind::Link) => return self.link(&path),
                _ => {}
            }
        }
        Ok(UnitText::Absent)
    }
}

impl<D: Disk> DiskTexts<'_, D> {
    fn file(&self, path: RootPath) -> io::Result<UnitText> {
        let bytes = self.disk.read(&path, MOST_BYTES)?;
        if bytes.is_empty() {
            return Ok(UnitText::Masked);
        }
        let text = Secret::new(String::from_utf8_lossy(&bytes).into_owned());
        // Where /lib is a link its files were found below /usr/lib already.
        Ok(UnitText::File { path, text })
    }

    fn link(&self, path: &RootPath) -> io::Result<UnitText> {
        let target = self.disk.read_link(path)?;
        match target.to_str() {
            Some("/dev/null") => Ok(UnitText::Masked),
            _ => Ok(UnitText::Link(target.to_string_lossy().into_owned())),
        }
    }
}
