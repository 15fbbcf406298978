//! Kernel arguments of deployments, changed by the rules of libostree's `OstreeKernelArgs`.
//!
//! The rules are written anew here because the libostree that the stand-ins link (2022.7) splits a line at spaces inside
//! quotes, which the libostree of current hosts does not.

use anyhow::{Result, bail};
use ostree_ext::ostree;

/// A change of kernel arguments, as the method `KernelArgs` names its parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KargChange {
    /// Arguments to delete; one that is not there is an error.
    pub delete: Vec<String>,
    /// Arguments to delete where they are there.
    pub delete_if_present: Vec<String>,
    /// Arguments to replace, as `KEY=NEW` or `KEY=OLD=NEW`.
    pub replace: Vec<String>,
    /// Arguments to append.
    pub append: Vec<String>,
    /// Arguments to append where they are not there.
    pub append_if_missing: Vec<String>,
    /// The whole new line, in place of all changes.
    pub finally: Option<String>,
}

/// The kernel arguments of a deployment, `ostree=` included.
pub fn of(deployment: &ostree::Deployment) -> Vec<String> {
    let options = deployment.bootconfig().and_then(|config| config.get("options"));
    options.map(|options| split(&options)).unwrap_or_default()
}

/// The arguments of a kernel command line; spaces inside double quotes do not part them.
pub fn split(line: &str) -> Vec<String> {
    let mut quoted = false;
    let args = line.split(|letter: char| {
        quoted ^= letter == '"';
        letter.is_ascii_whitespace() && !quoted
    });
    args.filter(|arg| !arg.is_empty()).map(str::to_owned).collect()
}

/// The arguments of `existing` after `change`, or none when it changes nothing.
pub fn changed(existing: &str, change: &KargChange) -> Result<Option<Vec<String>>> {
    let before = split(existing);
    if let Some(line) = &change.finally {
        return Ok(Some(split(line)).filter(|after| *after != before));
    }
    let mut kargs = before.clone();
    for arg in &change.delete {
        delete(&mut kargs, arg)?;
    }
    for arg in &change.delete_if_present {
        if kargs.contains(arg) {
            delete(&mut kargs, arg)?;
        }
    }
    for arg in &change.replace {
        replace(&mut kargs, arg)?;
    }
    kargs.extend(change.append.iter().cloned());
    for arg in &change.append_if_missing {
        if !kargs.contains(arg) {
            kargs.push(arg.clone());
        }
    }
    Ok(Some(kargs).filter(|after| *after != before))
}

/// Deletes the first argument that is `arg`; a bare key also deletes the only argument of that key.
fn delete(kargs: &mut Vec<String>, arg: &str) -> Result<()> {
    let place = match kargs.iter().position(|karg| karg == arg) {
        Some(place) => place,
        None if arg.contains('=') => bail!("No karg '{arg}' found"),
        None => only(kargs, arg)?,
    };
    kargs.remove(place);
    Ok(())
}

/// Replaces the value of a key: of its only argument, or with `KEY=OLD=NEW` of the one with the old value.
fn replace(kargs: &mut [String], arg: &str) -> Result<()> {
    let Some((key, values)) = arg.split_once('=') else { bail!("No value to replace '{arg}' by") };
    let chosen = values.split_once('=').and_then(|(old, new)| {
        let place = kargs.iter().position(|karg| *karg == format!("{key}={old}"))?;
        Some((place, new))
    });
    let (place, new) = match chosen {
        Some(chosen) => chosen,
        None => (only(kargs, key)?, values),
    };
    if let Some(karg) = kargs.get_mut(place) {
        *karg = if new.is_empty() { key.to_owned() } else { format!("{key}={new}") };
    }
    Ok(())
}

/// The place of the only argument with `key`.
fn only(kargs: &[String], key: &str) -> Result<usize> {
    let of_key = |karg: &str| karg.split_once('=').map_or(karg, |(key, _)| key) == key;
    let mut places = kargs.iter().enumerate().filter(|(_, karg)| of_key(karg)).map(|(place, _)| place);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (None, _) => bail!("No key '{key}' found"),
        (Some(_), Some(_)) => bail!("Multiple values for key '{key}' found"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn arguments_are_deleted_before_they_are_appended() {
        let change = KargChange {
            delete_if_present: words(&["nosmt", "absent=1"]),
            append: words(&["nosmt", "hugepages=4"]),
            ..KargChange::default()
        };
        let after = changed("quiet nosmt rw", &change).unwrap().unwrap();
        assert_eq!(after, words(&["quiet", "rw", "nosmt", "hugepages=4"]));
    }

    #[test]
    fn quoted_and_repeated_arguments_keep_their_place() {
        let line = r#"console=tty0 a="b c" console=ttyS0 console=tty0"#;
        let cases: [(&[&str], &[&str], &[&str]); 3] = [
            (&["console=tty0"], &[], &[r#"a="b c""#, "console=ttyS0", "console=tty0"]),
            (&[r#"a="b c""#], &[], &["console=tty0", "console=ttyS0", "console=tty0"]),
            (&["a"], &["console=ttyS0=ttyS1"], &["console=tty0", "console=ttyS1", "console=tty0"]),
        ];
        for (delete, replace, expected) in cases {
            let change = KargChange { delete: words(delete), replace: words(replace), ..KargChange::default() };
            assert_eq!(changed(line, &change).unwrap().unwrap(), words(expected));
        }
    }

    #[test]
    fn what_is_not_there_or_not_clear_is_an_error() {
        let cases = [("nosmt", "No key 'nosmt' found"), ("x=1", "No karg 'x=1' found")];
        for (delete, text) in cases {
            let change = KargChange { delete: words(&[delete]), ..KargChange::default() };
            assert_eq!(changed("quiet", &change).unwrap_err().to_string(), text);
        }
        let change = KargChange { delete: words(&["console"]), ..KargChange::default() };
        let error = changed("console=a console=b", &change).unwrap_err();
        assert_eq!(error.to_string(), "Multiple values for key 'console' found");
    }

    #[test]
    fn a_change_that_is_met_already_changes_nothing() {
        let change = KargChange { append_if_missing: words(&["quiet"]), ..KargChange::default() };
        assert_eq!(changed("quiet rw", &change).unwrap(), None);
    }
}
