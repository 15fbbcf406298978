//! Files given on the command line, read with a bound and parsed. What is wrong with them is the caller's to correct.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;

use anyhow::{Context, Result};
use ostler_cluster_core::documents;
use ostler_cluster_core::objects::{self, Resource};
use ostler_cluster_core::streams::Labels;
use ostler_core::document::{self, DocumentError, MAX_BYTES};
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

/// An object of a kind, alone or in a list. One that does not say what it is is taken at the caller's word.
pub fn object<T: Resource>(path: &Path) -> Result<T> {
    of_kind(document(path)?, path)
}

/// An object of a kind; none where the file is empty or says `null`.
pub fn optional_object<T: Resource>(path: &Path) -> Result<Option<T>> {
    match document::parse(&bytes(path)?) {
        Err(DocumentError::Empty) => Ok(None),
        document => of_kind(document.with_context(|| unusable(path))?, path).map(Some),
    }
}

fn of_kind<T: Resource>(document: Value, path: &Path) -> Result<T> {
    let kind = |object: &Value| object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let outer = kind(&document);
    let mut objects = documents::unfold(document);
    objects.retain(|object| object.is_object() && [T::KIND, ""].contains(&kind(object).as_str()));
    match <[Value; 1]>::try_from(objects) {
        Ok([object]) => objects::read(object).with_context(|| unusable(path)),
        Err(objects) if objects.is_empty() && outer.is_empty() => {
            Err(Trouble::input(format!("{} is no {}", path.display(), T::KIND)).into())
        }
        Err(objects) if objects.is_empty() => {
            Err(Trouble::input(format!("{} holds a {outer}, no {}", path.display(), T::KIND)).into())
        }
        Err(_) => Err(Trouble::input(format!("{} holds more than one {}", path.display(), T::KIND)).into()),
    }
}

/// Labels by image; null for an image that cannot be reached.
pub fn labels(path: &Path) -> Result<BTreeMap<String, Labels>> {
    let Value::Object(images) = document(path)? else {
        let words = format!("{} is no JSON object of labels by image", path.display());
        return Err(Trouble::input(words).into());
    };
    let read = |(image, labels): (String, Value)| match labels_of(labels) {
        Some(labels) => Ok((image, labels)),
        None => Err(Trouble::input(format!(
            "{}: the labels of {image} are no JSON object of texts; write null if it cannot be reached",
            path.display()
        ))),
    };
    Ok(images.into_iter().map(read).collect::<Result<_, _>>()?)
}

/// A label that is `null` is an empty one, as elsewhere.
fn labels_of(value: Value) -> Option<Labels> {
    let text = |(name, value)| match value {
        Value::String(text) => Some((name, text)),
        Value::Null => Some((name, String::new())),
        _ => None,
    };
    match value {
        Value::Null => Some(Labels::Unreachable("it cannot be reached".to_owned())),
        Value::Object(labels) => labels.into_iter().map(text).collect::<Option<_>>().map(Labels::Found),
        _ => None,
    }
}

fn unusable(path: &Path) -> Trouble {
    Trouble::input(format!("cannot use {}", path.display()))
}
