//! Conversations with registries: connections, the way in, and answers within bounds.
//!
//! Owns connections, one client for each registry, and the tokens they were given. Refuses to know what an answer means:
//! it is a status, or bytes that nobody has verified yet.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_core::pinned::{Credentials, Login};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, NoProxy, Response, StatusCode};

use crate::challenge::{self, Challenge, Token};
use crate::failure::Failure;
use crate::mirrors::Place;
use crate::options::{Options, Patience, Proxy};
use crate::trust::{Trust, TrustError};

/// Both families of manifest, and lists of them.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json";
const MOST_TOKEN: u64 = 1024 * 1024;
const MOST_REFUSAL: u64 = 64 * 1024;
const MOST_REDIRECTS: usize = 10;
const MOST_IDLE: usize = 8;
const AGENT: &str = concat!("ostler/", env!("CARGO_PKG_VERSION"));

/// What of a repository.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'p> {
    /// By tag or digest.
    Manifest(&'p str),
    /// By digest.
    Blob(&'p str),
}

/// All conversations.
pub(crate) struct Session {
    trust: Trust,
    proxy: Proxy,
    credentials: Credentials,
    patience: Patience,
    /// By registry, and whether it may be insecure.
    clients: Mutex<HashMap<(String, bool), Client>>,
    /// By repository.
    tickets: Mutex<HashMap<String, Ticket>>,
    /// Registries that may be insecure and speak no TLS.
    plain: Mutex<HashSet<String>>,
}

/// What is shown at the door.
#[derive(Clone)]
struct Ticket {
    /// Marked as sensitive, so it never formats.
    value: HeaderValue,
    until: Option<tokio::time::Instant>,
}

impl Session {
    pub(crate) fn new(options: &Options) -> Result<Self, TrustError> {
        let session = Self {
            trust: Trust::new(options)?,
            proxy: options.proxy.clone(),
            credentials: options.credentials.clone(),
            patience: options.patience,
            clients: Mutex::default(),
            tickets: Mutex::default(),
            plain: Mutex::default(),
        };
        proxies(&session.proxy)?;
        Ok(session)
    }

    /// A small answer, whole.
    pub(crate) async fn small(&self, place: &Place, part: Part<'_>, most: u64) -> Result<Vec<u8>, Failure> {
        let asking = async { self.read(self.get(place, part).await?, part.name(), most).await };
        within(self.patience.answer, asking).await
    }

    /// The beginning of an answer. Its status was fine; whoever takes it reads it in time.
    pub(crate) async fn get(&self, place: &Place, part: Part<'_>) -> Result<Response, Failure> {
        let known = self.ticket(place);
        let response = self.send(place, part, known.as_ref()).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return checked(response, known.is_some());
        }
        let secure = response.url().scheme() == "https";
        let challenge = challenge::read(response.headers()).ok_or(Failure::Challenge);
        // Read to its end, the answer leaves a connection to ask again on.
        let _ = self.read(response, "", MOST_REFUSAL).await;
        let ticket = self.admission(place, challenge?, secure).await?;
        let response = self.send(place, part, Some(&ticket)).await?;
        let response = checked(response, self.login(place).is_some())?;
        locked(&self.tickets).insert(place.image.repository().to_owned(), ticket);
        Ok(response)
    }

    /// The next bytes of an answer.
    pub(crate) async fn next(&self, response: &mut Response) -> Result<Option<bytes::Bytes>, Failure> {
        response.chunk().await.map_err(|error| Failure::of_request(error, self.patience.stall))
    }

    async fn read(&self, mut response: Response, what: &str, most: u64) -> Result<Vec<u8>, Failure> {
        let large = || Failure::TooLarge { what: what.to_owned(), most };
        if response.content_length().is_some_and(|length| length > most) {
            return Err(large());
        }
        let mut bytes = Vec::new();
        while let Some(more) = self.next(&mut response).await? {
            bytes.extend_from_slice(&more);
            if u64::try_from(bytes.len()).is_ok_and(|length| length > most) {
                return Err(large());
            }
        }
        Ok(bytes)
    }

    async fn send(&self, place: &Place, part: Part<'_>, ticket: Option<&Ticket>) -> Result<Response, Failure> {
        let host = place.image.host();
        let plain = place.insecure && locked(&self.plain).contains(host);
        let encrypted = self.send_by(if plain { "http" } else { "https" }, place, part, ticket).await;
        if plain || !place.insecure || !matches!(encrypted, Err(Failure::Unreachable(_))) {
            return encrypted;
        }
        // A registry without TLS and one that is down look alike; what TLS said is what is told of the latter.
        match self.send_by("http", place, part, ticket).await {
            Ok(response) => {
                locked(&self.plain).insert(host.to_owned());
                Ok(response)
            }
            Err(_) => encrypted,
        }
    }

    async fn send_by(
        &self,
        scheme: &str,
        place: &Place,
        part: Part<'_>,
        ticket: Option<&Ticket>,
    ) -> Result<Response, Failure> {
        let image = &place.image;
        let (kind, name) = match part {
            Part::Manifest(name) => ("manifests", name),
            Part::Blob(digest) => ("blobs", digest),
        };
        let address = format!("{scheme}://{}/v2/{}/{kind}/{name}", endpoint(image.host()), image.path());
        let mut request = self.client(image.host(), place.insecure)?.get(address);
        if matches!(part, Part::Manifest(_)) {
            request = request.header(ACCEPT, MANIFESTS);
        }
        if let Some(ticket) = ticket {
            request = request.header(AUTHORIZATION, ticket.value.clone());
        }
        request.send().await.map_err(|error| Failure::of_request(error, self.patience.stall))
    }

    /// What the registry asks for at its door.
    async fn admission(&self, place: &Place, challenge: Challenge, secure: bool) -> Result<Ticket, Failure> {
        let login = self.login(place);
        match challenge {
            Challenge::Basic => {
                let login = login.ok_or(Failure::Unauthorised { sent: false })?;
                Ok(Ticket { value: challenge::basic(login).ok_or(Failure::Challenge)?, until: None })
            }
            Challenge::Bearer(asked) => {
                let scope = format!("repository:{}:pull", place.image.path());
                let address = asked.address(&scope, secure).ok_or(Failure::Realm)?;
                let token = self.token(place, address, login).await?;
                let until = tokio::time::Instant::now().checked_add(token.lifetime());
                Ok(Ticket { value: challenge::bearer(&token).ok_or(Failure::Token)?, until })
            }
        }
    }

    async fn token(&self, place: &Place, address: reqwest::Url, login: Option<&Login>) -> Result<Token, Failure> {
        let host = challenge::host_of(&address).ok_or(Failure::Challenge)?;
        let mut request = self.client(&host, place.insecure)?.get(address);
        if let Some(login) = login {
            request = request.header(AUTHORIZATION, challenge::basic(login).ok_or(Failure::Challenge)?);
        }
        let response = request.send().await.map_err(|error| Failure::of_request(error, self.patience.stall))?;
        let response = checked(response, login.is_some())?;
        let bytes = self.read(response, "the answer of the token server", MOST_TOKEN).await?;
        Token::parse(&bytes).ok_or(Failure::Token)
    }

    fn login(&self, place: &Place) -> Option<&Login> {
        self.credentials.for_repository(place.image.repository())
    }

    fn ticket(&self, place: &Place) -> Option<Ticket> {
        let tickets = locked(&self.tickets);
        let ticket = tickets.get(place.image.repository())?;
        let fresh = ticket.until.is_none_or(|until| until > tokio::time::Instant::now());
        fresh.then(|| ticket.clone())
    }

    fn client(&self, host: &str, insecure: bool) -> Result<Client, TrustError> {
        let mut clients = locked(&self.clients);
        let key = (host.to_owned(), insecure);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let mut builder = Client::builder()
            .no_proxy()
            .user_agent(AGENT)
            .connect_timeout(self.patience.connect)
            .read_timeout(self.patience.stall)
            .pool_max_idle_per_host(MOST_IDLE)
            .referer(false)
            .redirect(Policy::custom(redirected))
            .tls_backend_preconfigured(self.trust.config(host, insecure)?);
        for proxy in proxies(&self.proxy)? {
            builder = builder.proxy(proxy);
        }
        let client = builder.build().map_err(TrustError::Client)?;
        clients.insert(key, client.clone());
        Ok(client)
    }
}

impl Part<'_> {
    const fn name(self) -> &'static str {
        match self {
            Self::Manifest(_) => "the manifest",
            Self::Blob(_) => "the image's configuration",
        }
    }
}

/// Limits how long something takes.
pub(crate) async fn within<T>(limit: Duration, asking: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::time::timeout(limit, asking).await.unwrap_or(Err(Failure::Timeout(limit)))
}

/// What a registry's name stands for; Docker's own is another than it says.
fn endpoint(host: &str) -> &str {
    if host == "docker.io" { "registry-1.docker.io" } else { host }
}

/// Registries send clients to storage elsewhere, which is fine as long as nothing that was encrypted goes on in the clear.
fn redirected(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let encrypted = attempt.previous().last().is_some_and(|previous| previous.scheme() == "https");
    if attempt.previous().len() > MOST_REDIRECTS || (encrypted && attempt.url().scheme() != "https") {
        return attempt.error("the registry redirects too often, or to an address without TLS");
    }
    attempt.follow()
}

fn proxies(proxy: &Proxy) -> Result<Vec<reqwest::Proxy>, TrustError> {
    let except = NoProxy::from_string(&proxy.except);
    let https = proxy.https.as_ref().map(|address| reqwest::Proxy::https(address.expose()).map_err(|_| "HTTPS"));
    let http = proxy.http.as_ref().map(|address| reqwest::Proxy::http(address.expose()).map_err(|_| "HTTP"));
    let made = https.into_iter().chain(http).map(|made| match made {
        Ok(proxy) => Ok(proxy.no_proxy(except.clone())),
        Err(which) => Err(TrustError::Proxy { which }),
    });
    made.collect()
}

/// Tells good answers from bad ones.
fn checked(response: Response, sent: bool) -> Result<Response, Failure> {
    let after = retry_after(response.headers());
    match response.status() {
        StatusCode::OK => Ok(response),
        StatusCode::UNAUTHORIZED => Err(Failure::Unauthorised { sent }),
        StatusCode::FORBIDDEN => Err(Failure::Forbidden),
        StatusCode::NOT_FOUND => Err(Failure::Missing),
        StatusCode::REQUEST_TIMEOUT => Err(Failure::Server { status: 408, after }),
        StatusCode::TOO_MANY_REQUESTS => Err(Failure::Busy { after }),
        status if status.is_server_error() => Err(Failure::Server { status: status.as_u16(), after }),
        status => Err(Failure::Unexpected { status: status.as_u16() }),
    }
}

/// Seconds only: registries do not send dates, and one would need a clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// Nothing here is left half done by a panic, and nobody panics.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
