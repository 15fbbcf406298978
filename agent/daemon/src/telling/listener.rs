//! Serves the metrics over HTTP on the loopback: `GET /metrics`, one answer per connection, a few connections at a time.
//!
//! Owns the socket and its limits. A port that somebody else holds is no reason to stop looking after the node.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use ostler_core::node::Notice;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::metrics::{self, Metrics};

/// How many are served at once; others wait in the kernel.
const MAX_CONNECTIONS: usize = 4;
/// How long somebody may take to ask.
const ASKING: Duration = Duration::from_secs(5);
/// How long somebody may take to ask and to read the answer.
const CONNECTION: Duration = Duration::from_secs(10);
/// How long nothing is accepted after the kernel could not give a connection, which mostly is want of descriptors.
const PAUSE: Duration = Duration::from_secs(1);

/// The metrics at an address.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    metrics: Arc<Metrics>,
    serving: Option<(SocketAddr, JoinHandle<()>)>,
    complained: bool,
}

impl Listener {
    /// These metrics at this address, as soon as [`Self::ensure`] is called.
    pub const fn new(address: SocketAddr, metrics: Arc<Metrics>) -> Self {
        Self { address, metrics, serving: None, complained: false }
    }

    /// Where it listens, if it does.
    #[cfg(test)]
    pub fn address(&self) -> Option<SocketAddr> {
        self.serving.as_ref().map(|(address, _)| *address)
    }

    /// Listens, unless it does already. What keeps it from doing so is said once, and again after it had succeeded.
    pub async fn ensure(&mut self) -> Option<Notice> {
        if self.serving.as_ref().is_some_and(|(_, task)| !task.is_finished()) {
            return None;
        }
        self.serving = None;
        let bound = TcpListener::bind(self.address).await;
        match bound.and_then(|listener| Ok((listener.local_addr()?, listener))) {
            Ok((address, listener)) => {
                let task = tokio::spawn(serve(listener, Arc::clone(&self.metrics)));
                self.serving = Some((address, task));
                self.complained = false;
                None
            }
            Err(_) if self.complained => None,
            Err(error) => {
                self.complained = true;
                Some(Notice::MetricsUnavailable { address: self.address.to_string(), reason: error.to_string() })
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((_, task)) = &self.serving {
            task.abort();
        }
    }
}

async fn serve(listener: TcpListener, metrics: Arc<Metrics>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    // It is never closed, so that a place is always to be had in the end.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let metrics = Arc::clone(&metrics);
                tokio::spawn(async move {
                    answer(stream, &metrics).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn answer(stream: TcpStream, metrics: &Metrics) {
    let mut server = http1::Builder::new();
    server.keep_alive(false).timer(TokioTimer::new()).header_read_timeout(ASKING).max_buf_size(16 * 1024);
    let service = service_fn(|request: Request<Incoming>| async move {
        Ok::<_, Infallible>(respond(request.method(), request.uri().path(), metrics))
    });
    // Whoever does not ask properly, or is gone, gets nothing: there is nobody to tell.
    let _ = tokio::time::timeout(CONNECTION, server.serve_connection(TokioIo::new(stream), service)).await;
}

fn respond(method: &Method, path: &str, metrics: &Metrics) -> Response<Full<Bytes>> {
    let (status, body) = match (method, path) {
        (&Method::GET, "/metrics") => (StatusCode::OK, metrics.text()),
        (_, "/metrics") => (StatusCode::METHOD_NOT_ALLOWED, String::new()),
        _ => (StatusCode::NOT_FOUND, String::new()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    match status {
        StatusCode::OK => headers.insert(CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE)),
        StatusCode::METHOD_NOT_ALLOWED => headers.insert(ALLOW, HeaderValue::from_static("GET")),
        _ => None,
    };
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

    async fn listening() -> (Listener, SocketAddr) {
        let metrics = Arc::new(Metrics::default());
        metrics.set_pivot_errors(7);
        let mut listener = Listener::new(ANY, metrics);
        assert_eq!(listener.ensure().await, None);
        let address = listener.address().unwrap();
        (listener, address)
    }

    /// More than a busy machine takes.
    const PATIENCE: Duration = Duration::from_secs(60);

    async fn said(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        // Without keep-alive the answer ends with the connection; a test that waits for more than that fails.
        tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    }

    #[tokio::test]
    async fn the_metrics_are_served_and_nothing_else_is() {
        let (listener, address) = listening().await;
        let answer = said(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
        assert!(answer.contains("\nmcd_pivot_errors_total 7\n") && answer.ends_with("# EOF\n"), "{answer}");
        for (request, status) in [
            ("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "405 Method Not Allowed"),
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "404 Not Found"),
            ("GET /metrics/../debug HTTP/1.1\r\nHost: x\r\n\r\n", "404 Not Found"),
            ("nonsense\r\n\r\n", "400 Bad Request"),
        ] {
            let answer = said(address, request).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request:?}: {answer}");
        }
        drop(listener);
    }

    #[tokio::test]
    async fn a_port_in_use_is_said_once_and_tried_again() {
        let (first, address) = listening().await;
        let mut second = Listener::new(address, Arc::new(Metrics::default()));
        assert!(matches!(second.ensure().await, Some(Notice::MetricsUnavailable { .. })));
        assert_eq!((second.ensure().await, second.address()), (None, None));
        drop(first);
        while second.address().is_none() {
            assert_eq!(second.ensure().await, None);
            tokio::task::yield_now().await;
        }
        assert!(said(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await.starts_with("HTTP/1.1 200"));
    }

    #[tokio::test]
    async fn those_beyond_the_limit_wait_until_somebody_is_done() {
        let (listener, address) = listening().await;
        let mut silent = Vec::new();
        for _ in 0..MAX_CONNECTIONS {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let mut waiting = TcpStream::connect(address).await.unwrap();
        waiting.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        let early = tokio::time::timeout(Duration::from_millis(200), waiting.read_to_end(&mut answer)).await;
        assert!(early.is_err() && answer.is_empty(), "it was served although all places were taken");
        silent.pop();
        tokio::time::timeout(PATIENCE, waiting.read_to_end(&mut answer)).await.unwrap().unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"));
        drop(listener);
    }
}
