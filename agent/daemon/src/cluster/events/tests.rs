use super::*;
use crate::cluster::double::{Double, Reply};

const EVENTS: &str = "/api/v1/namespaces/openshift-machine-config-operator/events";
const LONG: Duration = Duration::from_secs(2 * 3600);

fn taken() -> Reply {
    Reply::Json(201, json!({"metadata": {}, "involvedObject": {}}))
}

#[tokio::test(start_paused = true)]
async fn an_event_is_about_the_node_and_from_us() {
    let double = Double::new(|_| taken());
    let cluster = double.cluster().await;
    cluster.event(EventKind::Warning, "FailedToDrain", &"ä".repeat(3000), "u-0");
    cluster.flush_events(LONG).await;
    let mut sent = double.asked();
    assert_eq!(sent.len(), 1);
    let sent = sent.remove(0);
    assert_eq!(sent.line, format!("POST {EVENTS}?"));
    let namespace = "openshift-machine-config-operator";
    assert_eq!(
        sent.body["involvedObject"],
        json!({"apiVersion": "v1", "kind": "Node", "name": "worker-0",
        "namespace": namespace, "uid": "u-0"})
    );
    assert_eq!(sent.body["source"], json!({"component": "machineconfigdaemon", "host": "worker-0"}));
    assert_eq!((&sent.body["type"], &sent.body["reason"]), (&json!("Warning"), &json!("FailedToDrain")));
    assert_eq!((&sent.body["message"], &sent.body["count"]), (&json!("ä".repeat(1024)), &json!(1)));
    assert!(sent.body["metadata"]["name"].as_str().unwrap().starts_with("worker-0."));
}

#[tokio::test(start_paused = true)]
async fn a_repetition_is_counted_for_ten_minutes() {
    let double = Double::new(|_| taken());
    let cluster = double.cluster().await;
    for (pause, message) in [(0, "a"), (0, "b"), (599, "a"), (599, "a"), (601, "a")] {
        tokio::time::advance(Duration::from_secs(pause)).await;
        cluster.event(EventKind::Normal, "Reboot", message, "u-0");
        cluster.flush_events(LONG).await;
    }
    let sent = double.asked();
    let methods: Vec<_> = sent.iter().map(|asked| asked.line.split(' ').next().unwrap()).collect();
    assert_eq!(methods, ["POST", "POST", "PATCH", "PATCH", "POST"]);
    let name = sent[0].body["metadata"]["name"].as_str().unwrap();
    assert_eq!(sent[3].line, format!("PATCH {EVENTS}/{name}?"));
    assert_eq!((&sent[3].body["count"], sent[3].form.as_str()), (&json!(3), "application/merge-patch+json"));
    assert!(sent[3].body["lastTimestamp"].is_string());
}

#[tokio::test(start_paused = true)]
async fn a_repetition_of_what_was_tidied_up_is_told_anew() {
    let double = Double::in_turn([taken(), Reply::failure(404), taken()]);
    let cluster = double.cluster().await;
    for _ in 0..2 {
        cluster.event(EventKind::Normal, "Reboot", "a", "u-0");
        cluster.flush_events(LONG).await;
    }
    assert_eq!((double.lines().len(), cluster.events_dropped()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn the_oldest_make_room_and_repetitions_take_none() {
    let double = Double::new(|_| taken());
    let cluster = double.cluster().await;
    // The task has not run yet: nothing was awaited.
    for number in 0..40 {
        cluster.event(EventKind::Normal, "Turn", &number.to_string(), "u-0");
        cluster.event(EventKind::Normal, "Turn", &number.to_string(), "u-0");
    }
    assert_eq!(cluster.events_dropped(), 8);
    cluster.flush_events(LONG).await;
    let sent = double.asked();
    assert_eq!((sent.len(), &sent[0].body["message"], &sent[0].body["count"]), (32, &json!("8"), &json!(2)));
}

#[tokio::test(start_paused = true)]
async fn an_event_waits_for_the_cluster_and_is_not_told_twice() {
    let double = Double::in_turn([Reply::Refused, Reply::failure(503), Reply::failure(409)]);
    let cluster = double.cluster().await;
    cluster.event(EventKind::Normal, "Reboot", "a", "u-0");
    cluster.flush_events(LONG).await;
    let sent = double.asked();
    assert_eq!((sent.len(), cluster.events_dropped()), (3, 0));
    assert!(sent.iter().all(|asked| asked.body["metadata"]["name"] == sent[0].body["metadata"]["name"]));
}

#[tokio::test(start_paused = true)]
async fn what_can_never_be_told_is_dropped_and_counted() {
    for replies in [vec![Reply::failure(403)], (0..1000).map(|_| Reply::failure(500)).collect()] {
        let double = Double::in_turn(replies);
        let cluster = double.cluster().await;
        cluster.event(EventKind::Normal, "Reboot", "a", "u-0");
        cluster.flush_events(LONG).await;
        assert_eq!(cluster.events_dropped(), 1);
        assert!(double.lines().len() < 200);
    }
}
