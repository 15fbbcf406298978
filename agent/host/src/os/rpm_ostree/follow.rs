//! One transaction from its start to its end, over the socket that the daemon keeps for it.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::{FutureExt, StreamExt};
use tokio::time::{Instant, sleep_until, timeout};
use zbus::{Connection, Message, MessageStream, OwnedVariant, fdo};

use super::Limits;
use super::telling::Telling;
use super::wire::{PROPERTIES, TRANSACTION};
use crate::os::IsWanted;

/// How often it is looked whether somebody still waits.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);

/// How a transaction ended for us.
pub(super) enum End {
    /// Well.
    Done,
    /// Not well, in the daemon's words.
    Failed(String),
    /// The socket was closed, or could not be opened, before the daemon had said how it ended.
    Vanished(Option<zbus::Error>),
    /// Not in time, or nobody waits for it any more; it was cancelled, and may still be under way.
    GivenUp,
}

/// Starts the transaction that waits at an address, unless somebody did already, and waits for its end.
pub(super) async fn follow(address: &str, limits: Limits, telling: &mut Telling<'_>, wanted: IsWanted<'_>) -> End {
    let peer = match connect(address, limits).await {
        Ok(peer) => peer,
        Err(error) => return End::Vanished(error),
    };
    let mut messages = MessageStream::from(&peer);
    let ended = {
        let (run, limit) = (pin!(run(&peer, &mut messages, telling)), pin!(no_longer(limits, wanted)));
        match select(run, limit).await {
            Either::Left((end, _)) => Some(end),
            Either::Right(_) => None,
        }
    };
    let end = match ended {
        Some(end) => end,
        None => give_up(&peer, &mut messages, limits, telling).await,
    };
    drop(messages);
    // The transaction is under way for the daemon until nobody listens any more.
    let _ = timeout(limits.call, peer.close()).await;
    end
}

/// Ends when there is no more time, or nobody waits any more.
async fn no_longer(limits: Limits, wanted: IsWanted<'_>) {
    let deadline = Instant::now() + limits.transaction;
    while wanted() && Instant::now() < deadline {
        sleep_until(deadline.min(Instant::now() + BETWEEN_LOOKS)).await;
    }
}

/// Starts and listens at once: what is not listened to would hold up the answer to the start.
async fn run(peer: &Connection, messages: &mut MessageStream, telling: &mut Telling<'_>) -> End {
    let start = peer.call_method(None::<&str>, "/", Some(TRANSACTION), "Start", &());
    let mut start = pin!(start.fuse());
    loop {
        // What is in the queue comes before the end of the connection.
        let message = match select(messages.next(), start.as_mut()).await {
            Either::Left((Some(Ok(message)), _)) => message,
            Either::Left((Some(Err(error)), _)) => return End::Vanished(Some(error)),
            Either::Left((None, _)) => return End::Vanished(None),
            // Whoever started it, its end is told to everybody.
            Either::Right((Ok(_), _)) => continue,
            Either::Right((Err(error), _)) => return refused_to_start(error),
        };
        if let Some(end) = hear(&message, telling) {
            return end;
        }
    }
}

fn refused_to_start(error: zbus::Error) -> End {
    match error {
        zbus::Error::MethodError(_, Some(text), _) => End::Failed(text),
        zbus::Error::FDO(answer) if !matches!(*answer, fdo::Error::NoReply(_) | fdo::Error::Disconnected(_)) => {
            End::Failed(answer.to_string())
        }
        error => End::Vanished(Some(error)),
    }
}

/// Cancels, and waits a little for what comes of it: it may have ended well in the meantime.
async fn give_up(peer: &Connection, messages: &mut MessageStream, limits: Limits, telling: &mut Telling<'_>) -> End {
    let end = async {
        peer.call_method(None::<&str>, "/", Some(TRANSACTION), "Cancel", &()).await.ok()?;
        while let Some(Ok(message)) = messages.next().await {
            if let Some(End::Done) = hear(&message, telling) {
                return Some(End::Done);
            }
        }
        None
    };
    timeout(limits.call, end).await.ok().flatten().unwrap_or(End::GivenUp)
}

/// Passes on what a message says; an end if it is one.
fn hear(message: &Message, telling: &mut Telling<'_>) -> Option<End> {
    type Download = ((u64, u64), (u32, u32), (u32, u32, u32), (u32, u32, u32, u64), (u32, u32), (u64, u64));
    let header = message.header();
    if header.interface().is_none_or(|interface| interface.as_str() != TRANSACTION) {
        return None;
    }
    let body = message.body();
    match header.member().map(|member| member.as_str()) {
        Some("Finished") => {
            let (well, text): (bool, String) = body.deserialize().ok()?;
            return Some(if well { End::Done } else { End::Failed(text) });
        }
        Some("Message" | "TaskBegin") => telling.say(body.deserialize::<&str>().ok()?),
        Some("PercentProgress") => {
            let (label, percent): (&str, u32) = body.deserialize().ok()?;
            telling.percent(label, percent);
        }
        Some("DownloadProgress") => {
            let (_, _, _, _, (fetched, requested), _): Download = body.deserialize().ok()?;
            let percent = u64::from(fetched).saturating_mul(100).checked_div(u64::from(requested))?;
            telling.percent("Fetching objects", u32::try_from(percent).unwrap_or(100));
        }
        _ => (),
    }
    None
}

/// Asks the transaction at an address to end early.
pub(super) async fn cancel(address: &str, limits: Limits) {
    let Ok(peer) = connect(address, limits).await else { return };
    let call = peer.call_method(None::<&str>, "/", Some(TRANSACTION), "Cancel", &());
    let _ = timeout(limits.call, call).await;
    let _ = timeout(limits.call, peer.close()).await;
}

/// What the transaction at an address says of its client, and of itself.
pub(super) async fn description(address: &str, limits: Limits) -> Option<(String, String)> {
    let peer = connect(address, limits).await.ok()?;
    let read = async |name: &str| -> Option<String> {
        let body = (TRANSACTION, name);
        let answer = peer.call_method(None::<&str>, "/", Some(PROPERTIES), "Get", &body).await.ok()?;
        let value: OwnedVariant = answer.body().deserialize().ok()?;
        String::try_from(value).ok()
    };
    let both = async { Some((read("InitiatingClientDescription").await?, read("Title").await.unwrap_or_default())) };
    let both = timeout(limits.call, both).await.ok().flatten();
    let _ = timeout(limits.call, peer.close()).await;
    both
}

async fn connect(address: &str, limits: Limits) -> Result<Connection, Option<zbus::Error>> {
    let build = zbus::connection::Builder::address(address).p2p().build();
    match timeout(limits.call, build).await {
        Ok(connected) => connected.map_err(Some),
        Err(_) => Err(None),
    }
}
