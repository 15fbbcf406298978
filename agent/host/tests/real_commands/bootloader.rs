//! The boot loader with a script that writes nothing.

use std::fs;
use std::time::Duration;

use ostler_core::os::bootloader::{Action, Verdict};
use ostler_host::bootloader::{Bootupd, BootupdError};

use super::container::Container;
use super::{connect, disk};

pub const SCRIPT: &str = r#"#!/bin/sh
state=/run/bootupd
mkdir -p $state
case $1 in
--json) cat $state/lsblk ;;
update) echo "Updated EFI"; touch $state/updated ;;
status)
    updatable=upgradable
    [ -e $state/updated ] && updatable=at-latest-version
    echo "{\"components\":{\"EFI\":{\"installed\":{\"timestamp\":\"t\",\"version\":\"1\"},\"interrupted\":null,\"update\":{\"timestamp\":\"t\",\"version\":\"2\"},\"updatable\":\"$updatable\"}},\"adoptable\":{}}"
    ;;
esac
"#;

pub fn written(machine: &Container) {
    let (bus, disk) = (connect(machine), disk(machine));
    let program = "/opt/ostler/bootupctl";
    let bootupd = Bootupd::new(&bus, &disk, Duration::from_secs(180)).with_commands(program, program);
    fs::create_dir_all(machine.path("run/bootupd")).unwrap();
    let esp = r#""parttype":"c12a7328-f81f-11d2-ba4b-00a0c93ec93b""#;
    let two = format!(r#"{{"blockdevices":[{{"name":"/dev/a1",{esp}}},{{"name":"/dev/b1",{esp}}}]}}"#);
    fs::write(machine.path("run/bootupd/lsblk"), two).unwrap();
    let error = bootupd.write(Action::Update, true).unwrap_err();
    assert!(matches!(&error, BootupdError::Obstacle(_)) && error.to_string().contains("/dev/a1, /dev/b1"), "{error}");
    fs::write(machine.path("run/bootupd/lsblk"), format!(r#"{{"blockdevices":[{{"name":"/dev/a1",{esp}}}]}}"#))
        .unwrap();
    let error = bootupd.write(Action::Update, false).unwrap_err();
    assert!(matches!(&error, BootupdError::NotAccepted(_)) && error.to_string().contains("loss of power"), "{error}");
    assert_eq!(bootupd.report().unwrap().verdict, Verdict::UpdateAvailable);
    assert!(!machine.path("run/bootupd/updated").exists());
    assert_eq!(bootupd.write(Action::Update, true).unwrap().verdict(), Verdict::UpToDate);
    assert!(matches!(bootupd.write(Action::Update, true), Err(BootupdError::Obstacle(_))));
}
