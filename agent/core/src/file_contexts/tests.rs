//! Lookups in small policies written like those of the distributions.

use proptest::prelude::*;

use super::*;

const BASE: &str = r"
# a comment
/.*	system_u:object_r:default_t:s0
/[^/]+	--	system_u:object_r:etc_runtime_t:s0
/	-d	system_u:object_r:root_t:s0
/etc/.*	system_u:object_r:etc_t:s0
/usr/.*	system_u:object_r:usr_t:s0
/var/.*	system_u:object_r:var_t:s0
/etc	-d	system_u:object_r:etc_t:s0
/dev/.*	system_u:object_r:device_t:s0
/dev/pts(/.*)?	<<none>>
/etc/ssh(/.*)?	system_u:object_r:etc_t:s0
/etc/ssh/ssh_host.*_key	--	system_u:object_r:sshd_key_t:s0
/etc/kubernetes(/.*)?	system_u:object_r:kubernetes_file_t:s0
/etc/systemd/system(/.*)?	system_u:object_r:systemd_unit_file_t:s0
/usr/lib/systemd/system(/.*)?	system_u:object_r:systemd_unit_file_t:s0
/usr/(local/)?bin(/.*)?	system_u:object_r:bin_t:s0
/var/run/.*	system_u:object_r:var_run_t:s0
/etc/resolv\.conf.*	--	system_u:object_r:net_conf_t:s0
/etc/localtime	-l	system_u:object_r:locale_t:s0
/etc/shadow.*	--	system_u:object_r:shadow_t:s0
/dev/log	-s	system_u:object_r:devlog_t:s0
/etc/\.pwd\.lock	--	system_u:object_r:shadow_t:s0
";
const HOMEDIRS: &str = r"
/home/[^/]+	-d	unconfined_u:object_r:user_home_dir_t:s0
/home/[^/]+/.+	unconfined_u:object_r:user_home_t:s0
/home/[^/]+/\.ssh(/.*)?	unconfined_u:object_r:ssh_home_t:s0
/root(/.*)?	system_u:object_r:admin_home_t:s0
";
const SUBS_DIST: &str = "
# a comment
/run /var/run
/run/systemd/system /usr/lib/systemd/system
/var/home /home
/var/roothome /root
/sysroot /
/usr/lib64 /usr/lib
";

fn policy() -> FileContexts {
    FileContexts::parse(BASE, HOMEDIRS, "", SUBS_DIST, "")
}

#[test]
fn paths_get_the_label_of_the_last_line_that_fits() {
    use FileKind::{Directory, File, Link};
    let contexts = policy();
    for (path, kind, expected) in [
        ("/", Directory, Some("root_t")),
        ("/", File, Some("default_t")),
        ("/x", File, Some("etc_runtime_t")),
        ("/x", Directory, Some("default_t")),
        ("/etc", Directory, Some("etc_t")),
        ("/etc/chrony.conf", File, Some("etc_t")),
        ("/etc/ssh/ssh_host_rsa_key", File, Some("sshd_key_t")),
        ("/etc/ssh/ssh_host_rsa_key", Link, Some("etc_t")),
        ("/etc/ssh/ssh_host_rsa_key.pub", File, Some("etc_t")),
        ("/etc/kubernetes", Directory, Some("kubernetes_file_t")),
        ("/etc/kubernetes/kubelet.conf", File, Some("kubernetes_file_t")),
        ("/etc/kubernetes2", File, Some("etc_t")),
        ("/etc/systemd/system/crio.service.d/10-x.conf", File, Some("systemd_unit_file_t")),
        ("/etc/localtime", Link, Some("locale_t")),
        ("/etc/localtime", File, Some("etc_t")),
        ("/etc/resolv.conf", File, Some("net_conf_t")),
        ("/etc/resolvXconf", File, Some("etc_t")),
        ("/etc/.pwd.lock", File, Some("shadow_t")),
        ("/etc/Xpwd.lock", File, Some("etc_t")),
        ("/usr/local/bin/tool", File, Some("bin_t")),
        ("/usr/sbin/tool", File, Some("usr_t")),
        ("/dev/pts/0", File, None),
        ("/dev/pts", Directory, None),
        ("/dev/log", File, Some("device_t")),
        ("/home/core", Directory, Some("user_home_dir_t")),
        ("/home/core/.ssh/authorized_keys.d/ignition", File, Some("ssh_home_t")),
        ("/var/home/core/.ssh", Directory, Some("ssh_home_t")),
        ("/var/homely", Directory, Some("var_t")),
        ("/var/roothome", Directory, Some("admin_home_t")),
        ("/run/x", File, Some("var_run_t")),
        ("/run/systemd/system/a.service", File, Some("systemd_unit_file_t")),
        ("/sysroot/etc/shadow", File, Some("shadow_t")),
        ("/sysroot", Directory, Some("root_t")),
        ("//etc///shadow-", File, Some("shadow_t")),
        ("/etc/kubernetes/", Directory, Some("kubernetes_file_t")),
        ("/etc/a\nb", File, Some("etc_t")),
        ("/etc/ü", File, Some("etc_t")),
        ("", File, None),
        ("etc/shadow", File, None),
    ] {
        let label = contexts.lookup(path, kind);
        assert_eq!(label.and_then(|label| label.split(':').nth(2)), expected, "{path:?} {kind:?}");
    }
    assert_eq!(contexts.skipped(), 0);
}

#[test]
fn the_files_count_in_their_order_and_written_out_paths_before_patterns() {
    let base = "/a/b one\n/a/c one\n/a/.* one\n";
    let homedirs = "/a/.* two\n/a/c two\n";
    let local = "/a/.* three\n/a/b -- three\n";
    let contexts = FileContexts::parse(base, homedirs, local, "", "");
    for (path, kind, expected) in [
        ("/a/b", FileKind::File, "three"),
        ("/a/b", FileKind::Directory, "one"),
        ("/a/c", FileKind::File, "two"),
        ("/a/d", FileKind::File, "three"),
    ] {
        assert_eq!(contexts.lookup(path, kind), Some(expected), "{path} {kind:?}");
    }
    let contexts = FileContexts::parse(base, homedirs, "", "", "");
    assert_eq!(contexts.lookup("/a/d", FileKind::Link), Some("two"));
}

#[test]
fn the_administrators_aliases_come_before_the_distributions_and_lead_into_them() {
    let contexts =
        FileContexts::parse("/one(/.*)? one\n/two(/.*)? two\n", "", "", "/mine /one\n/x /one\n", "/x /mine\n");
    assert_eq!(contexts.lookup("/x/a", FileKind::File), Some("one"));
    let contexts = FileContexts::parse("/one(/.*)? one\n/two(/.*)? two\n", "", "", "/x /one\n", "/x /two\n");
    assert_eq!(contexts.lookup("/x/a", FileKind::File), Some("two"));
}

#[test]
fn an_outer_choice_is_anchored_at_its_outer_ends_and_seen_from_its_first_directory_only() {
    let contexts = FileContexts::parse("/a|/b one\n/srv/a|/srv/b two\n", "", "", "", "");
    for (path, expected) in [
        ("/a", Some("one")),
        ("/ax", Some("one")),
        ("/x/b", Some("one")),
        ("/x", None),
        ("/srv/ax", Some("two")),
        ("/srv/b", Some("two")),
        ("/x/srv/b", Some("one")),
        ("/x/srv/a", None),
    ] {
        assert_eq!(contexts.lookup(path, FileKind::File), expected, "{path}");
    }
}

#[test]
fn lines_that_cannot_be_read_are_left_out_and_counted() {
    let long = format!("/{} label\n", "a".repeat(MOST_LINE));
    for (line, skipped) in [
        ("", 0),
        ("  # /etc/x label\n", 0),
        ("/etc/x -c label\n", 0),
        ("/etc/x\n", 1),
        ("/etc/x -z label\n", 1),
        ("/etc/x - label\n", 1),
        ("/etc/ü label\n", 1),
        (long.as_str(), 1),
        // Known only once a path begins like them.
        ("/etc/(?!x).* label\n", 1),
        (r"/etc/(x)\1 label", 1),
        ("/etc/[ label\n", 1),
        ("/etc/(((a{1000}){1000}){1000}) label\n", 1),
        ("/usr/(?!x).* label\n", 0),
    ] {
        let contexts = FileContexts::parse(&format!("/etc/.* kept\n{line}"), "", "", "", "");
        assert_eq!(contexts.lookup("/etc/x", FileKind::File), Some("kept"), "{line}");
        assert_eq!(contexts.skipped(), skipped, "{line}");
    }
}

#[test]
fn lines_beyond_the_most_are_counted_and_not_kept() {
    let text: String = (0..MOST_SPECS + 2).map(|number| format!("/a/{number} label\n")).collect();
    let contexts = FileContexts::parse(&text, "", "", "", "");
    assert_eq!(contexts.skipped(), 2);
    assert_eq!(contexts.lookup(&format!("/a/{}", MOST_SPECS - 1), FileKind::File), Some("label"));
    assert_eq!(contexts.lookup(&format!("/a/{MOST_SPECS}"), FileKind::File), None);
}

#[test]
fn a_thousand_lookups_in_a_whole_policy_compile_only_what_they_come_near() {
    let base: String = (0..6_500).map(|number| format!("/usr/share/d{number}/(a|b)(/.*)? t{number}\n")).collect();
    let contexts = FileContexts::parse(&format!("{BASE}{base}"), HOMEDIRS, "", SUBS_DIST, "");
    for round in 0..1_000 {
        let path = format!("/etc/kubernetes/manifests/pod-{round}.yaml");
        assert_eq!(contexts.lookup(&path, FileKind::File), Some("system_u:object_r:kubernetes_file_t:s0"));
    }
    assert_eq!(contexts.lookup("/usr/share/d17/b/x", FileKind::File), Some("t17"));
    let compiled = contexts.patterns.iter().filter(|(pattern, _)| pattern.is_compiled()).count();
    assert!((1..20).contains(&compiled), "{compiled}");
}

proptest! {
    #[test]
    fn nothing_panics_and_a_stem_never_hides_a_match(pattern in r"/[a-c/.*?+|()\[\]\\{}^$1-]{0,12}", path in "/[a-c./]{0,8}") {
        prop_assume!(!pattern::has_outer_choice(&pattern));
        let contexts = FileContexts::parse(&format!("{pattern} label"), "", "", "", "");
        let found = contexts.lookup(&path, FileKind::File).is_some();
        let clean = plain(&path).unwrap();
        let whole = Pattern::new(String::new(), &pattern);
        prop_assert_eq!(found, whole.matches(&clean), "{} {}", pattern, clean);
    }
}
