//! Steps for keys and passwords.

use std::collections::BTreeSet;

use crate::diff::Parts;
use crate::ignition::{Config, User};
use crate::secret::Secret;
use crate::step::Step;

const CORE: &str = "core";

/// Keys of all users go to `core`, the only one that can be changed. A password is touched only when its hash changes,
/// so that one set by hand survives a change of keys; one that is no longer configured is locked.
pub(super) fn steps(parts: Parts, old: &Config, new: &Config) -> Vec<Step> {
    if !parts.passwd {
        return Vec::new();
    }
    let mut steps = Vec::new();
    let [before, after] = [old, new].map(keys);
    if before != after {
        steps.push(Step::SetSshKeys { user: CORE.to_owned(), keys: after.len() });
    }
    let names: BTreeSet<&str> = old.users.iter().chain(&new.users).map(|user| user.name.as_str()).collect();
    for name in names {
        let (before, after) = (hash(&old.users, name), hash(&new.users, name));
        if before == after {
            continue;
        }
        let user = name.to_owned();
        steps.push(if after.is_some() { Step::SetPassword { user } } else { Step::LockPassword { user } });
    }
    steps
}

fn keys(config: &Config) -> Vec<&Secret<String>> {
    config.users.iter().flat_map(|user| &user.ssh_keys).collect()
}

/// An empty hash would let anyone in; it counts as none.
fn hash<'a>(users: &'a [User], name: &str) -> Option<&'a Secret<String>> {
    let user = users.iter().rev().find(|user| user.name == name)?;
    user.password_hash.as_ref().filter(|hash| !hash.expose().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::diff::Diff;
    use crate::fixture::users;

    fn between(old: &Value, new: &Value) -> Vec<Step> {
        let (old, new) = (users(old), users(new));
        steps(Diff::between(&old, &new).parts, &old.ignition, &new.ignition)
    }

    #[test]
    fn a_password_is_touched_only_when_its_hash_changes() {
        let core =
            |hash: Value, keys: Value| json!([{"name": "core", "passwordHash": hash, "sshAuthorizedKeys": keys}]);
        let user = || "core".to_owned();
        let set = || Step::SetPassword { user: user() };
        let lock = || Step::LockPassword { user: user() };
        let keys = |keys| Step::SetSshKeys { user: user(), keys };
        for (old, new, expected) in [
            (json!([]), core(json!("x"), json!([])), vec![set()]),
            (core(json!("x"), json!([])), core(json!("y"), json!([])), vec![set()]),
            (core(json!("x"), json!(["k"])), core(json!("x"), json!(["k", "l"])), vec![keys(2)]),
            (core(json!("x"), json!(["k"])), core(json!(null), json!(["k"])), vec![lock()]),
            (core(json!("x"), json!(["k"])), core(json!(""), json!(["k"])), vec![lock()]),
            (core(json!("x"), json!(["k"])), json!([]), vec![keys(0), lock()]),
            (core(json!(null), json!(["k"])), json!([]), vec![keys(0)]),
            (core(json!(null), json!(["k"])), core(json!(""), json!(["k"])), vec![]),
            (core(json!(null), json!(["k", "l"])), core(json!(null), json!(["l", "k"])), vec![keys(2)]),
            (core(json!("x"), json!(["k"])), core(json!("y"), json!(["l"])), vec![keys(1), set()]),
        ] {
            assert_eq!(between(&old, &new), expected, "{old} -> {new}");
        }
    }
}
