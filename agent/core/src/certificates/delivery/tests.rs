//! Deliveries, by what was handed out and what stood there.

use super::super::given::Registry;
use super::super::samples::{LB, NEW, OLD};
use super::*;

fn data(text: &str) -> Data {
    Data::from(text.as_bytes().to_vec())
}

fn secret(text: &str) -> Secret<Vec<u8>> {
    Secret::new(text.as_bytes().to_vec())
}

fn registry(file: &str, text: &str) -> Registry {
    Registry { file: file.to_owned(), data: data(text) }
}

fn kubeconfig(certificates: &[&str]) -> Secret<Vec<u8>> {
    let empty = b"clusters: [{cluster: {server: s, certificate-authority-data: 'AA=='}}]\n";
    kubeconfig::with_authority(empty, certificates.concat().as_bytes()).unwrap()
}

fn text(delivery: &Delivery, path: &str) -> Option<String> {
    let file = delivery.files.iter().find(|file| file.path == path)?;
    Some(String::from_utf8_lossy(file.contents.expose()).into_owned())
}

fn trusted(delivery: &Delivery, path: &str) -> Option<Bundle> {
    let text = text(delivery, path)?;
    Some(Bundle::parse(&kubeconfig::authority(text.as_bytes()).unwrap().unwrap()))
}

#[test]
fn every_file_has_its_place_and_its_mode() {
    let given = Given {
        pull_secret: Some(data("{}")),
        kubelet_ca: Some(data(OLD)),
        cloud_ca: Some(data("cloud")),
        registries: vec![registry("a", "one\n"), registry("b..5000", "two"), registry("a", "three")],
        server_ca: None,
    };
    let delivery = deliver(&given, &Standing::default());
    let files: Vec<(&str, Mode)> = delivery.files.iter().map(|file| (file.path.as_str(), file.mode)).collect();
    assert_eq!(
        files,
        [
            ("/etc/mco/internal-registry-pull-secret.json", Mode::Private),
            ("/etc/kubernetes/kubelet-ca.crt", Mode::Open),
            ("/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem", Mode::Open),
            ("/etc/docker/certs.d/a/ca.crt", Mode::Open),
            ("/etc/docker/certs.d/b:5000/ca.crt", Mode::Open),
        ]
    );
    for (path, expected) in [
        (PULL_SECRET, "{}\n"),
        (KUBELET_CA, OLD),
        (CLOUD_CA, "cloud\n"),
        ("/etc/docker/certs.d/a/ca.crt", "three\n"),
        ("/etc/docker/certs.d/b:5000/ca.crt", "two\n"),
    ] {
        assert_eq!(text(&delivery, path).as_deref(), Some(expected), "{path}");
    }
    assert_eq!((delivery.refused, delivery.stale), (vec![], vec![]));
}

#[test]
fn what_is_absent_or_empty_is_not_made_and_what_was_trusted_in_its_place_is_emptied() {
    let empty =
        Given { pull_secret: Some(data("")), kubelet_ca: Some(data("")), cloud_ca: Some(data("")), ..Given::default() };
    for given in [Given::default(), empty] {
        assert_eq!(deliver(&given, &Standing::default()).files, []);
        let standing = Standing { has_cloud_ca: true, ..Standing::default() };
        assert_eq!(text(&deliver(&given, &standing), CLOUD_CA).as_deref(), Some("\n"));
    }
}

#[test]
fn clients_that_could_not_be_verified_with_anything_leave_the_kubelet_as_it_is() {
    let given = Given { kubelet_ca: Some(data("hunter2")), pull_secret: Some(data("{}")), ..Given::default() };
    let delivery = deliver(&given, &Standing::default());
    assert_eq!(delivery.refused, [Refused::NoCertificate { path: KUBELET_CA }]);
    assert_eq!(text(&delivery, KUBELET_CA), None);
    assert!(text(&delivery, PULL_SECRET).is_some(), "one bad part does not keep back the others");
}

#[test]
fn only_directories_that_came_from_the_cluster_are_removed_and_hostile_names_lead_nowhere() {
    let names = ["kept", "left:5000", "../../etc", ".", "a/b"];
    let registries = names.into_iter().map(str::to_owned).collect();
    let record = Record { registries, owed: Owed::Nothing };
    let standing = Standing { record, ..Standing::default() };
    let given = Given {
        registries: vec![registry("kept", "x"), registry("new", "x"), registry("../x", "x"), registry("", "x")],
        ..Given::default()
    };
    let delivery = deliver(&given, &standing);
    assert_eq!(delivery.stale, ["/etc/docker/certs.d/left:5000/ca.crt"]);
    let named = |record: &Record| record.registries.iter().cloned().collect::<Vec<_>>();
    assert_eq!(named(&delivery.before), ["kept", "left:5000", "new"]);
    assert_eq!(named(&delivery.after), ["kept", "new"]);
    let refused: Vec<String> = delivery.refused.iter().map(ToString::to_string).collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(refused[0].contains("\"../x\"") && refused[0].contains("not one plain element"), "{refused:?}");
}

#[test]
fn the_kubelet_gets_what_the_new_certificates_need() {
    use Owed::{Bootstrap, Deferred, Nothing, Restart};
    for (owed, before, after, then, own_rewritten) in [
        (Nothing, vec![OLD], vec![OLD], Nothing, false),
        (Nothing, vec![OLD], vec![OLD, NEW], Restart, false),
        (Nothing, vec![OLD], vec![OLD, LB], Deferred, false),
        (Nothing, vec![OLD], vec![OLD, LB, NEW], Restart, false),
        // Removal only: nothing new to trust, so no hurry.
        (Nothing, vec![OLD, NEW], vec![NEW], Nothing, true),
        (Deferred, vec![OLD, LB], vec![LB], Deferred, false),
        (Restart, vec![OLD], vec![OLD, LB], Restart, false),
        (Bootstrap, vec![OLD], vec![NEW], Bootstrap, false),
        (Deferred, vec![OLD], vec![OLD], Deferred, false),
    ] {
        let record = Record { owed, ..Record::default() };
        let (bootstrap, kubelet) = (Some(kubeconfig(&before)), Some(kubeconfig(&before)));
        let standing = Standing { bootstrap, kubelet, record, ..Standing::default() };
        let given = Given { server_ca: Some(data(&after.concat())), ..Given::default() };
        let delivery = deliver(&given, &standing);
        let context = format!("{owed:?} {} {}", before.len(), after.len());
        assert_eq!((delivery.before.owed, delivery.after.owed), (then, then), "{context}");
        let wanted = Bundle::parse(after.concat().as_bytes());
        let expected = (!wanted.agrees(&Bundle::parse(before.concat().as_bytes()))).then_some(wanted);
        assert_eq!(trusted(&delivery, BOOTSTRAP_KUBECONFIG), expected, "{context}");
        assert_eq!(trusted(&delivery, KUBELET_KUBECONFIG).is_some(), own_rewritten, "{context}");
    }
}

#[test]
fn without_anything_to_ask_for_credentials_with_the_kubelet_is_not_left_waiting() {
    let kubelet = Some(kubeconfig(&[OLD]));
    let given = Given { server_ca: Some(data(&[OLD, LB].concat())), ..Given::default() };
    let delivery = deliver(&given, &Standing { kubelet, ..Standing::default() });
    assert_eq!(delivery.after.owed, Owed::Restart);
    assert!(trusted(&delivery, KUBELET_KUBECONFIG).is_some());
    let nothing = deliver(&given, &Standing::default());
    assert_eq!((nothing.files, nothing.after.owed), (vec![], Owed::Nothing));
}

#[test]
fn a_broken_authority_is_replaced_and_a_broken_file_is_told() {
    let given = Given { server_ca: Some(data(OLD)), ..Given::default() };
    let of = |text: &str| deliver(&given, &Standing { bootstrap: Some(secret(text)), ..Standing::default() });
    let mended = of("clusters: [{cluster: {server: s, certificate-authority-data: '?'}}]");
    assert!(trusted(&mended, BOOTSTRAP_KUBECONFIG).is_some());
    assert_eq!(of("hunter2").refused.len(), 1);
    assert!(!of("hunter2").refused[0].to_string().contains("hunter2"));
    let none = Given { server_ca: Some(data("no certificate")), ..Given::default() };
    let delivery = deliver(&none, &Standing { bootstrap: Some(kubeconfig(&[OLD])), ..Standing::default() });
    assert_eq!(delivery.refused, [Refused::NoCertificate { path: BOOTSTRAP_KUBECONFIG }]);
    assert_eq!(delivery.files, []);
}

#[test]
fn the_kubelet_follows_what_it_would_ask_for_credentials_with() {
    let (old, new) = (kubeconfig(&[OLD]), kubeconfig(&[OLD, NEW]));
    let made = follow(Some(new.expose()), Some(old.expose())).unwrap().unwrap();
    assert_eq!(made, new);
    assert_eq!(follow(Some(new.expose()), Some(new.expose())), Ok(None));
    assert_eq!(follow(None, Some(old.expose())), Ok(None));
    assert_eq!(follow(Some(new.expose()), None), Ok(None));
    assert!(follow(Some(b"{"), Some(old.expose())).is_err());
}
