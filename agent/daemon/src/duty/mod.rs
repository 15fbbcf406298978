//! The duties beside updates: each is a task of its own that looks at what is known, asks the root half for what is to be
//! done and says what came of it.
//!
//! Owns how they are begun, what they can see and how they are heard. None of them publishes anything: the loop does that
//! for all of them, so that a node's status has one writer.

pub mod certificates;
pub mod drift;
pub mod kubelet;
pub mod pinned;

use std::future::Future;
use std::sync::Arc;

use ostler_core::api::{ControllerConfig, PinnedImageSet};
use ostler_core::node::duties::{self, Certificates, DriftSummary, Pinned};
use ostler_core::node::{ConfigRef, NodeView, Notice};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Words that were not heard yet; whoever has more to say waits.
const BACKLOG: usize = 16;

/// What a duty can see.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances {
    /// The node's object.
    pub node: Option<NodeView>,
    /// What the machine is in.
    pub config: Option<ConfigRef>,
    /// Whether nothing is open or under way on the machine.
    pub at_rest: bool,
    /// What the operator hands to nodes.
    pub controller_config: Option<Arc<ControllerConfig>>,
    /// The images to keep; none where that is not known yet.
    pub pinned_sets: Option<Arc<Vec<PinnedImageSet>>>,
    /// Whether the cluster answers.
    pub reachable: bool,
}

/// What a duty says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// How it stands now; nothing where that did not change.
    pub state: Option<State>,
    /// What is worth telling.
    pub notices: Vec<Notice>,
}

/// How a duty stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Drift that is to be reported.
    Drift(Option<DriftSummary>),
    /// What was delivered.
    Certificates(Certificates),
    /// How far the images are.
    Pinned(Pinned),
    /// How often in a row the kubelet was not well.
    Kubelet {
        /// How often.
        failures: u32,
    },
}

impl State {
    /// Takes this in, where it is for others to know; whether it is news.
    pub fn put_into(self, duties: &mut duties::Duties) -> bool {
        let before = duties.clone();
        match self {
            Self::Drift(drift) => duties.drift = drift,
            Self::Certificates(certificates) => duties.certificates = certificates,
            Self::Pinned(pinned) => duties.pinned = pinned,
            Self::Kubelet { .. } => {}
        }
        *duties != before
    }
}

/// A duty's connection to the loop.
#[derive(Clone, Debug)]
pub struct Post {
    /// What is known.
    pub seen: watch::Receiver<Circumstances>,
    say: mpsc::Sender<Word>,
}

impl Post {
    /// Says something.
    pub async fn say(&self, word: Word) {
        // Nobody listens only when the agent ends.
        let _ = self.say.send(word).await;
    }

    /// Says how the duty stands, and what is worth telling.
    pub async fn stands(&self, state: State, notices: Vec<Notice>) {
        self.say(Word { state: Some(state), notices }).await;
    }
}

/// All duties that were begun.
#[derive(Debug)]
pub struct Duties {
    shown: watch::Sender<Circumstances>,
    post: Post,
    words: mpsc::Receiver<Word>,
    tasks: JoinSet<()>,
}

impl Duties {
    /// None yet.
    pub fn new() -> Self {
        let (shown, seen) = watch::channel(Circumstances::default());
        let (say, words) = mpsc::channel(BACKLOG);
        Self { shown, post: Post { seen, say }, words, tasks: JoinSet::new() }
    }

    /// Begins one, which ends with this value.
    pub fn begin<D: Future<Output = ()> + Send + 'static>(&mut self, duty: impl FnOnce(Post) -> D) {
        self.tasks.spawn(duty(self.post.clone()));
    }

    /// Whether there is nobody to show anything to.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Shows what is known now.
    pub fn show(&self, circumstances: Circumstances) {
        self.shown.send_if_modified(|shown| {
            let news = *shown != circumstances;
            *shown = circumstances;
            news
        });
    }

    /// Shows that the machine begins to change, so that nobody takes that for drift or asks for anything meanwhile.
    pub fn show_change(&self) {
        self.shown.send_if_modified(|shown| std::mem::replace(&mut shown.at_rest, false));
    }

    /// The next word; may be given up and taken up again.
    pub async fn word(&mut self) -> Word {
        match self.words.recv().await {
            Some(word) => word,
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_duty_sees_what_is_new_and_is_heard() {
        let mut duties = Duties::new();
        duties.begin(|mut post| async move {
            while post.seen.changed().await.is_ok() {
                let failures = u32::from(post.seen.borrow_and_update().reachable);
                post.stands(State::Kubelet { failures }, Vec::new()).await;
            }
        });
        assert!(!duties.is_empty());
        for reachable in [true, false] {
            duties.show(Circumstances { reachable, ..Circumstances::default() });
            let expected = State::Kubelet { failures: u32::from(reachable) };
            assert_eq!(duties.word().await, Word { state: Some(expected), notices: Vec::new() });
        }
        duties.show(Circumstances::default());
        let silence = tokio::time::timeout(std::time::Duration::ZERO, duties.word()).await;
        assert!(silence.is_err(), "what is known already is not shown again");
    }

    #[test]
    fn only_what_others_are_to_know_is_news() {
        let mut known = duties::Duties::default();
        let drift = DriftSummary { config: "a".to_owned(), count: 1, words: "x".to_owned(), since: 1 };
        assert!(State::Drift(Some(drift.clone())).put_into(&mut known));
        assert!(!State::Drift(Some(drift)).put_into(&mut known));
        assert!(!State::Kubelet { failures: 3 }.put_into(&mut known));
        assert!(State::Drift(None).put_into(&mut known));
    }
}
