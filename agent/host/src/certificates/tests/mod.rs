//! Deliveries on a disk in memory, to a kubelet that notes what it is asked.

mod cut_off;

use std::cell::{Cell, RefCell};

use ostler_core::certificates::{
    BOOTSTRAP_KUBECONFIG, CLOUD_CA, KEPT_KUBECONFIG, KUBELET_CA, KUBELET_KUBECONFIG, PULL_SECRET, Registry, authority,
};

use super::*;
use crate::disk::memory::{MemoryDisk, Node};
use crate::machine::ManagerError;

/// Made with openssl, for nobody: a signer of the API server's and one of its load balancer's.
const SIGNER: &str = include_str!("signer.pem");
const BALANCER: &str = include_str!("balancer.pem");
const OTHER: &str = include_str!("other.pem");

const SECRET: &str = "{\"auths\":{\"registry\":{\"auth\":\"aHVudGVyMg==\"}}}";
const HAND_MADE: &str = "/etc/docker/certs.d/by-hand/ca.crt";

/// A kubelet that notes what it is asked and fails where it is told to, each time.
struct Fake<'d> {
    disk: &'d MemoryDisk,
    there: bool,
    calls: RefCell<Vec<&'static str>>,
    broken: Option<&'static str>,
    running: Cell<bool>,
    /// What it writes when it has asked for credentials.
    credentials: Option<&'static str>,
}

impl<'d> Fake<'d> {
    fn new(disk: &'d MemoryDisk) -> Self {
        let calls = RefCell::default();
        Self { disk, there: true, calls, broken: None, running: Cell::new(true), credentials: None }
    }

    fn note(&self, call: &'static str, running: bool) -> Result<(), ManagerError> {
        self.calls.borrow_mut().push(call);
        if self.broken == Some(call) {
            return Err(ManagerError { action: call, unit: KUBELET.to_owned(), transient: true, source: "no".into() });
        }
        self.running.set(running);
        Ok(())
    }

    fn calls(&self) -> Vec<&'static str> {
        self.calls.borrow().clone()
    }
}

const KUBELET: &str = "kubelet.service";

impl KubeletService for Fake<'_> {
    fn exists(&self) -> Result<bool, ManagerError> {
        Ok(self.there)
    }

    fn stop(&self) -> Result<(), ManagerError> {
        self.note("stop", false)
    }

    fn start(&self) -> Result<(), ManagerError> {
        self.note("start", true)
    }

    fn restart(&self) -> Result<(), ManagerError> {
        self.note("restart", true)
    }

    fn pause(&self) {
        if let Some(text) = self.credentials {
            self.disk.put(&at(KUBELET_KUBECONFIG), text.as_bytes(), PRIVATE).unwrap();
        }
    }
}

fn at(path: &str) -> RootPath {
    RootPath::new(path).unwrap()
}

fn kubeconfig(certificates: &[&str]) -> String {
    let empty = b"kind: Config\nclusters: [{name: c, cluster: {server: s, certificate-authority-data: 'AA=='}}]\n";
    let text = certificates::with_authority(empty, certificates.concat().as_bytes()).unwrap();
    String::from_utf8(text.into_exposed()).unwrap()
}

/// A node that has joined, with a registry directory that somebody made.
fn node() -> MemoryDisk {
    let trusted = kubeconfig(&[SIGNER]);
    MemoryDisk::with(&[
        (PULL_SECRET, "old\n", 0o644),
        (KUBELET_CA, "old\n", 0o644),
        (BOOTSTRAP_KUBECONFIG, &trusted, 0o600),
        (KUBELET_KUBECONFIG, &trusted, 0o640),
        (HAND_MADE, "mine\n", 0o644),
    ])
    .unwrap()
}

fn given(server: &[&str], registries: &[&str]) -> Given {
    let data = |text: &str| text.as_bytes().to_vec().into();
    Given {
        pull_secret: Some(data(SECRET)),
        kubelet_ca: Some(data(OTHER)),
        cloud_ca: Some(data("cloud")),
        registries: registries.iter().map(|name| Registry { file: (*name).to_owned(), data: data(name) }).collect(),
        server_ca: (!server.is_empty()).then(|| data(&server.concat())),
    }
}

fn deliver(disk: &MemoryDisk, fake: &Fake<'_>, given: Option<&Given>) -> Result<Delivered, Trouble> {
    Courier::open(disk, Some(fake))?.deliver(given)
}

fn text(disk: &MemoryDisk, path: &str) -> Option<String> {
    disk.read(&at(path), MOST).ok().map(|bytes| String::from_utf8(bytes).unwrap())
}

fn trusts(disk: &MemoryDisk, path: &str, certificates: &[&str]) -> bool {
    text(disk, path).is_some_and(|text| {
        authority(text.as_bytes()).unwrap().is_some_and(|pem| pem == certificates.concat().as_bytes())
    })
}

fn owed(disk: &MemoryDisk) -> Owed {
    Courier::open(disk, None).unwrap().record().unwrap().owed
}

fn mode(disk: &MemoryDisk, path: &str) -> u32 {
    disk.stat(&at(path)).unwrap().unwrap().mode
}

#[test]
fn only_what_differs_is_written_and_a_second_time_nothing_is() {
    let disk = node();
    let fake = Fake::new(&disk);
    let given = given(&[], &["registry..5000"]);
    let delivered = deliver(&disk, &fake, Some(&given)).unwrap();
    let registry = "/etc/docker/certs.d/registry:5000/ca.crt";
    assert_eq!(delivered.written, [PULL_SECRET, KUBELET_CA, CLOUD_CA, registry]);
    assert_eq!((mode(&disk, PULL_SECRET), mode(&disk, KUBELET_CA)), (0o600, 0o644));
    assert_eq!(text(&disk, registry).as_deref(), Some("registry..5000\n"));
    let tree = disk.tree();
    let again = deliver(&disk, &fake, Some(&given)).unwrap();
    assert_eq!(again, Delivered::default());
    assert_eq!(disk.tree(), tree);
    assert_eq!(fake.calls(), Vec::<&str>::new());
}

#[test]
fn a_secret_that_others_could_read_is_closed_though_its_contents_are_right() {
    let disk = node();
    disk.put(&at(PULL_SECRET), format!("{SECRET}\n").as_bytes(), OPEN).unwrap();
    let delivered = deliver(&disk, &Fake::new(&disk), Some(&given(&[], &[]))).unwrap();
    assert!(delivered.written.contains(&PULL_SECRET.to_owned()));
    assert_eq!(mode(&disk, PULL_SECRET), 0o600);
}

#[test]
fn registries_go_with_the_cluster_and_hand_made_ones_stay() {
    let disk = node();
    let fake = Fake::new(&disk);
    deliver(&disk, &fake, Some(&given(&[], &["a", "b..5000"]))).unwrap();
    disk.put(&at("/etc/docker/certs.d/b:5000/client.key"), b"mine", PRIVATE).unwrap();
    let delivered = deliver(&disk, &fake, Some(&given(&[], &["c"]))).unwrap();
    assert_eq!(delivered.removed, ["/etc/docker/certs.d/a/ca.crt", "/etc/docker/certs.d/b:5000/ca.crt"]);
    let names = disk.list(&at("/etc/docker/certs.d")).unwrap();
    assert_eq!(names, ["b:5000", "by-hand", "c"], "a directory that holds something else stays");
    assert_eq!(text(&disk, HAND_MADE).as_deref(), Some("mine\n"));
}

#[test]
fn a_new_authority_restarts_the_kubelet_with_it() {
    let disk = node();
    let fake = Fake::new(&disk);
    let delivered = deliver(&disk, &fake, Some(&given(&[SIGNER, OTHER], &[]))).unwrap();
    assert_eq!(delivered.kubelet, Kubelet::Restarted);
    assert_eq!(fake.calls(), ["stop", "start"]);
    for path in [BOOTSTRAP_KUBECONFIG, KUBELET_KUBECONFIG] {
        assert!(trusts(&disk, path, &[SIGNER, OTHER]), "{path}");
    }
    assert_eq!((mode(&disk, BOOTSTRAP_KUBECONFIG), mode(&disk, KUBELET_KUBECONFIG)), (0o600, 0o640));
    assert_eq!(owed(&disk), Owed::Nothing);
}

#[test]
fn an_authority_that_only_got_smaller_restarts_nothing() {
    let disk = node();
    let fake = Fake::new(&disk);
    deliver(&disk, &fake, Some(&given(&[SIGNER, OTHER], &[]))).unwrap();
    let delivered = deliver(&disk, &fake, Some(&given(&[OTHER], &[]))).unwrap();
    assert_eq!((delivered.kubelet, fake.calls().len()), (Kubelet::Unaffected, 2));
    assert_eq!(delivered.written, [BOOTSTRAP_KUBECONFIG, KUBELET_KUBECONFIG]);
    assert!(trusts(&disk, KUBELET_KUBECONFIG, &[OTHER]));
}

#[test]
fn a_restart_that_failed_is_made_up_for_by_the_next_request() {
    for broken in ["stop", "start"] {
        let disk = node();
        let given = given(&[SIGNER, OTHER], &[]);
        let unlucky = Fake { broken: Some(broken), ..Fake::new(&disk) };
        deliver(&disk, &unlucky, Some(&given)).unwrap_err();
        assert_eq!(unlucky.calls().last(), Some(&"start"), "{broken}");
        assert_eq!(owed(&disk), Owed::Restart, "{broken}");
        let fake = Fake::new(&disk);
        assert_eq!(deliver(&disk, &fake, None).unwrap().kubelet, Kubelet::Restarted, "{broken}");
        assert!(trusts(&disk, KUBELET_KUBECONFIG, &[SIGNER, OTHER]), "{broken}");
        assert_eq!(deliver(&disk, &fake, Some(&given)).unwrap(), Delivered::default(), "{broken}");
    }
}

#[test]
fn files_alone_get_everything_and_no_service_is_touched() {
    for (server, there) in [([SIGNER, OTHER], false), ([SIGNER, BALANCER], false), ([SIGNER, OTHER], true)] {
        let disk = node();
        let fake = Fake { there: false, ..Fake::new(&disk) };
        let service: Option<&dyn KubeletService> = if there { Some(&fake) } else { None };
        let delivered = Courier::open(&disk, service).unwrap().deliver(Some(&given(&server, &[]))).unwrap();
        assert_eq!((delivered.kubelet, fake.calls()), (Kubelet::LeftAlone, vec![]));
        assert!(trusts(&disk, KUBELET_KUBECONFIG, &server));
        assert_eq!(owed(&disk), Owed::Nothing);
    }
}

/// A node whose kubelet waits for a reason to restart.
fn waiting() -> MemoryDisk {
    let disk = node();
    let fake = Fake::new(&disk);
    let delivered = deliver(&disk, &fake, Some(&given(&[SIGNER, BALANCER], &[]))).unwrap();
    assert_eq!((delivered.kubelet, fake.calls()), (Kubelet::Deferred, vec![]));
    assert!(trusts(&disk, BOOTSTRAP_KUBECONFIG, &[SIGNER, BALANCER]));
    assert!(trusts(&disk, KUBELET_KUBECONFIG, &[SIGNER]));
    disk
}

const RENEWED: &str = "clusters: [{cluster: {server: renewed}}]\n";

#[test]
fn a_kubelet_that_waits_gets_new_credentials_when_it_cannot_go_on() {
    let disk = waiting();
    let fake = Fake { credentials: Some(RENEWED), ..Fake::new(&disk) };
    let delivered = Courier::open(&disk, Some(&fake)).unwrap().rebootstrap().unwrap();
    assert_eq!((delivered.kubelet, fake.calls()), (Kubelet::Restarted, vec!["restart"]));
    assert_eq!(text(&disk, KUBELET_KUBECONFIG).as_deref(), Some(RENEWED));
    assert_eq!((text(&disk, KEPT_KUBECONFIG), owed(&disk)), (None, Owed::Nothing));
    let again = Courier::open(&disk, Some(&fake)).unwrap().rebootstrap().unwrap();
    assert_eq!((again.kubelet, fake.calls().len()), (Kubelet::Unaffected, 1));
}

#[test]
fn a_kubelet_that_gets_no_credentials_has_its_old_ones_back_and_the_new_authority_with_them() {
    for broken in [None, Some("restart")] {
        let disk = waiting();
        let fake = Fake { broken, ..Fake::new(&disk) };
        let trouble = Courier::open(&disk, Some(&fake)).unwrap().rebootstrap().unwrap_err();
        assert_eq!(matches!(trouble, Trouble::NoCredentials), broken.is_none(), "{trouble}");
        assert!(trusts(&disk, KUBELET_KUBECONFIG, &[SIGNER, BALANCER]), "{broken:?}");
        assert_eq!(mode(&disk, KUBELET_KUBECONFIG), 0o640, "{broken:?}");
        assert_eq!((text(&disk, KEPT_KUBECONFIG), owed(&disk)), (None, Owed::Deferred), "{broken:?}");
        assert_eq!(fake.calls(), ["restart", "restart"], "{broken:?}");
    }
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    let disk = node();
    disk.put_link(&at("/etc/docker/certs.d/a"), "../../shadowed").unwrap();
    disk.put(&at("/etc/passwd"), b"root", OPEN).unwrap();
    disk.remove(&at(KUBELET_CA)).unwrap();
    disk.put_link(&at(KUBELET_CA), "/etc/passwd").unwrap();
    let outcome = deliver(&disk, &Fake::new(&disk), Some(&given(&[], &["a"])));
    assert!(outcome.is_err(), "a link that leads nowhere is no directory");
    deliver(&disk, &Fake::new(&disk), Some(&given(&[], &[]))).unwrap();
    assert_eq!(text(&disk, "/etc/passwd").as_deref(), Some("root"));
    assert!(matches!(disk.tree().get(KUBELET_CA), Some(Node::File { .. })));
}

#[test]
fn nothing_secret_is_remembered_or_said() {
    let disk = node();
    let delivered = deliver(&disk, &Fake::new(&disk), Some(&given(&[SIGNER, OTHER], &["a"]))).unwrap();
    let record = text(&disk, "/var/lib/ostler/journal/certificates").unwrap();
    for said in [format!("{delivered:?}"), record] {
        assert!(!said.contains("aHVudGVyMg") && !said.contains("CERTIFICATE"), "{said}");
    }
}
