//! The object `/` that a peer of a transaction sees.
#![allow(clippy::too_many_arguments, reason = "DownloadProgress has six arguments")]

use std::sync::Arc;

use zbus::Variant;
use zbus::object_server::SignalEmitter;

use super::transaction::{ANSWER_TIME, Transaction};
use crate::narrator::Note;

/// One peer's view of a transaction.
pub struct TransactionObject {
    pub transaction: Arc<Transaction>,
    pub number: u64,
}

#[zbus::interface(name = "org.projectatomic.rpmostree1.Transaction")]
impl TransactionObject {
    #[zbus(property)]
    async fn title(&self) -> String {
        self.transaction.title.clone()
    }

    #[zbus(property)]
    async fn initiating_client_description(&self) -> String {
        self.transaction.client.clone()
    }

    async fn cancel(&self) {
        self.transaction.cancel();
    }

    #[zbus(out_args("started"))]
    async fn start(&self, #[zbus(signal_emitter)] emitter: SignalEmitter<'_>) -> zbus::fdo::Result<bool> {
        tokio::time::sleep(self.transaction.start_delay).await;
        // The peer may be quicker than the task that counts it.
        self.transaction.adopt(self.number, emitter.connection());
        let ended = self.transaction.outcome();
        let started = self.transaction.start();
        if let Some((success, error)) = ended {
            let emitter = emitter.into_owned();
            tokio::spawn(async move {
                // After the answer, as rpm-ostree does it.
                tokio::time::sleep(ANSWER_TIME).await;
                let _ = Self::finished(&emitter, success, &error).await;
            });
        }
        Ok(started)
    }

    #[zbus(signal)]
    async fn finished(emitter: &SignalEmitter<'_>, success: bool, error_message: &str) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn message(emitter: &SignalEmitter<'_>, text: &str) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn task_begin(emitter: &SignalEmitter<'_>, text: &str) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn task_end(emitter: &SignalEmitter<'_>, text: &str) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn percent_progress(emitter: &SignalEmitter<'_>, text: &str, percentage: u32) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn download_progress(
        emitter: &SignalEmitter<'_>,
        time: (u64, u64),
        outstanding: (u32, u32),
        metadata: (u32, u32, u32),
        delta: (u32, u32, u32, u64),
        content: (u32, u32),
        transfer: (u64, u64),
    ) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn signature_progress(
        emitter: &SignalEmitter<'_>,
        signature: Vec<Variant<'_>>,
        commit: &str,
    ) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn progress_end(emitter: &SignalEmitter<'_>) -> zbus::Result<()>;
}

/// Sends `note` as the signal it is.
pub async fn emit(emitter: &SignalEmitter<'_>, note: &Note) -> zbus::Result<()> {
    match note {
        Note::Message(text) => TransactionObject::message(emitter, text).await,
        Note::TaskBegin(text) => TransactionObject::task_begin(emitter, text).await,
        Note::TaskEnd(text) => TransactionObject::task_end(emitter, text).await,
        Note::Percent(text, percentage) => TransactionObject::percent_progress(emitter, text, *percentage).await,
        Note::ProgressEnd => TransactionObject::progress_end(emitter).await,
        Note::Download { .. } => {
            // Layers of an image are not counted: all numbers stay at zero until the end.
            let (nothing, none) = ((0, 0), (0, 0, 0));
            TransactionObject::download_progress(emitter, (0, 0), nothing, none, (0, 0, 0, 0), nothing, (0, 0)).await
        }
        Note::Finished(success, error) => TransactionObject::finished(emitter, *success, error).await,
        Note::Cut => Ok(()),
    }
}
