//! Images in a real registry, with TLS and a password: labels and files, lists, mirrors, packings, and everything that may
//! be wrong with them.
#![cfg(test)]

mod served;

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use ostler_core::os::layer;
use ostler_registry::{
    Cache, Credentials, Failure, InspectError, LayerError, Limits, Mirrors, Options, Pace, Patience, Platform, Proxy,
    Registry, Secret, Serves, SourcePolicy,
};
use serde_json::{Value, json};
use served::layout::{self, GZIP, Layout, PLAIN, ZSTD, archive, gzip, zstd};
use served::wires::Wire;
use served::{Served, auths};

const REFERENCES: &str = "release-manifests/image-references";

fn labels(name: &str) -> Value {
    json!({"io.openshift.os.streamclass": name, "containers.bootc": "1"})
}

/// Pushes an image of one layer with some labels, and gives its digest.
fn push(served: &Served, name: &str, stream: &str) -> String {
    push_layers(served, name, stream, &[(GZIP, gzip(&archive(&[("a", b"b")])))])
}

fn push_layers(served: &Served, name: &str, stream: &str, layers: &[(&str, Vec<u8>)]) -> String {
    let layout = Layout::new(&served.path(&format!("layout-{}", name.replace(['/', ':'], "-"))));
    let layers: Vec<Value> = layers.iter().map(|(kind, bytes)| layout.blob(kind, bytes)).collect();
    let image = layout.image("amd64", &labels(stream), &layers);
    served.push(&layout.of(&image), name)
}

fn amd64() -> Platform {
    Platform { os: "linux".to_owned(), architecture: "amd64".to_owned() }
}

fn registry(options: Options) -> Registry {
    Registry::new(Options { platform: amd64(), ..options }).unwrap()
}

fn only_failure(error: InspectError) -> Failure {
    let InspectError::Unread { mut attempts, .. } = error else { panic!("{error}") };
    assert_eq!(attempts.len(), 1, "{attempts:?}");
    attempts.remove(0).failure
}

#[tokio::test]
async fn labels_are_read_by_tag_and_by_digest() {
    let Some(served) = Served::start() else { return };
    let digest = push(&served, "ocp/os:9.6", "rhel-9");
    let registry = registry(served.options(&[]));
    for name in ["ocp/os:9.6".to_owned(), format!("ocp/os@{digest}"), format!("ocp/os:other@{digest}")] {
        let inspected = registry.labels(&format!("{}/{name}", served.host())).await.unwrap();
        assert_eq!(json!(inspected.labels), labels("rhel-9"));
        assert_eq!((&inspected.digest, &inspected.manifest), (&digest, &digest));
    }
    let error = registry.labels(&format!("{}/ocp/os:none", served.host())).await.unwrap_err();
    assert!(error.is_missing(), "{error}");
    assert!(matches!(only_failure(error), Failure::Missing));
}

#[tokio::test]
async fn a_list_is_read_for_the_platform() {
    let Some(served) = Served::start() else { return };
    let layout = Layout::new(&served.path("layout"));
    let layer = layout.blob(GZIP, &gzip(&archive(&[("a", b"b")])));
    let images = ["amd64", "arm64"].map(|name| layout.image(name, &labels(name), std::slice::from_ref(&layer)));
    let digest = served.push(&layout.of(&layout.list(&images)), "os:multi");
    for (architecture, image) in ["amd64", "arm64"].into_iter().zip(&images) {
        let platform = Platform { architecture: architecture.to_owned(), ..amd64() };
        let registry = Registry::new(Options { platform, ..served.options(&[]) }).unwrap();
        for name in ["os:multi".to_owned(), format!("os@{digest}")] {
            let inspected = registry.labels(&format!("{}/{name}", served.host())).await.unwrap();
            assert_eq!(json!(inspected.labels), labels(architecture));
            assert_eq!(inspected.digest, digest);
            assert_eq!(json!(inspected.manifest), image["digest"]);
        }
    }
    let platform = Platform { architecture: "s390x".to_owned(), ..amd64() };
    let registry = Registry::new(Options { platform, ..served.options(&[]) }).unwrap();
    let failure = only_failure(registry.labels(&format!("{}/os:multi", served.host())).await.unwrap_err());
    assert_eq!(
        failure.to_string(),
        "the manifest list has no image for linux/s390x, only for linux/amd64, linux/arm64"
    );
}

#[tokio::test]
async fn a_file_is_found_in_the_uppermost_layer_however_that_is_packed() {
    let Some(served) = Served::start() else { return };
    let registry = registry(served.options(&[]));
    let lower = || (GZIP, gzip(&archive(&[(REFERENCES, b"lower"), ("only/lower", b"deep")])));
    let upper = archive(&[("./release-manifests/image-references", b"upper"), ("release-manifests/.wh.x", b"")]);
    for (number, (kind, layer)) in [
        (GZIP, gzip(&upper)),
        (ZSTD, zstd(&upper)),
        (GZIP, upper.clone()),
        (PLAIN, upper.clone()),
        (PLAIN, zstd(&upper)),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("release:{number}");
        push_layers(&served, &name, "x", &[lower(), (kind, layer)]);
        let image = format!("{}/{name}", served.host());
        let found = registry.file(&image, "/release-manifests/image-references", 100).await.unwrap();
        assert_eq!(found.unwrap(), b"upper", "{number}");
        assert_eq!(registry.file(&image, "only/lower", 100).await.unwrap().unwrap(), b"deep");
        assert_eq!(registry.file(&image, "nowhere", 100).await.unwrap(), None);
    }
}

#[tokio::test]
async fn every_bad_layer_is_named_and_none_brings_us_down() {
    let Some(served) = Served::start() else { return };
    let limits = Limits { layer: 1 << 20, image: 3 << 19, unpacked: 1 << 22, entries: 1000 };
    let registry = registry(Options { limits, ..served.options(&[]) });
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    })
    .take(600_000)
    .collect();
    let many: Vec<(String, &[u8])> = (0..1001).map(|number| (format!("f{number}"), &b""[..])).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|(name, contents)| (name.as_str(), *contents)).collect();
    for (name, layers, expected) in [
        ("oversized", vec![(GZIP, [&noise[..], &noise[..]].concat())], "is larger than 1048576 bytes"),
        (
            "total",
            vec![
                (PLAIN, noise.clone()),
                (GZIP, gzip(&archive(&[("n", &noise)]))),
                (GZIP, gzip(&archive(&[("m", &noise)]))),
            ],
            "is larger than",
        ),
        ("bomb", vec![(GZIP, gzip(&archive(&[("zeros", &vec![0; 1 << 23])])))], "the layer unpacks to too much"),
        ("entries", vec![(GZIP, gzip(&archive(&many)))], "more entries than 1000"),
        (
            "large-file",
            vec![(GZIP, gzip(&archive(&[(REFERENCES, &[0; 101])])))],
            "has 101 bytes, which is more than 100",
        ),
        ("link", vec![(GZIP, gzip(&linked()))], "is a symbolic link, not a file"),
        (
            "long-name",
            vec![(GZIP, gzip(&archive(&[(&"d/".repeat(40_000), b"")])))],
            "more bytes in the header of an entry",
        ),
        ("garbage", vec![(GZIP, noise[..5000].to_vec())], "it is no valid archive"),
        (
            "no-archive",
            vec![("application/vnd.example.thing+json", b"{}".to_vec())],
            "which is no archive that is known",
        ),
    ] {
        push_layers(&served, &format!("bad:{name}"), "x", &layers);
        let error = registry.file(&format!("{}/bad:{name}", served.host()), REFERENCES, 100).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{name}: {error}");
        assert!(error.to_string().contains(&format!("bad:{name}")), "{error}");
    }
}

fn linked() -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    builder.append_link(&mut header, REFERENCES, "/etc/shadow").unwrap();
    builder.into_inner().unwrap()
}

#[tokio::test]
async fn what_was_changed_in_the_registry_is_noticed() {
    let Some(served) = Served::start() else { return };
    let layer = gzip(&archive(&[(REFERENCES, b"good"), ("z", &[7; 50_000])]));
    let digest = push_layers(&served, "os:1", "x", &[(GZIP, layer.clone())]);
    let (by_tag, by_digest) = (format!("{}/os:1", served.host()), format!("{}/os@{digest}", served.host()));
    let registry = registry(served.options(&[]));
    assert!(registry.file(&by_digest, REFERENCES, 100).await.unwrap().is_some());

    // The file comes first and is whole; what is behind it is not what it should be.
    let stored = served.stored(&format!("sha256:{}", layout::hex(&layer)));
    let mut changed = layer.clone();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(&stored, &changed).unwrap();
    let failure = only_failure(registry.file(&by_digest, REFERENCES, 100).await.unwrap_err());
    assert!(matches!(failure, Failure::Layer(LayerError::Bytes(layer::LayerError::Damaged { .. }))), "{failure}");

    let manifest: Value = serde_json::from_slice(&fs::read(served.stored(&digest)).unwrap()).unwrap();
    let config = served.stored(manifest["config"]["digest"].as_str().unwrap());
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("\"x\"", "\"y\"")).unwrap();
    let failure = only_failure(registry.labels(&by_tag).await.unwrap_err());
    assert!(matches!(failure, Failure::Digest { .. }), "{failure}");
}

#[tokio::test]
async fn nobody_gets_in_without_the_right_password_and_authority() {
    let Some(served) = Served::start() else { return };
    push(&served, "team/os:1", "x");
    let image = format!("{}/team/os:1", served.host());
    let with = |credentials: Value| Options {
        credentials: Credentials::parse(credentials.to_string().as_bytes()),
        ..served.options(&[])
    };
    let (host, team) = (served.host(), format!("{}/team", served.host()));
    let wrong = json!({"auth": "cHVsbGVyOndyb25n"});
    for (credentials, sent) in [(json!({}), false), (json!({"auths": {&host: wrong}}), true)] {
        let failure = only_failure(registry(with(credentials)).labels(&image).await.unwrap_err());
        assert!(matches!(failure, Failure::Unauthorised { sent: told } if told == sent), "{failure}");
    }
    // The longest entry counts, whatever the registry's own says.
    let mut both = auths(&[&team]);
    both["auths"][&host] = wrong;
    assert!(registry(with(both)).labels(&image).await.is_ok());

    let untrusting = Options { authorities: Vec::new(), ..served.options(&[]) };
    let failure = only_failure(registry(untrusting).labels(&image).await.unwrap_err());
    assert!(matches!(failure, Failure::Untrusted(_)), "{failure:?}");

    let certificates = Some(served.certs());
    let by_directory = Options { authorities: Vec::new(), certificates, ..served.options(&[]) };
    assert!(registry(by_directory).labels(&image).await.is_ok());

    let mut mirrors = Mirrors::default();
    mirrors.allow_insecure(&host);
    let insecure = Options { authorities: Vec::new(), mirrors, ..served.options(&[]) };
    assert!(registry(insecure).labels(&image).await.is_ok());
}

#[tokio::test]
async fn a_registry_that_wants_a_certificate_gets_ours() {
    let Some(served) = Served::start_closed() else { return };
    let own = served.certs().join(served.host());
    served.client_certificate(&own.join("client.cert"), &own.join("client.key"));
    push(&served, "os:1", "x");
    let image = format!("{}/os:1", served.host());
    let options = |certificates| Options { certificates, ..served.options(&[]) };
    assert!(registry(options(Some(served.certs()))).labels(&image).await.is_ok());
    assert!(registry(options(None)).labels(&image).await.is_err());
    fs::remove_file(own.join("client.key")).unwrap();
    let failure = only_failure(registry(options(Some(served.certs()))).labels(&image).await.unwrap_err());
    assert!(failure.to_string().contains("client.cert has no key beside it"), "{failure}");
}

#[tokio::test]
async fn mirrors_are_asked_first_and_the_source_if_it_may() {
    let (Some(source), Some(mirror)) = (Served::start(), Served::start()) else { return };
    let both = |mirrors| {
        let mut options = source.options(&[&mirror.host()]);
        options.authorities.push(mirror.authority());
        Options { mirrors, ..options }
    };
    let here = push(&source, "ocp/os:1", "source");
    let mirrored = push(&mirror, "copy/ocp/other:1", "mirror");
    let rules = |serves, policy| {
        let mut mirrors = Mirrors::default();
        let locations = ["localhost:1/gone".to_owned(), format!("{}/copy/ocp", mirror.host())];
        mirrors.add(serves, &format!("{}/ocp", source.host()), &locations, policy);
        both(mirrors)
    };
    let allow = SourcePolicy::AllowContactingSource;
    let name = |name: &str| format!("{}/ocp/{name}", source.host());

    let by_digest = registry(rules(Serves::Digests, allow));
    // Only the mirror has the first, only the source the second.
    let inspected = by_digest.labels(&name(&format!("other@{mirrored}"))).await.unwrap();
    assert_eq!(json!(inspected.labels), labels("mirror"));
    let inspected = by_digest.labels(&name(&format!("os@{here}"))).await.unwrap();
    assert_eq!(json!(inspected.labels), labels("source"));
    let error = by_digest.labels(&name("other:1")).await.unwrap_err();
    assert!(matches!(only_failure(error), Failure::Missing), "a mirror of digests was asked about a tag");

    let by_tag = registry(rules(Serves::Tags, allow));
    assert_eq!(json!(by_tag.labels(&name("other:1")).await.unwrap().labels), labels("mirror"));

    let closed = registry(rules(Serves::Digests, SourcePolicy::NeverContactSource));
    let before = source.log().len();
    let error = closed.labels(&name(&format!("os@{here}"))).await.unwrap_err().to_string();
    assert!(error.contains("at localhost:1/gone/os@") && error.contains("at localhost:"), "{error}");
    assert!(!error.contains(&format!("at {}", source.host())), "{error}");
    let error = closed.labels(&name("os:1")).await.unwrap_err().to_string();
    assert!(error.contains("/ocp is blocked"), "{error}");
    assert_eq!(source.log().len(), before, "the source was asked");
}

#[tokio::test]
async fn proxies_are_used_but_for_exceptions() {
    let Some(served) = Served::start() else { return };
    push(&served, "os:1", "x");
    let image = format!("{}/os:1", served.host());
    for (except, used) in [("", true), ("example.com,localhost", false), ("*", false)] {
        let wire = Wire::proxy().await;
        let https = Some(Secret::new(format!("http://user:secret@127.0.0.1:{}", wire.port)));
        let proxy = Proxy { https, http: None, except: except.to_owned() };
        let options = Options { proxy, ..served.options(&[]) };
        assert!(!format!("{options:?}").contains("secret@"));
        assert!(registry(options).labels(&image).await.is_ok(), "{except}");
        assert_eq!(wire.total() > 0, used, "{except}");
    }
    let https = Some(Secret::new("no address:secret".to_owned()));
    let proxy = Proxy { https, ..Proxy::default() };
    let error = Registry::new(Options { proxy, ..served.options(&[]) }).err().unwrap();
    assert_eq!(error.to_string(), "the address of the HTTPS proxy is none");
}

#[tokio::test]
async fn an_unreachable_registry_is_named_and_hinders_no_other() {
    let Some(served) = Served::start() else { return };
    push(&served, "os:1", "x");
    let patience = Patience { retries: 2, first_pause: Duration::from_millis(1), ..Patience::default() };
    let registry = registry(Options { patience, ..served.options(&[]) });
    let images =
        ["localhost:1/os:1", "name.invalid/os:1", "short", &format!("{}/os:1", served.host())].map(str::to_owned);
    let results = registry.inspect_many(&images, Pace::default()).await;
    assert_eq!(results.len(), 4);
    for (result, image) in results.iter().zip(&images).take(2) {
        let error = result.as_ref().unwrap_err().to_string();
        assert!(error.contains(image) && error.contains("cannot be reached"), "{error}");
    }
    assert!(matches!(results[2], Err(InspectError::Reference(_))));
    assert!(results[3].is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_tags_are_read_five_at_a_time() {
    let Some(served) = Served::start() else { return };
    let images = served.path("images");
    let layer = gzip(&archive(&[("a", b"b")]));
    for number in 0..200 {
        layout::directory(&images.join(format!("os:t{number:03}")), &labels(&format!("s-{number}")), &layer);
    }
    served.push_all(&images, "ocp");
    let wire = Wire::to(served.port()).await;
    let host = format!("localhost:{}", wire.port);
    let registry = registry(served.options(&[&host]));
    let names: Vec<String> = (0..200).map(|number| format!("{host}/ocp/os:t{number:03}")).collect();
    let start = std::time::Instant::now();
    let results = registry.inspect_many(&names, Pace::default()).await;
    eprintln!("200 tags in {:?}: {} connections, at most {} at a time", start.elapsed(), wire.total(), wire.most());
    for (number, result) in results.iter().enumerate() {
        assert_eq!(json!(result.as_ref().unwrap().labels), labels(&format!("s-{number}")));
    }
    // Five requests at a time; a few more connections, since one is made while another is just coming free.
    assert!((2..=10).contains(&wire.most()), "{}", wire.most());
    assert!(wire.total() <= 20, "connections are not used again: {}", wire.total());
}

#[tokio::test]
async fn time_runs_out_for_what_is_left_only() {
    let Some(served) = Served::start() else { return };
    push(&served, "os:1", "x");
    // Takes connections and says nothing.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let images = [format!("localhost:{}/os:1", silent.local_addr().unwrap().port()), format!("{}/os:1", served.host())];
    // The limit of a connection must not come before the deadline of all.
    let mut options = served.options(&[]);
    options.patience.connect = Duration::from_secs(600);
    let registry = registry(options);
    let pace = Pace { concurrency: 5, deadline: Duration::from_secs(10) };
    let results = registry.inspect_many(&images, pace).await;
    assert!(matches!(&results[0], Err(InspectError::Deadline { image, .. }) if *image == images[0]), "{results:?}");
    assert!(results[1].is_ok());
}

#[tokio::test]
async fn what_has_a_digest_is_asked_for_once() {
    let Some(served) = Served::start() else { return };
    let layers = [(GZIP, gzip(&archive(&[(REFERENCES, b"{}")])))];
    let digest = push_layers(&served, "os:1", "x", &layers);
    let path = served.path("cache.json");
    let open = || Cache::open(Path::new(&path), || Timestamp::UNIX_EPOCH);
    let cache = open();
    let first = registry(Options { cache: Some(cache.clone()), ..served.options(&[]) });
    let image = format!("{}/os@{digest}", served.host());
    let inspected = first.labels(&image).await.unwrap();
    first.file(&image, REFERENCES, 100).await.unwrap();
    first.labels(&format!("{}/os:1", served.host())).await.unwrap();
    assert_eq!(cache.len(), 1, "a tag has no entry of its own");
    cache.save().unwrap();

    // The second has nowhere to ask.
    let second = registry(Options { cache: Some(open()), ..Options::default() });
    assert_eq!(second.labels(&image).await.unwrap(), inspected);
    assert_eq!(second.file(&image, REFERENCES, 100).await.unwrap().unwrap(), b"{}");
    let strict = Options { patience: Patience { retries: 0, ..Patience::default() }, ..Options::default() };
    let strict = registry(Options { cache: Some(open()), ..strict });
    assert!(strict.file(&image, REFERENCES, 1).await.is_err(), "the cache gave more than was asked for");
    assert!(strict.labels(&format!("{}/os:1", served.host())).await.is_err(), "a tag was answered from the cache");
}

#[test]
fn what_is_asked_may_move_between_threads() {
    fn movable<T: Send>(_: T) {}
    let registry = registry(Options::default());
    movable(registry.labels("a.b/c"));
    movable(registry.file("a.b/c", "d", 1));
    movable(registry.inspect_many(&[], Pace::default()));
}
