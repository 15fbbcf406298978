//! An applier that says what a test wants it to say, and a console that keeps what is written to it.

use std::collections::VecDeque;

use anstream::adapter::strip_str;
use anyhow::{Result, anyhow};
use ostler_core::machine_config::MachineConfig;
use ostler_core::plan::undo;
use ostler_core::protocol::{
    Class, Destination, Failure, Forecast, Observation, Prepare, Prepared, Reply, Request, Sealed, Ticket,
};
use ostler_core::step::Step;
use ostler_core::transaction::{Direction, Ending, Finished, Phase, Progress, Purpose};
use serde_json::{Value, json};

use super::Outcome;
use super::asking::{Asks, observed, recorded};
use super::console::{Console, Stream, Terminal};
use crate::cli::Format;
use crate::show;

/// Answers in a given order, and remembers what it was asked. It falls silent when the answers are used up.
#[derive(Default)]
pub struct Scripted {
    replies: VecDeque<Reply>,
    /// What it was asked.
    pub asked: Vec<Request>,
    observation: Option<Observation>,
}

impl Scripted {
    /// With these answers.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: replies.into_iter().collect(), asked: Vec::new(), observation: None }
    }

    /// As the applier plans.
    fn plan(&self, prepare: &Prepare) -> Vec<Step> {
        let observation = self.observation.as_ref().unwrap();
        let machine = observed(observation).unwrap().unwrap();
        let target = match &prepare.to {
            Destination::Config(config) => config.clone(),
            Destination::Previous => observation.previous.clone().unwrap(),
        };
        let desired = prepare.rules.desired(recorded(target).unwrap().unwrap()).unwrap();
        undo(&machine, &desired).unwrap().steps
    }

    /// The kinds of requests, in order.
    pub fn kinds(&self) -> Vec<String> {
        self.asked.iter().map(|request| request.name().to_owned()).collect()
    }
}

impl Asks for &mut Scripted {
    fn ask(&mut self, request: &Request, progress: &mut dyn FnMut(&Progress)) -> Result<Reply> {
        self.asked.push(request.clone());
        if !matches!(request, Request::Observe | Request::Status) {
            progress(&Progress { direction: Direction::Forward, phase: Phase::Check, subject: None });
        }
        let mut reply = self.replies.pop_front().ok_or_else(|| anyhow!("the connection was closed"))?;
        match (&mut reply, request) {
            (Reply::Observed(observation), _) => self.observation = Some(observation.clone()),
            (Reply::Prepared(prepared), Request::Prepare(prepare)) if prepared.steps.is_empty() => {
                prepared.steps = self.plan(prepare);
            }
            _ => {}
        }
        Ok(reply)
    }
}

/// What the applier has prepared, with the steps of the machine that was observed.
pub fn prepared(forecast: Forecast) -> Reply {
    Reply::Prepared(Box::new(Prepared {
        ticket: Ticket("t".to_owned()),
        from: String::new(),
        actions: Vec::new(),
        drain: false,
        os: false,
        steps: Vec::new(),
        warnings: Vec::new(),
        forecast,
        base_known: true,
    }))
}

/// To apply that.
pub fn apply() -> Request {
    Request::Apply { ticket: Ticket("t".to_owned()) }
}

/// Who is at the other end of the streams.
#[derive(Clone, Copy)]
pub struct Scene {
    /// The format that was asked for.
    pub format: Format,
    /// What a person answers, if there is one.
    pub answer: Option<&'static str>,
}

/// A log and nobody to ask.
pub const SCRIPT: Scene = Scene { format: Format::Text, answer: None };
/// A program.
pub const PROGRAM: Scene = Scene { format: Format::Json, answer: None };

/// Somebody who answers.
pub const fn person(answer: &'static str) -> Scene {
    Scene { format: Format::Text, answer: Some(answer) }
}

/// What a command left behind.
#[derive(Debug)]
pub struct Played {
    /// How it ended.
    pub outcome: Outcome,
    /// What it wrote, without colours.
    pub stdout: String,
    /// Likewise; an error is printed here as the program would.
    pub stderr: String,
}

impl Played {
    /// The document on standard output.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

/// Runs a command in a scene.
pub fn play(scene: Scene, act: impl FnOnce(&mut Console<'_>) -> Result<Outcome>) -> Played {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let streams = [&mut stdout, &mut stderr].map(|to| Stream { to: Box::new(to), coloured: false });
    let answers = Box::new(scene.answer.unwrap_or_default().as_bytes());
    let terminal = Terminal { stdin_is_tty: scene.answer.is_some(), answers };
    let mut console = Console::new(scene.format, streams, false, terminal);
    let result = act(&mut console);
    drop(console);
    let [stdout, mut stderr] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    let outcome = result.unwrap_or_else(|error| {
        stderr.push_str(&strip_str(&show::complaint(&error)).to_string());
        Outcome::from(&error)
    });
    Played { outcome, stdout, stderr }
}

/// A MachineConfig of this name and Ignition config, whose version is added.
pub fn document(name: &str, mut ignition: Value) -> Value {
    ignition["ignition"] = json!({"version": "3.5.0"});
    json!({"kind": "MachineConfig", "metadata": {"name": name}, "spec": {"config": ignition}})
}

/// A MachineConfig of one file, which needs no restart.
pub fn one_file(name: &str, text: &str) -> Value {
    let path = "/etc/containers/policy.json";
    document(name, json!({"storage": {"files": [{"path": path, "contents": {"source": format!("data:,{text}")}}]}}))
}

/// A directory with this configuration, settled.
pub fn observation(current: Option<Value>) -> Observation {
    Observation {
        current: current.map(Sealed::new),
        install_time: None,
        previous: None,
        base_kept: false,
        behind: None,
        os_units: Default::default(),
        forced: false,
        live: false,
        interrupted: false,
        awaiting: None,
    }
}

/// A transaction of ten seconds that reached its goal.
pub fn finished(purpose: Purpose) -> Finished {
    Finished {
        purpose,
        from: MachineConfig::EMPTY.to_owned(),
        to: "rendered-worker-1".to_owned(),
        ending: Ending::Applied,
        began: 1_791_000_000,
        ended: 1_791_000_010,
        boot: "b".to_owned().into(),
        reboot: false,
        left_out: Vec::new(),
        changed: 3,
        boot_loader: None,
        service_failures: Vec::new(),
        leftovers: Vec::new(),
    }
}

/// The same, undone.
pub fn undone(purpose: Purpose) -> Finished {
    Finished { ending: Ending::Undone { reason: "no space left\u{7}".to_owned() }, ..finished(purpose) }
}

/// A failure with everything there is to say.
pub fn failure(class: Class, unchanged: bool) -> Failure {
    let reasons = vec!["cannot write /etc/a".to_owned(), "no space left\u{1b}[2J".to_owned()];
    Failure { class, reasons, remedy: Some("free some space".to_owned()), unchanged }
}

/// Every class, with and without a change, and how a command that meets it ends.
pub const FAILURES: [(Class, bool, Outcome); 6] = [
    (Class::Refusal, true, Outcome::Refused),
    (Class::Refusal, false, Outcome::Unsettled),
    (Class::Transient, true, Outcome::Failed),
    (Class::Transient, false, Outcome::Unsettled),
    (Class::Inoperable, true, Outcome::Failed),
    (Class::Inoperable, false, Outcome::Unsettled),
];
