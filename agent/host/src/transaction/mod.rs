//! One change of the machine as a whole: begun durably, run phase by phase, ended as the new configuration or the old.
//!
//! Owns the order of intent, effect and note, and the turn back when something fails. Refuses to know what a phase does:
//! that is the [`World`]'s. Nothing here is decided either; the plans come from core.

mod error;
mod remedy;
mod world;

use std::sync::Arc;

use ostler_core::desired::Desired;
use ostler_core::observed::Observed;
use ostler_core::os::image::Pinned;
use ostler_core::plan::{Plan, plan, undo};
use ostler_core::protocol::{Class, Rules};
use ostler_core::recorded::Recorded;
use ostler_core::secret::Secret;
use ostler_core::step::Step;
use ostler_core::transaction::{Direction, Ending, Finished, Open, Phase, Progress, Purpose, Rejected};

pub use error::Trouble;
pub use world::{Entry, Interrupted, Journey, PhaseOutcome, Snapshot, World};

/// Phases of a way to the new configuration.
const FORWARD: &[Phase] = &[Phase::Stage, Phase::Preserve, Phase::Write, Phase::Tidy, Phase::Units, Phase::Services];

/// Phases of a way back: what was kept aside is put back by the writing.
pub(crate) const BACK: &[Phase] = &[Phase::Stage, Phase::Write, Phase::Units, Phase::Services];

/// Where progress is told.
pub type Listener<'l> = &'l mut dyn FnMut(Progress);

/// A change that is decided and not begun.
#[derive(Debug)]
pub struct Proposal {
    purpose: Purpose,
    origin: Recorded,
    next: Recorded,
    plan: Plan,
    undo: Vec<Step>,
    observed: Observed,
}

/// Decides on a change to a target.
pub fn propose(world: &impl World, target: Recorded, rules: &Rules) -> Result<Option<Proposal>, Trouble> {
    let snapshot = settled(world)?;
    let desired = rules.desired(Arc::clone(&target.config))?;
    let observed = observed(world, &snapshot);
    let plan = plan(&observed, &desired)?;
    proposal(Purpose::Update, (snapshot.current, observed), target, desired, plan)
}

/// Decides how to go back to the configuration before the current one.
pub fn propose_rollback(world: &impl World, rules: &Rules) -> Result<Option<Proposal>, Trouble> {
    let snapshot = settled(world)?;
    let previous = world.previous()?.ok_or(Trouble::NoPrevious)?;
    let desired = rules.desired(Arc::clone(&previous.config))?;
    let observed = observed(world, &snapshot);
    let plan = undo(&observed, &desired)?;
    proposal(Purpose::Rollback, (snapshot.current, observed), previous, desired, plan)
}

/// Refuses a proposal that the machine has changed under. What it was installed with only explains refusals.
pub fn still_holds(world: &impl World, proposal: &Proposal) -> Result<(), Trouble> {
    let current = observed(world, &settled(world)?);
    let install_time = proposal.observed.install_time.clone();
    if (Observed { install_time, ..current }) == proposal.observed {
        return Ok(());
    }
    Err(Trouble::PlanChanged)
}

/// A repair: steps that lead to where the machine should be already.
pub fn propose_repair(snapshot: Snapshot, steps: Vec<Step>) -> Option<Proposal> {
    if steps.is_empty() {
        return None;
    }
    let current = snapshot.current;
    Some(Proposal {
        purpose: Purpose::Repair,
        origin: current.clone(),
        plan: Plan::of_steps(steps),
        undo: Vec::new(),
        observed: Observed::configured(Arc::clone(&current.config)),
        next: current,
    })
}

/// What the machine is in, if nothing was interrupted.
pub fn settled(world: &impl World) -> Result<Snapshot, Trouble> {
    let snapshot = world.observe()?;
    match snapshot.interrupted {
        None => Ok(snapshot),
        Some(Interrupted { open, .. }) if open.awaits_restart(&world.boot()) => {
            Err(Trouble::AwaitsReboot { from: open.from, to: open.to })
        }
        Some(Interrupted { open, .. }) => Err(Trouble::Interrupted { from: open.from, to: open.to }),
    }
}

fn observed(world: &impl World, snapshot: &Snapshot) -> Observed {
    Observed {
        current: Arc::clone(&snapshot.current.config),
        install_time: snapshot.install_time.as_ref().map(|recorded| Arc::clone(&recorded.config)),
        forced: snapshot.forced,
        behind: snapshot.behind.clone(),
        os_units: world.os_units(&snapshot.current.config),
    }
}

/// The way back is planned before the way forward is begun: where it cannot be had, nothing is begun.
fn proposal(
    purpose: Purpose,
    (origin, observed): (Recorded, Observed),
    next: Recorded,
    desired: Desired,
    plan: Plan,
) -> Result<Option<Proposal>, Trouble> {
    if plan.steps.is_empty() {
        return Ok(None);
    }
    let back = Desired { target: Arc::clone(&origin.config), ..desired };
    // What stood where the change puts a unit is put back as it was, so each of its units may be there afterwards too. One
    // that is not is passed over by then.
    let os_units = next.config.ignition.units.iter().map(|unit| unit.name.clone()).collect();
    let undo = undo(&Observed { os_units, ..Observed::configured(Arc::clone(&next.config)) }, &back)
        .map_err(|source| Trouble::NoWayBack { config: origin.config.name.clone(), source: Box::new(source) })?;
    Ok(Some(Proposal { purpose, origin, next, plan, undo: undo.steps, observed }))
}

impl Proposal {
    /// The configuration that it leaves.
    pub fn from(&self) -> &str {
        &self.origin.config.name
    }

    /// The configuration that it leads to.
    pub fn to(&self) -> &str {
        &self.next.config.name
    }

    /// The text of that configuration.
    pub fn text(&self) -> &Secret<Vec<u8>> {
        &self.next.json
    }

    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn is_rollback(&self) -> bool {
        self.purpose == Purpose::Rollback
    }

    /// Whether the machine knows what it was installed with.
    pub const fn knows_base(&self) -> bool {
        self.observed.install_time.is_some()
    }

    fn forward(&self) -> Journey<'_> {
        Journey {
            purpose: self.purpose,
            direction: Direction::Forward,
            steps: &self.plan.steps,
            reverse: &self.undo,
            causes: &self.plan.causes,
            target: &self.next,
            leaving: &self.origin,
            done: &[],
            boot: None,
            os: None,
        }
    }
}

/// Checks a proposal as far as that can be done without changing anything.
pub fn check<W: World>(world: &W, proposal: &Proposal) -> Result<W::Way, Trouble> {
    world.prepare(&proposal.forward())
}

/// Makes a proposal happen, or everything it began undone.
pub fn run<W: World>(world: &W, proposal: &Proposal, listener: Listener<'_>) -> Result<Finished, Trouble> {
    tell(listener, Direction::Forward, Phase::Check);
    let way = world.prepare(&proposal.forward())?;
    let open = Open {
        purpose: proposal.purpose,
        direction: Direction::Forward,
        from: proposal.origin.config.name.clone(),
        to: proposal.next.config.name.clone(),
        steps: proposal.plan.steps.clone(),
        undo: proposal.undo.clone(),
        boot: world.boot(),
        began: world.now(),
        reason: None,
        target_failed: false,
        blameless: false,
        os: world.os(&way),
        awaits_end_of: None,
        restart_for: proposal.plan.restart_for(),
    };
    tell(listener, Direction::Forward, Phase::Begin);
    begin(world, Entry::Begin { open: &open, way: &way, next: &proposal.next })?;
    let (next, origin) = (Some(proposal.next.clone()), Some(proposal.origin.clone()));
    let interrupted = Interrupted { open, next, origin, done: Vec::new() };
    forward(world, interrupted, Some(way), listener)
}

/// A record that was not made durable may be there all the same; it must not be found later as something that began.
fn begin<W: World>(world: &W, entry: Entry<'_, W::Way>) -> Result<(), Trouble> {
    let Err(trouble) = world.save(entry) else { return Ok(()) };
    match world.save(Entry::NotBegun) {
        Ok(()) => Err(trouble),
        Err(second) => Err(Trouble::Unsettled { first: trouble.reason(), second: Box::new(second) }),
    }
}

/// Brings what was interrupted to one of its ends; `None` when nothing was.
pub fn recover(world: &impl World, listener: Listener<'_>) -> Result<Option<Finished>, Trouble> {
    let Some(interrupted) = world.interrupted()? else {
        // What is damaged of it is set aside now, rather than found when it is needed.
        let _ = world.previous();
        return Ok(None);
    };
    match interrupted.open.direction {
        // Nowhere to turn to: what is still known is kept for who abandons it.
        Direction::Forward if interrupted.origin.is_none() => Err(Trouble::Lost { what: "origin" }),
        Direction::Forward => forward(world, interrupted, None, listener),
        Direction::Back => back(world, &interrupted, listener),
    }
    .map(Some)
}

fn forward<W: World>(
    world: &W,
    mut interrupted: Interrupted,
    way: Option<W::Way>,
    listener: Listener<'_>,
) -> Result<Finished, Trouble> {
    let trouble = match travel_forward(world, &interrupted, way, listener) {
        // All is done but for the closing, so there is nothing to go back from.
        Err(trouble @ Trouble::Unsettled { .. }) => return Err(trouble),
        Err(trouble) => trouble,
        finished => return finished,
    };
    interrupted.open.target_failed = matches!(trouble, Trouble::NotBooted { there: true, .. });
    interrupted.open.blameless =
        // A record that is lost was given up for room, or is damaged: neither is the target's fault.
        trouble.class() == Class::Transient
            || matches!(trouble, Trouble::NotBooted { there: false, .. } | Trouble::Lost { .. });
    turn_back(world, &mut interrupted, trouble.reason(), listener)
}

fn turn_back(
    world: &impl World,
    interrupted: &mut Interrupted,
    reason: String,
    listener: Listener<'_>,
) -> Result<Finished, Trouble> {
    interrupted.open.direction = Direction::Back;
    interrupted.open.reason = Some(reason.clone());
    interrupted.open.awaits_end_of = None;
    interrupted.done.clear();
    let turned = world.save(Entry::TurnBack(&interrupted.open)).and_then(|()| back(world, interrupted, listener));
    turned.map_err(|second| Trouble::Unsettled { first: reason, second: Box::new(second) })
}

/// Takes back a change that only awaits the restart; `None` when there is none.
pub fn withdraw(world: &impl World, reason: &str, listener: Listener<'_>) -> Result<Option<Finished>, Trouble> {
    let Some(mut interrupted) = world.observe()?.interrupted else { return Ok(None) };
    let open = &interrupted.open;
    let waits = open.direction == Direction::Forward && open.awaits_restart(&world.boot());
    if !waits {
        return Ok(None);
    }
    interrupted.open.blameless = true;
    turn_back(world, &mut interrupted, reason.to_owned(), listener).map(Some)
}

/// Leaves a configuration that the machine has not proven itself in, for the one before; `None` when none is on trial.
/// That it was given up is durable before anything else: whoever is cut off here finds the trial still on, and asks again.
pub fn give_up(
    world: &impl World,
    reason: &str,
    rules: &Rules,
    listener: Listener<'_>,
) -> Result<Option<Finished>, Trouble> {
    let snapshot = settled(world)?;
    let Some(trial) = &snapshot.trial else { return Ok(None) };
    let previous = if trial.os { world.previous()? } else { None };
    let digest = previous.and_then(|previous| {
        let (image, before) = (&snapshot.current.config.os_image, &previous.config.os_image);
        let brought = Pinned::parse(image).ok().filter(|_| image != before);
        brought.map(|image| image.digest().to_owned())
    });
    let rejected = Rejected { config: trial.config.clone(), reason: reason.to_owned(), at: world.now() };
    world.save(Entry::GiveUp { rejected: &rejected, digest })?;
    // A configuration that was only applied once more has none before it.
    let proposal = propose_rollback(world, rules)?.ok_or(Trouble::NoPrevious)?;
    run(world, &proposal, listener).map(Some)
}

fn travel_forward<W: World>(
    world: &W,
    interrupted: &Interrupted,
    way: Option<W::Way>,
    listener: Listener<'_>,
) -> Result<Finished, Trouble> {
    let open = &interrupted.open;
    let (Some(target), Some(leaving)) = (&interrupted.next, &interrupted.origin) else {
        return Err(Trouble::Lost { what: "next" });
    };
    let journey = Journey {
        purpose: open.purpose,
        direction: Direction::Forward,
        steps: &open.steps,
        reverse: &open.undo,
        causes: &[],
        target,
        leaving,
        done: &interrupted.done,
        boot: Some(&open.boot),
        os: open.os.as_ref(),
    };
    travel(world, open, &journey, way, listener)
}

fn back<W: World>(world: &W, interrupted: &Interrupted, listener: Listener<'_>) -> Result<Finished, Trouble> {
    travel(world, &interrupted.open, &journey_back(interrupted)?, None, listener)
}

/// The way back of an open transaction.
pub(crate) fn journey_back(interrupted: &Interrupted) -> Result<Journey<'_>, Trouble> {
    let open = &interrupted.open;
    let Some(target) = &interrupted.origin else { return Err(Trouble::Lost { what: "origin" }) };
    Ok(Journey {
        purpose: open.purpose,
        direction: Direction::Back,
        steps: &open.undo,
        reverse: &open.steps,
        causes: &[],
        target,
        leaving: interrupted.next.as_ref().unwrap_or(target),
        done: &interrupted.done,
        boot: Some(&open.boot),
        os: open.os.as_ref(),
    })
}

fn travel<W: World>(
    world: &W,
    open: &Open,
    journey: &Journey<'_>,
    way: Option<W::Way>,
    listener: Listener<'_>,
) -> Result<Finished, Trouble> {
    let direction = journey.direction;
    let way = match way {
        Some(way) => way,
        None => world.prepare(journey)?,
    };
    let phases = if direction == Direction::Forward { FORWARD } else { BACK };
    let mut outcome = PhaseOutcome::default();
    for phase in phases.iter().filter(|phase| !journey.done.contains(phase)) {
        tell(listener, direction, *phase);
        let mut told = |line: &str| listener(Progress { direction, phase: *phase, subject: Some(line.to_owned()) });
        let whole = outcome.add(world.run(&way, *phase, &mut told)?);
        match direction {
            Direction::Forward => world.save(Entry::Done(direction, *phase))?,
            // What was passed over is tried again if this is cut off.
            Direction::Back if !whole => {}
            // A way back can be travelled again from its start, so a note for which there is no room is not missed.
            Direction::Back => drop(world.save(Entry::Done(direction, *phase))),
        }
    }
    tell(listener, direction, Phase::Commit);
    let mut finished = finished(world, open, &way, outcome);
    if world.awaits_reboot(&way)? {
        finished.reboot = true;
        finished.ending = Ending::AwaitsReboot { reason: open.reason.clone() };
        // A mark that still holds may tell more than this moment's: systemd is not always there to be asked.
        let held = open.awaits_end_of.clone().filter(|mark| mark.lasts(&world.boot()));
        let awaits_end_of = held.or_else(|| Some(world.boot()));
        world.save(Entry::Await(&Open { awaits_end_of, ..open.clone() }))?;
        return Ok(finished);
    }
    world.save(Entry::Finish(&finished)).map_err(|second| Trouble::Unsettled {
        first: "everything is in place, but that could not be recorded".to_owned(),
        second: Box::new(second),
    })?;
    Ok(finished)
}

fn finished<W: World>(world: &W, open: &Open, way: &W::Way, outcome: PhaseOutcome) -> Finished {
    let (left_out, reboot) = world.omissions(way);
    let ending = match open.direction {
        Direction::Forward => Ending::Applied,
        Direction::Back => Ending::Undone { reason: open.reason.clone().unwrap_or_default() },
    };
    Finished {
        purpose: open.purpose,
        from: open.from.clone(),
        to: open.to.clone(),
        ending,
        began: open.began,
        ended: world.now(),
        boot: world.boot(),
        // A change of the operating system that is at its end has been booted.
        reboot: reboot && (open.os.is_none() || open.boot.lasts(&world.boot())),
        left_out,
        changed: outcome.changed,
        boot_loader: None,
        service_failures: outcome.service_failures,
        leftovers: outcome.leftovers,
    }
}

fn tell(listener: Listener<'_>, direction: Direction, phase: Phase) {
    listener(Progress { direction, phase, subject: None });
}
