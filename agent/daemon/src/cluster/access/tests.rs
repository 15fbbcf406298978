use std::sync::Mutex as StdMutex;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::cluster::Cluster;
use crate::cluster::double::{Double, Reply};

/// Credentials that change when the test says so, and count how often they are read.
#[derive(Clone)]
struct Rotating {
    client: Client,
    file: Arc<StdMutex<u64>>,
    read: Arc<AtomicUsize>,
}

impl Credentials for Rotating {
    fn client(&self) -> BoxFuture<'_, Result<(Client, Stamp), ClusterError>> {
        self.read.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok((self.client.clone(), self.stamp())) })
    }

    fn stamp(&self) -> Stamp {
        vec![Some((0, *self.file.lock().unwrap(), 0, 0))]
    }
}

async fn rotating(double: &Double) -> (Rotating, Cluster) {
    let credentials = Rotating { client: double.client(), file: Arc::default(), read: Arc::default() };
    let cluster = Cluster::open(Box::new(credentials.clone()), "worker-0").await.unwrap();
    (credentials, cluster)
}

#[tokio::test(start_paused = true)]
async fn new_files_are_read_before_the_next_request_and_old_ones_are_not() {
    let double = Double::new(|_| Reply::failure(404));
    let (credentials, cluster) = rotating(&double).await;
    for (seconds, file, read) in [(5, 0, 1), (5, 1, 2), (0, 2, 2), (5, 2, 3), (600, 2, 3)] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        *credentials.file.lock().unwrap() = file;
        assert!(cluster.machine_config("a").await.unwrap_err().is_not_found());
        assert_eq!(credentials.read.load(Ordering::Relaxed), read, "after {seconds} s, file {file}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_work_is_read_again_and_not_too_often() {
    for reply in [|| Reply::failure(401), || Reply::Refused] {
        let double = Double::new(move |_| reply());
        let (credentials, cluster) = rotating(&double).await;
        for _ in 0..60 {
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(cluster.machine_config("a").await.unwrap_err().is_transient());
        }
        assert_eq!(credentials.read.load(Ordering::Relaxed), 3);
        assert_eq!(double.lines().len(), 60);
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_waited_for_longer_than_the_limit() {
    let double = Double::new(|_| Reply::Silence);
    let cluster = double.cluster().await;
    let start = Instant::now();
    let error = cluster.machine_config("a").await.unwrap_err();
    assert!(matches!(error, ClusterError::Unreachable { .. }) && start.elapsed() <= REQUEST_LIMIT * 2, "{error}");
}

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
    let cluster = Cluster::connect(&path, "worker-0").await.unwrap();
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
    let files = Files::new(&path);
    let (_, stamp) = files.client().await.unwrap();
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
    let error = Files::new(&missing).client().await.err().unwrap();
    assert!(error.to_string().contains("missing cannot be read"), "{error}");
    for (user, problem) in [
        ("{token: [canary", "are not a kubeconfig"),
        ("{client-certificate: canary-a, client-key: canary-b}", ""),
        ("{client-certificate-data: Y2FuYXJ5, client-key-data: Y2FuYXJ5}", "hold no usable certificate"),
    ] {
        let path = kubeconfig(directory.path(), user);
        let error = Cluster::connect(&path, "worker-0").await.err().unwrap();
        let text = format!("{error} {error:?}");
        assert!(text.contains(problem) && !text.contains("canary") && !text.contains("Y2Fu"), "{text}");
        assert!(!error.is_transient());
    }
}
