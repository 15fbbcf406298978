//! A kernel command line, then the old and the new entries of a config, one a line; separated by NUL bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ostler_core::kargs::{Change, split};

fuzz_target!(|text: &str| {
    let mut parts = text.splitn(3, '\0');
    let line = parts.next().unwrap_or_default();
    let (old, new) = (entries(parts.next()), entries(parts.next()));
    let unchanged = split(&Change::between(&new, &new).apply(line));
    assert_eq!(unchanged, split(line), "no change altered the line");

    let change = Change::between(&old, &new);
    let result = split(&change.apply(line));
    // An open quote swallows whatever follows it on the line, so only closed ones can promise anything.
    if split(line).iter().chain(&change.append).all(|argument| is_closed(argument)) {
        assert!(result.ends_with(&change.append), "what the config wants is not at the end of the line");
    }
});

fn entries(text: Option<&str>) -> Vec<String> {
    text.unwrap_or_default().lines().map(str::to_owned).collect()
}

fn is_closed(argument: &str) -> bool {
    argument.matches('"').count() % 2 == 0
}
