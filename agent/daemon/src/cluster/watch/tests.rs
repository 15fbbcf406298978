use std::collections::VecDeque;
use std::sync::Mutex;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::*;
use crate::cluster::double::{Asked, Double, Reply, node, report};
use ostler_core::node::keys;

/// Scripted answers to requests about nodes; everything else is quiet.
#[derive(Clone, Default)]
struct Script {
    nodes: Arc<Mutex<VecDeque<Reply>>>,
    open: Arc<Mutex<Vec<UnboundedSender<Value>>>>,
}

impl Script {
    fn new(nodes: impl IntoIterator<Item = Reply>) -> Self {
        Self { nodes: Arc::new(Mutex::new(nodes.into_iter().collect())), ..Self::default() }
    }

    fn double(&self) -> Double {
        let script = self.clone();
        Double::new(move |asked| script.answer(asked))
    }

    fn answer(&self, asked: &Asked) -> Reply {
        let about_nodes = asked.line.starts_with("GET /api/v1/nodes?");
        let next = about_nodes.then(|| self.nodes.lock().unwrap().pop_front()).flatten();
        match next {
            Some(reply) => reply,
            None if asked.line.contains("watch=true") => self.quiet(),
            None if asked.line.contains("featuregates") => Reply::failure(404),
            None => list(1, &[]),
        }
    }

    fn quiet(&self) -> Reply {
        let (sender, lines) = unbounded_channel();
        self.open.lock().unwrap().push(sender);
        Reply::Lines(lines)
    }
}

fn list(version: u64, items: &[Value]) -> Reply {
    Reply::Json(
        200,
        json!({"kind": "List", "apiVersion": "v1",
        "metadata": {"resourceVersion": version.to_string()}, "items": items}),
    )
}

/// A watch that says this and stays open as long as the sender is kept.
fn watch(lines: &[(&str, Value)]) -> (UnboundedSender<Value>, Reply) {
    let (sender, receiver) = unbounded_channel();
    for (kind, object) in lines {
        sender.send(json!({"type": kind, "object": object})).unwrap();
    }
    (sender, Reply::Lines(receiver))
}

fn desired(config: &str) -> Value {
    json!({keys::DESIRED_CONFIG: config, "volatile": "x"})
}

/// The next change about the node or the cluster as a whole, in short.
async fn next(changes: &mut (impl Stream<Item = Change> + Unpin)) -> String {
    loop {
        match changes.next().await.unwrap() {
            Change::Node(None) => return "gone".to_owned(),
            Change::Node(Some(view)) => return view.desired().map(|desired| desired.config).unwrap_or_default(),
            Change::Lost(reason) => return format!("lost: {reason}"),
            Change::Back => return "back".to_owned(),
            _ => {}
        }
    }
}

fn node_lines(double: &Double) -> Vec<String> {
    double.lines().into_iter().filter(|line| line.contains("/nodes?")).collect()
}

#[tokio::test(start_paused = true)]
async fn what_there_is_comes_first_and_then_what_happens() {
    let (_open, events) = watch(&[
        ("MODIFIED", node(11, &json!({keys::DESIRED_CONFIG: "a", "volatile": "y"}))),
        ("BOOKMARK", json!({"kind": "Node", "apiVersion": "v1", "metadata": {"resourceVersion": "12"}})),
        ("MODIFIED", node(13, &desired("b"))),
        ("DELETED", node(14, &desired("b"))),
        ("ADDED", node(15, &desired("b"))),
    ]);
    let double = Script::new([list(10, &[node(9, &desired("a"))]), events]).double();
    let mut changes = double.cluster().await.changes();
    for expected in ["a", "b", "gone", "b"] {
        assert_eq!(next(&mut changes).await, expected);
    }
    assert_eq!(
        node_lines(&double),
        [
            "GET /api/v1/nodes?&fieldSelector=metadata.name%3Dworker-0",
            "GET /api/v1/nodes?&watch=true&timeoutSeconds=290&fieldSelector=metadata.name%3Dworker-0\
             &allowWatchBookmarks=true&resourceVersion=10",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn every_object_is_told_once_and_absent_ones_too() {
    let double = Double::new(|asked| {
        let line = &asked.line;
        let open = |item: Value| if line.contains("watch=true") { Reply::Silence } else { list(5, &[item]) };
        match () {
            () if line.contains("machineconfignodes") => open(report(5, "a")),
            () if line.contains("machineconfigurations") => {
                open(json!({"metadata": {"name": "cluster", "generation": 2, "resourceVersion": "5"}, "spec": {}}))
            }
            () if line.contains("featuregates") => open(json!({"metadata": {"name": "cluster"}, "status":
                {"featureGates": [{"version": "4.20.0", "enabled": [{"name": "ImageModeStatusReporting"}]}]}})),
            () => Reply::failure(404),
        }
    });
    let first: Vec<_> = double.cluster().await.changes().take(5).collect().await;
    assert!(first.contains(&Change::Node(None)) && first.contains(&Change::ControllerConfig(None)));
    assert!(first.contains(&Change::Gates(Gates { irreconcilable: true, image_mode: true })));
    let lean = |change: &Change| match change {
        Change::MachineConfigNode(Some(report)) => report.metadata.managed_fields.is_none(),
        Change::Settings(Some(settings)) => settings.metadata.generation == Some(2),
        _ => false,
    };
    assert_eq!(first.iter().filter(|change| lean(change)).count(), 2);
    let selectors = double.lines().iter().filter(|line| line.contains("fieldSelector=metadata.name%3D")).count();
    assert_eq!(selectors, double.lines().len());
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_there_is_asked_for_rarely() {
    let script = Script::new([]);
    let double = script.double();
    let mut changes = double.cluster().await.changes();
    let hour = tokio::time::sleep(Duration::from_secs(3600));
    let gates = async {
        let mut gates = 0;
        while let Some(change) = changes.next().await {
            gates += usize::from(matches!(change, Change::Gates(_)));
            if gates > 1 {
                break;
            }
        }
    };
    tokio::select! { () = hour => {} () = gates => panic!("the same gates are told twice") }
    let asked = double.lines().iter().filter(|line| line.contains("featuregates")).count();
    assert!((12..=25).contains(&asked), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn a_version_that_expired_is_listed_anew() {
    let gone = ("ERROR", json!({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired"}));
    let (_open, expired) = watch(&[gone]);
    let (_also, events) = watch(&[("MODIFIED", node(31, &desired("c")))]);
    let replies = [
        list(10, &[node(9, &desired("a"))]),
        expired,
        list(20, &[node(19, &desired("b"))]),
        Reply::failure(410),
        list(30, &[node(29, &desired("b"))]),
        events,
    ];
    let double = Script::new(replies).double();
    let mut changes = double.cluster().await.changes();
    for expected in ["a", "b", "c"] {
        assert_eq!(next(&mut changes).await, expected);
    }
    assert_eq!(node_lines(&double).len(), 6);
}

/// A watch lasts as long as was asked for, or less; gives how the next one begins.
async fn after_a_watch_of(seconds: u64) -> Vec<String> {
    let (open, first) = watch(&[("MODIFIED", node(11, &desired("b")))]);
    let (_open, events) = watch(&[("MODIFIED", node(12, &desired("c")))]);
    let again = (seconds < 285).then(|| list(11, &[node(11, &desired("b"))]));
    let replies = [list(10, &[node(9, &desired("a"))]), first].into_iter().chain(again).chain([events]);
    let double = Script::new(replies).double();
    let mut changes = double.cluster().await.changes();
    for expected in ["a", "b"] {
        assert_eq!(next(&mut changes).await, expected);
    }
    tokio::spawn(async move {
        sleep(Duration::from_secs(seconds)).await;
        drop(open);
    });
    assert_eq!(next(&mut changes).await, "c");
    node_lines(&double).split_off(2)
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_goes_on_from_where_it_was_unless_it_ended_too_soon() {
    let usual = after_a_watch_of(290).await;
    assert!(usual.len() == 1 && usual[0].ends_with("resourceVersion=11"), "{usual:?}");
    let broken = after_a_watch_of(30).await;
    assert!(broken.len() == 2 && !broken[0].contains("watch"), "{broken:?}");
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_at_once_are_not_opened_without_end() {
    let ended = (0..500).flat_map(|_| [list(10, &[node(9, &desired("a"))]), watch(&[]).1]);
    let double = Script::new(ended).double();
    let mut changes = double.cluster().await.changes();
    assert_eq!(next(&mut changes).await, "a");
    let minutes = tokio::time::timeout(Duration::from_secs(300), next(&mut changes)).await;
    assert!(minutes.is_err() && node_lines(&double).len() < 60, "{}", node_lines(&double).len());
}

#[tokio::test(start_paused = true)]
async fn in_a_cluster_that_was_set_back_versions_count_anew() {
    let (broken, first) = watch(&[]);
    let (_open, events) = watch(&[("MODIFIED", node(7, &desired("b"))), ("MODIFIED", node(8, &desired("c")))]);
    let [before, after] = [list(10, &[node(9, &desired("a"))]), list(6, &[node(5, &desired("a"))])];
    let script = Script::new([before, first, after, events]);
    let double = Double::new(move |asked| match asked.line.starts_with("PATCH") {
        true => Reply::Json(200, node(12, &desired("a"))),
        false => script.answer(asked),
    });
    let cluster = double.cluster().await;
    let mut changes = cluster.changes();
    assert_eq!(next(&mut changes).await, "a");
    cluster.annotate(&std::collections::BTreeMap::new()).await.unwrap();
    drop(broken);
    for expected in ["a", "b", "c"] {
        assert_eq!(next(&mut changes).await, expected, "what was written may be undone, and what comes is news");
    }
}

#[tokio::test(start_paused = true)]
async fn a_loss_is_told_once_and_so_is_its_end() {
    let refused = (0..6).map(|_| Reply::Refused);
    let (_, broken) = watch(&[]);
    let (_open, events) = watch(&[]);
    let first = [list(10, &[node(9, &desired("a"))]), broken].into_iter();
    let last = [list(5, &[node(4, &desired("older"))]), events].into_iter();
    let double = Script::new(first.chain(refused).chain(last)).double();
    let mut changes = double.cluster().await.changes();
    let mut told = Vec::new();
    for _ in 0..4 {
        told.push(next(&mut changes).await);
    }
    told.sort();
    assert_eq!(told, ["a", "back", "lost: connection refused", "older"]);
}

#[tokio::test(start_paused = true)]
async fn an_event_from_before_our_own_write_is_no_news() {
    let (open, events) = watch(&[]);
    let replies = [list(10, &[node(9, &desired("a"))]), events];
    let script = Script::new(replies);
    let answers = script.clone();
    let double = Double::new(move |asked| match asked.line.starts_with("PATCH") {
        true => Reply::Json(200, node(12, &desired("c"))),
        false => answers.answer(asked),
    });
    let cluster = double.cluster().await;
    let mut changes = cluster.changes();
    assert_eq!(next(&mut changes).await, "a");
    cluster.annotate(&std::collections::BTreeMap::new()).await.unwrap();
    for (version, config) in [(11, "b"), (12, "c"), (13, "a")] {
        open.send(json!({"type": "MODIFIED", "object": node(version, &desired(config))})).unwrap();
    }
    for expected in ["c", "a"] {
        assert_eq!(next(&mut changes).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_was_there_is_not_gone_at_the_first_word() {
    for (absences, expected) in [(BELIEVED - 1, "b"), (BELIEVED, "gone")] {
        let (_, ended) = watch(&[]);
        let first = [list(10, &[node(9, &desired("a"))]), ended].into_iter();
        let absent = (0..absences).map(|_| Reply::failure(404));
        let last = [list(20, &[node(19, &desired("b"))])];
        let double = Script::new(first.chain(absent).chain(last)).double();
        let mut changes = double.cluster().await.changes();
        assert_eq!(next(&mut changes).await, "a");
        assert_eq!(next(&mut changes).await, expected, "{absences}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_permitted_is_asked_for_again_soon_when_it_is_refused_for_a_moment() {
    let (_, ended) = watch(&[]);
    let first = [list(10, &[node(9, &desired("a"))]), ended].into_iter();
    let refused = (0..BELIEVED - 1).map(|_| Reply::failure(403));
    let double = Script::new(first.chain(refused).chain([list(20, &[node(19, &desired("b"))])])).double();
    let mut changes = double.cluster().await.changes();
    assert_eq!(next(&mut changes).await, "a");
    let start = Instant::now();
    assert_eq!(next(&mut changes).await, "b");
    assert!(start.elapsed() < RARE_PAUSE / 2, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_at_first_is_asked_for_again_within_seconds() {
    let refused = (0..3).map(|_| Reply::failure(403));
    let double = Script::new(refused.chain([list(20, &[node(19, &desired("a"))])])).double();
    let mut changes = double.cluster().await.changes();
    let start = Instant::now();
    assert_eq!(next(&mut changes).await, "a");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}
