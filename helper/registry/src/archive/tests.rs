use proptest::prelude::*;
use tar::Header;

use super::*;

const MOST: u64 = 1000;

/// An entry as it comes, with a checksum that is right.
fn entry(kind: u8, name: &[u8], size: u64, data: &[u8]) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::new(kind));
    header.as_mut_bytes()[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn sized(kind: u8, name: &[u8], data: &[u8]) -> Vec<u8> {
    entry(kind, name, u64::try_from(data.len()).unwrap(), data)
}

fn pax(key: &str, value: &str) -> Vec<u8> {
    let body = |length: usize| format!("{length} {key}={value}\n");
    let mut length = 0;
    while body(length).len() != length {
        length = body(length).len();
    }
    body(length).into_bytes()
}

fn found(parts: &[Vec<u8>]) -> Result<Option<Vec<u8>>, ArchiveError> {
    let archive = [parts.concat(), vec![0; 1024]].concat();
    find(&archive[..], &Target::new("/release-manifests/image-references", MOST, 50))
}

#[test]
fn names_are_compared_without_what_they_begin_with() {
    for name in [
        "release-manifests/image-references",
        "./release-manifests/image-references",
        "/release-manifests/image-references",
        "../..//release-manifests/image-references",
    ] {
        let other = sized(b'0', b"release-manifests/image-references2", b"no");
        let archive = [other, sized(b'0', name.as_bytes(), b"yes"), sized(b'0', name.as_bytes(), b"second")];
        assert_eq!(found(&archive).unwrap().unwrap(), b"yes", "{name}");
    }
    for name in ["release-manifests/.wh.image-references", "x/release-manifests/image-references", "image-references"] {
        assert!(found(&[sized(b'0', name.as_bytes(), b"no")]).unwrap().is_none(), "{name}");
    }
    assert!(found(&[]).unwrap().is_none());
}

#[test]
fn long_names_count_in_both_ways_of_writing_them() {
    let name = b"./release-manifests/image-references";
    let gnu = sized(b'L', b"././@LongLink", &[&name[..], b"\0"].concat());
    let extended = sized(b'x', b"PaxHeaders/1", &pax("path", std::str::from_utf8(name).unwrap()));
    let global = sized(b'g', b"pax_global_header", &pax("path", "elsewhere"));
    let link = sized(b'K', b"././@LongLink", b"somewhere\0");
    for before in [vec![gnu.clone()], vec![extended.clone()], vec![global, link, extended]] {
        let archive = [before.concat(), sized(b'0', b"short", b"yes")];
        assert_eq!(found(&archive).unwrap().unwrap(), b"yes");
        // What was announced is over after one entry.
        let archive = [before.concat(), sized(b'0', b"short", b"yes"), sized(b'0', name, b"no")];
        assert_eq!(found(&archive).unwrap().unwrap(), b"yes");
    }
}

#[test]
fn what_is_no_file_is_named() {
    let name = b"release-manifests/image-references";
    for (kind, expected) in [
        (b'1', "a hard link"),
        (b'2', "a symbolic link"),
        (b'3', "a device"),
        (b'5', "a directory"),
        (b'6', "a pipe"),
        (b'S', "a file with holes"),
        (b'Z', "something unknown"),
    ] {
        let error = found(&[sized(kind, name, b"")]).unwrap_err();
        assert!(matches!(error, ArchiveError::NotAFile { kind, .. } if kind == expected), "{error}");
    }
}

#[test]
fn everything_has_a_bound() {
    let name = b"release-manifests/image-references";
    let long = vec![b'a'; 70_000];
    let huge = pax("path", &"b".repeat(66_000));
    for (archive, expected) in [
        (vec![sized(b'0', name, &vec![b'x'; 1001])], "1001 bytes"),
        (vec![entry(b'0', name, u64::MAX >> 2, b"x")], "bytes, which is more than 1000"),
        (vec![sized(b'0', b"x", b""); 51], "entries"),
        (vec![sized(b'L', b"x", &long)], "bytes in the header"),
        (vec![sized(b'x', b"x", &huge)], "bytes in the header"),
        (vec![sized(b'g', b"x", &long)], "bytes in the header"),
        (vec![sized(b'x', b"x", &pax("mtime", "1")); 17], "headers before one entry"),
        (vec![sized(b'x', b"x", &pax("size", "5")), sized(b'0', b"x", b"")], "readers make different things"),
        (vec![sized(b'x', b"x", &pax("GNU.sparse.major", "1")), sized(b'0', b"x", b"")], "holes"),
    ] {
        let error = found(&archive).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} / {expected}");
    }
    assert_eq!(found(&[sized(b'0', name, &vec![b'x'; 1000])]).unwrap().unwrap().len(), 1000);
}

#[test]
fn an_archive_that_is_none_is_refused() {
    let name = b"release-manifests/image-references";
    let mut wrong = sized(b'0', b"x", b"");
    wrong[0] ^= 1;
    let cut = entry(b'0', name, 600, b"");
    for bytes in
        [&wrong[..], &cut, &[b'x'; 1024], &entry(b'0', b"x", 1 << 62, b""), &entry(b'L', b"x", 1 << 60, b"name")]
    {
        let error = find(bytes, &Target::new("release-manifests/image-references", MOST, 50)).unwrap_err();
        assert!(matches!(error, ArchiveError::Malformed(_)), "{error}");
    }
}

proptest! {
    #[test]
    fn no_entry_brings_us_down(
        kinds in proptest::collection::vec((any::<u8>(), any::<u64>(), proptest::collection::vec(any::<u8>(), 0..40)), 0..6),
    ) {
        let archive: Vec<Vec<u8>> = kinds.iter().map(|(kind, size, data)| entry(*kind, data, size >> (size % 64), data)).collect();
        let _ = found(&archive);
    }

    #[test]
    fn no_extended_header_brings_us_down(text in "[0-9]{0,3} ?[a-z.]{0,8}=?[\\x00-\\x7f]{0,20}") {
        let _ = found(&[sized(b'x', b"x", text.as_bytes()), sized(b'0', b"y", b"z")]);
    }
}
