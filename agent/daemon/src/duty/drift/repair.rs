//! Repairs, asked of the root half. One thing that cannot be repaired does not keep the others from it.

use anyhow::Result;
use ostler_core::drift::Subject;
use ostler_core::protocol::{Class, Reply, Request};
use ostler_core::transaction::{Ending, Finished};

use super::Asks;
use crate::service::outlook::words;

/// Most transactions of one repair.
const MOST: usize = 12;

/// Repairs these, together if that can be and else in parts; why some of them could not be.
pub async fn repair(asks: &impl Asks, subjects: Vec<Subject>) -> Result<(), String> {
    let mut parts = vec![subjects];
    let mut hindrance = Ok(());
    for _ in 0..MOST {
        let Some(part) = parts.pop() else { break };
        match attempt(asks, &part).await {
            Attempt::Done => {}
            Attempt::Failed { reason, parts: true } if part.len() > 1 => {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second.to_vec(), first.to_vec()]);
                hindrance = Err(reason);
            }
            Attempt::Failed { reason, parts: true } => hindrance = Err(reason),
            Attempt::Failed { reason, parts: false } => return Err(reason),
        }
    }
    hindrance
}

enum Attempt {
    Done,
    Failed {
        reason: String,
        /// Whether a part of it may do better.
        parts: bool,
    },
}

async fn attempt(asks: &impl Asks, part: &[Subject]) -> Attempt {
    let reply = match asks.answer(Request::Repair { only: part.to_vec() }).await {
        Ok(reply) => reply,
        Err(error) => return Attempt::Failed { reason: format!("{error:#}"), parts: false },
    };
    match reply {
        Reply::Finished(Finished { ending: Ending::Undone { reason }, .. }) => Attempt::Failed { reason, parts: true },
        Reply::Failed(failure) => {
            let parts = failure.unchanged && failure.class != Class::Transient;
            Attempt::Failed { reason: words(&failure), parts }
        }
        _ => Attempt::Done,
    }
}

/// An answer that is none, in words.
pub fn told(reply: Result<Reply>) -> Result<Reply, String> {
    match reply {
        Ok(Reply::Failed(failure)) => Err(words(&failure)),
        Ok(reply) => Ok(reply),
        Err(error) => Err(format!("{error:#}")),
    }
}
