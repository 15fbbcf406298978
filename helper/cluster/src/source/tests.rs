use std::fs;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use ostler_cluster_core::objects::{ClusterVersion, ConfigMap, MachineConfigPool, OSImageStream};
use serde_json::json;

use super::*;

const POOLS: &str = "\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPoolList
items:
- metadata: {name: worker}
- apiVersion: machineconfiguration.openshift.io/v1
  kind: MachineConfigPool
  metadata: {name: master}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: here}
data: {a: b}
";

fn tree() -> (tempfile::TempDir, Directory) {
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir_all(tree.path().join("deep/er")).unwrap();
    fs::write(tree.path().join("deep/er/all.yaml"), POOLS).unwrap();
    let other =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "there"}});
    fs::write(tree.path().join("one.json"), other.to_string()).unwrap();
    fs::write(tree.path().join("broken.yaml"), "kind: ConfigMap\nmetadata: [").unwrap();
    fs::write(
        tree.path().join("foreign.yaml"),
        "apiVersion: other.io/v1\nkind: MachineConfigPool\nmetadata: {name: no}",
    )
    .unwrap();
    fs::write(tree.path().join("kubelet.log"), "kind: ConfigMap").unwrap();
    let directory = Directory::open(tree.path()).unwrap();
    (tree, directory)
}

#[test]
fn objects_are_found_wherever_they_are_and_broken_files_are_told_once() {
    let (tree, directory) = tree();
    let names = |pools: Vec<MachineConfigPool>| pools.into_iter().map(|pool| pool.metadata.name).collect::<Vec<_>>();
    assert_eq!(names(directory.list(None).unwrap()), ["master", "worker"]);
    assert_eq!(directory.list::<ConfigMap>(None).unwrap().len(), 2);
    assert_eq!(directory.list::<ConfigMap>(Some("here")).unwrap().len(), 1);
    assert!(directory.get::<ConfigMap>(Some("there"), "settings").unwrap().is_some());
    assert!(directory.get::<ConfigMap>(Some("there"), "other").unwrap().is_none());
    assert!(directory.get::<ClusterVersion>(None, "version").unwrap().is_none());
    let by_hand = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: by-hand}\n";
    fs::write(tree.path().join("by-hand.yaml"), by_hand).unwrap();
    let again = Directory::open(tree.path()).unwrap();
    assert!(again.get::<ConfigMap>(Some("here"), "by-hand").unwrap().is_some(), "no namespace may be any");
    assert_eq!(again.list::<ConfigMap>(Some("here")).unwrap().len(), 2);
    let notes = directory.notes();
    assert!(matches!(notes.as_slice(), [note] if note.contains("broken.yaml")), "{notes:?}");
}

#[test]
fn a_directory_that_is_none_is_an_error_and_a_malformed_object_is_named() {
    assert!(matches!(Directory::open(std::path::Path::new("/nowhere/at/all")), Err(ReadError::Directory { .. })));
    let tree = tempfile::tempdir().unwrap();
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}, "data": 3});
    fs::write(tree.path().join("a.json"), object.to_string()).unwrap();
    let error = Directory::open(tree.path()).unwrap().list::<ConfigMap>(None).unwrap_err();
    assert_eq!(error.to_string(), "ConfigMap n/a is malformed");
}

/// A server that answers each path and query with a status and a body.
fn served(answer: fn(&str) -> (u16, String)) -> Live {
    let service = tower::service_fn(move |request: Request<Body>| async move {
        let question = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        let (status, body) = answer(&question);
        Ok::<_, std::convert::Infallible>(
            Response::builder().status(status).body(Body::from(body.into_bytes())).unwrap(),
        )
    });
    Live::new(Client::new(service, "default"))
}

fn failure(code: u16, name: &str) -> (u16, String) {
    (code, json!({"status": "Failure", "code": code, "message": "words", "details": {"name": name}}).to_string())
}

#[tokio::test]
async fn lists_are_read_by_pages_and_begun_anew_when_the_server_forgot() {
    let live = served(|question| {
        let page = |names: &[&str], token: &str| {
            let items: Vec<_> = names.iter().map(|name| json!({"metadata": {"name": name}})).collect();
            (200, json!({"metadata": {"continue": token}, "items": items}).to_string())
        };
        match question.split_once("continue=") {
            None => page(&["a"], "more"),
            Some((_, "more")) => page(&["b", "c"], ""),
            Some(_) => failure(500, ""),
        }
    });
    assert_eq!(live.list::<MachineConfigPool>(None).await.unwrap().len(), 3);
    let forgetful = served(|question| match question.contains("continue") {
        true => failure(410, ""),
        false => (200, json!({"metadata": {"continue": "x"}, "items": []}).to_string()),
    });
    let error = forgetful.list::<MachineConfigPool>(None).await.unwrap_err();
    assert!(error.to_string().contains("faster"), "{error}");
}

#[tokio::test]
async fn whoever_only_reads_cannot_write_whatever_he_asks() {
    let service = tower::service_fn(|request: Request<Body>| async move {
        assert_eq!(request.method(), http::Method::GET, "nothing else leaves the process");
        Ok::<_, std::convert::Infallible>(Response::new(Body::from(br#"{"metadata": {"name": "a"}}"#.to_vec())))
    });
    let live = Live::reading(service);
    assert!(live.get::<MachineConfigPool>(None, "a").await.unwrap().is_some());
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let request = Request::builder().method(method).uri("/api/v1/nodes/a").body(Vec::new()).unwrap();
        let error = live.client().request::<serde_json::Value>(request).await.unwrap_err();
        assert!(format!("{error:?}").contains("this command only reads"), "{error:?}");
    }
}

#[tokio::test]
async fn an_unknown_kind_an_absent_object_and_a_refusal_are_told_apart() {
    let older = served(|question| match question.contains("/v1alpha1/") {
        true => (200, json!({"metadata": {"name": "cluster"}, "spec": {"defaultStream": "x"}}).to_string()),
        false => (404, "404 page not found".to_owned()),
    });
    let stream: OSImageStream = older.get(None, "cluster").await.unwrap().unwrap();
    assert_eq!(stream.spec.default_stream, "x");
    assert!(older.list::<MachineConfigPool>(None).await.unwrap_err().is_unknown_kind());
    let absent = served(|_| failure(404, "worker"));
    assert!(absent.get::<MachineConfigPool>(None, "worker").await.unwrap().is_none());
    let forbidden = served(|_| failure(403, ""));
    assert!(matches!(forbidden.list::<ConfigMap>(Some("n")).await, Err(ReadError::Forbidden { .. })));
    let busy = served(|_| failure(503, ""));
    assert!(matches!(busy.list::<ConfigMap>(Some("n")).await, Err(ReadError::Unreachable { .. })));
}
