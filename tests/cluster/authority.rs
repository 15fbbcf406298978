//! A certification authority of a cluster, and the kubeconfig files of those it vouches for.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

/// The last is where a virtual machine finds the loopback network of the machine it runs on.
const SERVER_NAMES: &str = "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:10.0.2.2";

/// Who somebody is to the API server.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// The user name.
    pub user: &'a str,
    /// The one group beside those that everybody is in.
    pub group: Option<&'a str>,
}

/// The authority.
pub struct Authority {
    directory: PathBuf,
}

impl Authority {
    /// A new one with a certificate for the API server, all below a directory.
    pub fn new(directory: PathBuf) -> Self {
        fs::create_dir_all(&directory).unwrap();
        let authority = Self { directory };
        authority.certificate("ca", &["-subj", "/CN=ostler test cluster", "-addext", "keyUsage=keyCertSign"]);
        authority.sign("server", "/CN=kube-apiserver", &["-addext", SERVER_NAMES]);
        // Tokens are signed with a key of their own; the server reads its public half from a certificate.
        authority.certificate("accounts", &["-subj", "/CN=accounts"]);
        authority
    }

    /// A file by its name: `ca.crt`, `server.crt`, `server.key`, `accounts.crt`, `accounts.key`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A kubeconfig with a certificate, written as the kubelet's is: certificate and key are in one file beside it.
    pub fn kubeconfig(&self, of: Identity<'_>, server: SocketAddr, file: &Path) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let pem = file.with_extension("pem");
        fs::write(&pem, self.credentials(of)).unwrap();
        let ca = STANDARD.encode(fs::read_to_string(self.path("ca.crt")).unwrap() + &self.next().unwrap_or_default());
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "default",
            "clusters": [{"name": "cluster", "cluster": {
                "server": format!("https://{server}"), "certificate-authority-data": ca}}],
            "users": [{"name": "user", "user": {"client-certificate": pem, "client-key": pem}}],
            "contexts": [{"name": "default", "context": {"cluster": "cluster", "user": "user"}}],
        });
        // JSON is YAML.
        fs::write(file, config.to_string()).unwrap();
    }

    /// Makes the authority that the server's certificate is to come from next. Those who get a kubeconfig from now on trust
    /// it too.
    pub fn prepare_next(&self) {
        self.certificate("next", &["-subj", "/CN=ostler test cluster, next", "-addext", "keyUsage=keyCertSign"]);
    }

    /// The certificate of the next authority.
    pub fn next(&self) -> Option<String> {
        fs::read_to_string(self.path("next.crt")).ok()
    }

    /// Gives the server a certificate of the next authority. Those of its clients stay good.
    pub fn hand_over(&self) {
        self.sign_by("next", "server", "/CN=kube-apiserver", &["-addext", SERVER_NAMES]);
    }

    fn credentials(&self, of: Identity<'_>) -> String {
        let group = of.group.map(|group| format!("/O={group}")).unwrap_or_default();
        let name = of.user.replace(|letter: char| !letter.is_alphanumeric(), "_");
        self.sign(&name, &format!("{group}/CN={}", of.user), &["-addext", "extendedKeyUsage=clientAuth"]);
        let read = |extension| fs::read_to_string(self.path(&format!("{name}.{extension}"))).unwrap();
        read("crt") + &read("key")
    }

    fn sign(&self, name: &str, subject: &str, more: &[&str]) {
        self.sign_by("ca", name, subject, more);
    }

    fn sign_by(&self, authority: &str, name: &str, subject: &str, more: &[&str]) {
        let [ca, key] = ["crt", "key"].map(|kind| self.path(&format!("{authority}.{kind}")).display().to_string());
        let leaf = ["-subj", subject, "-CA", &ca, "-CAkey", &key, "-addext", "basicConstraints=critical,CA:FALSE"];
        self.certificate(name, &[&leaf[..], more].concat());
    }

    fn certificate(&self, name: &str, more: &[&str]) {
        let mut command = Command::new("openssl");
        command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
        command.args(["-days", "2"]).args(more).arg("-keyout").arg(self.path(&format!("{name}.key")));
        let output = command.arg("-out").arg(self.path(&format!("{name}.crt"))).output().expect("openssl starts");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
