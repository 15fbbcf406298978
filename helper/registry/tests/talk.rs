//! Answers that a real registry gives only on bad days, from a server that says what it is told to.
#![cfg(test)]

mod served;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ostler_registry::{Credentials, Failure, InspectError, Mirrors, Options, Pace, Patience, Platform, Registry};
use serde_json::json;
use served::layout::hex;
use served::wires::{Scripted, answer};
use served::{Answering, PASSWORD, USER, auths};

const CONFIG: &str = r#"{"config":{"Labels":{"a":"b"}}}"#;

fn manifest() -> String {
    let config = json!({"digest": format!("sha256:{}", hex(CONFIG.as_bytes())), "size": CONFIG.len()});
    json!({"schemaVersion": 2, "config": config, "layers": []}).to_string()
}

/// What a registry with one image says.
fn good(head: &str) -> String {
    answer("200 OK", &[], if head.contains("/manifests/") { manifest() } else { CONFIG.to_owned() }.as_str())
}

fn client(server: &Scripted) -> Registry {
    let host = format!("127.0.0.1:{}", server.port);
    let mut mirrors = Mirrors::default();
    mirrors.allow_insecure(&host);
    let patience = Patience {
        retries: 3,
        first_pause: Duration::from_millis(1),
        answer: Duration::from_secs(10),
        ..Patience::default()
    };
    let platform = Platform { os: "linux".to_owned(), architecture: "amd64".to_owned() };
    let credentials = Credentials::parse(auths(&[&host]).to_string().as_bytes());
    Registry::new(Options { mirrors, patience, platform, credentials, ..Options::default() }).unwrap()
}

fn image(server: &Scripted) -> String {
    format!("127.0.0.1:{}/a/b:1", server.port)
}

async fn failure(server: &Scripted) -> Failure {
    let error = client(server).labels(&image(server)).await.unwrap_err();
    let InspectError::Unread { mut attempts, .. } = error else { panic!("{error}") };
    attempts.remove(0).failure
}

#[tokio::test]
async fn trouble_that_passes_is_waited_out() {
    for trouble in
        ["503 Service Unavailable", "500 Internal Server Error", "429 Too Many Requests", "408 Request Timeout"]
    {
        let server =
            Scripted::start(
                move |head, count| {
                    if count % 2 == 1 { answer(trouble, &["Retry-After: 0"], "") } else { good(head) }
                },
            )
            .await;
        // The second try gets the manifest, and trouble for the configuration; the third begins anew.
        let error = client(&server).labels(&image(&server)).await.unwrap_err();
        assert!(error.to_string().contains(&server.port.to_string()));
        assert_eq!(server.heads().len(), 7, "{trouble}: one try and three more");

        let server =
            Scripted::start(move |head, count| if count < 3 { answer(trouble, &[], "") } else { good(head) }).await;
        assert_eq!(client(&server).labels(&image(&server)).await.unwrap().labels["a"], "b", "{trouble}");
    }
}

#[tokio::test]
async fn trouble_that_stays_is_named() {
    type Answer = fn(&str, usize) -> String;
    let cases: [(Answer, usize, &str); 7] = [
        (|_, _| answer("503 Service Unavailable", &[], ""), 4, "failed with status 503"),
        (|_, _| answer("429 Too Many Requests", &["Retry-After: 100"], ""), 1, "wants to be left alone for 100 s"),
        (|_, _| answer("403 Forbidden", &[], ""), 1, "refuses access"),
        (|_, _| answer("418 Teapot", &[], ""), 1, "status 418"),
        (|_, _| answer("200 OK", &[], "{\"schemaVersion\":1}"), 1, "the manifest cannot be used"),
        (|_, _| "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n...".to_owned(), 1, "is larger than 4194304 bytes"),
        (|_, _| "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n...".to_owned(), 1, "is larger than 4194304 bytes"),
    ];
    for (says, count, expected) in cases {
        let server = Scripted::start(says).await;
        let failure = failure(&server).await;
        assert!(failure.to_string().contains(expected), "{failure} / {expected}");
        assert_eq!(server.heads().len(), count, "{expected}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again() {
    let server = Scripted::start(|head, count| {
        if count == 1 { "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{".to_owned() } else { good(head) }
    })
    .await;
    assert!(client(&server).labels(&image(&server)).await.is_ok());
    assert_eq!(server.heads().len(), 3);
}

/// Sends everybody without a token to its own token server.
fn guarded(token: &'static str) -> impl Fn(&str, usize) -> String {
    move |head, _| {
        let host = head.lines().find_map(|line| line.to_lowercase().strip_prefix("host: ").map(str::to_owned)).unwrap();
        if head.starts_with("GET /token?") {
            return answer("200 OK", &[], &json!({"token": token, "expires_in": 300}).to_string());
        }
        if head.to_lowercase().contains("authorization: bearer good-token\r\n") {
            return good(head);
        }
        let challenge = format!(r#"WWW-Authenticate: Bearer realm="http://{host}/token",service="here""#);
        answer("401 Unauthorized", &[&challenge], "{}")
    }
}

#[tokio::test]
async fn a_token_is_got_with_the_password_and_used_until_it_ends() {
    let server = Scripted::start(guarded("good-token")).await;
    let client = client(&server);
    assert!(client.labels(&image(&server)).await.is_ok());
    assert!(client.labels(&image(&server)).await.is_ok());
    let heads = server.heads();
    assert_eq!(heads.len(), 6, "the token was not kept: {heads:?}");
    assert!(heads[1].starts_with("GET /token?service=here&scope=repository%3Aa%2Fb%3Apull "), "{}", heads[1]);
    let basic = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("{USER}:{PASSWORD}"));
    for (number, head) in heads.iter().enumerate() {
        assert_eq!(head.contains(&basic), number == 1, "the password belongs to the token server only: {head}");
    }
}

#[tokio::test]
async fn no_token_shows_in_a_failure_and_no_bad_one_brings_us_down() {
    for (token, expected) in
        [("wrong-token", "wants other credentials"), ("bad\ntoken", "gave no token"), ("", "gave no token")]
    {
        let server = Scripted::start(guarded(token)).await;
        let failure = failure(&server).await;
        assert!(failure.to_string().contains(expected), "{failure}");
        let all = format!("{failure:?} {failure}");
        assert!(!all.contains("-token") && !all.contains(PASSWORD), "{all}");
    }
    let server = Scripted::start(|_, _| answer("401 Unauthorized", &["WWW-Authenticate: Negotiate"], "")).await;
    assert!(matches!(failure(&server).await, Failure::Challenge));
}

#[tokio::test]
async fn storage_elsewhere_gets_no_password_and_its_address_is_not_shown() {
    let storage = Scripted::start(|_, _| answer("200 OK", &[], CONFIG)).await;
    let port = storage.port;
    let server = Scripted::start(move |head, _| {
        if !head.to_lowercase().contains("authorization: basic") {
            return answer("401 Unauthorized", &["WWW-Authenticate: Basic realm=\"x\""], "");
        }
        if head.contains("/manifests/") {
            return good(head);
        }
        answer("307 Temporary Redirect", &[&format!("Location: http://127.0.0.1:{port}/blob?signature=secret")], "")
    })
    .await;
    assert!(client(&server).labels(&image(&server)).await.is_ok());
    let heads = storage.heads();
    assert_eq!(heads.len(), 1);
    assert!(!heads[0].to_lowercase().contains("authorization"), "{}", heads[0]);

    // Nobody there.
    let server = Scripted::start(|_, _| {
        answer("307 Temporary Redirect", &["Location: http://127.0.0.1:1/blob?signature=secret"], "")
    })
    .await;
    let failure = failure(&server).await;
    let all = format!("{failure:?}");
    assert!(matches!(failure, Failure::Unreachable(_)) && !all.contains("signature"), "{all}");
}

#[tokio::test]
async fn nobody_leads_an_encrypted_conversation_on_in_the_clear() {
    let clear = Scripted::start(|head, _| good(head)).await;
    let elsewhere = format!("http://127.0.0.1:{}/x", clear.port);
    for (answer, expected) in [
        (format!("HTTP/1.0 307 Moved\r\nLocation: {elsewhere}\r\n\r\n"), "to an address without TLS"),
        (
            format!("HTTP/1.0 401 No\r\nWWW-Authenticate: Bearer realm=\"{elsewhere}\"\r\n\r\n"),
            "sends credentials to a token server without TLS",
        ),
    ] {
        let Some(server) = Answering::start("v2/a/b/manifests/1", &answer) else { return };
        let credentials = Credentials::parse(auths(&[&server.host()]).to_string().as_bytes());
        let patience = Patience { retries: 0, ..Patience::default() };
        let authorities = vec![server.authority()];
        let registry = Registry::new(Options { credentials, patience, authorities, ..Options::default() }).unwrap();
        let error = registry.labels(&format!("{}/a/b:1", server.host())).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(server.log().contains("FILE:v2/a/b/manifests/1"), "{}", server.log());
    }
    assert!(clear.heads().is_empty(), "{:?}", clear.heads());
}

#[tokio::test]
async fn no_more_are_asked_at_a_time_than_the_pace_allows() {
    let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (counted, highest, door) = (Arc::clone(&open), Arc::clone(&most), Arc::clone(&gate));
    tokio::spawn(async move {
        loop {
            let held = listener.accept().await.unwrap();
            highest.fetch_max(counted.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // The third lets all go, but not before a fourth had its chance to come.
            if counted.load(Ordering::SeqCst) == 3 {
                let door = Arc::clone(&door);
                tokio::spawn(async move {
                    for _ in 0..1000 {
                        tokio::task::yield_now().await;
                    }
                    door.add_permits(1000);
                });
            }
            let (counted, door) = (Arc::clone(&counted), Arc::clone(&door));
            tokio::spawn(async move {
                let _ = door.acquire().await;
                counted.fetch_sub(1, Ordering::SeqCst);
                drop(held);
            });
        }
    });
    let patience = Patience { retries: 0, ..Patience::default() };
    let registry = Registry::new(Options { patience, ..Options::default() }).unwrap();
    let images: Vec<String> = (0..20).map(|number| format!("127.0.0.1:{port}/a/b:{number}")).collect();
    let results = registry.inspect_many(&images, Pace { concurrency: 3, deadline: Duration::from_secs(60) }).await;
    assert!(results.iter().all(Result::is_err));
    assert_eq!(most.load(Ordering::SeqCst), 3);
}
