use std::sync::Mutex as StdMutex;
use std::sync::atomic::AtomicUsize;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::*;
use crate::cluster::double::{Double, Reply, node};
use crate::cluster::{Change, Cluster};

/// Credentials that change when the test says so, and count how often they are read.
#[derive(Clone)]
struct Rotating {
    client: Client,
    file: Arc<StdMutex<u64>>,
    read: Arc<AtomicUsize>,
    renewal: Option<Duration>,
}

/// The file that is not there.
const ABSENT: u64 = u64::MAX;

impl Credentials for Rotating {
    fn client(&self) -> BoxFuture<'_, Result<Made, ClusterError>> {
        self.read.fetch_add(1, Ordering::Relaxed);
        let made = Made { client: self.client.clone(), stamp: self.stamp(), renewal: self.renewal };
        let absent = *self.file.lock().unwrap() == ABSENT;
        let trouble = ClusterError::Credentials { path: "kubeconfig".into(), problem: "are not there yet".to_owned() };
        Box::pin(async move { if absent { Err(trouble) } else { Ok(made) } })
    }

    fn stamp(&self) -> Stamp {
        vec![Some((0, *self.file.lock().unwrap(), 0, 0))]
    }
}

async fn rotating(double: &Double) -> (Rotating, Cluster) {
    let (file, read) = (Arc::default(), Arc::default());
    let credentials = Rotating { client: double.client(), file, read, renewal: None };
    let (cluster, trouble) = Cluster::open(Box::new(credentials.clone()), "worker-0").await;
    assert!(trouble.is_none());
    (credentials, cluster)
}

#[tokio::test(start_paused = true)]
async fn new_files_are_read_before_the_next_request_and_old_ones_are_not() {
    let double = Double::new(|_| Reply::failure(404));
    let (credentials, cluster) = rotating(&double).await;
    for (seconds, file, read) in [(5, 0, 1), (5, 1, 2), (0, 2, 2), (5, 2, 3), (600, 2, 3)] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        *credentials.file.lock().unwrap() = file;
        assert!(cluster.machine_config("a").await.unwrap_err().is_not_found());
        assert_eq!(credentials.read.load(Ordering::Relaxed), read, "after {seconds} s, file {file}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_work_is_read_again_and_not_too_often() {
    let nobody = || {
        let message = "nodes \"worker-0\" is forbidden: User \"system:anonymous\" cannot get resource";
        Reply::Json(403, json!({"kind": "Status", "status": "Failure", "message": message, "code": 403}))
    };
    let cases: [(fn() -> Reply, bool); 3] =
        [(|| Reply::failure(401), true), (|| Reply::Refused, true), (nobody, false)];
    for (reply, transient) in cases {
        let double = Double::new(move |_| reply());
        let (credentials, cluster) = rotating(&double).await;
        for _ in 0..60 {
            tokio::time::advance(Duration::from_secs(1)).await;
            assert_eq!(cluster.machine_config("a").await.unwrap_err().is_transient(), transient);
        }
        assert_eq!(credentials.read.load(Ordering::Relaxed), 3);
        assert_eq!(double.lines().len(), 60);
    }
}

#[tokio::test(start_paused = true)]
async fn somebody_who_may_not_do_something_has_credentials_that_work() {
    let double = Double::new(|_| Reply::failure(403));
    let (credentials, cluster) = rotating(&double).await;
    for _ in 0..60 {
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(matches!(cluster.machine_config("a").await, Err(ClusterError::Forbidden { .. })));
    }
    assert_eq!(credentials.read.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn credentials_that_come_later_are_used_by_the_next_request() {
    let double = Double::new(|_| Reply::failure(404));
    let file = Arc::new(StdMutex::new(ABSENT));
    let credentials = Rotating { client: double.client(), file, read: Arc::default(), renewal: None };
    let (cluster, trouble) = Cluster::open(Box::new(credentials.clone()), "worker-0").await;
    assert!(trouble.unwrap().to_string().contains("are not there yet"));
    for (seconds, read) in [(1, 1), (1, 2), (0, 2), (2, 3)] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        let error = cluster.machine_config("a").await.unwrap_err();
        assert!(error.is_transient() && format!("{error:?}").contains("are not there yet"), "{error:?}");
        assert_eq!(credentials.read.load(Ordering::Relaxed), read);
    }
    assert!(double.lines().is_empty());
    *credentials.file.lock().unwrap() = 1;
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(cluster.machine_config("a").await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn credentials_whose_files_cannot_be_seen_are_asked_for_again_in_time() {
    let double = Double::new(|_| Reply::failure(404));
    let renewal = Some(Duration::from_secs(3600));
    let credentials = Rotating { client: double.client(), file: Arc::default(), read: Arc::default(), renewal };
    let (cluster, _) = Cluster::open(Box::new(credentials.clone()), "worker-0").await;
    for (seconds, read) in [(3599, 1), (2, 2), (60, 2), (3600, 3)] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        let _ = cluster.machine_config("a").await;
        assert_eq!(credentials.read.load(Ordering::Relaxed), read, "after {seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_waited_for_longer_than_the_limit() {
    let double = Double::new(|_| Reply::Silence);
    let cluster = double.cluster().await;
    let start = Instant::now();
    let error = cluster.machine_config("a").await.unwrap_err();
    assert!(matches!(error, ClusterError::Unreachable { .. }) && start.elapsed() <= REQUEST_LIMIT * 2, "{error}");
}

#[tokio::test(start_paused = true)]
async fn credentials_of_somebody_else_are_named_and_replaced_ones_are_taken_at_once() {
    let file = Arc::new(StdMutex::new(0));
    let own = Arc::clone(&file);
    let double = Double::new(move |asked| match asked.line.contains("watch=true") {
        true => Reply::Silence,
        false if *own.lock().unwrap() == 0 => Reply::failure(403),
        false => Reply::Json(
            200,
            json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"},
            "items": [node(1, &json!({}))]}),
        ),
    });
    let credentials = Rotating { client: double.client(), file, read: Arc::default(), renewal: None };
    let (cluster, _) = Cluster::open(Box::new(credentials.clone()), "worker-0").await;
    let mut changes = Box::pin(cluster.node_changes());
    assert_eq!(changes.next().await, Some(Change::Denied("words".to_owned())));
    let long_refused = tokio::time::timeout(Duration::from_secs(300), changes.next()).await;
    assert!(long_refused.is_err(), "a refusal is said once: {long_refused:?}");
    *credentials.file.lock().unwrap() = 1;
    let start = Instant::now();
    assert!(matches!(changes.next().await, Some(Change::Node(Some(_)))));
    assert!(start.elapsed() <= CHANGED_PAUSE * 2, "{:?}", start.elapsed());
}
