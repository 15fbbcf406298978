use super::*;

/// In the form of bootupd's own model: a machine with both, one of them out of date.
const STATUS: &str = r#"{"components":{
    "BIOS":{"installed":{"timestamp":"2024-03-21T10:00:00Z","version":"grub2-tools-1:2.06-118.fc40"},
        "interrupted":null,"update":{"timestamp":"2024-03-21T10:00:00Z","version":"grub2-tools-1:2.06-118.fc40"},
        "updatable":"at-latest-version","adopted-from":null},
    "EFI":{"installed":{"timestamp":"2023-01-01T00:00:00Z","version":"grub2-efi-1:2.06-100,shim-15.6-2"},
        "interrupted":null,"update":{"timestamp":"2024-03-21T10:00:00Z","version":"grub2-efi-1:2.06-118,shim-15.8-3"},
        "updatable":"upgradable","adopted-from":null}},
    "adoptable":{}}"#;

const SIMPLE: Layout = Layout { partitions: Vec::new(), array: None };

fn version(text: &str) -> Version {
    Version { timestamp: String::new(), version: text.to_owned() }
}

fn component(updatable: Updatable) -> Component {
    Component { installed: version("1"), interrupted: None, update: Some(version("2")), updatable }
}

fn with(components: &[(&str, Component)], adoptable: &[(&str, bool)]) -> BootloaderStatus {
    BootloaderStatus {
        components: components.iter().map(|(name, component)| ((*name).to_owned(), component.clone())).collect(),
        adoptable: adoptable
            .iter()
            .map(|&(name, confident)| (name.to_owned(), Adoptable { version: version("0"), confident }))
            .collect(),
    }
}

#[test]
fn what_bootupd_writes_is_read() {
    let status = BootloaderStatus::parse(STATUS.as_bytes()).unwrap();
    assert_eq!(status.verdict(), Verdict::UpdateAvailable);
    let intent = status.judge(&SIMPLE, Action::Update).unwrap();
    assert_eq!(intent.components, ["EFI"]);
    for word in ["shim-15.6-2 becomes", "shim-15.8-3", "loss of power", "rescue media", "not undone"] {
        assert!(intent.risk.contains(word), "{word}: {}", intent.risk);
    }
    let empty = BootloaderStatus::parse(br#"{"components":{},"os":null}"#).unwrap();
    assert_eq!(empty.verdict(), Verdict::Unmanaged);
    let news =
        br#"{"components":{"EFI":{"installed":{"timestamp":"t","version":"1","versions":[]},"updatable":"new-word"}}}"#;
    assert_eq!(BootloaderStatus::parse(news).unwrap().verdict(), Verdict::UpToDate);
    for document in ["", "[]", r#"{"components":{"EFI":{}}}"#] {
        assert!(BootloaderStatus::parse(document.as_bytes()).is_err(), "{document}");
    }
}

#[test]
fn the_worst_is_the_verdict() {
    let interrupted = Component { interrupted: Some(version("2")), ..component(Updatable::Upgradable) };
    for (status, expected) in [
        (with(&[("EFI", interrupted)], &[]), Verdict::Interrupted),
        (with(&[("EFI", component(Updatable::Upgradable))], &[("BIOS", true)]), Verdict::UpdateAvailable),
        (with(&[("EFI", component(Updatable::AtLatestVersion))], &[("BIOS", false)]), Verdict::Adoptable),
        (with(&[("EFI", component(Updatable::WouldDowngrade))], &[]), Verdict::UpToDate),
        (with(&[], &[]), Verdict::Unmanaged),
    ] {
        assert_eq!(status.verdict(), expected, "{status:?}");
    }
}

#[test]
fn nothing_is_started_that_could_end_badly_unsaid() {
    let interrupted = Component { interrupted: Some(version("2")), ..component(Updatable::Upgradable) };
    let upgradable = with(&[("EFI", component(Updatable::Upgradable))], &[]);
    let two = Layout { partitions: vec!["/dev/sda2".to_owned(), "/dev/sdb2".to_owned()], array: None };
    let array = Layout { array: Some("/dev/md127".to_owned()), ..Layout::default() };
    for (status, layout, action, expected) in [
        (with(&[("EFI", interrupted)], &[]), &SIMPLE, Action::Update, "interrupted"),
        (upgradable.clone(), &two, Action::Update, "/dev/sda2, /dev/sdb2"),
        (upgradable.clone(), &array, Action::Update, "/dev/md127"),
        (upgradable, &SIMPLE, Action::Adopt, "nothing to adopt"),
        (with(&[("EFI", component(Updatable::WouldDowngrade))], &[]), &SIMPLE, Action::Update, "older than 1"),
        (with(&[("EFI", component(Updatable::AtLatestVersion))], &[]), &SIMPLE, Action::Update, "nothing to update"),
        (with(&[("EFI", component(Updatable::Unknown))], &[]), &SIMPLE, Action::Update, "nothing to update"),
        (with(&[], &[("EFI", false)]), &SIMPLE, Action::Update, "nothing to update"),
    ] {
        let obstacle = status.judge(layout, action).unwrap_err();
        assert!(obstacle.to_string().contains(expected), "{obstacle}");
        assert!(!obstacle.remedy().is_empty());
    }
    let bios = with(&[("BIOS", component(Updatable::Upgradable))], &[]);
    assert_eq!(bios.judge(&two, Action::Update).unwrap().components, ["BIOS"]);
}

#[test]
fn what_bootupd_is_sure_of_is_adopted_by_an_update_too() {
    for (confident, action) in [(true, Action::Update), (true, Action::Adopt), (false, Action::Adopt)] {
        let intent = with(&[], &[("EFI", confident)]).judge(&SIMPLE, action).unwrap();
        assert_eq!((intent.components.as_slice(), intent.action), (&["EFI".to_owned()][..], action));
    }
}

#[test]
fn lsblk_tells_partitions_and_arrays() {
    let esp = r#""parttype":"c12a7328-f81f-11d2-ba4b-00a0c93ec93b""#;
    let array = r#"{"name":"/dev/md127","type":"raid1","mountpoint":"/boot"}"#;
    let plain = format!(
        r#"{{"blockdevices":[{{"name":"/dev/vda","type":"disk","mountpoint":null,"children":[
            {{"name":"/dev/vda2","type":"part",{esp}}},
            {{"name":"/dev/vda3","type":"part","mountpoint":"/boot"}},
            {{"name":"/dev/vda4","type":"part","children":[{{"name":"/dev/md1","type":"raid1","mountpoint":"/sysroot"}}]}}]}}]}}"#
    );
    let layout = Layout::parse(plain.as_bytes()).unwrap();
    assert_eq!(layout, Layout { partitions: vec!["/dev/vda2".to_owned()], array: None });
    let mirrored = format!(
        r#"{{"blockdevices":[
            {{"name":"/dev/sdb","children":[{{"name":"/dev/sdb2",{esp}}},{{"name":"/dev/sdb3","children":[{array}]}}]}},
            {{"name":"/dev/sda","children":[{{"name":"/dev/sda2",{esp}}},{{"name":"/dev/sda3","children":[{array}]}}]}}]}}"#
    );
    let layout = Layout::parse(mirrored.as_bytes()).unwrap();
    assert_eq!((layout.partitions.len(), layout.array.as_deref()), (2, Some("/dev/md127")));
    let whole =
        r#"{"blockdevices":[{"name":"/dev/md0","type":"raid0","children":[{"name":"/dev/md0p1","mountpoint":"/"}]}]}"#;
    assert_eq!(Layout::parse(whole.as_bytes()).unwrap().array.as_deref(), Some("/dev/md0"));
    assert!(Layout::parse(b"{}").is_err());
}
