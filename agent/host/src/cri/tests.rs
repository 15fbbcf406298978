//! The client against a real server of the protocol.

use std::time::Instant;

use ostler_core::secret::Secret;
use ostler_tests::crio::{Answer, Crio};

use super::*;

const IMAGE: &str = "r.example/a@sha256:0000000000000000000000000000000000000000000000000000000000000000";

fn limits() -> Limits {
    let short = Duration::from_millis(5);
    Limits { connect: Duration::from_secs(30), pause: short, longest_pause: short, ..Limits::default() }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn an_image_is_pulled_with_a_login_and_found_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("crio.sock");
    let crio = Crio::listen(&path).unwrap();
    crio.store_at("/var/lib/containers/storage/overlay-images");
    let login = Login { user: "me".to_owned(), password: Secret::new("hunter2".to_owned()) };
    block_on(async {
        let cri = Cri::at(&path, limits());
        assert!(!cri.has(IMAGE).await.unwrap());
        cri.pull(IMAGE, Some(&login)).await.unwrap();
        assert!(cri.has(IMAGE).await.unwrap());
        assert_eq!(cri.storage().await.unwrap().as_deref(), Some("/var/lib/containers/storage/overlay-images"));
    });
    assert_eq!(crio.look(|seen| seen.pulls[0].user.clone()).as_deref(), Some("me"));
}

#[test]
fn failures_are_told_apart_and_hold_no_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("crio.sock");
    let crio = Crio::listen(&path).unwrap();
    let words = "pinging https://me:hunter2@r.example/v2/?sig=hunter2: manifest unknown".to_owned();
    crio.answer(IMAGE, [Answer::full(), Answer::Fail(words), Answer::Hang]);
    block_on(async {
        let cri = Cri::at(&path, Limits { pull: Duration::from_secs(3), ..limits() });
        let full = cri.pull(IMAGE, None).await.unwrap_err();
        assert!(matches!(full, CriError::Full { .. }), "{full}");
        let failed = cri.pull(IMAGE, None).await.unwrap_err();
        assert!(matches!(failed, CriError::Failed { .. }), "{failed}");
        assert!(failed.to_string().contains("manifest unknown") && !format!("{failed:?}").contains("hunter2"));
        let slow = cri.pull(IMAGE, None).await.unwrap_err();
        assert!(matches!(slow, CriError::TooSlow { .. }), "{slow}");
    });
    // Giving up is noticed on the other side, too.
    crio.wait_until("the pull was given up", |seen| seen.given_up == 1);
}

#[test]
fn nobody_at_the_socket_is_told_within_bounds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("crio.sock");
    let began = Instant::now();
    let error =
        block_on(Cri::at(&path, Limits { connect: Duration::from_millis(50), ..limits() }).has(IMAGE)).unwrap_err();
    assert!(matches!(error, CriError::Unreachable { .. }), "{error}");
    assert!(began.elapsed() < Duration::from_secs(180));
}

#[test]
fn a_crio_that_restarts_is_connected_to_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("crio.sock");
    block_on(async {
        let cri = Cri::at(&path, limits());
        let first = Crio::listen(&path).unwrap();
        assert!(!cri.has(IMAGE).await.unwrap());
        first.answer(IMAGE, [Answer::Hang]);
        let (pulled, ()) = tokio::join!(cri.pull(IMAGE, None), async {
            while first.look(|seen| seen.under_way) == 0 {
                tokio::task::yield_now().await;
            }
            drop(first);
            std::fs::remove_file(&path).unwrap();
        });
        assert!(matches!(pulled, Err(CriError::Lost { .. })), "{pulled:?}");
        let second = Crio::listen(&path).unwrap();
        second.put(IMAGE);
        assert!(cri.has(IMAGE).await.unwrap());
    });
}

#[test]
fn a_password_is_not_shown() {
    let auth = AuthConfig { username: "me".to_owned(), password: "hunter2".to_owned() };
    let request = PullImageRequest { image: None, auth: Some(auth) };
    assert!(!format!("{request:?}").contains("hunter2"));
}
