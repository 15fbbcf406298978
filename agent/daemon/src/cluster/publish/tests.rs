use super::*;
use crate::cluster::double::{Asked, Double, Reply, node, report};

const REPORTS: &str = "/apis/machineconfiguration.openshift.io/v1/machineconfignodes";
const CONFIGS: &str = "/apis/machineconfiguration.openshift.io/v1/machineconfigs";

fn asked(line: String, form: &str, body: Value) -> Asked {
    Asked { line, form: form.to_owned(), agent: concat!("ostler/", env!("CARGO_PKG_VERSION")).to_owned(), body }
}

fn read() -> MachineConfigNode {
    serde_json::from_value(report(2, "a")).unwrap()
}

fn worker() -> NodeView {
    NodeView { name: "worker-0".to_owned(), uid: "u-0".to_owned(), ..NodeView::default() }
}

#[tokio::test(start_paused = true)]
async fn annotations_are_merged_and_the_answer_is_the_node() {
    let double = Double::in_turn([Reply::Json(200, node(7, &json!({keys::STATE: "Done", "other": "x"})))]);
    let cluster = double.cluster().await;
    let changes = BTreeMap::from([(keys::STATE, Some("Done".to_owned())), (keys::CURRENT_IMAGE, None)]);
    let view = cluster.annotate(&changes).await.unwrap();
    assert_eq!((view.name.as_str(), view.uid.as_str(), view.cordoned), ("worker-0", "u-0", false));
    assert_eq!(view.annotations, BTreeMap::from([(keys::STATE.to_owned(), "Done".to_owned())]));
    let body = json!({"metadata": {"annotations": {keys::STATE: "Done", keys::CURRENT_IMAGE: null}}});
    let expected = asked("PATCH /api/v1/nodes/worker-0?".to_owned(), "application/merge-patch+json", body);
    assert_eq!(double.asked(), [expected]);
}

#[tokio::test(start_paused = true)]
async fn a_status_is_applied_with_force_by_its_manager_to_what_was_read() {
    let double = Double::in_turn([Reply::Json(200, report(3, "a")), Reply::Json(200, report(4, "a"))]);
    let cluster = double.cluster().await;
    let answer = cluster.apply_status(&read(), "ostler", &json!({"observedGeneration": 2})).await.unwrap();
    assert!(answer.metadata.managed_fields.is_none() && answer.spec.config_version.desired == "a");
    cluster.clear_irreconcilable(&read()).await.unwrap();
    let body = json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigNode",
        "metadata": {"name": "worker-0", "resourceVersion": "2"}, "status": {"observedGeneration": 2}});
    let line = format!("PATCH {REPORTS}/worker-0/status?&force=true&fieldManager=ostler");
    let clear = json!({"metadata": {"resourceVersion": "2"}, "status": {"irreconcilableChanges": null}});
    assert_eq!(
        double.asked(),
        [
            asked(line, "application/apply-patch+yaml", body),
            asked(format!("PATCH {REPORTS}/worker-0/status?"), "application/merge-patch+json", clear),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_collision_is_repeated_and_not_for_ever() {
    let double = Double::in_turn([Reply::failure(409), Reply::failure(409), Reply::Json(200, node(1, &json!({})))]);
    assert!(double.cluster().await.annotate(&BTreeMap::new()).await.is_ok());
    assert_eq!(double.lines().len(), 3);

    let double = Double::new(|_| Reply::failure(409));
    let cluster = double.cluster().await;
    let error = cluster.annotate(&BTreeMap::new()).await.unwrap_err();
    assert!(matches!(error, ClusterError::Conflict { .. }), "{error}");
    assert_eq!(double.lines().len(), ATTEMPTS as usize);
    // What was computed from an older object is never sent again.
    let error = cluster.apply_status(&read(), "m", &json!({})).await.unwrap_err();
    assert!(matches!(error, ClusterError::Conflict { .. }), "{error}");
    assert_eq!(double.lines().len(), ATTEMPTS as usize + 1);
}

#[tokio::test(start_paused = true)]
async fn other_failures_are_not_repeated() {
    for (reply, transient) in [
        (Reply::failure(403), false),
        (Reply::failure(422), false),
        (Reply::failure(429), true),
        (Reply::failure(503), true),
        (Reply::Raw(502, b"<html>".to_vec()), true),
        (Reply::Refused, true),
        (Reply::Silence, true),
        (Reply::Raw(200, b"<html>".to_vec()), false),
    ] {
        let double = Double::in_turn([reply]);
        let error = double.cluster().await.annotate(&BTreeMap::new()).await.unwrap_err();
        assert_eq!(error.is_transient(), transient, "{error:?}");
        assert_eq!(double.lines().len(), 1, "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_configuration_keeps_what_we_do_not_know() {
    let document = json!({"metadata": {"name": "rendered-a", "managedFields": [1]}, "spec": {"novelty": true}});
    let double = Double::in_turn([Reply::Json(200, document)]);
    let sealed = double.cluster().await.machine_config("rendered-a").await.unwrap();
    assert_eq!(sealed.open(), json!({"metadata": {"name": "rendered-a"}, "spec": {"novelty": true}}));
    assert_eq!(double.lines(), [format!("GET {CONFIGS}/rendered-a")]);
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_cannot_be_had_says_why_and_never_what() {
    let secret = b"{\"spec\": \"canary".to_vec();
    let double = Double::in_turn([Reply::failure(404), Reply::failure(403), Reply::Raw(200, secret)]);
    let cluster = double.cluster().await;
    assert!(cluster.machine_config("a").await.unwrap_err().is_not_found());
    assert!(matches!(cluster.machine_config("a").await, Err(ClusterError::Forbidden { .. })));
    let error = cluster.machine_config("a").await.unwrap_err();
    assert!(matches!(error, ClusterError::Answer { .. }) && !format!("{error:?}").contains("canary"), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_has_its_limit() {
    let double = Double::in_turn([Reply::Raw(200, vec![b' '; ostler_core::document::MAX_BYTES + 1])]);
    let error = double.cluster().await.machine_config("a").await.unwrap_err();
    assert!(error.to_string().contains("more than 32 MiB"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_none_is_not_asked_for() {
    let double = Double::in_turn([]);
    let cluster = double.cluster().await;
    for name in ["", "..", "a/b", "a?b", "A", "a b", &"a".repeat(254)] {
        assert!(cluster.machine_config(name).await.unwrap_err().is_not_found(), "{name}");
    }
    assert_eq!(double.lines(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_report_is_created_only_where_there_is_none() {
    let double = Double::in_turn([Reply::Json(200, report(1, "theirs"))]);
    let found = double.cluster().await.ensure_machine_config_node(&worker(), "ours").await.unwrap();
    assert_eq!(found.spec.config_version.desired, "theirs");
    assert_eq!(double.lines(), [format!("GET {REPORTS}/worker-0")]);

    let no_pools = || Reply::Json(200, json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []}));
    let double = Double::in_turn([Reply::failure(404), no_pools(), Reply::Json(201, report(1, "ours"))]);
    double.cluster().await.ensure_machine_config_node(&worker(), "").await.unwrap();
    let sent = double.asked().pop().unwrap();
    assert_eq!(
        (sent.line, sent.form),
        (format!("POST {REPORTS}?&fieldManager=ostler-node"), "application/json".to_owned())
    );
    let spec = json!({"node": {"name": "worker-0"}, "pool": {"name": "not-yet-set"},
        "configVersion": {"desired": "not-yet-set"}});
    let owner = json!([{"apiVersion": "v1", "kind": "Node", "name": "worker-0", "uid": "u-0"}]);
    assert_eq!((&sent.body["spec"], &sent.body["metadata"]["ownerReferences"]), (&spec, &owner));
}

#[tokio::test(start_paused = true)]
async fn a_report_that_somebody_else_creates_at_the_same_time_is_as_good() {
    let no_pools = Reply::Json(200, json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []}));
    let replies = [Reply::failure(404), no_pools, Reply::failure(409), Reply::Json(200, report(1, "theirs"))];
    let double = Double::in_turn(replies);
    let found = double.cluster().await.ensure_machine_config_node(&worker(), "ours").await.unwrap();
    assert_eq!((found.spec.config_version.desired.as_str(), double.lines().len()), ("theirs", 4));
}
