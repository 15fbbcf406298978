use proptest::prelude::*;

use super::*;
use crate::drift::Difference;

fn subject(path: &str) -> Subject {
    Subject::File { path: path.to_owned() }
}

fn policy(text: &str) -> DriftPolicy {
    DriftPolicy::parse(text.as_bytes()).unwrap()
}

#[test]
fn patterns_match_what_they_say_and_nothing_else() {
    for (pattern, path, expected) in [
        ("/etc/foo", "/etc/foo", true),
        ("/etc/foo", "/etc/foo/bar", false),
        ("/etc/foo", "/etc/fo", false),
        ("/etc/*", "/etc/foo", true),
        ("/etc/*", "/etc/foo/bar", false),
        ("/etc/*.conf", "/etc/.conf", true),
        ("/etc/*.conf", "/etc/a.b.conf", true),
        ("/etc/*.conf", "/etc/a.conf.d", false),
        ("/etc/*/b", "/etc/a/b", true),
        ("/etc/*/b", "/etc/a/c/b", false),
        ("/etc/foo/**", "/etc/foo/a", true),
        ("/etc/foo/**", "/etc/foo/a/b", true),
        ("/etc/foo/**", "/etc/foo", false),
        ("/etc/foo/**", "/etc/foobar", false),
        ("/etc/foo**", "/etc/foobar/x", true),
        ("/etc/**/x", "/etc/x", true),
        ("/etc/**/x", "/etc/a/b/x", true),
        ("/etc/**/x", "/etc/ax", false),
        ("/**/x", "/x", true),
        ("/**/**/x", "/a/x", true),
        ("**", "/anything/at/all", true),
        ("/etc/[a]?", "/etc/[a]?", true),
        ("/etc/[a]?", "/etc/ab", false),
        ("/etc/ü*", "/etc/über", true),
    ] {
        assert_eq!(Glob::new(pattern).unwrap().matches(path), expected, "{pattern} {path}");
    }
}

#[test]
fn what_can_never_match_is_refused_with_a_remedy() {
    for (pattern, expected) in [
        ("etc/foo", GlobError::Relative),
        ("", GlobError::Relative),
        ("/etc/foo/", GlobError::Element),
        ("/etc/../foo", GlobError::Element),
        ("/", GlobError::Element),
    ] {
        assert_eq!(Glob::new(pattern), Err(expected), "{pattern}");
    }
    assert_eq!(Glob::new(&format!("/{}", "a".repeat(4096))), Err(GlobError::TooLong));
}

#[test]
fn the_last_rule_that_matches_counts() {
    let policy = policy(
        "default: ignore\nrules:\n- {path: /etc/**, action: repair}\n- {path: /etc/foo/*, action: report}\n\
         - {path: /etc/foo/a, action: ignore}\n",
    );
    for (path, expected) in [
        ("/opt/x", Action::Ignore),
        ("/etc/x", Action::Repair),
        ("/etc/foo/b", Action::Report),
        ("/etc/foo/a", Action::Ignore),
        ("/etc/foo/a/b", Action::Repair),
    ] {
        assert_eq!(policy.action(&subject(path)), expected, "{path}");
    }
}

#[test]
fn every_kind_of_subject_is_matched_by_where_it_is() {
    let core = || "core".to_owned();
    let unit = || "a.service".to_owned();
    for (subject, path) in [
        (subject("/etc/a"), "/etc/a"),
        (Subject::Unit { unit: unit() }, "/etc/systemd/system/a.service"),
        (Subject::Dropin { unit: unit(), dropin: "x.conf".to_owned() }, "/etc/systemd/system/a.service.d/x.conf"),
        (Subject::SshKeys { user: core() }, "/home/core/.ssh/authorized_keys.d/ignition"),
        (Subject::Password { user: core() }, "/etc/shadow"),
    ] {
        let policy = policy(&format!("{{\"rules\": [{{\"path\": \"{path}\", \"action\": \"repair\"}}]}}"));
        assert_eq!(policy.action(&subject), Action::Repair, "{path}");
        assert_eq!(DriftPolicy::default().action(&subject), Action::Report, "{path}");
    }
}

#[test]
fn the_clusters_word_comes_after_the_machines() {
    let machine = || DriftPolicy::parse(b"default: repair\nrules: [{path: /etc/a, action: ignore}]");
    for (annotation, a, b) in [
        (None, Action::Ignore, Action::Repair),
        (Some(" report\n"), Action::Report, Action::Report),
        (Some("repair"), Action::Repair, Action::Repair),
        (Some("ignore"), Action::Ignore, Action::Ignore),
        (Some("{\"default\": \"report\"}"), Action::Ignore, Action::Report),
        (Some("{\"rules\": [{\"path\": \"/etc/*\", \"action\": \"repair\"}]}"), Action::Repair, Action::Repair),
    ] {
        let (policy, error) = DriftPolicy::of(machine(), annotation);
        assert!(error.is_none(), "{annotation:?}");
        assert_eq!((policy.action(&subject("/etc/a")), policy.action(&subject("/etc/b"))), (a, b), "{annotation:?}");
    }
}

#[test]
fn a_policy_that_cannot_be_read_means_that_everything_is_reported() {
    let broken: [&[u8]; 8] = [
        b"default: fix",
        b"rules: 1",
        b"rule: []",
        b"rules: [{path: etc, action: repair}]",
        b"rules: [{path: /etc/a}]",
        b"[]",
        b"{",
        b"\xff",
    ];
    for text in broken {
        let (policy, error) = DriftPolicy::of(DriftPolicy::parse(text), Some("repair"));
        assert_eq!(policy.action(&subject("/etc/a")), Action::Report);
        assert!(error.is_some(), "{}", String::from_utf8_lossy(text));
    }
    let (policy, error) = DriftPolicy::of(DriftPolicy::parse(b"default: repair"), Some("please repair"));
    assert_eq!((policy, error.is_some()), (DriftPolicy::default(), true));
    let many = format!("rules: [{}]", "{path: /a, action: repair}, ".repeat(MAX_RULES + 1));
    assert!(matches!(DriftPolicy::parse(many.as_bytes()), Err(PolicyError::TooLarge)));
    assert_eq!(DriftPolicy::parse(b"# nothing yet\n").unwrap(), DriftPolicy::default());
}

/// A matcher that is slow and plain.
fn plain(pattern: &[u8], path: &[u8], after_slash: bool) -> bool {
    match pattern {
        [] => path.is_empty(),
        [b'*', b'*', b'/', rest @ ..] if after_slash => {
            let ends = |end: &usize| *end == 0 || path[end - 1] == b'/';
            (0..=path.len()).filter(ends).any(|end| plain(rest, &path[end..], true))
        }
        [b'*', b'*', rest @ ..] => (0..=path.len()).any(|end| plain(rest, &path[end..], false)),
        [b'*', rest @ ..] => {
            let within = path.iter().take_while(|byte| **byte != b'/').count();
            (0..=within).any(|end| plain(rest, &path[end..], false))
        }
        [byte, rest @ ..] => path.first() == Some(byte) && plain(rest, &path[1..], *byte == b'/'),
    }
}

proptest! {
    #[test]
    fn a_pattern_matches_what_a_plain_matcher_says(pattern in "(/(a|b|\\*|\\*\\*|a\\*|\\*b|a\\*\\*)){1,4}", path in "(/(a|b|ab|ba|x)){1,5}") {
        let glob = Glob::new(&pattern).unwrap();
        prop_assert_eq!(glob.matches(&path), plain(pattern.as_bytes(), path.as_bytes(), false), "{} {}", pattern, path);
    }

    #[test]
    fn nothing_is_lost_or_doubled_by_judging(paths in prop::collection::vec("/[a-c]{1,2}", 0..12)) {
        let policy = policy("rules: [{path: /a*, action: repair}, {path: /b*, action: ignore}]");
        let drift: Vec<Drift> =
            paths.iter().map(|path| Drift { subject: subject(path), difference: Difference::Missing }).collect();
        let Judged { reported, repairable, ignored } = judge(&drift, &policy);
        prop_assert!(repairable.iter().all(|drift| drift.subject.path().starts_with("/a")));
        prop_assert!(ignored.iter().all(|drift| drift.subject.path().starts_with("/b")));
        let mut all = [reported, repairable, ignored].concat();
        let mut drift = drift;
        all.sort();
        drift.sort();
        prop_assert_eq!(all, drift);
    }

    #[test]
    fn no_text_is_a_policy_that_panics(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = DriftPolicy::parse(&text);
        let _ = DriftPolicy::parse_annotation(&String::from_utf8_lossy(&text));
    }
}
