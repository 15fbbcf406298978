use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::*;
use crate::cluster::Cluster;
use crate::telling::journal::Level;
use crate::telling::journal::tests::on_tape;

fn kubeconfig(directory: &Path, user: &str) -> PathBuf {
    kubeconfig_for("https://127.0.0.1:1", directory, user)
}

fn kubeconfig_for(server: &str, directory: &Path, user: &str) -> PathBuf {
    let path = directory.join("kubeconfig");
    let authority = if directory.join("cert").exists() { ", certificate-authority: cert" } else { "" };
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: k, user: u}}\n\
         clusters:\n- name: k\n  cluster: {{server: \"{server}\"{authority}}}\nusers:\n- name: u\n  user: {user}\n"
    );
    std::fs::write(&path, text).unwrap();
    path
}

/// A server with TLS for one request; its certificate is its own authority, and serves clients too.
struct Server {
    child: Child,
    lines: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    fn start(directory: &Path) -> Self {
        let run = |arguments: &[&str]| {
            let mut command = Command::new("openssl");
            command.args(arguments).current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped());
            command.stderr(Stdio::null()).spawn().expect("openssl starts")
        };
        let name = ["-subj", "/CN=api", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"];
        let kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"];
        let files = ["-keyout", "key", "-out", "cert", "-addext", "basicConstraints=critical,CA:FALSE"];
        assert!(run(&[&kind[..], &name, &files].concat()).wait().unwrap().success());
        let mut child = run(&["s_server", "-accept", "127.0.0.1:0", "-cert", "cert", "-key", "key", "-naccept", "1"]);
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("ACCEPT ") {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "openssl ended");
        }
        Self { child, lines, address: format!("https://{}", line.trim_start_matches("ACCEPT ").trim_end()) }
    }

    /// What one client asked, answered with this.
    fn answer(mut self, body: &'static str) -> std::thread::JoinHandle<String> {
        std::thread::spawn(move || {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(self.lines.read_line(&mut head).unwrap() > 0, "no request came: {head}");
            }
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            self.child.stdin.as_mut().unwrap().write_all(answer.as_bytes()).unwrap();
            self.child.wait().unwrap();
            head.to_lowercase()
        })
    }
}

#[tokio::test]
async fn a_request_goes_to_the_server_of_the_kubeconfig_with_its_token_and_neither_is_logged() {
    for (body, readable) in [(r#"{"spec":"c4n4ry"}"#, true), (r#"{"spec":"c4n4ry""#, false)] {
        let (subscriber, _, tape) = on_tape(Level::Trace, false);
        let _guard = tracing::subscriber::set_default(subscriber);
        let directory = tempfile::tempdir().unwrap();
        let server = Server::start(directory.path());
        let user = "{token: c4n4ry, client-certificate: cert, client-key: key}";
        let path = kubeconfig_for(&server.address, directory.path(), user);
        let serving = server.answer(body);
        let (cluster, trouble) = Cluster::connect(&path, None, "worker-0").await;
        assert!(trouble.is_none(), "{trouble:?}");
        let answer = cluster.machine_config("a").await;
        assert_eq!(answer.is_ok(), readable, "{answer:?}");
        drop(cluster);
        let head = serving.join().unwrap();
        assert!(head.contains("get /apis/machineconfiguration.openshift.io/v1/machineconfigs/a http/1.1"), "{head}");
        assert!(head.contains("authorization: bearer c4n4ry") && head.contains("user-agent: ostler/"), "{head}");
        let key = std::fs::read_to_string(directory.path().join("key")).unwrap();
        let told = tape.take();
        let quoted = key.lines().filter(|line| !line.starts_with('-')).any(|line| told.contains(line));
        assert!(!quoted && !told.contains("c4n4ry") && !told.to_lowercase().contains("bearer"), "{told}");
    }
}

#[tokio::test]
async fn credentials_are_shown_only_over_verified_tls_and_without_a_program() {
    let directory = tempfile::tempdir().unwrap();
    for (server, user, words) in [
        ("http://127.0.0.1:1", "{token: canary}", "not an https address"),
        ("https://127.0.0.1:1\", insecure-skip-tls-verify: true, x: \"", "{token: canary}", "insecure-skip-tls-verify"),
        ("https://127.0.0.1:1", "{exec: {apiVersion: client.authentication.k8s.io/v1, command: canary}}", "\"exec\""),
        ("https://127.0.0.1:1", "{auth-provider: {name: canary, config: {}}}", "\"auth-provider\""),
    ] {
        let path = kubeconfig_for(server, directory.path(), user);
        let error = Files::new(&path, None).client().await.err().unwrap().to_string();
        assert!(error.contains(words) && error.contains("Fix: ") && !error.contains("canary"), "{error}");
    }
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
        "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:1"}}],
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
