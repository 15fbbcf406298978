//! Files given on the command line, read with a bound and parsed. What is wrong with them is the caller's to correct.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;

use anyhow::{Context, Result};
use ostler_cluster_core::objects::{self, Resource};
use ostler_cluster_core::streams::Labels;
use ostler_core::document::{self, MAX_BYTES};
use serde_json::Value;

use crate::commands::Trouble;

/// All of a file, or of standard input when it is called `-`.
pub fn bytes(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = MAX_BYTES as u64 + 1;
    let read = if path == Path::new("-") {
        stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes))
    };
    read.with_context(|| unusable(path))?;
    Ok(bytes)
}

/// A JSON or YAML document.
pub fn document(path: &Path) -> Result<Value> {
    document::parse(&bytes(path)?).with_context(|| unusable(path))
}

/// An object of a kind.
pub fn object<T: Resource>(path: &Path) -> Result<T> {
    let document = document(path)?;
    let kind = document.get("kind").and_then(Value::as_str).unwrap_or_default();
    if kind != T::KIND {
        return Err(Trouble::input(format!("{} is no {}, but a {kind:?}", path.display(), T::KIND)).into());
    }
    objects::read(document).with_context(|| unusable(path))
}

/// Labels by image; null for an image that cannot be reached.
pub fn labels(path: &Path) -> Result<BTreeMap<String, Labels>> {
    let document = document(path)?;
    let given: BTreeMap<String, Option<BTreeMap<String, String>>> = serde_json::from_value(document).map_err(|_| {
        Trouble::input(format!(
            "{} is no JSON object of labels by image, with null where there are none",
            path.display()
        ))
    })?;
    let labels = |labels: Option<BTreeMap<String, String>>| match labels {
        Some(labels) => Labels::Found(labels),
        None => Labels::Unreachable("it cannot be reached".to_owned()),
    };
    Ok(given.into_iter().map(|(image, found)| (image, labels(found))).collect())
}

fn unusable(path: &Path) -> Trouble {
    Trouble::input(format!("cannot use {}", path.display()))
}
