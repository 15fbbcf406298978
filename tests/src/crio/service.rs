//! The server side of the image service.

use std::fmt;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::oneshot::Receiver;
use tonic::codegen::Service;
use tonic::{Request, Response, Status};

use super::generated::image_service_server::{ImageService, ImageServiceServer};
use super::generated::{
    AuthConfig, FilesystemIdentifier, FilesystemUsage, Image, ImageFsInfoRequest, ImageFsInfoResponse,
    ImageStatusRequest, ImageStatusResponse, PullImageRequest, PullImageResponse,
};
use super::{Answer, Pull, Shared};

/// Serves until told to stop, with all connections on this one thread.
pub(super) fn serve(listener: UnixListener, shared: &Arc<Shared>, stopped: Receiver<()>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let Ok(listener) = tokio::net::UnixListener::from_std(listener) else { return };
        let accept = async {
            while let Ok((socket, _)) = listener.accept().await {
                let server = ImageServiceServer::new(Images(Arc::clone(shared)));
                let answer = service_fn(move |request| server.clone().call(request));
                let connection = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(socket), answer);
                tokio::spawn(async { drop(connection.await) });
            }
        };
        tokio::select! {
            () = accept => {}
            _ = stopped => {}
        }
    });
}

struct Images(Arc<Shared>);

/// A pull under way; its end is noticed however it comes.
struct UnderWay<'s> {
    shared: &'s Shared,
    over: bool,
}

impl<'s> UnderWay<'s> {
    fn begin(shared: &'s Shared, pull: Pull) -> Self {
        shared.change(|seen| {
            seen.pulls.push(pull);
            seen.under_way += 1;
            seen.most_under_way = seen.most_under_way.max(seen.under_way);
        });
        Self { shared, over: false }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.shared.change(|seen| {
            seen.under_way -= 1;
            seen.given_up += usize::from(!self.over);
        });
    }
}

#[tonic::async_trait]
impl ImageService for Images {
    async fn image_status(
        &self,
        request: Request<ImageStatusRequest>,
    ) -> Result<Response<ImageStatusResponse>, Status> {
        let name = request.into_inner().image.unwrap_or_default().image;
        let there = self.0.lock().images.contains(&name);
        Ok(Response::new(ImageStatusResponse { image: there.then_some(Image { id: name }) }))
    }

    async fn pull_image(&self, request: Request<PullImageRequest>) -> Result<Response<PullImageResponse>, Status> {
        let request = request.into_inner();
        let image = request.image.unwrap_or_default().image;
        let pull = Pull { image: image.clone(), user: request.auth.map(|auth| auth.username) };
        let released = self.0.released.notified();
        let mut pulling = UnderWay::begin(&self.0, pull);
        let answer = self.0.change(|seen| seen.answers.get_mut(&image).and_then(|answers| answers.pop_front()));
        let outcome = match answer.unwrap_or(Answer::Succeed) {
            Answer::Succeed => Ok(true),
            Answer::Lose => Ok(false),
            Answer::Fail(words) => Err(Status::unknown(words)),
            Answer::Hang => {
                if !self.0.look_go() {
                    released.await;
                }
                Ok(true)
            }
        };
        pulling.over = true;
        drop(pulling);
        if outcome? {
            self.0.change(|seen| seen.images.insert(image.clone()));
        }
        Ok(Response::new(PullImageResponse { image_ref: image }))
    }

    async fn image_fs_info(
        &self,
        _request: Request<ImageFsInfoRequest>,
    ) -> Result<Response<ImageFsInfoResponse>, Status> {
        let mountpoint = self.0.lock().storage.clone();
        let usage = FilesystemUsage { fs_id: Some(FilesystemIdentifier { mountpoint }) };
        Ok(Response::new(ImageFsInfoResponse { image_filesystems: vec![usage] }))
    }
}

impl Shared {
    fn look_go(&self) -> bool {
        self.lock().let_go
    }
}

impl fmt::Debug for AuthConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("[redacted]")
    }
}
