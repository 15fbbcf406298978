//! The cluster's certificates and credentials on a machine: written, and the kubelet restarted for them.
//!
//! Owns the order in which that happens and that what was begun is finished, by whichever request comes next. Refuses to
//! decide what is written where and what the kubelet is owed: core does.

mod kubelet;
mod service;
#[cfg(test)]
mod tests;

use ostler_core::certificates::{
    self, BOOTSTRAP_KUBECONFIG, CLOUD_CA, Delivered, Delivery, File, Given, KUBELET_KUBECONFIG, Kubelet, Mode, Owed,
    Record, Standing,
};
use ostler_core::file_contexts::{FileContexts, FileKind};
use ostler_core::secret::Secret;

pub use service::KubeletService;

use crate::batch::{self, Batch, Write};
use crate::disk::{Attributes, Disk, RootPath};
use crate::journal::{DEFAULT_DIRECTORY, Journal, Loaded, Slot, View};
use crate::machine::labels;
use crate::transaction::Trouble;

/// What temporary files of a delivery are called after.
const TAG: &str = "certificates";
/// Largest file that is read; a kubeconfig has a few KiB.
const MOST: u64 = 4 << 20;

const OPEN: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };
const PRIVATE: Attributes = Attributes { mode: 0o600, uid: 0, gid: 0 };

/// Who delivers to a machine, and nobody else at the same time.
pub struct Courier<'d, D: Disk> {
    disk: &'d D,
    journal: Journal<'d, D>,
    labels: Option<FileContexts>,
    kubelet: Option<&'d dyn KubeletService>,
}

impl<'d, D: Disk> Courier<'d, D> {
    /// Takes hold of a machine; fails when another process has. Without a kubelet only files are delivered.
    pub fn open(disk: &'d D, kubelet: Option<&'d dyn KubeletService>) -> Result<Self, Trouble> {
        let journal = Journal::open(disk, &path(DEFAULT_DIRECTORY)?)?;
        Ok(Self { disk, journal, labels: labels::load(disk)?, kubelet })
    }

    /// Delivers what was given, if anything was, and finishes what is owed to the kubelet.
    pub fn deliver(&self, given: Option<&Given>) -> Result<Delivered, Trouble> {
        let mut record = self.record()?;
        let mut delivered = Delivered::default();
        if let Some(given) = given {
            let delivery = certificates::deliver(given, &self.standing(record.clone())?);
            delivered = self.write(&delivery, &record)?;
            record = delivery.after;
        }
        delivered.kubelet = self.settle(record)?;
        Ok(delivered)
    }

    /// Has the kubelet ask for new credentials, if it was only waiting for a reason to restart.
    pub fn rebootstrap(&self) -> Result<Delivered, Trouble> {
        let record = self.record()?;
        let kubelet = match record.owed {
            Owed::Nothing => Kubelet::Unaffected,
            Owed::Deferred => self.begin_bootstrap(record)?,
            Owed::Restart | Owed::Bootstrap => self.settle(record)?,
        };
        Ok(Delivered { kubelet, ..Delivered::default() })
    }

    fn standing(&self, record: Record) -> Result<Standing, Trouble> {
        Ok(Standing {
            bootstrap: self.read(BOOTSTRAP_KUBECONFIG)?,
            kubelet: self.read(KUBELET_KUBECONFIG)?,
            has_cloud_ca: self.attributes(CLOUD_CA)?.is_some(),
            record,
        })
    }

    /// What the kubelet is owed is remembered before the first file is written: whoever finds the files new then knows
    /// that it does not have them yet.
    fn write(&self, delivery: &Delivery, record: &Record) -> Result<Delivered, Trouble> {
        let mut batch = Batch::default();
        for file in &delivery.files {
            batch.writes.push(self.as_write(file)?);
        }
        batch.removals = delivery.stale.iter().map(|stale| path(stale)).collect::<Result<_, _>>()?;
        let delivered = self.difference(&batch, delivery)?;
        if *record != delivery.before {
            self.remember(&delivery.before)?;
        }
        batch::apply(self.disk, &batch, TAG)?;
        let left: Vec<RootPath> = batch.removals.iter().filter_map(RootPath::parent).collect();
        batch::unmake(self.disk, &left, TAG)?;
        if delivery.before != delivery.after {
            self.remember(&delivery.after)?;
        }
        Ok(delivered)
    }

    fn difference(&self, batch: &Batch, delivery: &Delivery) -> Result<Delivered, Trouble> {
        let mut delivered =
            Delivered { refused: delivery.refused.iter().map(ToString::to_string).collect(), ..Delivered::default() };
        for write in &batch.writes {
            let one = Batch { writes: vec![write.clone()], ..Batch::default() };
            if batch::forecast(self.disk, &one, TAG)?.changed > 0 {
                delivered.written.push(write.path.to_string());
            }
        }
        for removal in &batch.removals {
            if self.disk.stat(removal).map_err(Trouble::disk("inspect", removal))?.is_some() {
                delivered.removed.push(removal.to_string());
            }
        }
        Ok(delivered)
    }

    fn as_write(&self, file: &File) -> Result<Write, Trouble> {
        let attributes = match file.mode {
            Mode::Open => OPEN,
            Mode::Private => PRIVATE,
            Mode::Kept => self.attributes(&file.path)?.unwrap_or(PRIVATE),
        };
        self.file(&file.path, file.contents.clone(), attributes)
    }

    fn file(&self, at: &str, contents: Secret<Vec<u8>>, attributes: Attributes) -> Result<Write, Trouble> {
        let label = self.labels.as_ref().and_then(|labels| labels.lookup(at, FileKind::File)).map(str::to_owned);
        Ok(Write { path: path(at)?, contents: contents.into(), attributes, label, xattrs: Default::default() })
    }

    fn put(&self, write: Write) -> Result<(), Trouble> {
        batch::apply(self.disk, &Batch { writes: vec![write], ..Batch::default() }, TAG)?;
        Ok(())
    }

    fn remove(&self, at: &str) -> Result<(), Trouble> {
        batch::apply(self.disk, &Batch { removals: vec![path(at)?], ..Batch::default() }, TAG)?;
        Ok(())
    }

    /// Mode and owner of what stands at a path.
    fn attributes(&self, at: &str) -> Result<Option<Attributes>, Trouble> {
        let path = path(at)?;
        let stat = self.disk.stat(&path).map_err(Trouble::disk("inspect", &path))?;
        Ok(stat.map(|stat| Attributes { mode: stat.mode, uid: stat.uid, gid: stat.gid }))
    }

    fn read(&self, at: &str) -> Result<Option<Secret<Vec<u8>>>, Trouble> {
        if self.attributes(at)?.is_none() {
            return Ok(None);
        }
        let path = path(at)?;
        self.disk.read(&path, MOST).map(|text| Some(Secret::new(text))).map_err(Trouble::disk("read", &path))
    }

    fn record(&self) -> Result<Record, Trouble> {
        Ok(recorded(&self.journal.load(Slot::Certificates)?))
    }

    fn remember(&self, record: &Record) -> Result<(), Trouble> {
        let payload = serde_json::to_vec(record).map_err(|_| Trouble::Lost { what: Slot::Certificates.name() })?;
        Ok(self.journal.save(Slot::Certificates, &Secret::new(payload))?)
    }
}

/// Whether the kubelet has yet to get something. Only looks, and holds up nobody.
pub fn is_owed(disk: &impl Disk) -> Result<bool, Trouble> {
    let loaded = View::new(disk, &path(DEFAULT_DIRECTORY)?).load(Slot::Certificates)?;
    Ok(recorded(&loaded).owed != Owed::Nothing)
}

/// A record that cannot be read is none: then no directory is removed that should have been, and no more than that.
fn recorded(loaded: &Loaded<Secret<Vec<u8>>>) -> Record {
    match loaded {
        Loaded::Intact(payload) => serde_json::from_slice(payload.expose()).unwrap_or_default(),
        Loaded::Absent | Loaded::Damaged { .. } => Record::default(),
    }
}

fn path(at: &str) -> Result<RootPath, Trouble> {
    RootPath::new(at).map_err(Trouble::path(at))
}
