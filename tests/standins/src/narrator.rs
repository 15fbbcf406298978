//! Progress of a piece of work, told message by message to whoever listens, and the one place where faults strike.
//!
//! Every message waits until its listener has passed it on, so that "died at message n" means that n-1 were delivered.
//! The narrator does not know what a message looks like on the wire.

use std::cell::Cell;

use anyhow::{Result, anyhow, bail};
use tokio::sync::{mpsc, oneshot, watch};

use crate::faults::{Faults, Strike};

/// The error text of a cancelled piece of work, as GIO words it.
pub const CANCELLED: &str = "Operation was cancelled";

/// One message of progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A line of text.
    Message(String),
    /// A task has begun.
    TaskBegin(String),
    /// The task has ended.
    TaskEnd(String),
    /// A task is done to so many per cent.
    Percent(String, u32),
    /// No more percentages of this task.
    ProgressEnd,
    /// Bytes and layers fetched so far, and layers to fetch.
    Download {
        /// Bytes transferred.
        bytes: u64,
        /// Layers fetched.
        fetched: u32,
        /// Layers asked for.
        requested: u32,
    },
    /// The end, with success and the error text.
    Finished(bool, String),
    /// The listeners are to be cut off without a word.
    Cut,
}

/// What a listener gets: the note, and where to acknowledge it.
pub type Heard = (Note, oneshot::Sender<()>);

/// Tells the progress of one piece of work.
pub struct Narrator {
    listener: mpsc::Sender<Heard>,
    cancelled: watch::Receiver<bool>,
    faults: Faults,
    count: Cell<u32>,
}

impl Narrator {
    /// A narrator telling `listener`, stopping when `cancelled` turns true.
    pub fn new(listener: mpsc::Sender<Heard>, cancelled: watch::Receiver<bool>, faults: Faults) -> Self {
        Self { listener, cancelled, faults, count: Cell::new(0) }
    }

    /// Tells one note; an error when the work is cancelled or a fault makes it fail.
    pub async fn say(&self, note: Note) -> Result<()> {
        self.check_cancelled()?;
        if self.count.get() == 0 {
            self.wait_until_allowed().await?;
        }
        self.suffer().await?;
        self.deliver(note).await;
        self.check_cancelled()
    }

    /// A line of text.
    pub async fn message(&self, text: impl Into<String>) -> Result<()> {
        self.say(Note::Message(text.into())).await
    }

    /// Tells the end. A failing or hanging fault in its place has no more work to spoil and is passed over.
    pub async fn finish(&self, success: bool, error: String) {
        let _ = self.suffer_last().await;
        self.deliver(Note::Finished(success, error)).await;
    }

    /// Resolves when the work is cancelled.
    pub async fn cancelled(&self) {
        let mut cancelled = self.cancelled.clone();
        if cancelled.wait_for(|now| *now).await.is_err() {
            // Nobody is left who could cancel.
            std::future::pending::<()>().await;
        }
    }

    fn check_cancelled(&self) -> Result<()> {
        if *self.cancelled.borrow() {
            bail!(CANCELLED);
        }
        Ok(())
    }

    async fn deliver(&self, note: Note) {
        let (acknowledge, acknowledged) = oneshot::channel();
        // A listener that is gone hears nothing; the work goes on without it, as rpm-ostree's does.
        if self.listener.send((note, acknowledge)).await.is_ok() {
            let _ = acknowledged.await;
        }
    }

    async fn wait_until_allowed(&self) -> Result<()> {
        let Some(path) = &self.faults.slow_until else { return Ok(()) };
        while !path.exists() {
            self.check_cancelled()?;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        Ok(())
    }

    async fn suffer(&self) -> Result<()> {
        match self.next_strike() {
            None => Ok(()),
            Some(Strike::Die) => std::process::exit(70),
            Some(Strike::Fail(text)) => Err(anyhow!(text)),
            Some(Strike::Hang) => {
                self.cancelled().await;
                Err(anyhow!(CANCELLED))
            }
            Some(Strike::Cut) => {
                self.deliver(Note::Cut).await;
                Ok(())
            }
        }
    }

    async fn suffer_last(&self) -> Result<()> {
        match self.next_strike() {
            Some(Strike::Die) => std::process::exit(70),
            Some(Strike::Cut) => {
                self.deliver(Note::Cut).await;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn next_strike(&self) -> Option<Strike> {
        self.count.set(self.count.get().saturating_add(1));
        self.faults.strike(self.count.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn told(faults: Faults, notes: u32) -> (Vec<Note>, Option<String>) {
        let (sender, mut listener) = mpsc::channel::<Heard>(1);
        let (_cancel, cancelled) = watch::channel(false);
        let hearing = tokio::spawn(async move {
            let mut heard = Vec::new();
            while let Some((note, acknowledge)) = listener.recv().await {
                heard.push(note);
                let _ = acknowledge.send(());
            }
            heard
        });
        let narrator = Narrator::new(sender, cancelled, faults);
        let mut error = None;
        for number in 1..=notes {
            if let Err(failure) = narrator.message(number.to_string()).await {
                error = Some(failure.to_string());
                break;
            }
        }
        drop(narrator);
        (hearing.await.unwrap(), error)
    }

    #[tokio::test]
    async fn a_failure_strikes_in_place_of_its_message() {
        let faults = Faults { fail_at: Some(2), fail_text: Some("disc full".to_owned()), ..Faults::default() };
        let (heard, error) = told(faults, 3).await;
        assert_eq!(heard, [Note::Message("1".to_owned())]);
        assert_eq!(error.as_deref(), Some("disc full"));
    }

    #[tokio::test]
    async fn a_cut_comes_before_its_message_and_the_work_goes_on() {
        let (heard, error) = told(Faults { cut_at: Some(1), ..Faults::default() }, 1).await;
        assert_eq!(heard, [Note::Cut, Note::Message("1".to_owned())]);
        assert_eq!(error, None);
    }

    #[tokio::test]
    async fn hanging_work_ends_when_it_is_cancelled() {
        let (sender, _listener) = mpsc::channel::<Heard>(1);
        let (cancel, cancelled) = watch::channel(false);
        let narrator = Narrator::new(sender, cancelled, Faults { hang_at: Some(1), ..Faults::default() });
        let (told, ()) = tokio::join!(narrator.message("never"), async {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            cancel.send(true).unwrap();
        });
        assert_eq!(told.unwrap_err().to_string(), CANCELLED);
    }
}
