//! A stand-in for the API server: answers as a test says, and remembers what it was asked.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::connect::Cluster;
use super::credentials::{Credentials, Made, Stamp};
use super::error::ClusterError;

/// A request as it arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Method and address.
    pub line: String,
    /// Content type.
    pub form: String,
    /// User agent.
    pub agent: String,
    /// Body, `null` without one.
    pub body: Value,
}

/// An answer.
pub enum Reply {
    /// A status with a document.
    Json(u16, Value),
    /// A status with anything.
    Raw(u16, Vec<u8>),
    /// Lines of a watch, until the sender is dropped.
    Lines(UnboundedReceiver<Value>),
    /// No connection.
    Refused,
    /// No answer, ever.
    Silence,
}

impl Reply {
    /// A failure as the server words it.
    pub fn failure(code: u16) -> Self {
        Self::Json(code, json!({"kind": "Status", "status": "Failure", "message": "words", "code": code}))
    }
}

type Answers = Box<dyn FnMut(&Asked) -> Reply + Send>;

/// The stand-in.
#[derive(Clone)]
pub struct Double {
    asked: Arc<Mutex<Vec<Asked>>>,
    answers: Arc<Mutex<Answers>>,
}

impl Double {
    /// Answers by `answers`.
    pub fn new(answers: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        Self { asked: Arc::default(), answers: Arc::new(Mutex::new(Box::new(answers))) }
    }

    /// Answers each in turn, and with a failure when there is none left.
    pub fn in_turn(replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        Self::new(move |_| replies.pop_front().unwrap_or_else(|| Reply::failure(418)))
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The lines of what was asked so far.
    pub fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }

    /// Access to it for the node `worker-0`.
    pub async fn cluster(&self) -> Cluster {
        Cluster::open(Box::new(Fixed(self.client())), "worker-0").await.0
    }

    /// A client that asks it.
    pub fn client(&self) -> Client {
        let double = self.clone();
        Client::new(
            tower::service_fn(move |request| {
                let double = double.clone();
                async move { double.answer(request).await }
            }),
            "default",
        )
    }

    async fn answer(
        &self,
        request: Request<Body>,
    ) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, std::io::Error> {
        let (head, body) = request.into_parts();
        let header =
            |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
        let bytes = body.collect().await.unwrap().to_bytes();
        let asked = Asked {
            line: format!("{} {}", head.method, head.uri),
            form: header("content-type"),
            agent: header("user-agent"),
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
        };
        let reply = (self.answers.lock().unwrap())(&asked);
        self.asked.lock().unwrap().push(asked);
        let (code, body) = match reply {
            Reply::Json(code, document) => (code, Full::from(document.to_string()).boxed_unsync()),
            Reply::Raw(code, bytes) => (code, Full::from(bytes).boxed_unsync()),
            Reply::Lines(lines) => (200, StreamBody::new(frames(lines)).boxed_unsync()),
            Reply::Refused => return Err(std::io::Error::other("connection refused")),
            Reply::Silence => std::future::pending().await,
        };
        Ok(Response::builder().status(code).body(body).unwrap())
    }
}

fn frames(
    lines: UnboundedReceiver<Value>,
) -> impl futures_util::Stream<Item = Result<Frame<Bytes>, Infallible>> + Send {
    stream::unfold(lines, |mut lines| async move { lines.recv().await.map(|line| (line, lines)) })
        .map(|line| Ok(Frame::data(Bytes::from(format!("{line}\n")))))
}

struct Fixed(Client);

impl Credentials for Fixed {
    fn client(&self) -> BoxFuture<'_, Result<Made, ClusterError>> {
        Box::pin(async { Ok(Made { client: self.0.clone(), stamp: Stamp::new(), renewal: None }) })
    }

    fn stamp(&self) -> Stamp {
        Stamp::new()
    }
}

/// A node as the server shows it.
pub fn node(version: u64, annotations: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-0", "uid": "u-0",
        "resourceVersion": version.to_string(), "annotations": annotations,
        "managedFields": [{"manager": "kubelet", "fieldsV1": {}}]},
        "spec": {"providerID": "x"}, "status": {"images": [{"names": ["a"], "sizeBytes": 1}]}})
}

/// A node's report as the server shows it.
pub fn report(version: u64, desired: &str) -> Value {
    json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigNode",
        "metadata": {"name": "worker-0", "resourceVersion": version.to_string(), "managedFields": [{"manager": "m"}]},
        "spec": {"node": {"name": "worker-0"}, "pool": {"name": "worker"}, "configVersion": {"desired": desired}}})
}
