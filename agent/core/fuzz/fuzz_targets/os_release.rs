//! `os-release`: any text gives an answer, with either kind of line end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ostler_core::os_release::OsRelease;

fuzz_target!(|text: &str| {
    let _ = OsRelease::parse(text);
    let _ = OsRelease::parse(&text.replace('\n', "\r\n"));
});
