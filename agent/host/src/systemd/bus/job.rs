//! A job from its start to its end.

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use serde::Serialize;
use std::pin::pin;
use zbus::proxy::SignalStream;
use zbus::{Connection, OwnedObjectPath, Type};

use super::Limits;
use super::error::{BusError, JobResult, UnitState};
use super::wire::{self, Attempt};

/// What is to be done to which unit.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub unit: &'a str,
    pub verb: &'static str,
    pub method: &'static str,
}

/// Starts the job and waits for its end.
pub(super) async fn run(connection: &Connection, limits: Limits, job: Job<'_>) -> Result<(), BusError> {
    run_with(connection, limits, job, &(job.unit, "replace")).await
}

/// As [`run`], for a method that takes more than the unit and the mode.
pub(super) async fn run_with<B>(connection: &Connection, limits: Limits, job: Job<'_>, body: &B) -> Result<(), BusError>
where
    B: Serialize + Type,
{
    let units = [job.unit];
    let attempt = Attempt { what: job.verb, units: &units, within: limits.call };
    // The end may come before the answer to the call: listen first.
    let mut ends = attempt.bounded(wire::job_ends(connection)).await?;
    let path: OwnedObjectPath = attempt.bounded(wire::manager(connection, job.method, body)).await?;
    let Ok(end) = tokio::time::timeout(limits.job, end_of(connection, &mut ends, &path)).await else {
        let state = state(connection, &attempt).await;
        let (unit, verb, within) = (job.unit.to_owned(), job.verb, limits.job);
        return Err(BusError::JobTimeout { unit, verb, within, state });
    };
    let Some(word) = end else { return Err(attempt.gone(None)) };
    match JobResult::of(&word) {
        None => Ok(()),
        Some(result) => {
            let state = state(connection, &attempt).await;
            Err(BusError::JobFailed { unit: job.unit.to_owned(), verb: job.verb, result, state })
        }
    }
}

/// The word with which the job ends; `None` when the connection does before it.
async fn end_of(connection: &Connection, ends: &mut SignalStream<'_>, path: &OwnedObjectPath) -> Option<String> {
    loop {
        let message = match select(pin!(ends.next()), pin!(connection.closed())).await {
            Either::Left((message, _)) => message?,
            Either::Right(_) => return None,
        };
        let Ok((_, ended, _, word)) = message.body().deserialize::<(u32, OwnedObjectPath, String, String)>() else {
            continue;
        };
        if ended == *path {
            return Some(word);
        }
    }
}

/// For the message of an error that is there already: not knowing is no further error.
async fn state(connection: &Connection, attempt: &Attempt<'_>) -> Box<UnitState> {
    let unit = attempt.units.first().copied().unwrap_or_default();
    Box::new(attempt.bounded(wire::unit_state(connection, unit)).await.unwrap_or_default())
}
