//! The authority in a kubeconfig, of its first cluster, read and replaced. Everything else of the file stays.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::document;
use crate::secret::Secret;

const DATA: &str = "certificate-authority-data";
const PATH: &str = "certificate-authority";

/// Why a kubeconfig cannot be used. Never quotes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KubeconfigError {
    /// Neither YAML nor JSON.
    #[error("it is neither YAML nor JSON")]
    Unreadable,
    /// Has no cluster.
    #[error("it names no cluster")]
    NoCluster,
    /// Its authority is not base64.
    #[error("its certificate-authority-data is not base64")]
    Authority,
}

/// The certificates that the first cluster's server is verified with; none where there are none in the file itself.
pub fn authority(text: &[u8]) -> Result<Option<Vec<u8>>, KubeconfigError> {
    let document = read(text)?;
    let Some(data) = first_cluster(&document)?.get(DATA).and_then(Value::as_str) else { return Ok(None) };
    STANDARD.decode(data.trim()).map(Some).map_err(|_| KubeconfigError::Authority)
}

/// Whether a kubeconfig is whole enough to reach a cluster with.
pub fn is_usable(text: &[u8]) -> bool {
    read(text).is_ok_and(|document| first_cluster(&document).is_ok_and(|cluster| cluster.get("server").is_some()))
}

/// The same kubeconfig with other certificates. The text around them is kept wherever that is possible; else the document
/// is written as JSON, which is YAML too.
pub fn with_authority(text: &[u8], pem: &[u8]) -> Result<Secret<Vec<u8>>, KubeconfigError> {
    let mut wanted = read(text)?;
    let cluster = wanted.pointer_mut("/clusters/0/cluster").and_then(Value::as_object_mut);
    let cluster = cluster.ok_or(KubeconfigError::NoCluster)?;
    // A client refuses a file that names both.
    cluster.remove(PATH);
    let data = STANDARD.encode(pem);
    let before = cluster.insert(DATA.to_owned(), Value::String(data.clone()));
    let kept = before.as_ref().and_then(Value::as_str).and_then(|before| replaced(text, before, &data, &wanted));
    kept.map_or_else(|| as_json(&wanted), Ok).map(Secret::new)
}

/// The text with one value in another's place, if it means what is wanted then.
fn replaced(text: &[u8], before: &str, after: &str, wanted: &Value) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let text = Some(before).filter(|before| !before.is_empty()).map(|before| text.replacen(before, after, 1))?;
    (document::parse(text.as_bytes()).ok().as_ref() == Some(wanted)).then(|| text.into_bytes())
}

fn as_json(document: &Value) -> Result<Vec<u8>, KubeconfigError> {
    let mut text = serde_json::to_vec_pretty(document).map_err(|_| KubeconfigError::Unreadable)?;
    text.push(b'\n');
    Ok(text)
}

fn read(text: &[u8]) -> Result<Value, KubeconfigError> {
    // The causes stay here: they may quote the file.
    document::parse(text).map_err(|_| KubeconfigError::Unreadable)
}

fn first_cluster(document: &Value) -> Result<&Value, KubeconfigError> {
    document.pointer("/clusters/0/cluster").filter(|cluster| cluster.is_object()).ok_or(KubeconfigError::NoCluster)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const YAML: &str = "\
# written by hand
apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: https://api-int.example.com:6443   # the load balancer
    certificate-authority-data: b2xk
- name: other
  cluster: {server: https://other, certificate-authority-data: b3RoZXI=}
users:
- name: kubelet
  user: {token: hunter2}
extensions: [{name: unknown, extension: {mode: keep}}]
";

    #[test]
    fn the_first_clusters_authority_is_read_from_yaml_and_json() {
        let json = json!({"clusters": [{"cluster": {"certificate-authority-data": "b2xk"}}]}).to_string();
        for (text, expected) in [
            (YAML, Ok(Some(b"old".to_vec()))),
            (json.as_str(), Ok(Some(b"old".to_vec()))),
            ("clusters: [{cluster: {certificate-authority: /etc/ca.crt}}]", Ok(None)),
            ("clusters: [{cluster: {certificate-authority-data: '!'}}]", Err(KubeconfigError::Authority)),
            ("clusters: []", Err(KubeconfigError::NoCluster)),
            ("a: 1", Err(KubeconfigError::NoCluster)),
            ("", Err(KubeconfigError::Unreadable)),
            ("{", Err(KubeconfigError::Unreadable)),
        ] {
            assert_eq!(authority(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn only_the_value_changes_in_a_file_that_has_one() {
        let text = with_authority(YAML.as_bytes(), b"new authority").unwrap().into_exposed();
        assert_eq!(String::from_utf8(text).unwrap(), YAML.replace("b2xk", "bmV3IGF1dGhvcml0eQ=="));
    }

    #[test]
    fn what_cannot_be_replaced_in_place_keeps_its_meaning() {
        let twice = "clusters:\n- {name: b2xk, cluster: {certificate-authority-data: b2xk, server: s}}\nx: [1]\n";
        let folded = "clusters:\n- cluster:\n    server: s\n    certificate-authority-data: >-\n      b2\n      xk\n";
        let path = "clusters: [{cluster: {certificate-authority: /etc/ca.crt, server: s}}]\nx: {y: null}\n";
        for text in [twice, folded, path, "clusters: [{cluster: {server: s, certificate-authority-data: ''}}]"] {
            let made = with_authority(text.as_bytes(), b"new").unwrap().into_exposed();
            assert_eq!(authority(&made), Ok(Some(b"new".to_vec())), "{text}");
            let (mut before, mut after) = (read(text.as_bytes()).unwrap(), read(&made).unwrap());
            for document in [&mut before, &mut after] {
                let cluster = document.pointer_mut("/clusters/0/cluster").unwrap().as_object_mut().unwrap();
                cluster.remove(DATA);
                cluster.remove(PATH);
            }
            assert_eq!(before, after, "{text}");
        }
        assert!(with_authority(b"clusters: 1", b"new").is_err());
    }

    #[test]
    fn a_usable_file_names_a_server() {
        assert!(is_usable(YAML.as_bytes()));
        assert!(!is_usable(b"clusters: [{cluster: {}}]") && !is_usable(b"") && !is_usable(b"clusters: "));
    }
}
