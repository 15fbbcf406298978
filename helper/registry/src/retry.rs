//! Asking again: every place in turn, and those that may yet answer once more after a pause.
//!
//! Owns the order and the pauses, by the runtime's clock. Refuses to know what is asked.

use std::time::Duration;

use crate::failure::{Again, Attempt, Failure};
use crate::mirrors::Place;
use crate::options::Patience;

/// A place with what it last said, and whether it is asked again.
struct Asked {
    place: Place,
    failure: Option<Failure>,
    open: bool,
}

/// Asks the places in their order until one answers; later rounds leave out those that said no for good.
pub(crate) async fn persist<T, F, A>(patience: &Patience, places: Vec<Place>, ask: F) -> Result<T, Vec<Attempt>>
where
    F: Fn(Place) -> A,
    A: Future<Output = Result<T, Failure>>,
{
    let mut asked: Vec<Asked> = places.into_iter().map(|place| Asked { place, failure: None, open: true }).collect();
    let mut pause = patience.first_pause;
    for round in 0..=patience.retries {
        let mut wait: Option<Duration> = None;
        for entry in asked.iter_mut().filter(|entry| entry.open) {
            match ask(entry.place.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => {
                    let next = next_pause(failure.again(), pause, patience.longest_pause);
                    entry.open = next.is_some();
                    entry.failure = Some(failure);
                    wait = [wait, next].into_iter().flatten().min();
                }
            }
        }
        let Some(wait) = wait.filter(|_| round < patience.retries) else { break };
        tokio::time::sleep(wait).await;
        pause = pause.saturating_mul(2);
    }
    let attempts = asked.into_iter().filter_map(|Asked { place, failure, .. }| {
        failure.map(|failure| Attempt { place: place.image.to_string(), failure })
    });
    Err(attempts.collect())
}

/// How long to wait; none where asking again is no use.
fn next_pause(again: Again, pause: Duration, longest: Duration) -> Option<Duration> {
    match again {
        Again::Never => None,
        Again::Soon => Some(pause.min(longest)),
        Again::After(after) => (after <= longest).then(|| after.max(pause.min(longest))),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tokio::time::Instant;

    use super::*;
    use crate::reference::Reference;

    const PATIENCE: Patience = Patience {
        connect: Duration::ZERO,
        stall: Duration::ZERO,
        answer: Duration::ZERO,
        layer: Duration::ZERO,
        retries: 4,
        first_pause: Duration::from_secs(1),
        longest_pause: Duration::from_secs(5),
    };

    fn places() -> Vec<Place> {
        let place = |name| Place { image: Reference::parse(name).unwrap(), insecure: false };
        ["mirror.example/a:1", "source.example/a:1"].map(place).into()
    }

    /// What was asked and when, and what came out of it.
    async fn asked(
        says: impl Fn(&str, usize) -> Result<u8, Failure>,
    ) -> (Vec<(String, u64)>, Result<u8, Vec<Attempt>>) {
        let start = Instant::now();
        let log = RefCell::new(Vec::new());
        let outcome = persist(&PATIENCE, places(), |place| {
            let mut log = log.borrow_mut();
            log.push((place.image.host().to_owned(), start.elapsed().as_secs()));
            let answer = says(place.image.host(), log.len());
            async move { answer }
        });
        let outcome = outcome.await;
        (log.into_inner(), outcome)
    }

    fn at(log: &[(String, u64)], host: &str) -> Vec<u64> {
        log.iter().filter(|(asked, _)| asked == host).map(|(_, at)| *at).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_that_said_no_is_left_alone_and_the_others_are_asked_again() {
        let (log, outcome) = asked(|host, _| match host {
            "mirror.example" => Err(Failure::Missing),
            _ => Err(Failure::Server { status: 503, after: None }),
        })
        .await;
        assert_eq!(at(&log, "mirror.example"), [0]);
        assert_eq!(at(&log, "source.example"), [0, 1, 3, 7, 12]);
        let places: Vec<String> = outcome.unwrap_err().into_iter().map(|attempt| attempt.place).collect();
        assert_eq!(places, ["mirror.example/a:1", "source.example/a:1"]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_answer_counts() {
        let (log, outcome) =
            asked(|_, count| if count < 4 { Err(Failure::Timeout(PATIENCE.stall)) } else { Ok(7) }).await;
        assert_eq!((log.len(), outcome.unwrap()), (4, 7));
        let (log, outcome) = asked(|_, _| Ok(1)).await;
        assert_eq!((log, outcome.unwrap()), (vec![("mirror.example".to_owned(), 0)], 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_registry_says_itself_how_long_it_wants_to_be_left_alone() {
        let busy = |seconds| Failure::Busy { after: Some(Duration::from_secs(seconds)) };
        let (log, _) = asked(|host, _| Err(if host == "mirror.example" { Failure::Forbidden } else { busy(3) })).await;
        assert_eq!(at(&log, "source.example"), [0, 3, 6, 10, 15]);
        let (log, outcome) = asked(|_, _| Err(busy(6))).await;
        assert_eq!(log.len(), 2);
        let failures = outcome.unwrap_err();
        assert!(failures[0].failure.to_string().ends_with("left alone for 6 s"), "{}", failures[0].failure);
    }

    #[tokio::test(start_paused = true)]
    async fn what_will_not_change_is_asked_once() {
        let (log, outcome) = asked(|_, _| Err(Failure::Unauthorised { sent: false })).await;
        assert_eq!((log.len(), outcome.unwrap_err().len()), (2, 2));
    }
}
