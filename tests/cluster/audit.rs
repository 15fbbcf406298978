//! What the API server was asked and by whom, from its audit log.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`.
    pub verb: String,
    /// Path and query.
    pub uri: String,
    /// Status of the answer. Old servers tell that of a watch only when it ends; one that breaks with the server never
    /// gets any.
    pub code: Option<u16>,
}

/// What makes the server write a line for everything it is asked, and another for what it answers.
pub fn policy() -> String {
    let policy = json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]});
    policy.to_string()
}

/// The requests of a user, oldest first. A line that is being written is not seen.
pub fn requests_by(user: &str, log: &Path) -> Vec<Request> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut requests: Vec<Request> = Vec::new();
    let mut known = HashMap::new();
    for event in events.filter(|event| event["user"]["username"] == user) {
        let request = request(&event);
        match known.get(&event["auditID"].to_string()) {
            Some(&at) => requests[at] = request,
            None => {
                known.insert(event["auditID"].to_string(), requests.len());
                requests.push(request);
            }
        }
    }
    requests
}

fn request(event: &Value) -> Request {
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let code = event["responseStatus"]["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    Request { verb: text("verb"), uri: text("requestURI"), code }
}

#[test]
fn the_lines_of_a_request_are_taken_together() {
    let line = |id: &str, user: &str, verb: &str, code: Value| {
        let user = json!({"username": user});
        json!({"auditID": id, "user": user, "verb": verb, "requestURI": "/u", "responseStatus": code})
    };
    let lines = [
        line("1", "a", "watch", Value::Null),
        line("2", "a", "get", Value::Null),
        line("3", "b", "get", json!({"code": 200})),
        line("2", "a", "get", json!({"code": 404})),
    ];
    let log = tempfile::NamedTempFile::new().unwrap();
    fs::write(log.path(), lines.map(|line| line.to_string()).join("\n") + "\n{\"auditID\": \"cut").unwrap();
    let request = |verb: &str, code| Request { verb: verb.to_owned(), uri: "/u".to_owned(), code };
    assert_eq!(requests_by("a", log.path()), [request("watch", None), request("get", Some(404))]);
}
