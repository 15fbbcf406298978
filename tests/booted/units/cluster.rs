//! The agent in a cluster, as the unit starts it: credentials that only root can read come late, and are rotated.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::{AGENT, Packaged};
use crate::booted::{os_root, succeed};

/// What stands for the API server: it knows one token, and has no time for whoever shows it.
const SERVER: &str = r#"token=
while IFS= read -r line; do
    line=${line%?}
    [ -n "$line" ] || break
    case $line in [Aa]uthorization:*) token=${line##* } ;; esac
done
if [ "$token" = "$(cat /run/accepted)" ]; then code=503; else code=401; fi
echo "$token $code" >> /run/asked
body='{"kind":"Status","apiVersion":"v1","status":"Failure","message":"stand-in","code":'$code'}'
printf 'HTTP/1.1 %s Status\r\nContent-Type: application/json\r\nContent-Length: %s\r\nConnection: close\r\n\r\n%s' \
    "$code" "${#body}" "$body"
"#;
/// One connection after the other, with TLS around them.
const SERVICE: &str = "[Service]\nRuntimeDirectory=api\nExecStart=/bin/sh -ec 'cd /run/api; mkfifo answers; \
    while :; do openssl s_server -accept 127.0.0.1:6443 -cert /etc/kubernetes/ca.crt -key /var/api.key -naccept 1 -quiet \
    < answers | sh /var/server.sh > answers || :; done'\n";
const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
    contexts: [{name: c, context: {cluster: k, user: u}}]\n\
    clusters: [{name: k, cluster: {server: 'https://127.0.0.1:6443', certificate-authority: /etc/kubernetes/ca.crt}}]\n\
    users: [{name: u, user: {tokenFile: pki/current}}]\n";

/// Gives the API server a key, and a certificate that is its own authority.
fn certify(packaged: &Packaged) {
    let directory = tempfile::tempdir().unwrap();
    let mut openssl = Command::new("openssl");
    openssl.current_dir(&directory).args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
    openssl.args(["-noenc", "-keyout", "key", "-out", "cert", "-days", "2", "-subj", "/CN=api"]);
    openssl.args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]);
    succeed(&mut openssl);
    for (name, path) in [("key", "var/api.key"), ("cert", "etc/kubernetes/ca.crt")] {
        packaged.write(path, &fs::read_to_string(directory.path().join(name)).unwrap());
    }
}

/// Turns the kubelet's link to another token, which alone is good from now on.
fn rotate(packaged: &Packaged, token: &str) {
    let pki = packaged.node.machine.path("var/lib/kubelet/pki");
    fs::create_dir_all(&pki).unwrap();
    fs::set_permissions(packaged.node.machine.path("var/lib/kubelet"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(pki.join(token), token).unwrap();
    let _ = fs::remove_file(pki.join("current"));
    std::os::unix::fs::symlink(token, pki.join("current")).unwrap();
    packaged.write("run/accepted", token);
}

#[test]
fn an_agent_without_rights_goes_into_the_cluster_with_the_kubelets_credentials_and_goes_on_when_they_change() {
    let Some(()) = os_root::or_left_out("openssl") else { return };
    let Some(packaged) = Packaged::install() else { return };
    packaged.write("etc/systemd/system/api.service", SERVICE);
    packaged.write("var/server.sh", SERVER);
    certify(&packaged);
    rotate(&packaged, "first");
    packaged.systemctl(&["daemon-reload"]);
    packaged.systemctl(&["start", "api.service", "ostler-applier.socket"]);

    // The kubelet has yet to write its file: the agent is there, and waits.
    packaged.systemctl(&["start", AGENT]);
    let process = packaged.show(AGENT, "MainPID");
    packaged.wait_until("it says what it waits for", || packaged.said("there is no way into the cluster yet") == 1);
    assert!(packaged.said("there is no /var/lib/kubelet/kubeconfig") > 0, "{:#?}", packaged.lines());
    let asked = |what: &str| packaged.node.read("run/asked").lines().any(|line| line == what);
    packaged.write("var/lib/kubelet/kubeconfig", KUBECONFIG);
    let kubeconfig = packaged.node.machine.path("var/lib/kubelet/kubeconfig");
    fs::set_permissions(kubeconfig, fs::Permissions::from_mode(0o600)).unwrap();
    packaged.wait_until("it asks with the kubelet's token", || asked("first 503"));

    rotate(&packaged, "second");
    packaged.wait_until("the old token is not accepted", || asked("first 401"));
    packaged.wait_until("it asks with the new token", || asked("second 503"));
    assert_eq!((packaged.show(AGENT, "MainPID"), packaged.show(AGENT, "NRestarts")), (process, "0".to_owned()));
    let journal = packaged.node.machine.journal(&["--boot"]);
    assert!(!journal.contains("Bearer"), "{journal}");
}
