//! Asking the kubelet how it is, every half a minute.
//!
//! Owns the rhythm. What is counted and told is core's; nothing is done about it here, least of all a restart.

use std::future::Future;
use std::time::Duration;

use ostler_core::node::duties::KubeletTally;
use tokio::time::sleep;

use super::{Post, State};
use crate::service::{Endpoint, Health};

const INTERVAL: Duration = Duration::from_secs(30);

/// Asks for as long as the agent runs.
pub async fn run(post: Post, endpoint: Endpoint) {
    let health = Health { kubelet: Some(endpoint), systemd: false };
    follow(post, async || health.kubelet().await.unwrap_or(false)).await;
}

async fn follow<F: Future<Output = bool>>(post: Post, ask: impl Fn() -> F) {
    let mut tally = KubeletTally::default();
    loop {
        let before = tally;
        let notice = tally.count(ask().await);
        if tally != before {
            post.stands(State::Kubelet { failures: tally.failures }, Vec::from_iter(notice)).await;
        }
        sleep(INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Mutex;

    use ostler_core::node::Notice;
    use tokio::time::Instant;

    use super::*;
    use crate::duty::{Duties, Word};

    #[tokio::test(start_paused = true)]
    async fn every_half_a_minute_counts_and_only_what_is_new_is_said() {
        let answers = Mutex::new([true, false, false, false, false, true, true, false].into_iter());
        let mut duties = Duties::new();
        let start = Instant::now();
        duties.begin(|post| async move {
            let next = || answers.lock().unwrap().next();
            follow(post, || {
                let answer = next();
                async move {
                    match answer {
                        Some(answer) => answer,
                        None => std::future::pending().await,
                    }
                }
            })
            .await;
        });
        let at = Cell::new(0);
        let unwell = Notice::KubeletUnwell { failures: 3 };
        for (seconds, failures, notice) in [
            (30, 1, None),
            (60, 2, None),
            (90, 3, Some(unwell)),
            (120, 4, None),
            (150, 0, Some(Notice::KubeletWell)),
            (210, 1, None),
        ] {
            let word = duties.word().await;
            at.set(start.elapsed().as_secs());
            assert_eq!(at.get(), seconds);
            assert_eq!(word, Word { state: Some(State::Kubelet { failures }), notices: Vec::from_iter(notice) });
        }
    }
}
