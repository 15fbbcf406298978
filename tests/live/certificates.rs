//! Certificates delivered to a machine that runs, with a kubelet of its own for systemd to stop and start.

use std::io::{Read, Write};
use std::process::Stdio;

use ostler_core::certificates::{
    BOOTSTRAP_KUBECONFIG, Delivered, Given, KUBELET_KUBECONFIG, Kubelet, authority, with_authority,
};
use ostler_core::protocol::{HEADER_BYTES, Hello, Reply, Request, VERSION, decode, encode, length};

use crate::node::Node;

/// Notes each start with the kubeconfig it finds, and asks for credentials where it finds none.
const KUBELET: &str = "[Service]\nType=exec\n\
    ExecStartPre=/bin/sh -c 'if test -e /var/lib/kubelet/kubeconfig; then echo start >> /run/kubelet.log; \
    else echo bootstrap >> /run/kubelet.log; cp /etc/kubernetes/kubeconfig /var/lib/kubelet/kubeconfig; fi'\n\
    ExecStart=/usr/bin/sleep infinity\nExecStopPost=/bin/sh -c 'echo stop >> /run/kubelet.log'\n";

const SIGNER: &str = include_str!("../../agent/host/src/certificates/tests/signer.pem");
const OTHER: &str = include_str!("../../agent/host/src/certificates/tests/other.pem");
const BALANCER: &str = include_str!("../../agent/host/src/certificates/tests/balancer.pem");

/// A machine whose kubelet trusts the first signer.
fn boot() -> Option<Node> {
    let node = Node::boot()?;
    let blank = b"clusters: [{name: c, cluster: {server: s, certificate-authority-data: 'AA=='}}]\n";
    let text = String::from_utf8(with_authority(blank, SIGNER.as_bytes()).unwrap().into_exposed()).unwrap();
    node.run("mkdir", &["-p", "/etc/kubernetes", "/var/lib/kubelet"]).exits(0);
    for path in [BOOTSTRAP_KUBECONFIG, KUBELET_KUBECONFIG] {
        node.write(path.trim_start_matches('/'), &text);
    }
    node.unit("kubelet.service", KUBELET);
    node.systemctl(&["daemon-reload"]);
    node.systemctl(&["start", "kubelet.service"]);
    assert_eq!(log(&node), "start");
    Some(node)
}

fn log(node: &Node) -> String {
    node.read("run/kubelet.log").replace('\n', " ").trim_end().to_owned()
}

fn ask(node: &Node, request: &Request) -> Delivered {
    let mut command = node.command("/opt/ostler/ostler-applier");
    let mut applier = command.arg("--stdio").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (applier.stdin.take().unwrap(), applier.stdout.take().unwrap());
    let mut next = || {
        let mut header = [0; HEADER_BYTES];
        output.read_exact(&mut header).unwrap();
        let mut body = vec![0; length(header).unwrap()];
        output.read_exact(&mut body).unwrap();
        body
    };
    next();
    input.write_all(&encode(&Hello { protocol: VERSION, version: "test".to_owned() }).unwrap()).unwrap();
    input.write_all(&encode(request).unwrap()).unwrap();
    let reply = decode::<Reply>(&next()).unwrap();
    drop(input);
    applier.wait().unwrap();
    match reply {
        Reply::Certificates(delivered) => delivered,
        other => panic!("{other:?}"),
    }
}

fn rotation(certificates: &[&str]) -> Request {
    let server_ca = Some(certificates.concat().into_bytes().into());
    Request::Certificates { given: Some(Given { server_ca, ..Given::default() }.seal()) }
}

fn trusts(node: &Node, certificates: &[&str]) -> bool {
    let text = node.read(KUBELET_KUBECONFIG.trim_start_matches('/'));
    authority(text.as_bytes()).unwrap().unwrap() == certificates.concat().into_bytes()
}

#[test]
fn systemd_stops_and_starts_the_kubelet_for_a_new_authority() {
    let Some(node) = boot() else { return };
    assert_eq!(ask(&node, &rotation(&[SIGNER, OTHER])).kubelet, Kubelet::Restarted);
    assert_eq!(log(&node), "start stop start");
    assert!(trusts(&node, &[SIGNER, OTHER]));
    assert_eq!(node.systemctl(&["is-active", "kubelet.service"]), "active");
    assert_eq!(ask(&node, &rotation(&[SIGNER, OTHER])), Delivered::default());
    assert_eq!(ask(&node, &Request::Rebootstrap).kubelet, Kubelet::Unaffected);
    assert_eq!(log(&node), "start stop start");
}

#[test]
fn a_kubelet_that_waits_asks_for_credentials_when_it_has_to() {
    let Some(node) = boot() else { return };
    assert_eq!(ask(&node, &rotation(&[SIGNER, BALANCER])).kubelet, Kubelet::Deferred);
    assert_eq!((log(&node).as_str(), trusts(&node, &[SIGNER])), ("start", true));
    assert_eq!(ask(&node, &Request::Rebootstrap).kubelet, Kubelet::Restarted);
    assert_eq!(log(&node), "start stop bootstrap");
    assert!(trusts(&node, &[SIGNER, BALANCER]));
    assert!(!node.has("var/lib/ostler/kubelet-kubeconfig"));
}
