//! Label selectors that Kubernetes would refuse. The API does not look into those of a `MachineConfiguration`.

use crate::objects::{Requirement, Selector};

/// Longest name and value of a label.
const MAX_NAME: usize = 63;
/// Longest part of a name before its slash.
const MAX_PREFIX: usize = 253;

/// What Kubernetes would refuse in a selector.
pub(super) fn unusable(selector: &Selector) -> Option<String> {
    let pairs = selector.match_labels.iter().map(|(key, value)| label(key, std::iter::once(value)));
    pairs.chain(selector.match_expressions.iter().map(requirement)).flatten().next()
}

fn requirement(Requirement { key, operator, values }: &Requirement) -> Option<String> {
    let right = match operator.as_str() {
        "In" | "NotIn" => !values.is_empty(),
        "Exists" | "DoesNotExist" => values.is_empty(),
        _ => return Some(format!("{operator:?} for the label {key:?} is no operator")),
    };
    if !right {
        return Some(format!("{operator} for the label {key:?} has the wrong number of values"));
    }
    label(key, values.iter())
}

fn label<'a>(key: &str, mut values: impl Iterator<Item = &'a String>) -> Option<String> {
    if !is_key(key) {
        return Some(format!("{key:?} is no name of a label"));
    }
    let value = values.find(|value| !value.is_empty() && !is_name(value))?;
    Some(format!("{value:?} is no value of a label"))
}

fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        None => is_name(key),
        Some((prefix, name)) => is_domain(prefix) && is_name(name),
    }
}

fn is_name(text: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.len() <= MAX_NAME && text.bytes().all(inside) && ends(text.bytes().next()) && ends(text.bytes().next_back())
}

fn is_domain(text: &str) -> bool {
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let part = |part: &str| {
        let ends = |byte: Option<u8>| byte.is_some_and(lower);
        let inside = part.bytes().all(|byte| lower(byte) || byte == b'-');
        inside && ends(part.bytes().next()) && ends(part.bytes().next_back())
    };
    text.len() <= MAX_PREFIX && text.split('.').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_judged_as_kubernetes_does() {
        for key in ["a", "A.b_c-9", "example.com/a", "x/y", &"n".repeat(63)] {
            assert!(is_key(key), "{key}");
        }
        for key in ["", "-a", "a-", "a b", "/a", "a/", "a/b/c", "Ex.com/a", "-x.com/a", "x..y/a", "ä", &"n".repeat(64)]
        {
            assert!(!is_key(key), "{key}");
        }
        let selector = |key: &str, value: &str| Selector {
            match_labels: [(key.to_owned(), value.to_owned())].into(),
            ..Selector::default()
        };
        assert_eq!(unusable(&selector("a", "")), None);
        assert_eq!(unusable(&selector("a", "b")), None);
        assert_eq!(unusable(&selector("a", "b c")), Some("\"b c\" is no value of a label".to_owned()));
        assert_eq!(unusable(&selector("a b", "c")), Some("\"a b\" is no name of a label".to_owned()));
    }

    #[test]
    fn requirements_have_the_values_that_their_operator_wants() {
        for (operator, values, usable) in [
            ("In", vec!["a"], true),
            ("NotIn", vec!["a", "b"], true),
            ("In", vec![], false),
            ("Exists", vec![], true),
            ("DoesNotExist", vec!["a"], false),
            ("Gt", vec!["1"], false),
            ("In", vec!["a b"], false),
        ] {
            let values = values.into_iter().map(str::to_owned).collect();
            let expression = Requirement { key: "k".to_owned(), operator: operator.to_owned(), values };
            let selector = Selector { match_expressions: vec![expression], ..Selector::default() };
            assert_eq!(unusable(&selector).is_none(), usable, "{operator}");
        }
    }
}
