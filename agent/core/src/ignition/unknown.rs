//! Keys of a config that Ignition ignores: in no specification, or only in a newer one than the config was written in.
//!
//! The types that read a config know their own keys: they are deserialised once more, and each object is compared with
//! the list that its type asks for. Nothing below an unknown key is looked at, and no value is kept.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserialize, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use super::{Release, keys, version, version2};

/// Most unknown keys that are named; the rest is counted.
const MOST: usize = 16;
/// Most characters of a key that are repeated or compared.
const MOST_OF_A_KEY: usize = 64;

/// A key that nobody reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// Where, as `storage.files[3].modee`.
    pub path: String,
    /// The key of that place that it resembles.
    pub nearest: Option<&'static str>,
}

/// The unknown keys of a document, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownKeys {
    /// The first of them.
    pub named: Vec<UnknownKey>,
    /// How many more there are.
    pub more: usize,
}

impl UnknownKeys {
    /// Of a typed value, whose keys are those of its type. What has the wrong type is for others to refuse.
    pub(crate) fn of_type<'v, T: Deserialize<'v>>(value: &'v Value, path: &str) -> Self {
        let found = RefCell::new(Self::default());
        let _ = T::deserialize(Walk { value, place: Place::Root(path), found: &found });
        found.into_inner()
    }

    /// Of an Ignition config, by the version it was written in; none of one that cannot be read.
    pub fn of_config(config: &Value, path: &str) -> Self {
        let config = keys::canonical(Cow::Borrowed(config));
        match version(&config).ok().and_then(Release::of) {
            Some(Release::Two) => version2::unknown_keys(&config, path),
            Some(Release::Three(version)) => version.unknown_keys(&config, path),
            None => Self::default(),
        }
    }

    /// Those of an object that are not in a list.
    pub(super) fn add(&mut self, place: Place<'_>, object: &Map<String, Value>, known: &[&'static str]) {
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            if self.named.len() < MOST {
                let path = format!("{place}{}{}", if place.is_start() { "" } else { "." }, printable(key));
                self.named.push(UnknownKey { path, nearest: nearest(key, known) });
            } else {
                self.more = self.more.saturating_add(1);
            }
        }
    }
}

/// A key as it can be part of a path.
fn printable(key: &str) -> String {
    let start: String = key.chars().take(MOST_OF_A_KEY).collect();
    let plain =
        start.len() == key.len() && start.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if plain { start } else { format!("{start:?}") }
}

/// The most similar key; none where more than two fifths would have to be another.
fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    let key: String = key.chars().take(MOST_OF_A_KEY).collect::<String>().to_ascii_lowercase();
    let distances = known.iter().map(|name| (strsim::osa_distance(&key, &name.to_ascii_lowercase()), *name));
    let (distance, name) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance * 5 <= key.chars().count().max(name.len()) * 2).then_some(name)
}

/// A path into the document. Nothing is formatted until there is something to name.
#[derive(Clone, Copy)]
pub(super) enum Place<'p> {
    Root(&'p str),
    Field(&'p Place<'p>, &'static str),
    Item(&'p Place<'p>, usize),
}

impl Place<'_> {
    const fn is_start(&self) -> bool {
        matches!(self, Self::Root(path) if path.is_empty())
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root(path) => f.write_str(path),
            Place::Field(outer, name) if outer.is_start() => f.write_str(name),
            Place::Field(outer, name) => write!(f, "{outer}.{name}"),
            Place::Item(list, index) => write!(f, "{list}[{index}]"),
        }
    }
}

/// A value on its way into a type.
struct Walk<'p, 'v> {
    value: &'v Value,
    place: Place<'p>,
    found: &'p RefCell<UnknownKeys>,
}

impl<'de> Deserializer<'de> for Walk<'_, 'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.value.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let Value::Object(object) = self.value else { return self.value.deserialize_any(visitor) };
        self.found.borrow_mut().add(self.place, object, fields);
        let known = object.iter().filter_map(|(key, value)| {
            let name = fields.iter().find(|name| *name == key)?;
            Some((*name, Walk { value, place: Place::Field(&self.place, name), found: self.found }))
        });
        visitor.visit_map(MapDeserializer::new(known))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        let Value::Array(items) = self.value else { return self.value.deserialize_any(visitor) };
        let items = items.iter().enumerate();
        let items =
            items.map(|(index, value)| Walk { value, place: Place::Item(&self.place, index), found: self.found });
        visitor.visit_seq(SeqDeserializer::new(items))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'v> IntoDeserializer<'v, serde_json::Error> for Walk<'_, 'v> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(config: &Value) -> Vec<(String, Option<&'static str>)> {
        let unknown = UnknownKeys::of_config(config, "");
        assert_eq!(unknown.more, 0);
        unknown.named.into_iter().map(|key| (key.path, key.nearest)).collect()
    }

    #[test]
    fn keys_of_another_place_or_a_newer_version_are_unknown_too() {
        let named = |path: &str, nearest| (path.to_owned(), nearest);
        for (config, expected) in [
            (json!({"ignition": {"version": "3.5.0"}, "kernelArguments": {"shouldExist": ["a"]}}), vec![]),
            (json!({"ignition": {"version": "3.2.0"}, "kernelArguments": {}}), vec![named("kernelArguments", None)]),
            (json!({"ignition": {"version": "3.5.0"}, "files": []}), vec![named("files", None)]),
            (
                json!({"ignition": {"version": "3.5.0"}, "Storage": {"FILE": []}}),
                vec![named("storage.FILE", Some("files"))],
            ),
            (
                json!({"ignition": {"version": "3.5.0"}, "passwd": {"users": [{"name": "core"}, {"name": "core", "sshAuthorizedKey": []}]}}),
                vec![named("passwd.users[1].sshAuthorizedKey", Some("sshAuthorizedKeys"))],
            ),
            (
                json!({"ignition": {"version": "2.1.0"}, "storage": {"files": [{"overwrite": true}]}}),
                vec![named("storage.files[0].overwrite", None)],
            ),
            (
                json!({"ignition": {"version": "2.2.0"}, "storage": {"files": [{"overwrite": true, "user": {"nam": 1}}]}}),
                vec![named("storage.files[0].user.nam", Some("name"))],
            ),
            (json!({"ignition": {"version": "2.2.0"}, "kernelArguments": []}), vec![named("kernelArguments", None)]),
            (json!({"ignition": {"version": "9.0.0"}, "storgae": []}), vec![]),
            (json!({"ignition": {"version": "3.5.0"}, "storgae\n": 1}), vec![named("\"storgae\\n\"", Some("storage"))]),
            (json!([]), vec![]),
        ] {
            assert_eq!(found(&config), expected, "{config}");
        }
    }

    #[test]
    fn what_has_the_wrong_type_is_walked_as_far_as_it_can_be() {
        let config = json!({"ignition": {"version": "3.5.0"}, "storge": 1, "systemd": {"units": "text"}});
        assert_eq!(found(&config), [("storge".to_owned(), Some("storage"))]);
    }

    #[test]
    fn a_flood_is_counted() {
        let keys = (0..100).map(|number| (format!("k{number}"), Value::Null));
        let mut config: Map<String, Value> = keys.collect();
        config.insert("ignition".to_owned(), json!({"version": "3.5.0"}));
        let unknown = UnknownKeys::of_config(&Value::Object(config), "spec.config");
        assert_eq!((unknown.named.len(), unknown.more), (MOST, 100 - MOST));
        assert_eq!(unknown.named[0].path, "spec.config.k0");
    }
}
