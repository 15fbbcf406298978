//! What `streams discover` makes of files: which images count, how they pair, which source and which default wins. Each
//! rule of the machine-config operator has its case.
#![cfg(test)]

mod desk;

use desk::{Desk, said};
use serde_json::{Value, json};

const FILES: &str = "discover --image-references references --image-labels labels -o json";
const SOURCE: &str = "io.openshift.build.source-location";

fn tag(name: &str, image: &str) -> Value {
    json!({"name": name, "from": {"kind": "DockerImage", "name": image}})
}

fn references(tags: &[Value]) -> Value {
    json!({"apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "metadata": {"name": "4.22.0"}, "spec": {"tags": tags}})
}

/// Labels of images that are called by their half and their stream: `os/rhel-9/1` and `ext/rhel-9/1`.
fn labels(more: &[(&str, Value)]) -> Value {
    let mut labels = serde_json::Map::new();
    for stream in ["rhel-9", "rhel-10", "Z", "a"] {
        for number in 1..=3 {
            let os = json!({"io.openshift.os.streamclass": stream, "containers.bootc": "1"});
            let extensions = json!({"io.openshift.os.streamclass": stream, "io.openshift.os.extensions": "true"});
            labels.insert(format!("os/{stream}/{number}"), os);
            labels.insert(format!("ext/{stream}/{number}"), extensions);
        }
    }
    labels.extend(more.iter().map(|(image, of)| ((*image).to_owned(), of.clone())));
    Value::Object(labels)
}

fn pair(stream: &str) -> [Value; 2] {
    [
        tag(&format!("rhel-coreos-{stream}"), &format!("os/{stream}/1")),
        tag(&format!("rhel-coreos-{stream}-extensions"), &format!("ext/{stream}/1")),
    ]
}

fn both() -> Vec<Value> {
    [pair("rhel-9"), pair("rhel-10")].concat()
}

/// The streams as `name os extensions`, then the default; or the exit status and what was said.
fn found(desk: &Desk, more: &str) -> Result<Vec<String>, (Option<i32>, String)> {
    let output = desk.ask(&format!("{FILES} {more}"));
    if !output.status.success() {
        assert!(output.stdout.is_empty(), "no partial answer: {output:?}");
        return Err((output.status.code(), said(&output)));
    }
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["availableStreams", "defaultStream"]);
    let text = |set: &Value, key: &str| set[key].as_str().unwrap().to_owned();
    let sets = answer["availableStreams"].as_array().unwrap().iter();
    let mut lines: Vec<String> = sets
        .map(|set| format!("{} {} {}", text(set, "name"), text(set, "osImage"), text(set, "osExtensionsImage")))
        .collect();
    lines.push(text(&answer, "defaultStream"));
    Ok(lines)
}

fn of_tags(tags: &[Value], more_labels: &[(&str, Value)]) -> Result<Vec<String>, (Option<i32>, String)> {
    let desk = Desk::new(&[("references", references(tags)), ("labels", labels(more_labels))]);
    found(&desk, "--install-version 4.20.0")
}

fn nine() -> Vec<String> {
    ["rhel-9 os/rhel-9/1 ext/rhel-9/1", "rhel-9"].map(str::to_owned).into()
}

fn noted(name: &str, image: &str, location: &Value) -> Value {
    let mut tag = tag(name, image);
    tag["annotations"] = json!({SOURCE: location});
    tag
}

#[test]
fn tags_count_by_their_name_or_by_their_source() {
    let os = "https://github.com/openshift/os";
    for tags in [
        pair("rhel-9").to_vec(),
        vec![noted("x", "os/rhel-9/1", &json!(os)), noted("y", "ext/rhel-9/1", &json!(format!("{os}-fork/tree/main")))],
        vec![tag("stream10-coreos", "os/rhel-9/1"), tag("rhel-9.8-coreos-extensions", "ext/rhel-9/1")],
    ] {
        assert_eq!(of_tags(&tags, &[]), Ok(nine()), "{tags:?}");
    }
    let proposed = [tag("rhel_9-coreos", "os/rhel-9/1"), tag("rhel_9-coreos-extensions", "ext/rhel-9/1")];
    let desk = Desk::new(&[("references", references(&proposed)), ("labels", labels(&[]))]);
    assert_eq!(found(&desk, "").unwrap_err().0, Some(3));
    assert_eq!(found(&desk, "--all-tags"), Ok(nine()));
}

#[test]
fn other_tags_and_those_from_elsewhere_than_a_registry_do_not_count() {
    let other = "os/rhel-9/2";
    for more in [
        json!({"name": "rhel-coreos-10", "from": {"kind": "ImageStreamTag", "name": other}}),
        json!({"name": "rhel-coreos", "from": {"kind": "ImageStreamImage", "name": other}, "annotations": {SOURCE: "github.com/openshift/os"}}),
        json!({"name": "rhel-coreos", "from": {"kind": "dockerimage", "name": other}}),
        json!({"name": "rhel-coreos"}),
        json!({"name": "rhel-coreos", "from": null}),
        json!({"name": null, "annotations": null, "from": {"kind": "DockerImage", "name": other}}),
        Value::Null,
        noted("other", other, &Value::Null),
        noted("api", other, &json!("https://github.com/openshift/api")),
        noted("loud", other, &json!("https://GitHub.com/openshift/os")),
        tag("machine-os-content", other),
        tag("rhel_9-coreos", other),
        tag("rhel-coreos+x", other),
        tag("fedora-coreos", other),
        tag("centos-stream-coreos-10", other),
        tag("RHEL-coreos", other),
    ] {
        let tags = [pair("rhel-9").to_vec(), vec![more]].concat();
        assert_eq!(of_tags(&tags, &[]), Ok(nine()), "{tags:?}");
    }
}

#[test]
fn labels_tell_the_halves_and_the_later_tag_counts() {
    let class = "io.openshift.os.streamclass";
    let more = [
        ("loud", json!({class: "rhel-9", "containers.bootc": "TRUE"})),
        ("both", json!({class: "rhel-9", "containers.bootc": "1", "io.openshift.os.extensions": "true"})),
        ("yes", json!({class: "rhel-9", "containers.bootc": "yes"})),
        ("one", json!({class: "rhel-9", "io.openshift.os.extensions": "1"})),
        ("True", json!({class: "rhel-9", "containers.bootc": "0", "io.openshift.os.extensions": "True"})),
        ("empty", json!({class: "", "containers.bootc": "1"})),
        ("nulls", json!({class: null, "containers.bootc": "1"})),
        ("none", json!({})),
        ("away", Value::Null),
    ];
    let line = |os: &str, extensions: &str| Ok(vec![format!("rhel-9 {os} {extensions}"), "rhel-9".to_owned()]);
    let usual = |more: &[&str]| {
        let more = more.iter().enumerate().map(|(number, image)| tag(&format!("rhel-coreos-more-{number}"), image));
        pair("rhel-9").into_iter().chain(more).collect::<Vec<_>>()
    };
    for (images, expected) in [
        (&["loud"][..], line("loud", "ext/rhel-9/1")),
        (&["both"], line("both", "ext/rhel-9/1")),
        (&["True"], line("os/rhel-9/1", "True")),
        (&["os/rhel-9/3", "os/rhel-9/2", "ext/rhel-9/2"], line("os/rhel-9/2", "ext/rhel-9/2")),
        (&["os/rhel-9/2", "os/rhel-9/1"], line("os/rhel-9/1", "ext/rhel-9/1")),
        (&["yes", "one", "empty", "nulls", "none", "away", "unheard-of"], line("os/rhel-9/1", "ext/rhel-9/1")),
    ] {
        assert_eq!(of_tags(&usual(images), &more), expected, "{images:?}");
    }
    let told = of_tags(&usual(&["away"])[1..], &more).unwrap_err();
    assert_eq!(told.0, Some(3));
    for words in [
        "away (tag rhel-coreos-more-0 of the release) is left out",
        "rhel-9 of the release is left out: it has only its extensions image",
        "no source has a stream",
    ] {
        assert!(told.1.contains(words), "{words}: {}", told.1);
    }
}

fn url_config_map() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "machine-config-osimageurl"}, "data": {
        "baseOSContainerImage": "os/rhel-9/2", "baseOSExtensionsContainerImage": "ext/rhel-9/2", "osImageURL": "",
        "releaseVersion": "1.2.3"}})
}

#[test]
fn sources_replace_each_other_as_a_whole_and_never_share_a_pair() {
    let line = |number: u8| Ok(vec![format!("rhel-9 os/rhel-9/{number} ext/rhel-9/{number}"), "rhel-9".to_owned()]);
    let mut keyless = url_config_map();
    keyless["data"].as_object_mut().unwrap().remove("osImageURL");
    let command_line = "--os-image os/rhel-9/3 --extensions-image ext/rhel-9/3";
    for (tags, more, expected) in [
        (pair("rhel-9").to_vec(), format!("{command_line} --url-config-map urls"), line(1)),
        (vec![], format!("{command_line} --url-config-map urls"), line(2)),
        (vec![], format!("{command_line} --url-config-map keyless"), line(3)),
        (vec![], command_line.to_owned(), line(3)),
        // Half a stream is as good as none, and does not come in between.
        (pair("rhel-9")[..1].to_vec(), command_line.to_owned(), line(3)),
        (pair("rhel-9")[1..].to_vec(), format!("{command_line} --url-config-map urls"), line(2)),
        // What the words call it does not count, its labels do.
        (vec![], "--os-image ext/rhel-9/3 --extensions-image os/rhel-9/3".to_owned(), line(3)),
    ] {
        let desk = Desk::new(&[
            ("references", references(&tags)),
            ("labels", labels(&[])),
            ("urls", url_config_map()),
            ("keyless", keyless.clone()),
        ]);
        assert_eq!(found(&desk, &more), expected, "{tags:?} {more}");
    }
    let across = "--os-image os/rhel-9/3 --extensions-image ext/rhel-10/3";
    let desk = Desk::new(&[
        ("references", references(&[pair("rhel-9")[1].clone(), pair("rhel-10")[0].clone()])),
        ("labels", labels(&[])),
    ]);
    assert_eq!(found(&desk, across).unwrap_err().0, Some(3));
}

/// Objects that are there already, and a release with two streams and one with a single one.
fn with_existing() -> Desk {
    let object = |spec: Value, status: Value| {
        json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "OSImageStream",
            "metadata": {"name": "cluster"}, "spec": spec, "status": status})
    };
    let asks = |stream: &str| json!({"defaultStream": stream});
    let mut older = object(asks("rhel-10"), Value::Null);
    older["apiVersion"] = json!("machineconfiguration.openshift.io/v1alpha1");
    let desk = Desk::new(&[
        ("references", references(&both())),
        ("single", references(&pair("a"))),
        ("labels", labels(&[])),
        ("asks-10", object(asks("rhel-10"), asks("rhel-9"))),
        ("asks-gone", object(asks("rhel-8"), asks("rhel-9"))),
        ("kept-10", object(json!({}), asks("rhel-10"))),
        ("kept-nulls", object(Value::Null, asks("rhel-10"))),
        ("kept-gone", object(asks(""), asks("rhel-8"))),
        ("nothing", object(Value::Null, Value::Null)),
        ("kindless", json!({"spec": {"defaultStream": "rhel-10"}})),
        ("listed", json!({"apiVersion": "v1", "kind": "List", "items": [object(asks("rhel-10"), Value::Null)]})),
        ("older", older),
        ("null", Value::Null),
    ]);
    desk.put("empty", "");
    desk
}

#[test]
fn the_default_is_asked_for_kept_alone_or_of_the_install_version() {
    let desk = with_existing();
    for (more, expected) in [
        ("--existing asks-10 --install-version 4.20.0", Some("rhel-10")),
        ("--existing kept-10 --install-version 4.20.0", Some("rhel-10")),
        ("--existing kept-nulls --install-version 4.20.0", Some("rhel-10")),
        ("--existing kindless --install-version 4.20.0", Some("rhel-10")),
        ("--existing listed --install-version 4.20.0", Some("rhel-10")),
        ("--existing older --install-version 4.20.0", Some("rhel-10")),
        ("--existing nothing --install-version 4.20.0", Some("rhel-9")),
        ("--existing nothing --install-version 5.0.0", Some("rhel-10")),
        ("--existing null --install-version 4.20.0", Some("rhel-9")),
        ("--existing empty --install-version 4.20.0", Some("rhel-9")),
        ("--existing asks-gone --install-version 4.20.0", None),
        ("--existing kept-gone --install-version 4.20.0", None),
        ("--install-version v4.20", Some("rhel-9")),
        ("--install-version 4.20.0-0.nightly-2026-01-01", Some("rhel-9")),
        ("--install-version 4.020.1", Some("rhel-9")),
        ("--install-version 5.0.0-ec.1", Some("rhel-10")),
        ("--install-version 3.11.0", Some("rhel-10")),
        ("--install-version 41.0", Some("rhel-10")),
        ("", Some("rhel-10")),
        ("--okd", None),
    ] {
        let default = found(&desk, more);
        match (expected, default) {
            (Some(name), Ok(lines)) => assert_eq!(lines.last().unwrap(), name, "{more}"),
            (None, Err((status, told))) => {
                assert!(status == Some(3) && told.contains("would be the default"), "{more}: {told}")
            }
            (expected, default) => panic!("{more}: {default:?} instead of {expected:?}"),
        }
    }
    // The only stream is the default, unless another one is asked for.
    let single =
        |more: &str| desk.ask(&format!("{} {more}", FILES.replace("references references", "references single")));
    assert!(String::from_utf8(single("--install-version 4.20.0").stdout).unwrap().contains("\"defaultStream\": \"a\""));
    assert_eq!(single("--existing asks-10").status.code(), Some(3));
}

#[test]
fn streams_come_by_name_from_json_and_yaml_alike() {
    let tags = [pair("a").to_vec(), both(), pair("Z").to_vec()].concat();
    let sorted = [
        "Z os/Z/1 ext/Z/1",
        "a os/a/1 ext/a/1",
        "rhel-10 os/rhel-10/1 ext/rhel-10/1",
        "rhel-9 os/rhel-9/1 ext/rhel-9/1",
        "rhel-9",
    ];
    assert_eq!(of_tags(&tags, &[]), Ok(sorted.map(str::to_owned).into()));
    let desk = Desk::new(&[("labels", labels(&[]))]);
    desk.put(
        "references",
        "# of a release\n---\nkind: ImageStream\napiVersion: image.openshift.io/v1\nspec:\n  tags:\n\
         \x20 - name: rhel-coreos\n    annotations: {io.openshift.build.commit.id: abc}\n    from: {kind: DockerImage, name: os/rhel-9/1}\n\
         \x20 - name: rhel-coreos-extensions\n    from:\n      kind: DockerImage\n      name: ext/rhel-9/1\n",
    );
    assert_eq!(found(&desk, ""), Ok(nine()));
}

#[test]
fn what_is_no_release_is_named_with_status_2() {
    let desk = Desk::new(&[("labels", labels(&[])), ("labelled", json!({"image": {"a": 3}})), ("list", json!([]))]);
    for (text, words) in [
        ("", "the document is empty"),
        ("{\"kind\": \"Pod\"}", "references holds a Pod, no ImageStream"),
        ("{}", "not an ImageStream"),
        ("{\"kind\": \"ImageStream\", \"apiVersion\": \"v1\"}", "not an ImageStream of image.openshift.io/v1"),
        ("{\"kind\": \"ImageStream\", \"spec\": {\"tags\": 3}}", "spec.tags"),
        ("[", "not valid JSON"),
        ("a: [", "not valid YAML"),
    ] {
        desk.put("references", text);
        let (status, told) = found(&desk, "").unwrap_err();
        assert!(status == Some(2) && told.contains(words), "{text}: {status:?} {told}");
    }
    desk.put("references", &references(&both()).to_string());
    for (words, reason) in [
        ("labelled", "the labels of image are no JSON object of texts"),
        ("list", "is no JSON object of labels by image"),
    ] {
        let output = desk.ask(&FILES.replace("labels labels", &format!("labels {words}")));
        assert!(output.status.code() == Some(2) && said(&output).contains(reason), "{output:?}");
    }
}

#[test]
fn one_image_and_a_manifest_can_be_had_as_well() {
    let desk = Desk::new(&[("references", references(&both())), ("labels", labels(&[]))]);
    let ask = |more: &str| desk.ask(&format!("{} --install-version 4.20.0 {more}", FILES.replace("-o json", "")));
    assert_eq!(ask("-o image").stdout, b"os/rhel-9/1\n");
    assert_eq!(ask("-o image --stream rhel-10").stdout, b"os/rhel-10/1\n");
    assert_eq!(ask("-o image --stream rhel-8").status.code(), Some(3));
    assert_eq!(ask("--stream rhel-10").status.code(), Some(2));
    let manifest: Value = serde_json::from_slice(&ask("-o manifest").stdout).unwrap();
    assert_eq!((&manifest["kind"], &manifest["metadata"]), (&json!("OSImageStream"), &json!({"name": "cluster"})));
    assert_eq!(manifest["spec"]["defaultStream"], manifest["status"]["defaultStream"]);
    desk.put("existing", &manifest.to_string());
    assert_eq!(found(&desk, "--existing existing --install-version 5.0").unwrap().last().unwrap(), "rhel-9");
}
