//! File contents: arbitrary text as a data URL, and arbitrary bytes that must survive being packed into one.
#![no_main]

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use ostler_core::ignition::{Limits, Resource};
use ostler_core::secret::Secret;

const LIMITS: Limits = Limits { bytes: 1 << 20, ratio: 100 };

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        for compression in [None, Some("gzip"), Some("")] {
            let decoded = decode(text.to_owned(), compression);
            assert!(decoded.is_none_or(|bytes| bytes.len() <= LIMITS.bytes), "decoded past the limit");
        }
    }
    let percent: String = data.iter().map(|byte| format!("%{byte:02X}")).collect();
    assert!(decode(format!("data:,{percent}"), None).is_some_and(|bytes| bytes == data), "percent encoding lost bytes");
    assert!(decode(base64_url(data), None).is_some_and(|bytes| bytes == data), "base64 lost bytes");
    // What is not gzip must be refused or bounded; what is may exceed the ratio, but then nothing comes out.
    let _ = decode(base64_url(data), Some("gzip"));
    assert!(decode(base64_url(&gzip(data)), Some("gzip")).is_none_or(|bytes| bytes == data), "gzip lost bytes");
});

fn decode(source: String, compression: Option<&str>) -> Option<Vec<u8>> {
    let resource = Resource {
        source: Some(Secret::new(source)),
        compression: compression.map(str::to_owned),
        ..Resource::default()
    };
    resource.decode(LIMITS).ok().map(Secret::into_exposed)
}

fn base64_url(data: &[u8]) -> String {
    format!("data:;base64,{}", STANDARD.encode(data))
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data).and_then(|()| encoder.finish()).unwrap_or_default()
}
