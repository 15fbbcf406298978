//! Keeping images on the files of a machine, with a real server of CRI-O's protocol.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::PathBuf;

use ostler_core::pinned::{DROP_IN, SetOrder};
use ostler_tests::crio::{Answer, Crio};

use super::*;
use crate::disk::RootDisk;

fn image(name: &str) -> String {
    format!("r.example/team/{name}@sha256:{}", "0".repeat(64))
}

fn order(sets: &[(&str, &[&str])]) -> Order {
    let set = |(name, images): &(&str, &[&str])| SetOrder {
        name: (*name).to_owned(),
        images: images.iter().map(|name| image(name)).collect(),
    };
    Order { sets: sets.iter().map(set).collect(), gently: false }
}

/// Sizes of images, all the same.
struct Sized(Option<u64>);

impl Registries for Sized {
    fn layers(&self, image: &Pinned) -> Option<Vec<Blob>> {
        self.0.map(|size| vec![Blob { digest: image.repository().to_owned(), size }])
    }
}

#[derive(Default)]
struct Reloads {
    count: Cell<usize>,
    fails: Cell<bool>,
}

impl Reload for Reloads {
    fn reload(&self) -> Result<(), String> {
        self.count.set(self.count.get() + 1);
        if self.fails.get() { Err("job failed".to_owned()) } else { Ok(()) }
    }
}

/// Somebody who listens, and leaves when something is so.
struct Listener<'l> {
    told: Vec<(usize, usize)>,
    leaves: &'l dyn Fn() -> bool,
}

impl Audience for Listener<'_> {
    fn told(&mut self, done: usize, all: usize) {
        self.told.push((done, all));
    }

    fn waits(&self) -> bool {
        !(self.leaves)()
    }
}

struct Node {
    root: tempfile::TempDir,
    crio: RefCell<Option<Crio>>,
    reloads: Reloads,
    size: Option<u64>,
}

impl Node {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for directory in ["run/crio", "etc/crio/crio.conf.d", "var/lib/kubelet", "var/lib/containers/storage"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        let crio = Crio::listen(&root.path().join("run/crio/crio.sock")).unwrap();
        // How full the disk is that tests run on must not matter.
        crio.store_at("/out/of/sight");
        Self { root, crio: RefCell::new(Some(crio)), reloads: Reloads::default(), size: Some(1) }
    }

    fn file(&self) -> PathBuf {
        self.root.path().join(DROP_IN.trim_start_matches('/'))
    }

    fn pinned(&self) -> Vec<String> {
        ostler_core::pinned::pinned_in(&fs::read_to_string(self.file()).unwrap_or_default())
    }

    fn crio<T>(&self, what: impl FnOnce(&Crio) -> T) -> T {
        what(self.crio.borrow().as_ref().unwrap())
    }

    fn keep(&self, order: &Order) -> Result<Report, PinError> {
        self.keep_while(order, &|| false).0
    }

    fn keep_while(&self, order: &Order, leaves: &dyn Fn() -> bool) -> (Result<Report, PinError>, Vec<(usize, usize)>) {
        let disk = RootDisk::open(self.root.path()).unwrap();
        let skopeo = Skopeo::prepare(&disk, self.root.path()).unwrap();
        let short = Duration::from_millis(2);
        let cri =
            Limits { connect: Duration::from_secs(2), pause: short, pull: Duration::from_secs(3), ..Limits::default() };
        let keeper = Keeper {
            disk: &disk,
            root: self.root.path(),
            socket: &self.root.path().join("run/crio/crio.sock"),
            registries: &Sized(self.size),
            skopeo: &skopeo,
            reload: &self.reloads,
            patience: Patience { cri, tries: 3, pause: short, longest_pause: short, glance: short },
        };
        let mut listener = Listener { told: Vec::new(), leaves };
        (keeper.keep(order, &mut listener), listener.told)
    }
}

fn failed(report: &Report) -> Vec<&str> {
    report.failures.iter().map(|failure| failure.set.as_str()).collect()
}

#[test]
fn what_is_missing_is_pulled_and_everything_is_kept() {
    let node = Node::new();
    node.crio(|crio| crio.put(&image("a")));
    let order = order(&[("one", &["a", "b"]), ("two", &["b", "c"])]);
    let (report, told) = node.keep_while(&order, &|| false);
    assert_eq!(report.unwrap(), Report { pinned: 3, ..Report::default() });
    assert_eq!(told, [(1, 3), (2, 3), (3, 3)]);
    assert_eq!(node.pinned(), [image("a"), image("b"), image("c")]);
    assert_eq!(node.crio(|crio| crio.look(|seen| seen.pulls.len())), 2);
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(node.file()).unwrap().permissions());
    assert_eq!((mode & 0o7777, node.reloads.count.get()), (0o644, 1));
    // Once more is no work at all.
    let (report, told) = node.keep_while(&order, &|| false);
    assert_eq!((report.unwrap().pinned, told.len(), node.reloads.count.get()), (3, 0, 1));
}

#[test]
fn no_images_left_takes_the_file_away_and_needs_no_crio() {
    let node = Node::new();
    node.keep(&order(&[("one", &["a"])])).unwrap();
    *node.crio.borrow_mut() = None;
    assert_eq!(node.keep(&Order::default()).unwrap(), Report::default());
    assert!(!node.file().exists());
    assert_eq!(node.reloads.count.get(), 2);
    node.keep(&Order::default()).unwrap();
    assert_eq!(node.reloads.count.get(), 2);
}

#[test]
fn a_reload_that_failed_is_still_owed() {
    let node = Node::new();
    node.reloads.fails.set(true);
    let order = order(&[("one", &["a"])]);
    assert!(matches!(node.keep(&order), Err(PinError::Reload(_))));
    assert_eq!(node.pinned(), [image("a")]);
    node.reloads.fails.set(false);
    node.keep(&order).unwrap();
    node.keep(&order).unwrap();
    assert_eq!(node.reloads.count.get(), 2);
}

#[test]
fn a_pull_is_tried_again_and_a_set_that_fails_holds_no_other_back() {
    let node = Node::new();
    let refused = || Answer::Fail("dial tcp: connection refused".to_owned());
    node.crio(|crio| {
        crio.answer(&image("b"), [refused(), refused()]);
        crio.answer(&image("c"), [refused(), refused(), refused()]);
        crio.answer(&image("d"), [Answer::Fail("reading manifest: manifest unknown".to_owned())]);
        crio.answer(&image("e"), [Answer::Lose]);
        crio.answer(&image("f"), [Answer::Hang, Answer::Hang, Answer::Hang]);
    });
    let sets: &[(&str, &[&str])] =
        &[("one", &["a", "b"]), ("two", &["a", "c"]), ("three", &["d"]), ("four", &["e"]), ("five", &["f"])];
    let report = node.keep(&order(sets)).unwrap();
    assert_eq!((failed(&report), node.pinned()), (vec!["two", "three", "four", "five"], vec![image("a"), image("b")]));
    let reasons: Vec<&str> = report.failures.iter().map(|failure| failure.reason.as_str()).collect();
    for (reason, expected) in
        reasons.iter().zip(["connection refused", "manifest unknown", "image removed during sync", "did not pull"])
    {
        assert!(reason.contains(expected), "{reason}");
    }
    let tries =
        |name: &str| node.crio(|crio| crio.look(|seen| seen.pulls.iter().filter(|p| p.image == image(name)).count()));
    assert_eq!(["a", "b", "c", "d", "e", "f"].map(tries), [1, 3, 3, 1, 1, 3]);
    // All of it is there the next time.
    assert_eq!(node.keep(&order(sets)).unwrap().failures, []);
}

#[test]
fn a_full_disk_ends_it_at_once() {
    let node = Node::new();
    node.crio(|crio| crio.answer(&image("a"), [Answer::full()]));
    let all = Order { gently: true, ..order(&[("one", &["a"]), ("two", &["b", "c"])]) };
    let report = node.keep(&all).unwrap();
    assert_eq!(failed(&report), ["one", "two"]);
    assert!(report.failures[0].reason.contains("no space left on device"), "{}", report.failures[0].reason);
    assert!(report.failures[1].reason.contains("it was not pulled"), "{}", report.failures[1].reason);
    assert_eq!(node.crio(|crio| crio.look(|seen| seen.pulls.len())), 1);
}

#[test]
fn what_does_not_fit_is_not_begun() {
    let mut node = Node::new();
    node.size = Some(1 << 60);
    node.crio(|crio| {
        crio.put(&image("a"));
        crio.store_at("/var/lib/containers/storage");
    });
    let report = node.keep(&order(&[("one", &["a"]), ("two", &["b"])])).unwrap();
    assert_eq!((failed(&report), node.pinned()), (vec!["two"], vec![image("a")]));
    assert!(report.failures[0].reason.contains("storage available is less than minimum required"));
    assert_eq!(node.crio(|crio| crio.look(|seen| seen.pulls.len())), 0);
}

#[test]
fn no_more_than_five_are_pulled_at_a_time_and_one_where_that_is_asked_for() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for (gently, expected) in [(false, 5), (true, 1)] {
        let node = Node::new();
        node.crio(|crio| names.iter().for_each(|name| crio.answer(&image(name), [Answer::Hang])));
        let all = Order { gently, ..order(&[("one", &names)]) };
        let at_once = || node.crio(|crio| crio.look(|seen| seen.under_way)) == expected;
        let (report, _) = node.keep_while(&all, &at_once);
        assert!(matches!(report, Err(PinError::Unwanted)));
        assert_eq!(node.crio(|crio| crio.look(|seen| seen.most_under_way)), expected);
    }
}

#[test]
fn what_nobody_waits_for_ends_and_is_taken_up_again() {
    let node = Node::new();
    node.crio(|crio| crio.answer(&image("b"), [Answer::Hang]));
    let all = order(&[("one", &["a", "b"])]);
    let hangs = || node.crio(|crio| crio.look(|seen| seen.images.len() == 1 && seen.under_way == 1));
    assert!(matches!(node.keep_while(&all, &hangs).0, Err(PinError::Unwanted)));
    node.crio(|crio| crio.wait_until("the pull was given up", |seen| seen.given_up == 1));
    assert!(!node.file().exists());
    assert_eq!(node.keep(&all).unwrap().pinned, 2);
    let pulls = node.crio(|crio| crio.look(|seen| seen.pulls.iter().filter(|pull| pull.image == image("a")).count()));
    assert_eq!(pulls, 1);
}

#[test]
fn credentials_are_tried_in_turn_and_a_broken_one_is_only_told() {
    let node = Node::new();
    let write = |path: &str, text: &str| {
        let path = node.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    // "mirror:x" and "team:x".
    let auths = r#"{"auths":{"m.example":{"auth":"bWlycm9yOng="},"r.example/team":{"auth":"dGVhbTp4"},"b.example":{"auth":"!"}}}"#;
    write("var/lib/kubelet/config.json", auths);
    write(
        "etc/containers/registries.conf",
        "[[registry]]\nlocation = \"r.example\"\n[[registry.mirror]]\nlocation = \"m.example\"\n",
    );
    node.crio(|crio| crio.answer(&image("a"), [Answer::Fail("unauthorized".to_owned())]));
    let report = node.keep(&order(&[("one", &["a"])])).unwrap();
    assert_eq!(report.notes, ["the credentials for b.example cannot be read and are not used"]);
    let users = node.crio(|crio| crio.look(|seen| seen.pulls.iter().map(|pull| pull.user.clone()).collect::<Vec<_>>()));
    assert_eq!(users, [Some("mirror".to_owned()), Some("team".to_owned())]);
}

#[test]
fn two_at_a_time_are_refused_and_a_crio_that_is_away_is_told() {
    let node = Node::new();
    *node.crio.borrow_mut() = None;
    fs::remove_file(node.root.path().join("run/crio/crio.sock")).unwrap();
    let error = node.keep(&order(&[("one", &["a"])])).unwrap_err();
    assert!(matches!(error, PinError::Cri(CriError::Unreachable { .. })), "{error:?}");
    let disk = RootDisk::open(node.root.path()).unwrap();
    let _lock = disk.lock(&path(LOCK).unwrap()).unwrap().unwrap();
    assert!(matches!(node.keep(&Order::default()), Err(PinError::Busy)));
}
