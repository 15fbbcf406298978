//! Questions to the half of the agent that is root, and what to make of its silence.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use ostler_core::machine_config::{ConfigError, MachineConfig};
use ostler_core::observed::Observed;
use ostler_core::protocol::{Failure, Observation, Reply, Request, Sealed};
use ostler_core::transaction::Progress;
use serde_json::Value;

use super::console::Console;
use super::trouble::{ANSWER_LOST, AWAITS_REBOOT, BAD_RECORD, INTERRUPTED, NO_ANSWER, NO_ROOT, UNREACHABLE};
use crate::applier::Connection;
use crate::course::Course;

/// Somebody who answers requests.
pub trait Asks {
    /// Asks, and tells of progress until the answer is there.
    fn ask(&mut self, request: &Request, progress: &mut dyn FnMut(&Progress)) -> Result<Reply>;
}

impl Asks for Connection {
    fn ask(&mut self, request: &Request, progress: &mut dyn FnMut(&Progress)) -> Result<Reply> {
        Self::ask(self, request, progress)
    }
}

/// Opens a connection. Once there is such a root, what goes wrong here is not the input's fault.
pub fn connect<A>(open: impl FnOnce(Option<&Path>) -> Result<A>, root: Option<&Path>) -> Result<A> {
    if let Some(root) = root {
        let metadata = std::fs::metadata(root).with_context(|| format!("cannot look at {}", root.display()));
        if !metadata.context(NO_ROOT)?.is_dir() {
            return Err(anyhow!("{} is not a directory", root.display()).context(NO_ROOT));
        }
    }
    open(root).map_err(|error| error.context(UNREACHABLE))
}

/// Asks for something that changes nothing.
pub fn inquire(asks: &mut impl Asks, request: &Request, console: &mut Console<'_>) -> Result<Reply> {
    console.following(|progress| asks.ask(request, progress)).map_err(|error| error.context(NO_ANSWER))
}

/// Asks for a change. Without an answer nobody can say what has become of the machine.
pub fn change(asks: &mut impl Asks, request: &Request, console: &mut Console<'_>) -> Result<Course> {
    let reply = console.following(|progress| asks.ask(request, progress));
    match reply.map_err(|error| error.context(ANSWER_LOST))? {
        Reply::Finished(finished) => Ok(Course::Finished(finished)),
        Reply::Nothing => Ok(Course::Nothing),
        Reply::Failed(failure) => Ok(Course::Failed(failure)),
        _ => Err(unexpected().context(ANSWER_LOST)),
    }
}

/// What stands for an answer to another question.
pub fn unexpected() -> anyhow::Error {
    anyhow!("the answer is to another question")
}

/// Asks what the machine is in. Nothing can be planned while a transaction is open.
pub fn observe(asks: &mut impl Asks, console: &mut Console<'_>) -> Result<std::result::Result<Observation, Failure>> {
    match look(asks, console)? {
        Ok(observation) if observation.awaiting.is_some() => Err(AWAITS_REBOOT.into_error()),
        Ok(observation) if observation.interrupted => Err(INTERRUPTED.into_error()),
        looked => Ok(looked),
    }
}

/// Asks what the machine is in, be it in the middle of something.
pub fn look(asks: &mut impl Asks, console: &mut Console<'_>) -> Result<std::result::Result<Observation, Failure>> {
    match inquire(asks, &Request::Observe, console)? {
        Reply::Observed(observation) => Ok(Ok(observation)),
        Reply::Failed(failure) => Ok(Err(failure)),
        _ => Err(unexpected().context(NO_ANSWER)),
    }
}

/// What is known of the machine; the inner error is that of its current configuration.
pub fn observed(observation: &Observation) -> Result<std::result::Result<Observed, ConfigError>> {
    let current = match observation.current.clone().map(recorded).transpose()? {
        Some(Err(error)) => return Ok(Err(error)),
        Some(Ok(current)) => current,
        None => MachineConfig::empty(),
    };
    // It only serves to explain what a new installation would bring: one that cannot be read is as one that is lost.
    let install_time = observation.install_time.clone().and_then(|sealed| recorded(sealed).ok()?.ok());
    let (current, install_time) = (current.into(), install_time.map(Arc::new));
    let (behind, os_units) = (observation.behind.clone(), observation.os_units.clone());
    Ok(Ok(Observed { current, install_time, forced: observation.forced, behind, os_units }))
}

/// A configuration out of the machine's own record. Only an Ignition config that cannot be parsed is left to the caller.
pub fn recorded(sealed: Sealed) -> Result<std::result::Result<MachineConfig, ConfigError>> {
    let document = sealed.open();
    if is_none(&document) {
        return Ok(Ok(MachineConfig::empty()));
    }
    match MachineConfig::from_document(document) {
        Err(error @ ConfigError::Ignition { .. }) => Ok(Err(error)),
        Err(error) => Err(anyhow::Error::new(error).context(BAD_RECORD)),
        Ok(config) => Ok(Ok(config)),
    }
}

/// The record of a machine that had no configuration.
fn is_none(document: &Value) -> bool {
    document.is_null() || document.as_object().is_some_and(serde_json::Map::is_empty)
}
