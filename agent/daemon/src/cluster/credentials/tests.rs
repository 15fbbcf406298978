use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::*;
use crate::cluster::Cluster;

fn kubeconfig(directory: &Path, user: &str) -> PathBuf {
    kubeconfig_for("http://127.0.0.1:1", directory, user)
}

fn kubeconfig_for(server: &str, directory: &Path, user: &str) -> PathBuf {
    let path = directory.join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: k, user: u}}\n\
         clusters:\n- name: k\n  cluster: {{server: \"{server}\"}}\nusers:\n- name: u\n  user: {user}\n"
    );
    std::fs::write(&path, text).unwrap();
    path
}

#[tokio::test]
async fn a_request_goes_to_the_server_of_the_kubeconfig_with_its_token() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let path = kubeconfig_for(&server, directory.path(), "{token: canary}");
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let body = r#"{"spec":1}"#;
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(head).unwrap().to_lowercase()
    };
    let cluster = Cluster::connect(&path, None, "worker-0").await.0;
    let (head, answer) = tokio::join!(serve, cluster.machine_config("a"));
    assert_eq!(answer.unwrap().open(), serde_json::json!({"spec": 1}));
    assert!(head.starts_with("get /apis/machineconfiguration.openshift.io/v1/machineconfigs/a http/1.1"), "{head}");
    assert!(head.contains("authorization: bearer canary") && head.contains("user-agent: ostler/"), "{head}");
}

#[tokio::test]
async fn the_files_that_a_kubeconfig_names_are_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("token"), "canary").unwrap();
    let path = kubeconfig(directory.path(), "{tokenFile: token}");
    let files = Files::new(&path, None);
    let stamp = files.client().await.unwrap().stamp;
    assert_eq!((stamp.len(), &files.stamp()), (2, &stamp));
    let new = directory.path().join("new");
    std::fs::write(&new, "another").unwrap();
    std::fs::rename(new, directory.path().join("token")).unwrap();
    assert_ne!(files.stamp(), stamp);
}

#[tokio::test]
async fn useless_credentials_are_named_and_not_quoted() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let error = Files::new(&missing, None).client().await.err().unwrap();
    assert!(error.to_string().contains("missing are not there yet"), "{error}");
    for (user, problem) in [
        ("{token: [canary", "are not a kubeconfig"),
        ("{client-certificate: canary-a, client-key: canary-b}", ""),
        ("{client-certificate-data: Y2FuYXJ5, client-key-data: Y2FuYXJ5}", "hold no usable certificate"),
    ] {
        let path = kubeconfig(directory.path(), user);
        let error = Cluster::connect(&path, None, "worker-0").await.1.unwrap();
        let text = format!("{error} {error:?}");
        assert!(text.contains(problem) && !text.contains("canary") && !text.contains("Y2Fu"), "{text}");
        assert!(!error.is_transient());
    }
}

/// Gives a document, or a reason, and counts how often.
#[derive(Clone)]
struct Safe(Result<Value, String>, Arc<AtomicUsize>);

impl Keeper for Safe {
    fn credentials(&self) -> BoxFuture<'_, Result<Sealed, String>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { self.0.clone().map(Sealed::new) })
    }
}

fn given(user: &Value) -> Value {
    json!({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": user}]})
}

/// Whether files keep out whoever may not read them: not where the tests are root.
fn is_root() -> bool {
    nix::unistd::Uid::effective().is_root()
}

#[tokio::test]
async fn the_keeper_is_asked_for_what_is_not_for_us_to_read_and_for_nothing_else() {
    let (given, asked) = (given(&json!({"token": "canary"})), Arc::new(AtomicUsize::new(0)));
    let keeper = Safe(Ok(given), Arc::clone(&asked));
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path().join("absent"), kubeconfig(directory.path(), "{token: [")] {
        assert!(Files::new(&path, Some(Box::new(keeper.clone()))).client().await.is_err());
    }
    let path = kubeconfig(directory.path(), "{token: own}");
    assert!(Files::new(&path, Some(Box::new(keeper.clone()))).client().await.is_ok());
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    let made = Files::new(&path, None).read_kept(&keeper).await.unwrap();
    assert_eq!((made.renewal, asked.load(Ordering::Relaxed)), (None, 1));
    if is_root() {
        return;
    }
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o0)).unwrap();
    assert!(Files::new(&path, Some(Box::new(keeper))).client().await.is_ok());
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn what_the_keeper_says_instead_is_passed_on_and_what_it_gives_is_not_quoted() {
    let path = PathBuf::from("/var/lib/kubelet/kubeconfig");
    for (given, words) in [
        (Err("there is no /var/lib/kubelet/kubeconfig".to_owned()), "the root half says: there is no /var"),
        (Ok(json!({"clusters": "canary"})), "are not a kubeconfig"),
        (Ok(given(&json!({"client-certificate-data": "Y2FuYXJ5", "client-key-data": "Y2FuYXJ5"}))), "hold no usable"),
    ] {
        let error = Files::new(&path, None).read_kept(&Safe(given, Arc::default())).await.err().unwrap();
        let text = format!("{error} {error:?}");
        assert!(text.contains(words) && !text.contains("canary") && !text.contains("Y2Fu"), "{text}");
    }
}

#[test]
fn half_of_what_is_left_of_a_certificate_is_waited_for_and_never_too_little() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let waits = renewal(now + 7200).as_secs();
    assert!((3590..=3600).contains(&waits), "{waits}");
    assert_eq!([renewal(0), renewal(now + 60)], [RENEWAL; 2]);
}
