//! A field of the wrong type, told by where it is and what it should be, never by what it holds.
//!
//! Deserialisers quote the offending value in their messages; in a configuration that value may be a secret.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Where a document does not have the shape it should have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", self.place())]
pub struct Malformed {
    at: String,
    what: String,
}

impl Malformed {
    /// Takes a deserialiser's message, in plain words and without the value it quotes.
    pub(crate) fn new(at: impl Into<String>, message: &str) -> Self {
        Self { at: at.into(), what: plain(message) }
    }

    /// Of a TOML text, by its line.
    pub fn toml(text: &str, error: &toml::de::Error) -> Self {
        let before = error.span().and_then(|span| text.as_bytes().get(..span.start));
        let line = |before: &[u8]| format!("line {}", before.split(|byte| *byte == b'\n').count());
        Self::new(before.map_or_else(String::new, line), error.message())
    }

    fn place(&self) -> String {
        if self.at.is_empty() || self.at == "." { String::new() } else { format!("{}: ", self.at) }
    }
}

/// Of a text, by its line and column.
impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        // A value that is no text has no lines.
        let at = match (error.line(), error.column()) {
            (0, _) => String::new(),
            (line, 0) => format!("line {line}"),
            (line, column) => format!("line {line}, column {column}"),
        };
        if error.is_eof() {
            return Self { at, what: "the document ends too early".to_owned() };
        }
        Self::new(at, &error.to_string())
    }
}

/// Reads a typed value out of a document. Text is moved out of it, not copied.
pub fn read<T: DeserializeOwned>(document: Value) -> Result<T, Malformed> {
    serde_path_to_error::deserialize(document)
        .map_err(|error| Malformed::new(error.path().to_string(), &error.inner().to_string()))
}

/// `invalid type: string "hunter2", expected i64` becomes `must be a whole number, not a string`.
fn plain(message: &str) -> String {
    let message = unplaced(message);
    let expected = || message.rsplit_once(", expected ").map(|(_, expected)| noun(expected));
    let field = |rest: &str| rest.trim_matches('`').to_owned();
    if let Some(rest) = message.strip_prefix("missing field ") {
        return format!("{} is missing", field(rest));
    }
    if let Some(rest) = message.strip_prefix("duplicate field ") {
        return format!("{} is there twice", field(rest));
    }
    if let Some(value) = message.strip_prefix("invalid type: ") {
        let kind: String = value.chars().take_while(|c| c.is_ascii_alphabetic() || c.is_ascii_whitespace()).collect();
        let wanted = expected().unwrap_or_else(|| "of another type".to_owned());
        return format!("must be {wanted}{}", found(kind.trim()));
    }
    let quotes = ["invalid value: ", "unknown variant ", "invalid length "];
    if quotes.into_iter().any(|start| message.starts_with(start)) {
        return expected()
            .map_or_else(|| "has a value that it cannot have".to_owned(), |wanted| format!("must be {wanted}"));
    }
    message.to_owned()
}

/// A message without the place that `serde_json` adds to it.
fn unplaced(message: &str) -> &str {
    let is_place = |place: &str| place.replace(" column ", "").chars().all(|c| c.is_ascii_digit());
    message.rsplit_once(" at line ").filter(|(_, place)| is_place(place)).map_or(message, |(start, _)| start)
}

/// What a deserialiser expected, in the words of a person who writes JSON or YAML.
fn noun(expected: &str) -> String {
    let kinds = ["struct ", "internally tagged ", "adjacently tagged ", "any value of enum "];
    match expected {
        "string" | "a borrowed string" => "a string".to_owned(),
        "sequence" | "a sequence" => "a list".to_owned(),
        "map" | "a map" => "an object".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "u8" => "a whole number from 0 to 255".to_owned(),
        "u16" => "a whole number from 0 to 65535".to_owned(),
        "u32" => "a whole number from 0 to 4294967295".to_owned(),
        "u64" | "usize" => "a whole number from 0".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        other if kinds.iter().any(|kind| other.starts_with(kind)) => "an object".to_owned(),
        other => other.to_owned(),
    }
}

fn found(kind: &str) -> &'static str {
    match kind {
        "map" => ", not an object",
        "sequence" => ", not a list",
        "string" => ", not a string",
        "boolean" => ", not true or false",
        "integer" => ", not a whole number",
        "floating point" => ", not a fraction",
        "null" | "unit value" => ", not null",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[allow(dead_code)]
        inner: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        #[allow(dead_code)]
        number: i64,
    }

    #[test]
    fn an_error_names_the_place_and_not_the_value() {
        for (document, expected) in [
            (
                json!({"inner": [{"number": 1}, {"number": "hunter2"}]}),
                "inner[1].number: must be a whole number, not a string",
            ),
            (json!({"inner": [{}]}), "inner[0]: number is missing"),
            (json!({"inner": "hunter2, expected x"}), "inner: must be a list, not a string"),
            (json!("hunter2"), "must be an object, not a string"),
        ] {
            assert_eq!(read::<Outer>(document).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn no_words_of_a_library_are_left() {
        for (text, expected) in [
            ("{", "line 1, column 1: the document ends too early"),
            ("", "line 1: the document ends too early"),
            ("{\"inner\": 3}", "line 1, column 11: must be a list, not a whole number"),
            ("{\"inner\": [{}]}", "line 1, column 13: number is missing"),
            ("{\"inner\": [], \"inner\": []}", "line 1, column 21: inner is there twice"),
        ] {
            let error = serde_json::from_str::<Outer>(text).unwrap_err();
            assert_eq!(Malformed::from(error).to_string(), expected, "{text}");
        }
        for (message, expected) in [
            ("invalid value: integer `-1`, expected u32", "must be a whole number from 0 to 4294967295"),
            ("unknown variant `hunter2`, expected `a` or `b`", "must be `a` or `b`"),
            ("invalid type: null, expected a map", "must be an object, not null"),
            ("a word of ours", "a word of ours"),
        ] {
            assert_eq!(Malformed::new("", message).to_string(), expected);
        }
    }
}
