//! How a registry says what it wants to see at its door, and how that is shown.
//!
//! Owns the reading of challenges and tokens, and the making of `Authorization` headers, which never format. Refuses to
//! send anything.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_auth::ChallengeParser;
use ostler_core::pinned::Login;
use ostler_core::secret::Secret;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use serde::Deserialize;

use crate::reference::is_host;

/// What tokens last when nothing is said, as the specification has it.
const LIFETIME: u64 = 60;
/// Tokens are got anew this long before they end.
const MARGIN: u64 = 10;
/// However long a token claims to last.
const MOST_LIFETIME: u64 = 3600;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// A name and a password.
    Basic,
    /// A token from elsewhere.
    Bearer(Bearer),
}

/// Where a token comes from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bearer {
    realm: String,
    service: Option<String>,
}

/// A token.
#[derive(Debug)]
pub(crate) struct Token {
    value: Secret<String>,
    lifetime: u64,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    token: String,
    #[serde(default)]
    access_token: String,
    #[serde(default)]
    expires_in: Option<u64>,
}

impl Bearer {
    /// The address that gives a token; none where a password would go there in the clear although the registry itself is
    /// encrypted, or where it is no address.
    pub(crate) fn address(&self, scope: &str, secure: bool) -> Option<Url> {
        let mut address = Url::parse(&self.realm).ok()?;
        if !(address.scheme() == "https" || (address.scheme() == "http" && !secure)) {
            return None;
        }
        if let Some(service) = &self.service {
            address.query_pairs_mut().append_pair("service", service);
        }
        address.query_pairs_mut().append_pair("scope", scope);
        Some(address)
    }
}

impl Token {
    /// Reads what a token server answers.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let answer: Answer = serde_json::from_slice(bytes).ok()?;
        let value = if answer.token.is_empty() { answer.access_token } else { answer.token };
        let lifetime = answer.expires_in.unwrap_or(LIFETIME).min(MOST_LIFETIME).saturating_sub(MARGIN);
        (!value.is_empty()).then(|| Self { value: Secret::new(value), lifetime })
    }

    pub(crate) const fn lifetime(&self) -> Duration {
        Duration::from_secs(self.lifetime)
    }
}

/// The challenge to answer: a token is preferred to a password.
pub(crate) fn read(headers: &HeaderMap) -> Option<Challenge> {
    let mut basic = None;
    for header in headers.get_all(WWW_AUTHENTICATE) {
        for challenge in ChallengeParser::new(header.to_str().unwrap_or_default()).map_while(Result::ok) {
            let param = |name: &str| {
                let found = challenge.params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.to_unescaped())
            };
            match param("realm") {
                Some(realm) if challenge.scheme.eq_ignore_ascii_case("bearer") => {
                    return Some(Challenge::Bearer(Bearer { realm, service: param("service") }));
                }
                _ if challenge.scheme.eq_ignore_ascii_case("basic") => basic = Some(Challenge::Basic),
                _ => {}
            }
        }
    }
    basic
}

/// The registry's name, as its directory in `certs.d` would have it.
pub(crate) fn host_of(address: &Url) -> Option<String> {
    let host = address.host_str()?;
    let host = address.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    is_host(&host).then_some(host)
}

pub(crate) fn basic(login: &Login) -> Option<HeaderValue> {
    let pair = format!("{}:{}", login.user, login.password.expose());
    sensitive(&format!("Basic {}", STANDARD.encode(pair)))
}

pub(crate) fn bearer(token: &Token) -> Option<HeaderValue> {
    sensitive(&format!("Bearer {}", token.value.expose()))
}

/// Tokens are others' data: one that could not be in a header makes none.
fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn headers(texts: &[&str]) -> HeaderMap {
        let value = |text: &&str| (WWW_AUTHENTICATE, HeaderValue::from_str(text).unwrap());
        texts.iter().map(value).collect()
    }

    fn asked(realm: &str, service: Option<&str>) -> Bearer {
        Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) }
    }

    #[test]
    fn a_token_is_preferred_and_what_is_unknown_is_left() {
        let token = r#"Bearer realm="https://auth.example/t",service="registry.example",scope="x""#;
        let bearer = || Some(Challenge::Bearer(asked("https://auth.example/t", Some("registry.example"))));
        for (texts, expected) in [
            (&["Basic realm=\"x\""][..], Some(Challenge::Basic)),
            (&["basic"], Some(Challenge::Basic)),
            (&[token], bearer()),
            (&["Basic realm=\"x\"", token], bearer()),
            (&["Bearer service=\"x\""], None),
            (&["Negotiate"], None),
            (&[""], None),
            (&[], None),
        ] {
            assert_eq!(read(&headers(texts)), expected, "{texts:?}");
        }
    }

    #[test]
    fn a_password_never_leaves_an_encrypted_registry_in_the_clear() {
        let scope = "repository:a/b:pull";
        for (realm, secure, expected) in [
            (
                "https://auth.example/t?x=1",
                true,
                Some("https://auth.example/t?x=1&service=s&scope=repository%3Aa%2Fb%3Apull"),
            ),
            ("http://auth.example/t", true, None),
            ("http://auth.example/t", false, Some("http://auth.example/t?service=s&scope=repository%3Aa%2Fb%3Apull")),
            ("file:///etc/passwd", false, None),
            ("nonsense", false, None),
        ] {
            let address = asked(realm, Some("s")).address(scope, secure);
            assert_eq!(address.as_ref().map(Url::as_str), expected, "{realm}");
        }
    }

    #[test]
    fn tokens_have_either_name_and_never_show() {
        for (text, lifetime) in [
            (r#"{"token":"abc"}"#, Some(50)),
            (r#"{"access_token":"abc","expires_in":300}"#, Some(290)),
            (r#"{"token":"abc","expires_in":99999999999}"#, Some(3590)),
            (r#"{"token":""}"#, None),
            ("[]", None),
        ] {
            let token = Token::parse(text.as_bytes());
            assert_eq!(token.as_ref().map(|token| token.lifetime().as_secs()), lifetime, "{text}");
            assert!(!format!("{token:?} {:?}", token.as_ref().and_then(bearer)).contains("abc"));
        }
        assert!(Token::parse(br#"{"token":"a\nb"}"#).and_then(|token| bearer(&token)).is_none());
    }

    proptest! {
        #[test]
        fn no_challenge_brings_us_down(text in "[ -~]{0,60}|(Bearer|Basic)[ =,\"a-z\\\\]{0,30}") {
            let _ = read(&headers(&[&text]));
        }
    }
}
