//! The update that was prepared and waits to be staged or applied.
//!
//! There is one for all peers, so that what is kept of configurations is bounded: what is prepared next takes its place.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ostler_core::protocol::Ticket;
use ostler_core::protocol::audit::ConfigId;
use ostler_host::journal::TextId;
use ostler_host::transaction::Proposal;

/// The tickets of one process; clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Tickets {
    kept: Arc<Mutex<Option<Arc<Kept>>>>,
    issued: Arc<AtomicU64>,
}

/// What a ticket names.
#[derive(Debug)]
pub(crate) struct Kept {
    ticket: Ticket,
    pub proposal: Proposal,
    pub config: ConfigId,
}

impl Tickets {
    /// Keeps a proposal.
    pub(crate) fn issue(&self, proposal: Proposal) -> Ticket {
        let digest = TextId::of(proposal.text().expose()).as_str().to_owned();
        let number = self.issued.fetch_add(1, Ordering::Relaxed);
        let ticket = Ticket(format!("{}-{number}-{digest}", std::process::id()));
        let config = ConfigId { name: proposal.to().to_owned(), digest };
        self.replace(Some(Arc::new(Kept { ticket: ticket.clone(), proposal, config })));
        ticket
    }

    /// What a ticket names, unless it is void.
    pub(crate) fn find(&self, ticket: &Ticket) -> Option<Arc<Kept>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clone().filter(|kept| kept.ticket == *ticket)
    }

    /// No ticket is good any more.
    pub(crate) fn void(&self) {
        self.replace(None);
    }

    fn replace(&self, kept: Option<Arc<Kept>>) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }
}
