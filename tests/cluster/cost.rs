//! What a node costs its API server: requests and bytes of an update, whatever else is in the cluster.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream;
use serde_json::Value;

use super::agent::{Subject, with_file};
use super::cluster::controller::{Controller, machine_config};
use super::cluster::loudly;
use super::cluster::proxy::Proxy;
use super::cluster::server::Server;

/// A file whose change takes neither a drain nor a restart.
const QUIET: &str = "/var/lib/kubelet/config.json";
/// Most requests that an update without a restart may take.
const MOST: usize = 25;
/// How many other nodes there are.
const OTHERS: usize = 1000;
/// How many of them are made at the same time.
const AT_ONCE: usize = 32;
/// A node that asks nothing for this long has come to rest.
const REST: Duration = Duration::from_secs(5);

/// What was asked and transferred.
#[derive(Clone, Debug, Default)]
struct Cost {
    requests: Vec<String>,
    bytes: u64,
}

impl Cost {
    fn since(&self, start: &Self) -> Self {
        Self { requests: self.requests[start.requests.len()..].to_vec(), bytes: self.bytes - start.bytes }
    }

    fn tell(&self, what: &str) {
        loudly(&format!("{what}: {} requests, {} bytes", self.requests.len(), self.bytes));
        let mut counts = BTreeMap::<_, usize>::new();
        self.requests.iter().for_each(|request| *counts.entry(request).or_default() += 1);
        counts.iter().for_each(|(request, count)| loudly(&format!("  {count:>3} {request}")));
    }

    /// Whether both are of one size. On a busy machine a watch may answer late, and then the status object is asked for and
    /// written once or twice more: some six requests and fifty kilobytes. The objects of a thousand others are megabytes.
    fn assert_like(&self, other: &Self) {
        assert!(self.requests.len().abs_diff(other.requests.len()) <= 6, "{self:#?} {other:#?}");
        assert!(self.bytes.abs_diff(other.bytes) <= 100_000, "{} and {} bytes", self.bytes, other.bytes);
    }
}

/// A node behind a wire.
struct Metered<'a> {
    server: &'a Server,
    wire: &'a Proxy,
    subject: Subject,
}

impl Metered<'_> {
    fn cost(&self) -> Cost {
        let asked = self.server.requests_by(&format!("system:node:{}", self.subject.name));
        let requests = asked.iter().map(|request| format!("{} {}", request.verb, resource(&request.uri))).collect();
        Cost { requests, bytes: self.wire.sent() + self.wire.received() }
    }

    /// The cost when nothing has been asked for a while.
    async fn at_rest(&self) -> Cost {
        let mut last = self.cost();
        let mut since = Instant::now();
        while since.elapsed() < REST {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = self.cost();
            if now.requests.len() != last.requests.len() {
                since = Instant::now();
            }
            last = now;
        }
        last
    }

    async fn start(&mut self, config: &str) -> Cost {
        let before = self.cost();
        self.subject.start();
        self.subject.done(config).await;
        self.at_rest().await.since(&before)
    }

    async fn update(&self, to: &Value) -> Cost {
        let name = to["metadata"]["name"].as_str().unwrap();
        self.subject.make(name, &to["spec"]["config"]).await;
        let before = self.at_rest().await;
        self.subject.want(name).await;
        self.subject.done(name).await;
        self.at_rest().await.since(&before)
    }
}

/// What a request is about, without names and options.
fn resource(uri: &str) -> String {
    let path = uri.split('?').next().unwrap_or_default();
    let known = ["machineconfignodes", "machineconfigurations", "machineconfigs", "featuregates", "events", "nodes"];
    let kind = known.into_iter().find(|kind| path.split('/').any(|part| part == *kind)).unwrap_or(path);
    if path.ends_with("/status") { format!("{kind}/status") } else { kind.to_owned() }
}

/// As many nodes as a large cluster has, each with what belongs to it.
async fn populate(controller: &Controller) {
    let made = stream::iter(0..OTHERS).map(|number| async move {
        let name = format!("other-{number}");
        controller.introduce(&name).await;
        let config = with_file("", QUIET, &"x".repeat(1000))["spec"]["config"].clone();
        controller.create_config(&machine_config(&format!("rendered-{name}"), config)).await;
    });
    made.buffer_unordered(AT_ONCE).collect::<()>().await;
}

#[tokio::test]
async fn an_update_takes_few_requests_and_as_many_among_a_thousand_nodes() {
    let Some(server) = Server::start().await else { return };
    let wire = server.wire();
    let controller = Controller::new(server.admin().await);
    let first = with_file("rendered-cost-1", QUIET, "1");
    let kubeconfig = server.node_through("cost", &wire);
    let subject = Subject::installed("cost", kubeconfig, controller.clone(), &first).await;
    let mut node = Metered { server: &server, wire: &wire, subject };
    node.start("rendered-cost-1").await.tell("the first start");
    let alone = node.update(&with_file("rendered-cost-2", QUIET, "2")).await;
    alone.tell("an update");
    assert!(alone.requests.len() <= MOST, "{alone:#?}");
    node.subject.stop();
    let start_alone = node.start("rendered-cost-2").await;
    start_alone.tell("a start");
    populate(&controller).await;
    let among = node.update(&with_file("rendered-cost-3", QUIET, "3")).await;
    among.tell("an update among a thousand nodes");
    alone.assert_like(&among);
    node.subject.stop();
    let start_among = node.start("rendered-cost-3").await;
    start_among.tell("a start among a thousand nodes");
    start_alone.assert_like(&start_among);
}
