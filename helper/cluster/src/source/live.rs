//! A running cluster: lists by pages, single objects by name.
//!
//! Owns the client and the bounds of an answer. Refuses to repeat a request that failed: whoever asks decides.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;
use kube::api::{GetParams, ListParams};
use kube::client::{Body, ClientBuilder};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, Request, Resource as _};
use ostler_cluster_core::objects::{self, Resource};
use serde_json::Value;
use tokio::time::timeout;
use tower::BoxError;
use tower::filter::FilterLayer;

use super::{Narrow, ReadError};
use crate::cli::ClusterOptions;

/// Longest time of a request with its answer.
const REQUEST_LIMIT: Duration = Duration::from_secs(60);
/// Longest time to connect.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Most pages of one list: more objects than a cluster can hold.
const MAX_PAGES: usize = 10_000;
/// How often a list is begun anew when the server has forgotten where we were.
const MAX_BEGINNINGS: usize = 3;

/// A running cluster.
pub struct Live {
    pub(super) client: Client,
}

impl Live {
    /// Reads the credentials; whether the cluster is there shows with the first request.
    pub async fn connect(options: &ClusterOptions) -> Result<Self> {
        let config = Self::config(options).await?;
        Ok(Self { client: Client::try_from(config).context(UNUSABLE)? })
    }

    /// The same for those who only read: a request that is no reading does not leave this process, whoever makes it.
    pub async fn connect_to_read(options: &ClusterOptions) -> Result<Self> {
        let config = Self::config(options).await?;
        let builder = ClientBuilder::try_from(config).context(UNUSABLE)?;
        Ok(Self { client: builder.with_layer(&FilterLayer::new(reading)).build() })
    }

    async fn config(options: &ClusterOptions) -> Result<Config> {
        let choice = KubeConfigOptions { context: options.context.clone(), ..KubeConfigOptions::default() };
        let mut config = match &options.kubeconfig {
            Some(path) => from_file(path, &choice).await?,
            None if options.context.is_some() => {
                Config::from_kubeconfig(&choice).await.context("cannot use that context of the kubeconfig")?
            }
            None => Config::infer().await.context(
                "no credentials for a cluster: name them with --kubeconfig, or a directory of objects with --from-dir",
            )?,
        };
        config.connect_timeout = Some(CONNECT_LIMIT);
        Ok(config)
    }

    /// A cluster behind a service, for those who only read.
    #[cfg(test)]
    pub fn reading<S>(service: S) -> Self
    where
        S: tower::Service<http::Request<Body>, Response = http::Response<Body>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
    {
        let builder = ClientBuilder::new(service, "default");
        Self { client: builder.with_layer(&FilterLayer::new(reading)).build() }
    }

    /// A cluster behind a client.
    #[cfg(test)]
    pub const fn new(client: Client) -> Self {
        Self { client }
    }

    /// The client, for those who write.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// All objects of a kind.
    pub async fn list<T: Resource>(&self, namespace: Option<&str>) -> Result<Vec<T>, ReadError> {
        self.list_some(namespace, Narrow::default()).await
    }

    /// Objects of a kind, as far as the server may narrow them down.
    pub async fn list_some<T: Resource>(
        &self,
        namespace: Option<&str>,
        narrow: Narrow<'_>,
    ) -> Result<Vec<T>, ReadError> {
        for version in versions::<T>() {
            match self.list_version(version, namespace, narrow).await {
                Err(ReadError::UnknownKind { .. }) => {}
                read => return read,
            }
        }
        Err(unknown::<T>())
    }

    /// One object.
    pub async fn get<T: Resource>(&self, namespace: Option<&str>, name: &str) -> Result<Option<T>, ReadError> {
        for version in versions::<T>() {
            match self.get_version(version, namespace, name).await {
                Err(ReadError::UnknownKind { .. }) => {}
                read => return read,
            }
        }
        Err(unknown::<T>())
    }

    async fn get_version<T: Resource>(
        &self,
        version: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<T>, ReadError> {
        let what = format!("{} {name}", T::KIND);
        let request = Request::new(path::<T>(version, namespace)).get(name, &GetParams::default());
        let request = request.map_err(|_| ReadError::Answer { what: what.clone(), problem: NO_REQUEST.to_owned() })?;
        match self.ask(&what, request).await {
            Ok(object) => typed(object, version).map(Some),
            Err(Failure::NotFound { object: true }) => Ok(None),
            Err(Failure::NotFound { object: false } | Failure::Expired) => Err(unknown::<T>()),
            Err(Failure::Other(error)) => Err(error),
        }
    }

    async fn list_version<T: Resource>(
        &self,
        version: &str,
        namespace: Option<&str>,
        narrow: Narrow<'_>,
    ) -> Result<Vec<T>, ReadError> {
        let what = format!("the list of {}", T::PLURAL);
        for _ in 0..MAX_BEGINNINGS {
            match self.pages::<T>(version, namespace, narrow, &what).await {
                Ok(items) => return Ok(items),
                Err(Failure::Expired) => {}
                Err(Failure::NotFound { .. }) => return Err(unknown::<T>()),
                Err(Failure::Other(error)) => return Err(error),
            }
        }
        Err(ReadError::Answer { what, problem: "it changes faster than it can be read".to_owned() })
    }

    /// Only what is kept of an object outlives its page: there may be thousands.
    async fn pages<T: Resource>(
        &self,
        version: &str,
        namespace: Option<&str>,
        narrow: Narrow<'_>,
        what: &str,
    ) -> Result<Vec<T>, Failure> {
        let mut parameters = ListParams::default().limit(T::PAGE);
        parameters.field_selector = narrow.fields.map(str::to_owned);
        parameters.label_selector = narrow.labels.map(str::to_owned);
        let mut items = Vec::new();
        for _ in 0..MAX_PAGES {
            let request = Request::new(path::<T>(version, namespace)).list(&parameters);
            let request = request.map_err(|_| Failure::answer(what, NO_REQUEST))?;
            let mut page = self.ask(what, request).await?;
            match page.get_mut("items").map(Value::take) {
                Some(Value::Array(found)) => {
                    for item in found {
                        items.push(typed(item, version).map_err(Failure::Other)?);
                    }
                }
                Some(Value::Null) => {}
                _ => return Err(Failure::answer(what, "the answer is no list")),
            }
            match page.pointer("/metadata/continue").and_then(Value::as_str) {
                Some(token) if !token.is_empty() => parameters.continue_token = Some(token.to_owned()),
                _ => return Ok(items),
            }
        }
        Err(Failure::answer(what, "the list has no end"))
    }

    pub(super) async fn ask(&self, what: &str, request: http::Request<Vec<u8>>) -> Result<Value, Failure> {
        match timeout(REQUEST_LIMIT, self.client.request(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => {
                Err(Failure::NotFound { object: status.details.is_some_and(|details| !details.name.is_empty()) })
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 410 => Err(Failure::Expired),
            Ok(Err(error)) => Err(Failure::Other(ReadError::new(what, error))),
            Err(_) => Err(Failure::Other(ReadError::Unreachable {
                what: what.to_owned(),
                cause: format!("no answer within {} s", REQUEST_LIMIT.as_secs()).into(),
            })),
        }
    }
}

const UNUSABLE: &str = "the credentials for the cluster cannot be used";

/// Lets nothing through but what reads; `get`, `list` and `watch` are all one to HTTP.
fn reading(request: http::Request<Body>) -> Result<http::Request<Body>, BoxError> {
    if request.method() == http::Method::GET {
        return Ok(request);
    }
    Err(format!("{} {} was not sent: this command only reads", request.method(), request.uri().path()).into())
}

const NO_REQUEST: &str = "there can be no such request";

/// Why a request has no answer.
pub(super) enum Failure {
    /// There is no such object, or, where the server names none, no such kind.
    NotFound { object: bool },
    /// The server has forgotten where in the list we were.
    Expired,
    /// Anything else.
    Other(ReadError),
}

impl Failure {
    fn answer(what: &str, problem: &str) -> Self {
        Self::Other(ReadError::Answer { what: what.to_owned(), problem: problem.to_owned() })
    }
}

async fn from_file(path: &Path, choice: &KubeConfigOptions) -> Result<Config> {
    // The causes stay here: they may quote the file.
    let kubeconfig = Kubeconfig::read_from(path)
        .map_err(|_| anyhow::anyhow!("{} cannot be read or is no kubeconfig", path.display()))?;
    Config::from_custom_kubeconfig(kubeconfig, choice).await.map_err(|_| {
        anyhow::anyhow!("{} names no cluster and user to use, or files that cannot be read", path.display())
    })
}

pub(super) fn versions<T: Resource>() -> impl Iterator<Item = &'static str> {
    std::iter::once(T::VERSION).chain(T::OLDER_VERSIONS.iter().copied())
}

const fn unknown<T: Resource>() -> ReadError {
    ReadError::UnknownKind { kind: T::KIND, group: T::GROUP }
}

pub(super) fn path<T: Resource>(version: &str, namespace: Option<&str>) -> String {
    let kind = GroupVersionKind::gvk(T::GROUP, version, T::KIND);
    let resource = ApiResource::from_gvk_with_plural(&kind, T::PLURAL);
    DynamicObject::url_path(&resource, namespace.filter(|_| T::NAMESPACED))
}

/// Items of a list do not say what they are; those who keep whole objects want to know.
fn typed<T: Resource>(mut object: Value, version: &str) -> Result<T, ReadError> {
    if let Some(fields) = object.as_object_mut() {
        let api_version = if T::GROUP.is_empty() { version.to_owned() } else { format!("{}/{version}", T::GROUP) };
        fields.entry("apiVersion").or_insert_with(|| api_version.into());
        fields.entry("kind").or_insert_with(|| T::KIND.into());
    }
    let name = super::full_name(&object);
    objects::read(object).map_err(|cause| ReadError::Malformed { kind: T::KIND, name, cause })
}
