use std::sync::Mutex;

use ostler_core::api::{NameRef, PinnedImageSetSpec};
use ostler_core::pinned::SetFailure;
use ostler_core::protocol::Failure;
use ostler_core::transaction::{Direction, Phase, Progress};
use tokio::sync::{mpsc, oneshot, watch};

use super::super::{Duties, Word};
use super::*;

/// A question as it reached the root half, to be answered by the test.
struct Question {
    order: Order,
    progress: watch::Sender<Option<Progress>>,
    answer: oneshot::Sender<Reply>,
    given_up: Box<dyn Fn() -> bool + Send>,
}

impl Question {
    fn pulls(&self) {
        let progress = Progress { direction: Direction::Forward, phase: Phase::Pull, subject: None };
        self.progress.send(Some(progress)).unwrap();
    }

    fn answers(self, reply: Reply) {
        self.answer.send(reply).unwrap();
    }
}

/// The duty at work, and its root half.
struct Bench {
    duties: Duties,
    questions: mpsc::UnboundedReceiver<Question>,
}

impl Bench {
    fn new() -> Self {
        let (put, questions) = mpsc::unbounded_channel();
        let put = Mutex::new(put);
        let asks = move |order: Order| {
            let (progress, heard) = watch::channel(None);
            let (answer, answered) = oneshot::channel();
            let asking = Asking::of(tokio::spawn(async move { Ok(answered.await?) }), heard);
            let given_up = Box::new(asking.given_up());
            drop(put.lock().unwrap().send(Question { order, progress, answer, given_up }));
            asking
        };
        let mut duties = Duties::new();
        duties.begin(|post| keep(post, asks));
        Self { duties, questions }
    }

    fn want(&self, sets: &[(&str, i64)]) {
        let set = |(name, generation): &(&str, i64)| {
            let spec = PinnedImageSetSpec { pinned_images: vec![NameRef::new(image(name))] };
            let mut set = PinnedImageSet::new(name, spec);
            set.metadata.generation = Some(*generation);
            set
        };
        let pinned_sets = Some(Arc::new(sets.iter().map(set).collect()));
        let config = Some(ostler_core::node::ConfigRef::new("rendered-worker-1"));
        self.duties.show(Circumstances { pinned_sets, config, ..Circumstances::default() });
    }

    async fn question(&mut self) -> Question {
        self.questions.recv().await.unwrap()
    }

    /// The course that is said next, and the names of what is told with it.
    async fn word(&mut self) -> (Option<Course>, Vec<&'static str>) {
        let Word { state, notices } = self.duties.word().await;
        let course = state.map(|state| match state {
            State::Pinned(pinned) => pinned.course,
            other => panic!("{other:?}"),
        });
        let name = |notice: &Notice| Notice::IDS.iter().find(|(_, id)| *id == notice.id()).unwrap().0;
        (course, notices.iter().map(name).collect())
    }

    /// Nothing is asked and nothing said for a day.
    async fn rests(&mut self) {
        tokio::select! {
            () = sleep(Duration::from_secs(86_400)) => {}
            _ = self.questions.recv() => panic!("asked"),
            word = self.duties.word() => panic!("{word:?}"),
        }
    }
}

fn image(name: &str) -> String {
    format!("r.example/{name}@sha256:{}", "0".repeat(64))
}

fn failed(set: &str) -> Reply {
    let failures = vec![SetFailure { set: set.to_owned(), reason: "why".to_owned() }];
    Reply::Pinned(Report { failures, ..Report::default() })
}

fn complete() -> Reply {
    Reply::Pinned(Report { pinned: 1, ..Report::default() })
}

#[tokio::test(start_paused = true)]
async fn what_is_wanted_is_asked_for_once_and_then_it_rests() {
    let mut bench = Bench::new();
    bench.rests().await;
    bench.want(&[("a", 1)]);
    let question = bench.question().await;
    assert_eq!((question.order.sets[0].images.as_slice(), question.order.gently), (&[image("a")][..], false));
    question.pulls();
    assert_eq!(bench.word().await, (Some(Course::Pulling), vec!["PrefetchBegun"]));
    question.answers(complete());
    assert_eq!(bench.word().await, (Some(Course::Complete), vec!["ImagesPinned"]));
    bench.rests().await;
    bench.want(&[]);
    bench.question().await.answers(Reply::Pinned(Report::default()));
    assert_eq!(bench.word().await, (Some(Course::Complete), vec!["ImagesPinned"]));
    bench.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_keeps_nothing_announces_nothing() {
    let mut bench = Bench::new();
    bench.want(&[]);
    bench.question().await.answers(Reply::Pinned(Report::default()));
    assert_eq!(bench.word().await, (Some(Course::Complete), vec![]));
    bench.rests().await;
}

#[tokio::test(start_paused = true)]
async fn other_sets_end_the_pull_and_begin_anew() {
    let mut bench = Bench::new();
    bench.want(&[("a", 1)]);
    let first = bench.question().await;
    first.pulls();
    assert_eq!(bench.word().await.0, Some(Course::Pulling));
    bench.want(&[("a", 2), ("b", 1)]);
    while !(first.given_up)() {
        tokio::task::yield_now().await;
    }
    // The old question is over before the new one is put.
    assert!(bench.questions.try_recv().is_err());
    first.answers(failed("a"));
    let second = bench.question().await;
    assert_eq!(second.order.sets.len(), 2);
    second.answers(complete());
    assert_eq!(bench.word().await, (Some(Course::Complete), vec!["ImagesPinned"]));
}

#[tokio::test(start_paused = true)]
async fn what_failed_is_told_once_and_tried_again_and_again() {
    let mut bench = Bench::new();
    bench.want(&[("a", 1)]);
    bench.question().await.answers(failed("a"));
    assert_eq!(bench.word().await, (Some(Course::Failed), vec!["PrefetchFailed"]));
    let began = tokio::time::Instant::now();
    for _ in 0..20 {
        assert_eq!(bench.word().await, (None, vec!["DutyDelayed"]));
        let question = bench.question().await;
        question.pulls();
        question.answers(failed("a"));
    }
    let took = began.elapsed();
    assert!(took > Duration::from_secs(1200) && took <= Duration::from_secs(300 * 20), "{took:?}");
    assert_eq!(bench.word().await, (None, vec!["DutyDelayed"]));
    bench.question().await.answers(complete());
    assert_eq!(bench.word().await, (Some(Course::Complete), vec!["ImagesPinned"]));
    bench.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_moment_is_reported_when_it_lasts() {
    let failure =
        |class| Reply::Failed(Failure { class, reasons: vec!["x".to_owned()], remedy: None, unchanged: true });
    let mut bench = Bench::new();
    bench.want(&[("a", 1)]);
    for _ in 1..TOLERATED {
        bench.question().await.answers(failure(Class::Transient));
        assert_eq!(bench.word().await, (None, vec!["DutyDelayed"]));
    }
    bench.question().await.answers(failure(Class::Transient));
    assert_eq!(bench.word().await, (Some(Course::Failed), vec!["PrefetchFailed"]));
    let mut bench = Bench::new();
    bench.want(&[("a", 1)]);
    bench.question().await.answers(failure(Class::Inoperable));
    assert_eq!(bench.word().await, (Some(Course::Failed), vec!["PrefetchFailed"]));
}
