use super::*;
use crate::os::fixture::{IMAGE_A, IMAGE_B};

fn place(name: &str) -> Place {
    let image = Pinned::parse(&IMAGE_A.replace("registry.example/os", name)).unwrap();
    Place { image, insecure: false, blocked: None, mirror: name.contains("mirror") }
}

fn asked(name: &str, answer: Answer) -> Asked {
    Asked { place: place(name), answer }
}

/// A machine on which nothing is in the way.
fn facts() -> Facts {
    Facts {
        image: Pinned::parse(IMAGE_A).unwrap(),
        manifest: None,
        space: vec![Space { directory: "/boot".to_owned(), free: 10, needed: 10, reclaimable: 0 }],
        asked: Ok(vec![asked("registry.example/os", Answer::Has)]),
        trust: Ok(Trust::default()),
        occupant: None,
        failed: Vec::new(),
        releases: Releases {
            booted: Some(9),
            target: Some(Base { major: 9, minor: Some(6) }),
            boot_image: Some(9),
            first_boot: false,
            decision: Ok(Decision::default()),
        },
    }
}

/// The findings as text, each after its severity.
fn told(facts: &Facts) -> Vec<String> {
    findings(facts).iter().map(|finding| format!("{:?} {finding}", finding.severity)).collect()
}

fn one(facts: &Facts, severity: Severity, parts: &[&str]) {
    let told = told(facts);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with(&format!("{severity:?} ")), "{told:?}");
    for part in parts {
        assert!(told[0].contains(part), "{part:?} is not in {told:?}");
    }
}

#[test]
fn nothing_in_the_way_is_no_finding() {
    assert_eq!(told(&facts()), Vec::<String>::new());
    assert_eq!(verdict(&[]), Verdict::Go);
}

#[test]
fn the_gravest_finding_decides_and_comes_first() {
    let mut facts = facts();
    facts.occupant = Some("the client of pid 7".to_owned());
    facts.releases.target = None;
    assert_eq!(verdict(&findings(&facts)), Verdict::Later);
    facts.trust = Err("x".to_owned());
    let found = findings(&facts);
    assert_eq!(verdict(&found), Verdict::Refused);
    let severities: Vec<Severity> = found.iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Refusal, Severity::Transient, Severity::Note]);
    assert_eq!(verdict(&found[2..]), Verdict::Go);
}

#[test]
fn room_that_is_missing_is_named_with_its_place() {
    let mebibyte = 1024 * 1024;
    let with = |free, reclaimable| Facts {
        space: vec![Space {
            directory: "/boot".to_owned(),
            free: free * mebibyte,
            needed: 120 * mebibyte,
            reclaimable,
        }],
        ..facts()
    };
    one(
        &with(60, 0),
        Severity::Transient,
        &["/boot: 60 MiB are free, and about 120 MiB are needed", "rpm-ostree cleanup"],
    );
    one(&with(60, 60 * mebibyte), Severity::Note, &["/boot", "makes room"]);
    assert!(told(&with(120, 0)).is_empty());
}

#[test]
fn layers_that_are_there_need_no_room() {
    let layers = [("a".to_owned(), 100), ("b".to_owned(), 50)];
    for (present, filesystem, expected) in
        [(&[][..], 0, 450), (&["a"], 0, 150), (&["a", "b"], 10_000, 0), (&["a"], 10_000, 450)]
    {
        let present: Vec<String> = present.iter().map(|&digest| digest.to_owned()).collect();
        assert_eq!(sysroot_need(&layers, &present, filesystem), expected);
    }
    assert_eq!(sysroot_need(&[("a".to_owned(), u64::MAX), ("b".to_owned(), 1)], &[], 0), u64::MAX);
}

#[test]
fn a_mirror_that_fails_is_named_even_when_another_place_answers() {
    let down = || asked("mirror.example/os", Answer::Unreachable("connection refused".to_owned()));
    let has = asked("registry.example/os", Answer::Has);
    let with = |asked| Facts { asked: Ok(asked), ..facts() };
    one(
        &with(vec![down(), has]),
        Severity::Note,
        &["mirror mirror.example/os", "connection refused", "another place has"],
    );

    let lacks = || asked("registry.example/os", Answer::Refused("manifest unknown".to_owned()));
    let found = findings(&with(vec![down(), lacks()]));
    assert_eq!(verdict(&found), Verdict::Later);
    assert_eq!(found.len(), 2);
    one(&with(vec![lacks()]), Severity::Refusal, &["registry registry.example/os", "manifest unknown", "pull secret"]);
}

#[test]
fn places_that_are_all_blocked_are_a_refusal() {
    let mut blocked = asked("registry.example/os", Answer::NotAsked);
    blocked.place.blocked = Some("registry.example".to_owned());
    one(&Facts { asked: Ok(vec![blocked]), ..facts() }, Severity::Refusal, &["blocked, by registry.example"]);
    one(&Facts { asked: Err("x is not valid".to_owned()), ..facts() }, Severity::Refusal, &["x is not valid"]);
}

#[test]
fn the_policy_is_judged_before_the_pull() {
    let with = |requirement, scope: Option<&str>, missing: &[&str]| Facts {
        trust: Ok(Trust {
            ruling: Ruling { requirement, scope: scope.map(str::to_owned) },
            missing: missing.iter().map(|&key| key.to_owned()).collect(),
        }),
        ..facts()
    };
    let signed = || Requirement::Signed { keys: vec!["/k".to_owned()] };
    one(&with(Requirement::Rejected, None, &[]), Severity::Refusal, &["rejects it (its default)", "never changes"]);
    one(&with(signed(), Some("registry.example"), &["/k"]), Severity::Refusal, &["not there: /k", "registry.example"]);
    assert!(told(&with(signed(), None, &[])).is_empty());
    one(&Facts { trust: Err("no policy".to_owned()), ..facts() }, Severity::Refusal, &["no policy"]);
}

#[test]
fn what_failed_before_is_not_tried_again() {
    let failure = |image: &str, config: Option<&str>| FailedTarget {
        config: config.map(str::to_owned),
        digest: Pinned::parse(image).unwrap().digest().to_owned(),
        reason: "it did not boot".to_owned(),
    };
    let with = |failed| Facts { failed: vec![failed], ..facts() };
    one(
        &with(failure(IMAGE_A, Some("rendered-x"))),
        Severity::Refusal,
        &["failed here for rendered-x: it did not boot"],
    );
    one(&with(failure(IMAGE_A, None)), Severity::Refusal, &["failed here: it did not boot"]);
    assert!(told(&with(failure(IMAGE_B, None))).is_empty());
}

#[test]
fn majors_are_judged_with_what_a_person_allowed() {
    let with = |booted, target, decision: &str| {
        let mut facts = facts();
        facts.releases.booted = booted;
        facts.releases.target = Some(Base { major: target, minor: None });
        facts.releases.boot_image = None;
        facts.releases.decision = Ok(Decision::parse(decision).unwrap());
        facts
    };
    one(
        &with(Some(9), 10, ""),
        Severity::Refusal,
        &["from RHEL 9 to RHEL 10;", "write \"allow-major 10\" into /etc/ostler/os-upgrade"],
    );
    one(&with(Some(9), 10, "allow-major 10"), Severity::Note, &["allows it"]);
    one(&with(Some(8), 10, "allow-major 10"), Severity::Refusal, &["cannot be done in place"]);
    one(&with(Some(10), 9, ""), Severity::Refusal, &["a way back", "allow-major 9"]);
    one(&with(Some(10), 9, "allow-major 9"), Severity::Note, &[]);
    one(&with(None, 9, ""), Severity::Note, &["not known"]);
    let mut unread = facts();
    unread.releases.decision = Err("line 1 is not understood".to_owned());
    one(&unread, Severity::Refusal, &["line 1 is not understood"]);
}

#[test]
fn a_boot_image_of_another_major_stops_a_first_boot_only() {
    let with = |boot_image, first_boot, decision: &str| {
        let mut facts = facts();
        facts.releases.boot_image = Some(boot_image);
        facts.releases.first_boot = first_boot;
        facts.releases.decision = Ok(Decision::parse(decision).unwrap());
        facts
    };
    one(&with(8, true, ""), Severity::Refusal, &["installed from RHEL 8", "boot image of RHEL 9"]);
    one(&with(8, true, "allow-major 9"), Severity::Note, &[]);
    one(&with(7, true, "allow-major 9"), Severity::Refusal, &[]);
    one(&with(8, false, ""), Severity::Note, &[]);
}

#[test]
fn a_busy_backend_is_waited_for() {
    one(&Facts { occupant: Some("dnf".to_owned()), ..facts() }, Severity::Transient, &["dnf is changing it"]);
}

#[test]
fn a_tag_is_answered_with_the_digest_it_means() {
    let digest = Pinned::parse(IMAGE_A).unwrap().digest().to_owned();
    assert_eq!(
        pin_remedy("registry.example/os:9.6", Some(&digest)),
        format!("write osImageURL: {IMAGE_A}, which is what it means now")
    );
    for resolved in [None, Some("sha256:zz")] {
        assert!(pin_remedy("registry.example/os:9.6", resolved).contains("skopeo inspect"));
    }
}
