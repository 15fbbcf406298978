//! The handshake with the drain controller, in every order: a model of machine-config-controller's drain controller
//! against [`decide`] and what is published of it, with restarts of both and targets that are withdrawn or superseded.
//!
//! The model has the controller's own rules: a request that equals `lastAppliedDrain` is done; a drain that fails
//! acknowledges nothing and leaves the node cordoned; an acknowledgement names the request that the controller had read;
//! a drain is not acknowledged where somebody has uncordoned the node meanwhile.

use std::collections::{BTreeMap, HashSet};

use super::*;
use crate::node::publication::annotations;
use crate::node::situation::{Irreconcilable, Situation};
use crate::node::{Duties, keys};
use crate::verdict::{Agent, AgentReport, ConfigSource, Verdict};

/// What decides about drains; of the rest, only the state is looked at.
const KEPT: [&str; 4] = [keys::DESIRED_CONFIG, keys::DESIRED_DRAIN, keys::LAST_APPLIED_DRAIN, keys::CORDONED_BEFORE];

/// Updates to the last of these need no drain.
const CONFIGS: [&str; 3] = ["a", "b", "c"];

/// The Node object, as far as both sides use it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Object {
    cordoned: bool,
    annotations: BTreeMap<&'static str, String>,
}

impl Object {
    fn get(&self, key: &str) -> &str {
        self.annotations.get(key).map_or("", String::as_str)
    }

    fn view(&self) -> NodeView {
        let annotations = self.annotations.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        NodeView::new("worker-0", "uid", self.cordoned, &annotations)
    }
}

/// A request that the controller is at, and whether the node is cordoned, drained or uncordoned for it yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sync {
    request: String,
    done: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    object: Object,
    /// The object as the agent decides on it: it may have changed since.
    seen: Option<Object>,
    config: &'static str,
    /// What the node was last said to be.
    state: String,
    sync: Option<Sync>,
    /// Whether the controller remembers a drain of this node that failed.
    ongoing: bool,
    /// Whether a person keeps the node cordoned.
    person: bool,
}

/// Everything that can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Desire(&'static str),
    AgentLooks,
    AgentActs,
    AgentRestarts,
    ControllerBegins,
    ControllerActs,
    DrainFails,
    ControllerAcknowledges,
    ControllerRestarts,
    PersonUncordons,
}

impl World {
    fn start(person: bool, drain: &str) -> Self {
        let annotations = BTreeMap::from([
            (keys::DESIRED_CONFIG, "a".to_owned()),
            (keys::DESIRED_DRAIN, drain.to_owned()),
            (keys::LAST_APPLIED_DRAIN, drain.to_owned()),
        ]);
        let object = Object { cordoned: person, annotations };
        Self { object, seen: None, config: "a", state: String::new(), sync: None, ongoing: false, person }
    }

    fn after(&self, event: Event) -> Option<Self> {
        let mut next = self.clone();
        match event {
            Event::Desire(config) => drop(next.object.annotations.insert(keys::DESIRED_CONFIG, config.to_owned())),
            Event::AgentLooks => next.seen = Some(self.object.clone()),
            Event::AgentActs => next.decide()?,
            Event::AgentRestarts => next.seen = None,
            Event::ControllerBegins => next.begin()?,
            Event::ControllerActs => next.sync()?,
            Event::DrainFails => next.fail()?,
            Event::ControllerAcknowledges => next.acknowledge()?,
            Event::ControllerRestarts => (next.sync, next.ongoing) = (None, false),
            Event::PersonUncordons => next.uncordon()?,
        }
        (next != *self).then_some(next)
    }

    /// The agent decides on the object as it saw it, publishes, and applies what it decided to apply.
    fn decide(&mut self) -> Option<()> {
        let node = self.seen.take()?.view();
        let desired = node.desired()?;
        let target = CONFIGS.into_iter().find(|config| *config == desired.config)?;
        let machine = Status { config: Some(self.config.to_owned()), ..Status::default() };
        let (drain, reboot) = (target != "c", target != "c");
        let (from, to) = (self.config.to_owned(), desired.clone());
        let update = Update { from, to, actions: Vec::new(), drain, os: false, keys: false, reboot };
        let outlook = Outlook::Ready(update);
        let decision = decide(&Facts {
            node: &node,
            machine: &machine,
            outlook: Some(&outlook),
            staged: true,
            proof: &Proof::default(),
            abilities: Abilities { drains: true, restarts: Some(RebootPolicy::Auto) },
            heard: true,
            unread: &[],
            unmerged: false,
            now: 0,
        });
        for (key, value) in annotations(&situation(self.config, desired, &decision), &node) {
            match value {
                Some(value) if key == keys::STATE => self.state = value,
                Some(value) if KEPT.contains(&key) => drop(self.object.annotations.insert(key, value)),
                Some(_) => {}
                None => drop(self.object.annotations.remove(key)),
            }
        }
        if decision.next == Next::Apply {
            self.config = target;
        }
        Some(())
    }

    fn begin(&mut self) -> Option<()> {
        let request = self.object.get(keys::DESIRED_DRAIN);
        let free = self.sync.is_none() && request != self.object.get(keys::LAST_APPLIED_DRAIN);
        self.sync = Some(Sync { request: free.then(|| request.to_owned())?, done: false });
        Some(())
    }

    fn sync(&mut self) -> Option<()> {
        let sync = self.sync.as_mut().filter(|sync| !sync.done)?;
        sync.done = true;
        match sync.request.split('-').next() {
            Some("drain") => {
                self.object.cordoned = true;
                self.ongoing = true;
            }
            Some("uncordon") => self.object.cordoned = false,
            other => panic!("{other:?}"),
        }
        Some(())
    }

    fn fail(&mut self) -> Option<()> {
        self.sync.take().filter(|sync| sync.done && sync.request.starts_with("drain-")).map(drop)
    }

    fn acknowledge(&mut self) -> Option<()> {
        let sync = self.sync.take().filter(|sync| sync.done)?;
        let drain = sync.request.starts_with("drain-");
        self.ongoing &= !drain;
        if !drain || self.object.cordoned {
            self.object.annotations.insert(keys::LAST_APPLIED_DRAIN, sync.request);
        }
        Some(())
    }

    /// Nobody can tell who uncordoned a node while both sides are at it, so this happens between updates.
    fn uncordon(&mut self) -> Option<()> {
        let quiet = self.person && self.sync.is_none() && self.seen.is_none();
        let drained = self.object.get(keys::DESIRED_DRAIN) == self.object.get(keys::LAST_APPLIED_DRAIN);
        (self.person, self.object.cordoned) = (false, false);
        (quiet && drained).then_some(())
    }

    /// What happens if nothing is in the way, until nothing happens any more or the rest is known to be good.
    fn settles(&self, good: &mut HashSet<Self>) {
        use Event::{AgentActs, AgentLooks, ControllerAcknowledges, ControllerActs, ControllerBegins};
        let course = [AgentActs, ControllerActs, ControllerAcknowledges, AgentLooks, AgentActs, ControllerBegins];
        let mut now = self.clone();
        for _ in 0..20 {
            if !good.insert(now.clone()) {
                return;
            }
            let before = now.clone();
            for event in course {
                now = now.after(event).unwrap_or(now);
            }
            if now == before {
                return now.check();
            }
        }
        panic!("never at rest: {self:?}\n{now:?}");
    }

    fn check(&self) {
        assert_eq!(self.state, keys::STATE_DONE, "{self:?}");
        assert_eq!(self.config, self.object.get(keys::DESIRED_CONFIG), "{self:?}");
        assert_eq!(self.object.cordoned, self.person, "{self:?}");
        assert_eq!(self.object.get(keys::DESIRED_DRAIN), self.object.get(keys::LAST_APPLIED_DRAIN), "{self:?}");
    }
}

fn situation(config: &str, desired: ConfigRef, decision: &Decision) -> Situation {
    let machine = Status { config: Some(config.to_owned()), ..Status::default() };
    let report = AgentReport {
        source: ConfigSource::Cluster,
        current: Some(ConfigRef::new(config)),
        desired: Some(desired),
        decision: decision.clone(),
        retry_at: None,
        lost: None,
        denied: None,
        drift: None,
        certificates: None,
    };
    let verdict = Verdict::new(&machine, &Agent::Running(&report));
    Situation {
        node: "worker-0".to_owned(),
        current: report.current,
        desired: report.desired,
        phase: decision.phase,
        update: None,
        verdict,
        drain: decision.drain.clone(),
        irreconcilable: Irreconcilable::Untold,
        finalization_failure: None,
        bootstrap: None,
        boot_image: None,
        staged_for: None,
        duties: Duties::default(),
    }
}

fn events() -> Vec<Event> {
    use Event::{
        AgentActs, AgentLooks, AgentRestarts, ControllerAcknowledges, ControllerActs, ControllerBegins,
        ControllerRestarts, DrainFails, PersonUncordons,
    };
    let sides = [AgentLooks, AgentActs, AgentRestarts, ControllerBegins, ControllerActs, DrainFails];
    let rest = [ControllerAcknowledges, ControllerRestarts, PersonUncordons];
    CONFIGS.map(Event::Desire).into_iter().chain(sides).chain(rest).collect()
}

#[test]
fn a_drain_that_is_withdrawn_where_a_person_had_cordoned_leaves_the_controller_nothing_to_do() {
    use Event::{AgentActs, AgentLooks, ControllerAcknowledges, ControllerActs, ControllerBegins, Desire, DrainFails};
    let asked = [Desire("b"), AgentLooks, AgentActs];
    let withdrawn = [Desire("a"), AgentLooks, AgentActs];
    let failed = [ControllerBegins, ControllerActs, DrainFails];
    let ended = [ControllerBegins, ControllerActs, ControllerAcknowledges];
    for before in ["uncordon-a", ""] {
        for (name, meanwhile) in [("not begun", &[][..]), ("failed", &failed), ("ended", &ended)] {
            let mut world = World::start(true, before);
            for event in asked.iter().chain(meanwhile).chain(&withdrawn) {
                world = world.after(*event).unwrap_or_else(|| panic!("{before} {name}: {event:?}"));
            }
            assert_eq!(world.after(ControllerBegins), None, "{before} {name}: {world:?}");
            world.check();
        }
    }
}

#[test]
fn whatever_happens_in_whatever_order_the_node_ends_done_and_schedulable_unless_a_person_cordoned_it() {
    let events = events();
    let starts =
        [false, true].into_iter().flat_map(|person| ["uncordon-a", ""].map(|drain| World::start(person, drain)));
    let mut open: Vec<World> = starts.collect();
    let mut reached: HashSet<World> = open.iter().cloned().collect();
    let mut good = HashSet::new();
    while let Some(world) = open.pop() {
        world.settles(&mut good);
        for next in events.iter().filter_map(|event| world.after(*event)) {
            if reached.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    // Fewer would mean that some event never happens any more.
    assert!(reached.len() > 20_000, "{}", reached.len());
}
