//! A CustomResourceDefinition of the real cluster, and what its API server would say to an object.
//!
//! Owns reading the definition; `schema` walks the structural part and `kube-cel` evaluates the rules, refusing what it
//! cannot evaluate. It is known to be stricter than the server in one rule: a subdomain's labels end at 63 characters.

use crate::{schema, yaml};
use anyhow::Context as _;
use kube_cel::{CompiledSchema, Validator, compile_schema};
use regex::{Captures, Regex};
use serde_json::Value;
use std::path::Path;

/// A chain of fields of which any may be absent, and what is asked of it.
const OPTIONAL_CHAIN: &str = r#"self\.\?([\w.]+)\.(?:hasValue\(\)|orValue\(("[^"]*")\))"#;

/// One version of a definition.
pub struct Crd {
    /// The definition's `spec`.
    pub spec: Value,
    /// The schema of its first version.
    pub schema: Value,
    rules: CompiledSchema,
}

impl Crd {
    /// Reads a definition.
    ///
    /// # Errors
    /// When the file is not a definition with a schema, or a rule in it does not compile.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let spec = yaml(path)?.get("spec").context("no spec")?.clone();
        let schema = spec.pointer("/versions/0/schema/openAPIV3Schema").context("no schema")?.clone();
        let mut plain = schema.clone();
        without_optional_chains(&mut plain, &Regex::new(OPTIONAL_CHAIN)?);
        let rules = compile_schema(&plain);
        anyhow::ensure!(!rules.has_errors(), "rules do not compile: {:?}", rules.compilation_errors());
        Ok(Self { spec, schema, rules })
    }

    /// What the API server would find wrong with a new object, each as `path: complaint`.
    pub fn violations(&self, object: &Value) -> Vec<String> {
        let mut found = schema::violations(&self.schema, object);
        if let Err(errors) = Validator::new().validate_compiled(&self.rules, object, None) {
            found.extend(errors.iter().map(ToString::to_string));
        }
        found
    }
}

/// Spells optional chains, which the evaluator cannot parse, with `has`. A chain of another form fails to compile.
fn without_optional_chains(schema: &mut Value, chain: &Regex) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(rule)) = fields.get_mut("rule") {
                *rule = chain.replace_all(rule, spelled_out).into_owned();
            }
            fields.values_mut().for_each(|value| without_optional_chains(value, chain));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| without_optional_chains(value, chain)),
        _ => {}
    }
}

fn spelled_out(chain: &Captures<'_>) -> String {
    let mut path = "self".to_owned();
    let mut steps = Vec::new();
    for field in chain.get(1).map_or("", |fields| fields.as_str()).split('.') {
        path = format!("{path}.{field}");
        steps.push(format!("has({path})"));
    }
    let present = steps.join(" && ");
    match chain.get(2) {
        Some(otherwise) => format!("({present} ? {path} : {})", otherwise.as_str()),
        None => format!("({present})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_chains_are_spelled_out() {
        let chain = Regex::new(OPTIONAL_CHAIN).unwrap();
        let table = [
            ("self.?a.b.hasValue() || x", "(has(self.a) && has(self.a.b)) || x"),
            ("self.?a.b.orValue(\"\") == 'c'", "(has(self.a) && has(self.a.b) ? self.a.b : \"\") == 'c'"),
            ("self.a == 1", "self.a == 1"),
        ];
        for (rule, expected) in table {
            assert_eq!(chain.replace_all(rule, spelled_out), expected);
        }
    }
}
