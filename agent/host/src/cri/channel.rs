//! One HTTP/2 connection to a Unix socket, as the generated client wants it.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixStream;
use tonic::body::Body;
use tower::Service;

/// A connection that many calls share. It does not come back by itself once it is lost.
#[derive(Clone, Debug)]
pub(super) struct Channel(SendRequest<Body>);

impl Channel {
    /// Connects to whoever listens at a path.
    pub(super) async fn connect(path: &Path) -> std::io::Result<Self> {
        let socket = UnixStream::connect(path).await?;
        let (sender, connection) =
            handshake(TokioExecutor::new(), TokioIo::new(socket)).await.map_err(std::io::Error::other)?;
        // Whoever waits for an answer hears of its end, which is why nobody asks here.
        tokio::spawn(async { drop(connection.await) });
        Ok(Self(sender))
    }

    /// Whether nothing can be asked over it any more.
    pub(super) fn is_lost(&self) -> bool {
        self.0.is_closed()
    }
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}
