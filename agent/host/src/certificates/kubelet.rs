//! What the kubelet is owed, given to it: the authority it is to trust, a restart, or new credentials.
//!
//! Each step is remembered before it is taken. A kubelet that was stopped is started again whatever comes between.

use ostler_core::certificates::{
    self, BOOTSTRAP_KUBECONFIG, KEPT_KUBECONFIG, KUBELET_KUBECONFIG, Kubelet, Owed, Record, follow,
};
use ostler_core::secret::Secret;

use super::service::KubeletService;
use super::{Courier, PRIVATE};
use crate::disk::Disk;
use crate::transaction::Trouble;

/// How often is looked whether the kubelet has new credentials: for two minutes.
const LOOKS: usize = 60;

impl<D: Disk> Courier<'_, D> {
    /// Gives the kubelet what it is owed by now.
    pub(super) fn settle(&self, record: Record) -> Result<Kubelet, Trouble> {
        // Somebody was cut off before a copy was needed, or after.
        if record.owed != Owed::Bootstrap && self.attributes(KEPT_KUBECONFIG)?.is_some() {
            self.remove(KEPT_KUBECONFIG)?;
        }
        if record.owed == Owed::Nothing {
            return Ok(Kubelet::Unaffected);
        }
        let Some(service) = self.service()? else { return self.leave_alone(record) };
        match record.owed {
            Owed::Nothing => Ok(Kubelet::Unaffected),
            Owed::Deferred => Ok(Kubelet::Deferred),
            Owed::Restart => self.restart(service, record),
            Owed::Bootstrap => self.bootstrap(service, record),
        }
    }

    /// From now on the kubelet's credentials are kept for it while it asks for new ones.
    pub(super) fn begin_bootstrap(&self, record: Record) -> Result<Kubelet, Trouble> {
        let Some(service) = self.service()? else { return self.leave_alone(record) };
        // There is nothing that it could ask with.
        if self.read(BOOTSTRAP_KUBECONFIG)?.is_none() {
            return self.restart(service, record);
        }
        if let Some(text) = self.read(KUBELET_KUBECONFIG)? {
            let attributes = self.attributes(KUBELET_KUBECONFIG)?.unwrap_or(PRIVATE);
            self.put(self.file(KEPT_KUBECONFIG, text, attributes)?)?;
        }
        let record = Record { owed: Owed::Bootstrap, ..record };
        self.remember(&record)?;
        self.bootstrap(service, record)
    }

    fn service(&self) -> Result<Option<&dyn KubeletService>, Trouble> {
        match self.kubelet {
            Some(service) if service.exists()? => Ok(Some(service)),
            _ => Ok(None),
        }
    }

    fn restart(&self, service: &dyn KubeletService, record: Record) -> Result<Kubelet, Trouble> {
        let followed = service.stop().map_err(Trouble::from).and_then(|()| self.follow());
        let started = service.start();
        followed?;
        started?;
        self.remember(&Record { owed: Owed::Nothing, ..record })?;
        Ok(Kubelet::Restarted)
    }

    /// A kubelet that does not run here finds the files when it starts.
    fn leave_alone(&self, record: Record) -> Result<Kubelet, Trouble> {
        if self.read(KUBELET_KUBECONFIG)?.is_none() {
            self.put_back()?;
        }
        self.follow()?;
        self.remember(&Record { owed: Owed::Nothing, ..record })?;
        self.remove(KEPT_KUBECONFIG)?;
        Ok(Kubelet::LeftAlone)
    }

    /// The kubelet trusts from now on what it would ask for credentials with.
    fn follow(&self) -> Result<(), Trouble> {
        let (bootstrap, own) = (self.read(BOOTSTRAP_KUBECONFIG)?, self.read(KUBELET_KUBECONFIG)?);
        if let Some(text) = follow(exposed(bootstrap.as_ref()), exposed(own.as_ref()))? {
            let attributes = self.attributes(KUBELET_KUBECONFIG)?.unwrap_or(PRIVATE);
            self.put(self.file(KUBELET_KUBECONFIG, text, attributes)?)?;
        }
        Ok(())
    }

    fn bootstrap(&self, service: &dyn KubeletService, record: Record) -> Result<Kubelet, Trouble> {
        let old = self.read(KEPT_KUBECONFIG)?;
        if old.is_some() && self.read(KUBELET_KUBECONFIG)? == old {
            self.remove(KUBELET_KUBECONFIG)?;
        }
        let asked = if self.has_credentials()? { Ok(true) } else { self.await_credentials(service) };
        if matches!(asked, Ok(true)) {
            self.remember(&Record { owed: Owed::Nothing, ..record })?;
            self.remove(KEPT_KUBECONFIG)?;
            return Ok(Kubelet::Restarted);
        }
        // With what it had it can at least go on where it does not need the new authority, and be helped by a person.
        self.put_back()?;
        let followed = self.follow();
        let restarted = service.restart();
        self.remember(&Record { owed: Owed::Deferred, ..record })?;
        self.remove(KEPT_KUBECONFIG)?;
        asked?;
        followed?;
        restarted?;
        Err(Trouble::NoCredentials)
    }

    fn await_credentials(&self, service: &dyn KubeletService) -> Result<bool, Trouble> {
        service.restart()?;
        for _ in 0..LOOKS {
            if self.has_credentials()? {
                return Ok(true);
            }
            service.pause();
        }
        self.has_credentials()
    }

    fn has_credentials(&self) -> Result<bool, Trouble> {
        Ok(self.read(KUBELET_KUBECONFIG)?.is_some_and(|text| certificates::is_usable(text.expose())))
    }

    fn put_back(&self) -> Result<(), Trouble> {
        let Some(text) = self.read(KEPT_KUBECONFIG)? else { return Ok(()) };
        let attributes = self.attributes(KEPT_KUBECONFIG)?.unwrap_or(PRIVATE);
        self.put(self.file(KUBELET_KUBECONFIG, text, attributes)?)
    }
}

fn exposed(text: Option<&Secret<Vec<u8>>>) -> Option<&[u8]> {
    text.map(|text| text.expose().as_slice())
}
