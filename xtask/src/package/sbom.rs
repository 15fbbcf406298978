//! What the programs are made of, as CycloneDX: every crate that is linked into them, with its version, licence and
//! checksum. Macros and build scripts run at build time and are not in the programs, so they are not in the list.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::product::Product;
use crate::{process, workspace};

/// Writes the list of a product's.
pub fn write(path: &Path, product: &Product, version: &str) -> Result<()> {
    let metadata = process::answer(&mut process::cargo(["metadata", "--format-version=1", "--locked"]))?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata gave no JSON")?;
    let lock = fs::read_to_string(workspace::root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let mut tree =
        process::cargo(["tree", "--locked", "--prefix=none", "--edges=normal,no-proc-macro", "--format={p}"]);
    tree.args(product.programs.iter().map(|program| format!("--package={}", program.name)));
    let linked = linked(&process::answer(&mut tree)?);
    let of = (product.name, version);
    let text = serde_json::to_string_pretty(&document(&metadata, &linked, &checksums(&lock), of))?;
    fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}

/// Names and versions, as `cargo tree` prints them.
fn linked(tree: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.trim_start_matches('v').to_owned()))
    };
    let mut linked: Vec<_> = tree.lines().filter_map(pair).collect();
    linked.sort();
    linked.dedup();
    linked
}

/// Checksums by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
        line.map(|rest| rest.trim_end_matches('"').to_owned())
    };
    let entry = |block: &str| Some(((value(block, "name")?, value(block, "version")?), value(block, "checksum")?));
    lock.split("[[package]]").filter_map(entry).collect()
}

fn document(
    metadata: &Value,
    linked: &[(String, String)],
    checksums: &BTreeMap<(String, String), String>,
    (name, version): (&str, &str),
) -> Value {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let licence = |name: &str, version: &str| {
        let found = packages.iter().find(|package| package["name"] == name && package["version"] == version);
        found.and_then(|package| package["license"].as_str()).map(str::to_owned)
    };
    let component = |(name, version): &(String, String)| {
        let mut component = Map::new();
        component.insert("type".to_owned(), "library".into());
        component.insert("name".to_owned(), name.as_str().into());
        component.insert("version".to_owned(), version.as_str().into());
        if let Some(licence) = licence(name, version) {
            let licences = json!([{ "expression": licence.replace('/', " OR ") }]);
            component.insert("licenses".to_owned(), licences);
        }
        if let Some(sum) = checksums.get(&(name.clone(), version.clone())) {
            // Only what came from the registry has a checksum, and only that can be looked up there.
            component.insert("purl".to_owned(), format!("pkg:cargo/{name}@{version}").into());
            component.insert("hashes".to_owned(), json!([{ "alg": "SHA-256", "content": sum }]));
        }
        Value::Object(component)
    };
    json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "component": { "type": "application", "name": name, "version": version } },
        "components": linked.iter().map(component).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_linked_crate_is_listed_once_with_what_is_known_of_it() {
        let tree = "ostler v0.1.0 (/x)\nserde v1.0.0\nserde v1.0.0 (*)\n";
        let lock = "[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\nsource = \"registry\"\nchecksum = \"abc\"\n";
        let metadata = json!({"packages": [{"name": "serde", "version": "1.0.0", "license": "MIT/Apache-2.0"}]});
        let document = document(&metadata, &linked(tree), &checksums(lock), ("ostler", "0.1.0"));
        let serde = json!({
            "type": "library", "name": "serde", "version": "1.0.0", "purl": "pkg:cargo/serde@1.0.0",
            "licenses": [{"expression": "MIT OR Apache-2.0"}], "hashes": [{"alg": "SHA-256", "content": "abc"}],
        });
        assert_eq!(document["components"].as_array().map(Vec::len), Some(2));
        assert_eq!(document["components"][0].get("purl"), None);
        assert_eq!(document["components"][1], serde);
    }
}
