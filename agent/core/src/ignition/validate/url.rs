//! URLs as Go's `net/url` takes them apart, as far as Ignition asks.
//!
//! Owns which sources are acceptable. It refuses to return an error that holds any part of a URL.

use crate::ignition::data_url;

/// The parts of a URL that rules depend on.
pub(super) struct Url<'a> {
    scheme: &'a str,
    /// What follows the scheme when it is no `//host/path`.
    opaque: &'a str,
    query: &'a str,
}

impl<'a> Url<'a> {
    /// `None` when Go cannot parse the text, or finds no scheme in it: no rule accepts that.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        // Folded rather than searched, because most of a config is data URLs and folding is vectorised.
        if text.bytes().fold(false, |found, byte| found | byte.is_ascii_control()) {
            return None;
        }
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let (scheme, rest) = text.split_once(':')?;
        let mut letters = scheme.bytes();
        let named = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && letters.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let opaque = if rest.starts_with('/') { "" } else { rest };
        let well_formed = match rest.strip_prefix("//") {
            Some(rest) => {
                let (authority, path) = rest.split_at_checked(rest.find('/').unwrap_or(rest.len()))?;
                is_authority(authority) && is_escaped(path)
            }
            None => !opaque.is_empty() || is_escaped(rest),
        };
        (named && well_formed && is_escaped(fragment)).then_some(Self { scheme, opaque, query })
    }

    /// Whether the URL has one of these schemes.
    pub(super) fn is_any(&self, schemes: &[&str]) -> bool {
        schemes.iter().any(|scheme| self.scheme.eq_ignore_ascii_case(scheme))
    }

    /// A version of an object in S3 is named or not mentioned, but not left empty.
    fn has_empty_version(&self) -> bool {
        let mut pairs = self.query.split('&').filter(|pair| !pair.contains(';') && is_escaped(pair));
        pairs
            .find_map(|pair| match pair.split_once('=').unwrap_or((pair, "")) {
                ("versionId", version) => Some(version.is_empty()),
                _ => None,
            })
            .unwrap_or(false)
    }

    /// `arn:partition:s3:region:account:resource`, where the resource names a bucket and an object.
    fn is_s3_arn(&self) -> bool {
        let mut sections = self.opaque.splitn(5, ':');
        let service = sections.nth(1);
        let Some(resource) = sections.nth(2) else {
            return false;
        };
        let parts = self.opaque.split('/').count();
        service == Some("s3") && parts >= if resource.starts_with("accesspoint/") { 3 } else { 2 }
    }
}

/// Whether a source can be read by Ignition, spec 3.`minor`. The error completes a sentence.
pub(super) fn check_source(source: &str, minor: u64) -> Result<(), String> {
    let url = Url::parse(source).ok_or("is not a valid URL; embed the contents as a data URL")?;
    if url.is_any(&["data"]) {
        data_url::size(source).map(drop).map_err(|error| format!("is not a valid data URL: {error}"))
    } else if url.is_any(&["http", "https", "tftp"]) || (minor >= 2 && url.is_any(&["gs"])) {
        Ok(())
    } else if url.is_any(&["s3"]) {
        if url.has_empty_version() { Err("has an empty versionId; name one or leave it out".into()) } else { Ok(()) }
    } else if minor >= 4 && url.is_any(&["arn"]) {
        if url.is_s3_arn() && !url.has_empty_version() {
            Ok(())
        } else {
            Err("is not the ARN of an object in S3".into())
        }
    } else {
        Err("has a scheme that this version of the specification does not have; use a data URL".into())
    }
}

/// Whether every percent sign starts an escape.
fn is_escaped(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|part| matches!(part.as_bytes(), [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit()))
}

/// `user:password@host:port`, all but the host optional.
fn is_authority(authority: &str) -> bool {
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let is_user = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    user.bytes().all(is_user) && is_escaped(user) && is_host(host)
}

fn is_host(host: &str) -> bool {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let is_name =
        |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&byte);
    let well_formed = if host.starts_with('[') {
        host.rsplit_once(']').is_some_and(|(_, after)| after.is_empty() || after.strip_prefix(':').is_some_and(is_port))
    } else {
        // Only a percent sign itself and bytes beyond ASCII may be escaped in a name.
        let is_escapable = |part: &str| part.starts_with("25") || !part.starts_with(|digit| matches!(digit, '0'..='7'));
        host.rsplit_once(':').is_none_or(|(_, port)| is_port(port)) && host.split('%').skip(1).all(is_escapable)
    };
    well_formed && host.bytes().all(is_name) && is_escaped(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_parse_where_go_parses_them() {
        for url in [
            "http://example.com",
            "HTTPS://user:p%40ss@example.com:8443/a%20b?q=%zz#frag",
            "http://[::1]:80/x",
            "http://[fe80::1%25eth0]/x",
            "http://h:/x",
            "http:/x",
            "http:x",
            "http://",
            "x+y-z.1:opaque%zz",
            "http://ex%25ample/",
            "http://ex%C3%A4mple/",
            "http://exämple/",
        ] {
            assert!(Url::parse(url).is_some(), "{url}");
        }
        for url in [
            "",
            "/path",
            "//host/path",
            ":x",
            "1http://x",
            "ht tp://x",
            "http://a\nb",
            "http://a\x7fb",
            "http://h:port/x",
            "http://[::1/x",
            "http://[::1]80/x",
            "http://h/%zz",
            "http://h/%4",
            "http://h/#%zz",
            "http://ex%41mple/",
            "http://a b/",
            "http://a{b/",
            "http://us er@h/",
            "http://us%zzer@h/",
        ] {
            assert!(Url::parse(url).is_none(), "{url}");
        }
    }

    #[test]
    fn sources_are_accepted_by_the_versions_that_know_them() {
        for (url, since) in [
            ("data:,x", 0),
            ("http://h/x", 0),
            ("https://h/x", 0),
            ("tftp://h/x", 0),
            ("s3://bucket/key", 0),
            ("s3://bucket/key?versionId=1", 0),
            ("s3://bucket/key?other=&versionId=1&versionId=", 0),
            ("gs://bucket/key", 2),
            ("arn:aws:s3:::bucket/key", 4),
            ("arn:aws:s3:us-west-1:123456789012:accesspoint/test/object/some/path", 4),
            ("ARN:aws:s3:::bucket/key?versionId=1", 4),
        ] {
            for minor in 0..=6 {
                assert_eq!(check_source(url, minor).is_ok(), minor >= since, "{url} in 3.{minor}");
            }
        }
    }

    #[test]
    fn other_sources_are_refused_by_every_version() {
        for url in [
            "",
            "/etc/file",
            "file:///etc/file",
            "ftp://h/x",
            "oem:///x",
            "data:x",
            "data:,a b",
            "DATA:,x",
            "data:;base64,aGk",
            // The decoder takes line breaks; Go's URL parser, which comes first, does not.
            "data:;base64,aG\nk=",
            r##"data:;a="#%zz",x"##,
            "s3://bucket/key?versionId=",
            "s3://bucket/key?versionId",
            "arn:aws:s3:::bucket",
            "arn:aws:ec2:::bucket/key",
            "arn:aws:s3::bucket/key",
            "arn:aws:s3:us-west-1:123456789012:accesspoint/test",
            "arn:aws:s3:::bucket/key?versionId=",
            "arn:/aws:s3:::bucket/key",
        ] {
            for minor in 0..=6 {
                assert!(check_source(url, minor).is_err(), "{url:?} in 3.{minor}");
            }
        }
    }
}
