//! Text of a document, JSON or YAML, to a JSON value.
//!
//! Owns size and nesting bounds. Refuses to know what the document means.

use serde_json::Value;

use crate::malformed::Malformed;

/// Largest document read. The API server stores objects of at most 1.5 MiB or so; a dump of one may be a little larger.
pub const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Why a document cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// Nothing but white space.
    #[error("the document is empty")]
    Empty,
    /// Larger than any MachineConfig can be.
    #[error("the document has more than {} MiB", MAX_BYTES / (1024 * 1024))]
    TooLarge,
    /// Starts like JSON and is none.
    #[error("the document is not valid JSON")]
    Json(#[source] Malformed),
    /// Does not start like JSON and is no UTF-8, hence no YAML either.
    #[error("the document is not UTF-8 text")]
    NotText(#[source] std::str::Utf8Error),
    /// Does not start like JSON and is no YAML.
    #[error("the document is not valid YAML: {0}")]
    Yaml(YamlProblem),
    /// More than one YAML document, separated by `---`.
    #[error("the file has several YAML documents; give each a file of its own")]
    Several,
}

/// A YAML parser's complaint: where, and what, without the text around it, which may hold a secret.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct YamlProblem {
    message: String,
}

impl From<serde_saphyr::Error> for YamlProblem {
    fn from(error: serde_saphyr::Error) -> Self {
        Self { message: error.without_snippet().to_string() }
    }
}

/// Reads a document. JSON is recognised by its first character; everything else is YAML, whose octal numbers are read
/// as Kubernetes reads them (`mode: 0644` is 420).
pub fn parse(bytes: &[u8]) -> Result<Value, DocumentError> {
    if bytes.len() > MAX_BYTES {
        return Err(DocumentError::TooLarge);
    }
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Err(DocumentError::Empty),
        Some(b'{' | b'[') => serde_json::from_slice(bytes).map_err(|error| DocumentError::Json(error.into())),
        Some(_) => parse_yaml(std::str::from_utf8(bytes).map_err(DocumentError::NotText)?),
    }
}

fn parse_yaml(text: &str) -> Result<Value, DocumentError> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true, with_snippet: false };
    let value: Value =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| match error.without_snippet() {
            serde_saphyr::Error::MultipleDocuments { .. } => DocumentError::Several,
            _ => DocumentError::Yaml(error.into()),
        })?;
    if value.is_null() { Err(DocumentError::Empty) } else { Ok(value) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_and_yaml_give_the_same_value() {
        let expected = json!({"spec": {"mode": 420, "on": true, "text": "a: b"}});
        for text in [
            r#" {"spec": {"mode": 420, "on": true, "text": "a: b"}}"#,
            "spec:\n  mode: 0644\n  on: true\n  text: 'a: b'\n",
            "# comment\n---\nspec: {mode: 420, on: true, text: \"a: b\"}\n",
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_document_is_refused() {
        for (bytes, expected) in [
            (&b""[..], "the document is empty"),
            (b" \n\t", "the document is empty"),
            (b"# only a comment\n", "the document is empty"),
            (b"{\"a\": ", "the document is not valid JSON"),
            (b"\xff\xfe", "the document is not UTF-8 text"),
            (b"a: [", "the document is not valid YAML"),
            (b"a: 1\n---\nb: 2\n", "the file has several YAML documents; give each a file of its own"),
        ] {
            let error = parse(bytes).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn an_alias_bomb_is_refused() {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let below = format!("*a{},", level - 1).repeat(10);
            text.push_str(&format!("a{level}: &a{level} [{below}]\n"));
        }
        assert!(matches!(parse(text.as_bytes()), Err(DocumentError::Yaml(_))));
    }

    #[test]
    fn a_yaml_error_does_not_quote_the_document() {
        let error = parse(b"password: hunter2\n bad indent: [\n").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
