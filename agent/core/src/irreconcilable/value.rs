//! Values as compact JSON: secrets replaced, long text cut, and never more in memory than is shown.

use std::fmt::{self, Write};

use serde_json::Value;

use super::path::Step;

/// What stands in for a secret.
const HIDDEN: &str = "\"(hidden)\"";

/// How much of a place may be shown, by the fields on the way to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// Anything but a `data:` URL.
    Open,
    /// A key file: its source is secret.
    KeyFile,
    /// A custom Clevis pin: its config is secret.
    Custom,
    /// HTTP headers: everything but their names is secret.
    Headers,
    /// Nothing at all.
    Hidden,
}

impl Sight {
    /// The sight of a place.
    pub(super) fn of(path: &[Step<'_>]) -> Self {
        path.iter().fold(Self::Open, |sight, step| match step {
            Step::Field(name) => sight.enter(name),
            Step::Item(_) | Step::Moved { .. } => sight,
        })
    }

    fn enter(self, field: &str) -> Self {
        match (self, field) {
            (Self::Hidden, _) | (Self::KeyFile, "source") | (Self::Custom, "config") => Self::Hidden,
            (Self::Headers, "name") => Self::Open,
            (Self::Headers, _) => Self::Hidden,
            (_, "keyFile") => Self::KeyFile,
            (_, "custom") => Self::Custom,
            (_, "httpHeaders") => Self::Headers,
            _ => Self::Open,
        }
    }

    /// Whether a value in this place must not be shown.
    pub(super) fn hides(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Hidden, _) => true,
            (_, Value::Array(_) | Value::Object(_)) => false,
            // A scalar where an object belongs: it may well be the secret itself.
            (Self::KeyFile | Self::Custom | Self::Headers, _) => true,
            (Self::Open, Value::String(text)) => is_data_url(text),
            (Self::Open, _) => false,
        }
    }
}

fn is_data_url(text: &str) -> bool {
    text.trim_start().split_once(':').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("data"))
}

/// A part of a text, in characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Characters left out at the front.
    pub(super) skip: usize,
    /// Characters kept from there.
    pub(super) limit: usize,
}

/// A text of which only a window is kept.
pub(super) struct Clipped {
    window: Window,
    kept: String,
    total: usize,
}

impl Clipped {
    pub(super) const fn new(window: Window) -> Self {
        Self { window, kept: String::new(), total: 0 }
    }

    /// Characters of the whole text.
    pub(super) const fn total(&self) -> usize {
        self.total
    }
}

impl Write for Clipped {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.window.skip.saturating_add(self.window.limit);
        for character in text.chars() {
            if (self.window.skip..end).contains(&self.total) {
                self.kept.push(character);
            }
            self.total += 1;
        }
        Ok(())
    }
}

impl fmt::Display for Clipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let front = if self.window.skip > 0 { "…" } else { "" };
        write!(f, "{front}{}", self.kept)?;
        if self.total > self.window.skip.saturating_add(self.window.limit) {
            write!(f, "… ({} characters)", self.total)?;
        }
        Ok(())
    }
}

/// Writes a value that stands in a place of this sight.
pub(super) fn json(value: &Value, sight: Sight, window: Window) -> Clipped {
    let mut out = Clipped::new(window);
    // Writing to a `Clipped` cannot fail.
    let _ = write_json(&mut out, value, sight);
    out
}

fn write_json(out: &mut Clipped, value: &Value, sight: Sight) -> fmt::Result {
    match value {
        _ if sight.hides(value) => out.write_str(HIDDEN),
        Value::Array(items) => {
            let mut separator = "[";
            for item in items {
                out.write_str(separator)?;
                write_json(out, item, sight)?;
                separator = ",";
            }
            out.write_str(if items.is_empty() { "[]" } else { "]" })
        }
        Value::Object(fields) => {
            // By name, whether or not serde_json keeps the order of the document.
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            let mut separator = "{";
            for (name, field) in &fields {
                write!(out, "{separator}{}:", Value::from(name.as_str()))?;
                write_json(out, field, sight.enter(name))?;
                separator = ",";
            }
            out.write_str(if fields.is_empty() { "{}" } else { "}" })
        }
        scalar => write!(out, "{scalar}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(value: &Value, limit: usize) -> String {
        json(value, Sight::Open, Window { skip: 0, limit }).to_string()
    }

    #[test]
    fn json_is_compact_and_sorted() {
        let value = json!({"b": [1, null, "x\ny"], "a": {"c": true}, "d": [], "e": {}});
        assert_eq!(shown(&value, 1000), r#"{"a":{"c":true},"b":[1,null,"x\ny"],"d":[],"e":{}}"#);
    }

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let value = json!([{
            "name": "root",
            "keyFile": {
                "source": "https://example.com/S3CRET",
                "httpHeaders": [{"name": "Authorization", "value": "S3CRET"}],
                "verification": {"hash": "sha512-00"},
            },
            "clevis": {"custom": {"pin": "sss", "config": "S3CRET", "needsNetwork": true}},
            "label": " DATA:,S3CRET",
        }]);
        let text = shown(&value, 1000);
        assert!(!text.contains("S3CRET"), "{text}");
        for visible in ["Authorization", "sha512-00", "sss", r#""config":"(hidden)""#, r#""label":"(hidden)""#] {
            assert!(text.contains(visible), "{visible} in {text}");
        }
    }

    #[test]
    fn a_cut_value_says_so_and_counts_characters_not_bytes() {
        assert_eq!(shown(&json!("ääääää"), 4), "\"äää… (8 characters)");
        assert_eq!(shown(&json!("ääääää"), 8), "\"ääääää\"");
        let tail = json(&json!("abcdef"), Sight::Open, Window { skip: 5, limit: 10 });
        assert_eq!((tail.to_string().as_str(), tail.total()), ("…ef\"", 8));
    }
}
