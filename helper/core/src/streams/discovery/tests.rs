use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::tags::{Filter, release_images};
use super::*;
use crate::objects::ImageStream;

fn os(stream: &str) -> Labels {
    labels(&[("io.openshift.os.streamclass", stream), ("containers.bootc", "1")])
}

fn extensions(stream: &str) -> Labels {
    labels(&[("io.openshift.os.streamclass", stream), ("io.openshift.os.extensions", "true")])
}

fn labels(of: &[(&str, &str)]) -> Labels {
    Labels::Found(of.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
}

fn offer(origin: Origin, images: &[&str]) -> Offer {
    let image = |image: &&str| Offered { image: (*image).to_owned(), called: "test".to_owned() };
    Offer { origin, images: images.iter().map(image).collect() }
}

fn known(of: &[(&str, Labels)]) -> BTreeMap<String, Labels> {
    of.iter().map(|(image, labels)| ((*image).to_owned(), labels.clone())).collect()
}

fn asked(offers: &[Offer], labels: &BTreeMap<String, Labels>) -> Result<Discovery, NoStreams> {
    discover(&Question { offers, labels, existing: None, installed: None, flavour: Flavour::Ocp })
}

fn shown(discovery: &Discovery) -> Value {
    serde_json::to_value(&discovery.status).unwrap()
}

#[test]
fn the_example_of_the_proposal_gives_its_two_streams() {
    let image = |name: &str| format!("quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{name}");
    let tag = |name: &str| json!({"name": name, "from": {"kind": "DockerImage", "name": image(name)}});
    let names = ["rhel9-coreos", "rhel9-coreos-extensions", "rhel10-coreos", "rhel10-coreos-extensions"];
    let tags: Vec<Value> = names.into_iter().chain(["machine-os-content"]).map(tag).collect();
    let stream: ImageStream = serde_json::from_value(json!({"kind": "ImageStream", "spec": {"tags": tags}})).unwrap();
    let offer = release_images(&stream, Filter::Operator).unwrap();
    assert_eq!(offer.images.len(), 4);
    let [nine, nine_more, ten, ten_more] = names.map(image);
    let labels = known(&[
        (&nine, os("rhel9-coreos")),
        (&nine_more, extensions("rhel9-coreos")),
        (&ten, os("rhel10-coreos")),
        (&ten_more, extensions("rhel10-coreos")),
    ]);
    let existing: OSImageStream = serde_json::from_value(json!({"spec": {"defaultStream": "rhel9-coreos"}})).unwrap();
    let question = Question {
        offers: &[offer],
        labels: &labels,
        existing: Some(&existing),
        installed: None,
        flavour: Flavour::Ocp,
    };
    let discovery = discover(&question).unwrap();
    assert_eq!(
        shown(&discovery),
        json!({"availableStreams": [
            {"name": "rhel10-coreos", "osImage": ten, "osExtensionsImage": ten_more},
            {"name": "rhel9-coreos", "osImage": nine, "osExtensionsImage": nine_more},
        ], "defaultStream": "rhel9-coreos"})
    );
    assert!(discovery.remarks.is_empty());
}

#[test]
fn halves_are_dropped_within_their_source_and_never_paired_across_sources() {
    let labels = known(&[("a-os", os("a")), ("a-ext", extensions("a")), ("b-os", os("b")), ("b-ext", extensions("b"))]);
    let offers = [offer(Origin::CommandLine, &["a-os", "b-ext"]), offer(Origin::Release, &["a-ext", "b-os", "b-ext"])];
    let discovery = asked(&offers, &labels).unwrap();
    assert_eq!(shown(&discovery)["availableStreams"].as_array().unwrap().len(), 1);
    assert_eq!(discovery.status.default_stream, "b");
    let halves = discovery.remarks.iter().filter(|remark| matches!(remark, Remark::Half { .. })).count();
    assert_eq!(halves, 3, "{:?}", discovery.remarks);
    assert!(matches!(asked(&offers[..1], &labels), Err(NoStreams::Nothing { remarks }) if remarks.len() == 2));
}

#[test]
fn a_half_of_a_later_source_leaves_the_whole_of_an_earlier_one_alone() {
    let labels = known(&[("os", os("a")), ("ext", extensions("a")), ("newer-os", os("a"))]);
    let offers = [offer(Origin::UrlConfigMap, &["os", "ext"]), offer(Origin::Release, &["newer-os"])];
    assert_eq!(asked(&offers, &labels).unwrap().status.available_streams[0].os_image, "os");
}

#[test]
fn later_sources_replace_wholesale_whatever_the_order_they_are_given_in() {
    let labels = known(&[
        ("o1", os("a")),
        ("e1", extensions("a")),
        ("o2", os("a")),
        ("e2", extensions("a")),
        ("o3", os("a")),
        ("e3", extensions("a")),
    ]);
    let offers = [
        offer(Origin::Release, &["o3", "e3"]),
        offer(Origin::CommandLine, &["o1", "e1"]),
        offer(Origin::UrlConfigMap, &["o2", "e2"]),
    ];
    let discovery = asked(&offers, &labels).unwrap();
    let [set] = &discovery.status.available_streams[..] else { panic!("{discovery:?}") };
    assert_eq!((set.os_image.as_str(), set.os_extensions_image.as_str()), ("o3", "e3"));
    let overridden: Vec<String> = discovery.remarks.iter().map(ToString::to_string).collect();
    assert_eq!(overridden.len(), 2);
    assert!(overridden[1].ends_with("the release counts"), "{overridden:?}");
    let without = asked(&offers[1..], &labels).unwrap();
    assert_eq!(without.status.available_streams[0].os_image, "o2");
}

#[test]
fn the_same_images_in_two_sources_are_no_conflict() {
    let labels = known(&[("o", os("a")), ("e", extensions("a"))]);
    let offers = [offer(Origin::UrlConfigMap, &["o", "e"]), offer(Origin::Release, &["e", "o", "o"])];
    assert!(asked(&offers, &labels).unwrap().remarks.is_empty());
}

#[test]
fn the_later_of_two_images_counts_and_every_drop_is_named() {
    let labels = known(&[
        ("old", os("a")),
        ("new", os("a")),
        ("ext", extensions("a")),
        ("plain", labels(&[])),
        ("neither", labels(&[("io.openshift.os.streamclass", "a")])),
        ("away", Labels::Unreachable("no route".to_owned())),
    ]);
    let offers = [offer(Origin::Release, &["old", "plain", "ext", "neither", "away", "new", "unheard-of"])];
    let discovery = asked(&offers, &labels).unwrap();
    assert_eq!(discovery.status.available_streams[0].os_image, "new");
    let told: Vec<String> = discovery.remarks.iter().map(ToString::to_string).collect();
    for words in ["plain", "neither", "away", "no route", "unheard-of", "new counts, old does not"] {
        assert!(told.iter().any(|line| line.contains(words)), "{words}: {told:?}");
    }
    assert_eq!(told.len(), 5);
}

#[test]
fn a_pair_on_the_command_line_counts_by_its_labels_not_by_its_place() {
    let labels = known(&[("o", os("a")), ("e", extensions("a"))]);
    let discovery = asked(&[offer(Origin::CommandLine, &["e", "o"])], &labels).unwrap();
    assert_eq!(discovery.status.available_streams[0].os_image, "o");
}

#[test]
fn a_default_that_is_not_there_means_no_answer() {
    let labels = known(&[("o", os("rhel-9")), ("e", extensions("rhel-9")), ("p", os("x")), ("f", extensions("x"))]);
    let offers = [offer(Origin::Release, &["o", "e", "p", "f"])];
    let version = Version::parse("5.0.0").unwrap();
    let question =
        Question { offers: &offers, labels: &labels, existing: None, installed: Some(&version), flavour: Flavour::Ocp };
    let error = discover(&question).unwrap_err();
    assert_eq!(
        error.to_string(),
        "stream rhel-10 would be the default (the cluster was installed with 5.0.0), but there are only: rhel-9, x"
    );
    assert!(matches!(error, NoStreams::DefaultMissing { .. }));
}

#[test]
fn a_new_release_leaves_the_default_of_an_existing_cluster_alone() {
    let labels = known(&[
        ("o9", os("rhel-9")),
        ("e9", extensions("rhel-9")),
        ("o10", os("rhel-10")),
        ("e10", extensions("rhel-10")),
    ]);
    let offers = [offer(Origin::Release, &["o9", "e9", "o10", "e10"])];
    let existing: OSImageStream = serde_json::from_value(json!({"spec": {"defaultStream": "rhel-9"}})).unwrap();
    let version = Version::parse("5.1.0").unwrap();
    let question = Question {
        offers: &offers,
        labels: &labels,
        existing: Some(&existing),
        installed: Some(&version),
        flavour: Flavour::Ocp,
    };
    assert_eq!(discover(&question).unwrap().status.default_stream, "rhel-9");
}

proptest! {
    /// Whatever the labels are, an answer is whole, sorted, and its default is one of its streams.
    #[test]
    fn an_answer_is_always_whole(images in proptest::collection::vec((0..12_usize, 0..4_usize, 0..4_usize, 0..3_usize), 0..20)) {
        let mut labels = BTreeMap::new();
        let mut offers = [Origin::CommandLine, Origin::UrlConfigMap, Origin::Release].map(|origin| offer(origin, &[]));
        for (number, stream, kind, origin) in images {
            let image = format!("image-{number}");
            let stream = ["", "a", "rhel-10", "c"][stream];
            let kind = [os(stream), extensions(stream), labels_of_nothing(), Labels::Unreachable("x".to_owned())][kind].clone();
            labels.insert(image.clone(), kind);
            offers[origin].images.push(Offered { image, called: String::new() });
        }
        match asked(&offers, &labels) {
            Ok(discovery) => {
                let sets = &discovery.status.available_streams;
                prop_assert!(sets.iter().all(|set| !set.os_image.is_empty() && !set.os_extensions_image.is_empty()));
                prop_assert!(sets.windows(2).all(|pair| pair[0].name < pair[1].name));
                prop_assert!(discovery.status.set(&discovery.status.default_stream).is_some());
            }
            Err(NoStreams::Nothing { .. }) => {}
            Err(NoStreams::DefaultMissing { wanted, available, .. }) => prop_assert!(!available.contains(&wanted)),
        }
    }
}

fn labels_of_nothing() -> Labels {
    labels(&[])
}
