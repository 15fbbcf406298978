//! The loop, with a test in the place of the applier: no reason to turn is lost that comes in the middle of a turn.

use nix::sys::signal::{Signal as Kind, raise};
use ostler_core::disruption::Action;
use ostler_core::kernel::KernelType;
use ostler_core::node::duties::{Course, Pinned};
use ostler_core::node::{Gates, NodeView, keys};
use ostler_core::protocol::{Destination, Forecast, Prepare, Prepared, Ticket};
use ostler_core::step::{Deployment, Step};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::yield_now;

use super::super::blank_account;
use super::super::known::tests::settings;
use super::super::root_half::tests::{Question, double};
use super::*;
use crate::account::Account;
use crate::cluster::double::{self, Double};
use crate::duty::{State, Word};
use crate::telling::manager::Manager;

/// More than a busy machine takes; only a failing test waits for so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The agent's surroundings, which the test plays.
struct Surroundings {
    questions: UnboundedReceiver<Question>,
    changes: UnboundedSender<Change>,
    words: UnboundedSender<Word>,
    account: watch::Receiver<Account>,
    cluster: Double,
}

impl Surroundings {
    /// The applier is asked for the machine's state, as in the beginning of each turn.
    async fn asked(&mut self) -> Question {
        let question = tokio::time::timeout(PATIENCE, self.questions.recv()).await;
        let question = question.expect("the agent did not turn").unwrap();
        assert_eq!(question.request, Request::Status);
        question
    }

    fn hear(&self, change: Change) {
        self.changes.send(change).unwrap();
    }

    async fn turned(&mut self, reason: &str) {
        let turn = tokio::time::timeout(PATIENCE, self.account.wait_for(|account| account.reason == reason));
        let told = turn.await.map(drop);
        assert!(told.is_ok(), "the last turn was because {:?}, not because {reason:?}", self.account.borrow().reason);
    }
}

/// An agent of a cluster that has said nothing of the node yet.
async fn agent() -> (Worker, Surroundings) {
    let (changes, heard) = unbounded_channel();
    let heard = futures_util::stream::unfold(heard, |mut heard| async { Some((heard.recv().await?, heard)) });
    let cluster = Double::new(|asked| {
        let path = asked.line.split('?').next().unwrap_or_default();
        match path.strip_prefix("GET /apis/machineconfiguration.openshift.io/v1/machineconfigs/") {
            Some(name) => double::Reply::Json(200, serde_json::json!({"metadata": {"name": name}, "spec": {}})),
            None => double::Reply::Refused,
        }
    });
    let client = cluster.cluster().await;
    let (root, questions) = double();
    let (account, told) = watch::channel(blank_account("worker-0"));
    let (words, mut said) = unbounded_channel();
    let mut duties = Duties::new();
    duties.begin(|post| async move {
        while let Some(word) = said.recv().await {
            post.say(word).await;
        }
    });
    let worker = Worker::new(Parts {
        outside: Outside::Cluster { client, changes: Box::pin(heard) },
        root,
        teller: Teller::new("worker-0", Manager::default(), std::sync::Arc::default(), account),
        signals: Signals::listen().unwrap(),
        known: Known::of_cluster(),
        health: Health { kubelet: None, systemd: false },
        duties,
        manner: Manner { once: false, restarts: None, prove_within: PATIENCE, stages_first: true },
    });
    (worker, Surroundings { questions, changes, words, account: told, cluster })
}

/// Long enough for every task of this thread to take in what it was sent.
async fn settle() {
    for _ in 0..100 {
        yield_now().await;
    }
}

fn status() -> Reply {
    Reply::Status(Box::default())
}

fn failed() -> Reply {
    let reasons = vec!["busy".to_owned()];
    Reply::Failed(Failure { class: Class::Transient, reasons, remedy: None, unchanged: true })
}

/// A signal reaches every listener of the process: one test at a time.
static SIGNALS: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

#[tokio::test]
async fn a_signal_in_the_middle_of_a_turn_is_obeyed_after_it() {
    let _alone = SIGNALS.lock().await;
    let mut hangups = signal(SignalKind::hangup()).unwrap();
    let mut ends = signal(SignalKind::terminate()).unwrap();
    let mut unheard = Signals::listen().unwrap();
    let (worker, mut around) = agent().await;
    let script = async {
        for _ in 0..2 {
            let question = around.asked().await;
            raise(Kind::SIGHUP).unwrap();
            hangups.recv().await;
            settle().await;
            question.answer.send(status()).unwrap();
        }
        let question = around.asked().await;
        question.answer.send(failed()).unwrap();
        // A failure does not hide the reason either.
        around.turned("somebody asked to look again").await;
        let question = around.asked().await;
        raise(Kind::SIGTERM).unwrap();
        ends.recv().await;
        settle().await;
        question.answer.send(status()).unwrap();
    };
    let (ending, ()) = tokio::join!(worker.work(), script);
    assert_eq!(ending, Ending::Told);
    let listed = around.cluster.lines().iter().any(|line| line.starts_with("GET /api/v1/nodes?"));
    assert!(listed, "every watch begins anew");
    assert!(unheard.told_to_end(), "a signal that nobody has waited for yet counts");
}

#[tokio::test]
async fn what_is_heard_while_a_request_fails_is_no_less_a_reason_to_turn() {
    let _alone = SIGNALS.lock().await;
    let object = || serde_json::from_value(double::report(1, "a")).unwrap();
    let change = |around: &Surroundings| around.changes.send(Change::MachineConfigNode(Some(object()))).unwrap();
    let back = |around: &Surroundings| around.changes.send(Change::Back).unwrap();
    let word = |around: &Surroundings| {
        let pinned = Pinned { course: Course::Pulling, ..Pinned::default() };
        around.words.send(Word { state: Some(State::Pinned(pinned)), notices: Vec::new() }).unwrap();
    };
    type Event<'a> = &'a dyn Fn(&Surroundings);
    let cases: [(Event<'_>, &str); 3] = [
        (&change, "the MachineConfigNode changed"),
        (&back, "the cluster answers"),
        (&word, "the pinned images got further"),
    ];
    for (happens, reason) in cases {
        let (worker, mut around) = agent().await;
        let script = async {
            let question = around.asked().await;
            happens(&around);
            settle().await;
            question.answer.send(failed()).unwrap();
            let question = around.asked().await;
            question.answer.send(status()).unwrap();
            around.turned(reason).await;
        };
        tokio::select! {
            _ = worker.work() => panic!("the agent ended"),
            () = script => {}
        }
    }
}

fn wanting(config: &str) -> Change {
    let annotations = std::collections::BTreeMap::from([(keys::DESIRED_CONFIG.to_owned(), config.to_owned())]);
    Change::Node(Some(Box::new(NodeView::new("worker-0", "u-0", false, &annotations))))
}

/// Answers every question for the machine's state, until another one is put.
async fn answered(around: &mut Surroundings) -> Question {
    loop {
        let question = tokio::time::timeout(PATIENCE, around.questions.recv()).await;
        let question = question.expect("the agent asked nothing").unwrap();
        if question.request != Request::Status {
            return question;
        }
        question
            .answer
            .send(Reply::Status(Box::new(Status { config: Some("a".into()), ..Status::default() })))
            .unwrap();
    }
}

#[tokio::test]
async fn an_update_waits_for_the_first_read_of_everything_that_decides_it() {
    let _alone = SIGNALS.lock().await;
    let (worker, mut around) = agent().await;
    let script = async {
        around.hear(wanting("b"));
        for (change, next) in [
            (Change::Back, "wait for MachineConfiguration, FeatureGate, ControllerConfig to be read"),
            (Change::Settings(None), "wait for FeatureGate, ControllerConfig to be read"),
            (Change::ControllerConfig(None), "wait for FeatureGate to be read"),
        ] {
            around.hear(change);
            let mut account = around.account.clone();
            tokio::select! {
                question = answered(&mut around) => panic!("{:?}", question.request),
                told = account.wait_for(|account| account.next == next) => drop(told.unwrap()),
            }
        }
        around.hear(Change::Gates(Gates::default()));
        let request = answered(&mut around).await.request;
        assert!(matches!(request, Request::Prepare(_)), "{request:?}");
    };
    tokio::select! {
        _ = worker.work() => panic!("the agent ended"),
        () = script => {}
    }
}

/// The next question, which is to prepare a configuration.
async fn prepared(around: &mut Surroundings, name: &str) -> Question {
    let question = answered(around).await;
    let Request::Prepare(Prepare { to: Destination::Config(config), .. }) = &question.request else {
        panic!("{:?}", question.request)
    };
    assert_eq!(config.name().as_deref(), Some(name));
    question
}

#[tokio::test]
async fn a_pull_for_an_update_that_is_not_wanted_any_more_is_given_up() {
    let _alone = SIGNALS.lock().await;
    let (worker, mut around) = agent().await;
    let script = async {
        around.hear(wanting("b"));
        let read =
            [Change::Back, Change::Settings(None), Change::ControllerConfig(None), Change::Gates(Gates::default())];
        read.into_iter().for_each(|change| around.hear(change));
        let ticket = Ticket("t".to_owned());
        let reply = Prepared {
            ticket: ticket.clone(),
            from: "a".to_owned(),
            actions: vec![Action::Reboot],
            drain: true,
            os: true,
            steps: vec![stage_os()],
            warnings: Vec::new(),
            forecast: Forecast::default(),
            base_known: true,
        };
        prepared(&mut around, "b").await.answer.send(Reply::Prepared(Box::new(reply))).unwrap();
        let pull = answered(&mut around).await;
        assert_eq!(pull.request, Request::Stage { ticket });
        around.hear(settings("2", &["Disks"]));
        settle().await;
        assert!(!(pull.given_up)(), "other rules take no other image");
        around.hear(wanting("c"));
        settle().await;
        assert!((pull.given_up)());
        // As from a connection that was cut.
        drop(pull.answer);
        prepared(&mut around, "c").await;
    };
    tokio::select! {
        _ = worker.work() => panic!("the agent ended"),
        () = script => {}
    }
}

fn stage_os() -> Step {
    let deployment = Deployment {
        image: String::new(),
        kernel_type: KernelType::Default,
        extensions: Vec::new(),
        extensions_image: String::new(),
        kernel_arguments: Default::default(),
        own_arguments: Vec::new(),
    };
    Step::StageOs(deployment)
}
