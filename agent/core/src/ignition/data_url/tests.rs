use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;

use super::*;

const NO_LIMIT: usize = usize::MAX;

#[test]
fn urls_that_go_accepts_decode_to_the_same_bytes() {
    let table: &[(&str, &[u8])] = &[
        ("data:,", b""),
        ("data:,A%20brief%20note", b"A brief note"),
        ("data:,a%0Ab%0a", b"a\nb\n"),
        ("data:,%ff%00", b"\xff\x00"),
        ("data:,%25zz", b"%zz"),
        ("data:,a,b;c=d", b"a,b;c=d"),
        ("data:,a+b", b"a+b"),
        ("data:,!$&'()*+,-./:;=?@_~", b"!$&'()*+,-./:;=?@_~"),
        ("data:;base64,", b""),
        ("data:;base64,aGV5YQ==", b"heya"),
        ("data:;base64,aGk=", b"hi"),
        ("data:;base64,aGV5", b"hey"),
        ("data:text/plain;base64,aGV5YQ==", b"heya"),
        ("data:text/plain;charset=utf-8;base64,aGV5YQ==", b"heya"),
        ("data:text/plain;charset=utf-8;foo=bar;base64,aGV5YQ==", b"heya"),
        (
            r#"data:application/json;charset=utf-8;foo="b\"<@>\"r";style=unformatted%20json;base64,eyJtc2ciOiAiaGV5YSJ9"#,
            br#"{"msg": "heya"}"#,
        ),
        ("data:image/svg+xml-im.a.fake;base64,cGllLXN0b2NrX1RoaXJ0eQ==", b"pie-stock_Thirty"),
        ("data:text/plain,x", b"x"),
        ("data:text/,x", b"x"),
        ("data:textual/x,y", b"y"),
        ("data:audio/x,y", b"y"),
        ("data:video/x,y", b"y"),
        ("data:message/x,y", b"y"),
        ("data:multipart/x,y", b"y"),
        ("data:x-foo/bar,y", b"y"),
        ("data:X-/,y", b"y"),
        ("data:;charset=utf-8,%E2%82%AC", "€".as_bytes()),
        // A parameter of that name is no encoding.
        ("data:;base64=yes,aGk=", b"aGk="),
        (r#"data:;a="",x"#, b"x"),
        // After an empty quoted value the next one's percent escapes are not looked at.
        (r#"data:;a="";b=%zz,x"#, b"x"),
        (r#"data:;a=";,/ ",x"#, b"x"),
        (r#"data:;a="\x41\u0041\U00000041\101\n\\",x"#, b"x"),
        // Line breaks in base64, and bits beyond the last byte.
        ("data:;base64,aGV5\nYQ==\n", b"heya"),
        ("data:;base64,aGV5YQ=\n=", b"heya"),
        ("data:;base64,\n", b""),
        ("data:;base64,aGV5YR==", b"heya"),
    ];
    for (url, bytes) in table {
        assert_eq!(decode(url, NO_LIMIT).as_deref(), Ok(*bytes), "{url}");
        assert_eq!(size(url), decode(url, NO_LIMIT).map(|decoded| decoded.len()), "{url}");
    }
}

const REFUSED: &[(&str, DataUrlError)] = {
    use DataUrlError::{Base64, Character, Encoding, Escape, MediaType, NotData, Parameter};
    &[
        ("", NotData),
        ("data", NotData),
        ("DATA:,x", NotData),
        (" data:,x", NotData),
        ("http://x", NotData),
        ("data:", MediaType),
        ("data:xxx;base64,aGV5YQ==", MediaType),
        ("data:x/y,z", MediaType),
        ("data:/plain,x", MediaType),
        ("data:text,x", MediaType),
        ("data:text/plain", MediaType),
        ("data:Text/plain,x", MediaType),
        ("data:font/woff,x", MediaType),
        ("data:text/pl ain,x", MediaType),
        ("data:text/plain/x,y", MediaType),
        ("data:tëxt/plain,x", MediaType),
        ("data:;,x", Parameter),
        ("data:;=b,x", Parameter),
        ("data:;a=,x", Parameter),
        ("data:;a=b", Parameter),
        ("data:;a", Parameter),
        ("data:;a=%zz,x", Parameter),
        ("data:;a=é,x", Parameter),
        (r#"data:;a="b,x"#, Parameter),
        (r#"data:;a="b"c,x"#, Parameter),
        (r#"data:;a="\q",x"#, Parameter),
        (r#"data:;a="\'",x"#, Parameter),
        (r#"data:;a="\x4",x"#, Parameter),
        (r#"data:;a="\400",x"#, Parameter),
        (r#"data:;a="\ud800",x"#, Parameter),
        (r#"data:;a="\U00110000",x"#, Parameter),
        ("data:;a=\"b\nc\",x", Parameter),
        ("data:;a=\"é\",x", Parameter),
        ("data:;base64;a=b,aGk=", Parameter),
        ("data:;base32,x", Encoding),
        ("data:;BASE64,aGk=", Encoding),
        ("data:,a b", Character { at: 7 }),
        ("data:,a#b", Character { at: 7 }),
        ("data:,\"", Character { at: 6 }),
        ("data:,<", Character { at: 6 }),
        ("data:,>", Character { at: 6 }),
        ("data:,{}", Character { at: 6 }),
        ("data:,|", Character { at: 6 }),
        ("data:,\\", Character { at: 6 }),
        ("data:,^", Character { at: 6 }),
        ("data:,[", Character { at: 6 }),
        ("data:,]", Character { at: 6 }),
        ("data:,`", Character { at: 6 }),
        ("data:,\n", Character { at: 6 }),
        ("data:,\x7f", Character { at: 6 }),
        ("data:,€", Character { at: 6 }),
        ("data:,a%", Escape { at: 7 }),
        ("data:,a%4", Escape { at: 7 }),
        ("data:,a%zz", Escape { at: 7 }),
        ("data:,%4é", Escape { at: 6 }),
        ("data:;base64,aGk", Base64),
        ("data:;base64,aGk==", Base64),
        ("data:;base64,aGV5YQ=", Base64),
        ("data:;base64,a===", Base64),
        ("data:;base64,====", Base64),
        ("data:;base64,=", Base64),
        ("data:;base64,aGk=aGk=", Base64),
        ("data:;base64,aGk=\nx", Base64),
        ("data:;base64,aG k=", Base64),
        ("data:;base64,aGk=\r\n", Base64),
        ("data:;base64,a-_=", Base64),
        ("data:;base64,aGk%3D", Base64),
    ]
};

#[test]
fn urls_that_go_refuses_are_refused() {
    for (url, error) in REFUSED {
        assert_eq!(decode(url, NO_LIMIT).as_ref(), Err(error), "{url:?}");
        assert_eq!(size(url).as_ref(), Err(error), "{url:?}");
    }
}

#[test]
fn data_is_counted_before_it_is_decoded() {
    for (url, size) in [("data:,a%20c", 3), ("data:;base64,aGk=", 2), ("data:;base64,aG\nk=", 2)] {
        assert_eq!(decode(url, size).map(|bytes| bytes.len()), Ok(size), "{url}");
        assert_eq!(decode(url, size - 1), Err(DataUrlError::TooLarge { limit: size - 1 }), "{url}");
    }
}

fn escaped(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| if is_plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

proptest! {
    #[test]
    fn measuring_and_decoding_agree_on_any_text(url in "(data:)?(text/plain)?(;[a-z\"\\\\=%]{0,6}){0,3}(;base64)?,?[ -~\n=é]{0,24}") {
        prop_assert_eq!(size(&url), decode(&url, NO_LIMIT).map(|decoded| decoded.len()));
    }

    #[test]
    fn measuring_and_decoding_agree_on_almost_base64(data in "[aQ=\n]{0,12}") {
        let url = format!("data:;base64,{data}");
        prop_assert_eq!(size(&url), decode(&url, NO_LIMIT).map(|decoded| decoded.len()));
    }

    #[test]
    fn any_bytes_survive_both_encodings(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let plain = format!("data:,{}", escaped(&bytes));
        let base64 = format!("data:;base64,{}", BASE64_STANDARD.encode(&bytes));
        prop_assert_eq!(&decode(&plain, bytes.len()), &Ok(bytes.clone()));
        prop_assert_eq!(&decode(&base64, bytes.len()), &Ok(bytes));
    }
}
