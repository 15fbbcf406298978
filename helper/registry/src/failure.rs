//! Why an image could not be read: at one place, and on the whole.
//!
//! Owns the words and which failures may pass. Addresses that registries redirect to carry signatures, so no failure
//! shows an address that did not come from the user.

use std::error::Error;
use std::fmt::Write;
use std::io;
use std::time::Duration;

use ostler_core::malformed::Malformed;
use ostler_core::os::manifest::ManifestError;

use crate::layer::LayerError;
use crate::mirrors::MirrorsError;
use crate::reference::ReferenceError;
use crate::trust::TrustError;

/// Why one place did not give an image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// No connection, or a name that cannot be looked up.
    #[error("the registry cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// A certificate that nobody vouches for.
    #[error("the registry's certificate is not trusted: add its authority to the trusted certificates")]
    Untrusted(#[source] reqwest::Error),
    /// An answer that ended before its end.
    #[error("the registry's answer broke off")]
    Broken(#[source] reqwest::Error),
    /// Something that is no answer.
    #[error("the registry's answer makes no sense")]
    Senseless(#[source] reqwest::Error),
    /// No answer in time.
    #[error("the registry did not answer within {0:?}")]
    Timeout(Duration),
    /// Not there.
    #[error("the registry does not have it")]
    Missing,
    /// Wants a password, or another.
    #[error("the registry wants {}", if *.sent { "other credentials than it was given" } else { "credentials: there are none for it in the pull secret" })]
    Unauthorised {
        /// Whether there were any.
        sent: bool,
    },
    /// Not for us.
    #[error("the registry refuses access")]
    Forbidden,
    /// Too many requests.
    #[error("the registry is asked too often{}", wait(*.after))]
    Busy {
        /// When it wants to be asked again.
        after: Option<Duration>,
    },
    /// Trouble of its own.
    #[error("the registry failed with status {status}{}", wait(*.after))]
    Server {
        /// Which.
        status: u16,
        /// When it wants to be asked again.
        after: Option<Duration>,
    },
    /// Anything else.
    #[error("the registry answered with status {status}, which was not expected")]
    Unexpected {
        /// Which.
        status: u16,
    },
    /// No way to log in that is known.
    #[error("the registry asks to log in in a way that is not known")]
    Challenge,
    /// A token server that would get a password in the clear.
    #[error("the registry sends credentials to a token server without TLS")]
    Realm,
    /// The token server's answer.
    #[error("the registry's token server gave no token")]
    Token,
    /// The manifest.
    #[error("the manifest cannot be used")]
    Manifest(#[source] ManifestError),
    /// A list in a list.
    #[error("the manifest list names another manifest list")]
    Nested,
    /// A list without us.
    #[error("the manifest list has no image for {wanted}, only for {offered}")]
    Platform {
        /// What was looked for.
        wanted: String,
        /// What there is.
        offered: String,
    },
    /// The configuration.
    #[error("the image's configuration is not valid JSON of that kind")]
    Configuration(#[source] Malformed),
    /// Something else than was asked for.
    #[error("the registry gave {found} for {wanted}")]
    Digest {
        /// What was asked for.
        wanted: String,
        /// What came.
        found: String,
    },
    /// More than is read.
    #[error("{what} is larger than {most} bytes")]
    TooLarge {
        /// What.
        what: String,
        /// What would have been read.
        most: u64,
    },
    /// A layer.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The settings for this registry.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// No thread to unpack with.
    #[error("the layer could not be unpacked")]
    Unpack(#[source] io::Error),
}

/// Whether it is worth asking again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    Soon,
    After(Duration),
}

/// One place and why it did not give the image.
#[derive(Debug)]
pub struct Attempt {
    /// The image as it is called there.
    pub place: String,
    /// Why.
    pub failure: Failure,
}

/// Why an image could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// Its name.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// Its mirrors.
    #[error(transparent)]
    Mirrors(#[from] MirrorsError),
    /// Every place that was asked.
    #[error("could not read {image}: {}", told(attempts))]
    Unread {
        /// Which image.
        image: String,
        /// Each place, with what it last said.
        attempts: Vec<Attempt>,
    },
    /// No time left.
    #[error("could not read {image}: it was not done within {after:?}")]
    Deadline {
        /// Which image.
        image: String,
        /// The time there was for all images.
        after: Duration,
    },
}

impl InspectError {
    /// Whether every place answered and none had it, as opposed to some place that could not be asked.
    pub fn is_missing(&self) -> bool {
        let Self::Unread { attempts, .. } = self else { return false };
        attempts.iter().all(|attempt| matches!(attempt.failure, Failure::Missing))
    }
}

impl Failure {
    pub(crate) fn again(&self) -> Again {
        match self {
            Self::Unreachable(_) | Self::Broken(_) | Self::Timeout(_) => Again::Soon,
            Self::Busy { after } | Self::Server { after, .. } => after.map_or(Again::Soon, Again::After),
            _ => Again::Never,
        }
    }

    /// What a failed request means. The address goes: it may be one with a signature.
    pub(crate) fn of_request(error: reqwest::Error, stall: Duration) -> Self {
        let error = error.without_url();
        if is_certificate(&error) {
            return Self::Untrusted(error);
        }
        match () {
            () if error.is_timeout() => Self::Timeout(stall),
            () if error.is_connect() => Self::Unreachable(error),
            () if error.is_builder() || error.is_redirect() => Self::Senseless(error),
            // What the client calls decoding is reading on.
            () => Self::Broken(error),
        }
    }
}

/// Whether a certificate is at the bottom of it. An `io::Error` hides what it holds from `source`.
fn is_certificate(error: &reqwest::Error) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let tls = held.and_then(|held| held.downcast_ref::<rustls::Error>()).or_else(|| error.downcast_ref());
        if matches!(tls, Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        next = match held {
            Some(held) => Some(held),
            None => error.source(),
        };
    }
    false
}

fn wait(after: Option<Duration>) -> String {
    after.map_or_else(String::new, |after| format!(", and wants to be left alone for {} s", after.as_secs()))
}

/// Every place with the whole chain of its causes: several places have no one cause to give.
fn told(attempts: &[Attempt]) -> String {
    let mut text = String::new();
    for attempt in attempts {
        let between = if text.is_empty() { "" } else { "; " };
        let _ = write!(text, "{between}at {}: {}", attempt.place, attempt.failure);
        let mut cause = Error::source(&attempt.failure);
        while let Some(error) = cause {
            let _ = write!(text, ": {error}");
            cause = error.source();
        }
    }
    text
}
