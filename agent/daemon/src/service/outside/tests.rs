//! What is sent to the status of a MachineConfigNode, by what was read of it.

use std::sync::{Arc, Mutex};

use ostler_core::api::Time;
use ostler_core::node::{Duties, Irreconcilable, Phase};
use ostler_core::verdict::Verdict;
use serde_json::Value;

use super::*;
use crate::cluster::double::{self, Double, Reply};
use crate::service::clock::Clock;

const SINCE: &str = "2026-01-02T03:04:05Z";

/// A report that others have written to for a while.
fn report(version: u64, observed: i64) -> Value {
    let mut report = double::report(version, "a");
    report["metadata"]["generation"] = json!(observed - 1);
    let updated = json!({"type": "Updated", "status": "True", "reason": "Updated", "message": "Node worker-0 Updated",
        "lastTransitionTime": SINCE});
    report["status"] = json!({"observedGeneration": observed, "conditions": [updated]});
    report
}

fn situation() -> Situation {
    let config = Some(ConfigRef::new("a"));
    Situation {
        node: "worker-0".to_owned(),
        current: config.clone(),
        desired: config,
        phase: Phase::Settled,
        update: None,
        verdict: Verdict::default(),
        drain: None,
        irreconcilable: Irreconcilable::Untold,
        finalization_failure: None,
        bootstrap: None,
        boot_image: None,
        staged_for: None,
        duties: Duties::default(),
    }
}

fn known() -> Known {
    let node = NodeView { name: "worker-0".to_owned(), uid: "u-0".to_owned(), ..NodeView::default() };
    Known { node: Some(node), ..Known::default() }
}

fn now() -> Time {
    Clock::start().time()
}

/// The statuses that were sent, and the requests.
async fn sent(known: &Known, double: &Double) -> (Vec<Value>, Vec<String>) {
    super::report(&double.cluster().await, &situation(), known, &now()).await.unwrap();
    let asked = double.asked();
    let statuses =
        asked.iter().filter(|asked| asked.line.contains("/status")).map(|asked| asked.body["status"].clone());
    (statuses.collect(), double.lines())
}

#[tokio::test(start_paused = true)]
async fn a_report_that_was_not_heard_of_is_read_before_its_status_is_computed() {
    let double = Double::new(|_| Reply::Json(200, report(7, 51)));
    let (statuses, lines) = sent(&known(), &double).await;
    assert!(lines[0].starts_with("GET"), "{lines:?}");
    assert!(!statuses.is_empty());
    for status in &statuses {
        assert!(status["observedGeneration"].as_i64().is_none_or(|observed| observed == 51), "{status}");
        let conditions = status["conditions"].as_array().unwrap();
        let updated = conditions.iter().find(|condition| condition["type"] == "Updated");
        assert!(updated.is_none_or(|updated| updated["lastTransitionTime"] == SINCE), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_report_that_others_have_written_to_is_read_again() {
    let written = Arc::new(Mutex::new(false));
    let double = Double::new(move |asked| {
        if asked.line.starts_with("GET") {
            *written.lock().unwrap() = true;
        }
        match *written.lock().unwrap() {
            true => Reply::Json(200, report(9, 60)),
            false => Reply::failure(409),
        }
    });
    let old = serde_json::from_value(report(7, 51)).unwrap();
    let (statuses, _) = sent(&Known { object: Some(old), ..known() }, &double).await;
    let observed: Vec<i64> = statuses.iter().filter_map(|status| status["observedGeneration"].as_i64()).collect();
    assert!(observed.last() == Some(&60), "{observed:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_reported_before_the_gates_were_read() {
    let double = Double::new(|_| Reply::failure(404));
    let (_, lines) = sent(&Known { unread: [Input::FeatureGate].into(), ..known() }, &double).await;
    assert_eq!(lines, [""; 0]);
}
