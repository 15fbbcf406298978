//! `registries.conf`, before and after an update, separated by a NUL byte: parsed, and judged whether pods may stay.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ostler_core::registries::{Registries, hazard};

fuzz_target!(|text: &str| {
    let (old, new) = text.split_once('\0').unwrap_or((text, text));
    let (Ok(old), Ok(new)) = (Registries::parse(old), Registries::parse(new)) else { return };
    let _ = hazard(&old, &new).map(|hazard| hazard.to_string());
    assert!(hazard(&new, &new).is_none(), "a file is a hazard to itself");
});
