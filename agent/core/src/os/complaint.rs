//! What the words of a failure mean: to wait for somebody, to try again, or to give up.
//!
//! Owns the phrases of the containers library that skopeo, rpm-ostree and bootc share, and those two's own: none of them
//! has error codes. A phrase that is not known may work later. Refuses to keep what such words may hold of others'
//! secrets: user names and passwords in addresses, and the signed ends of redirections.

/// Longer reasons are cut at their start: the cause stands at the end.
const MOST: usize = 600;

/// What to do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complaint {
    /// The same will fail again until somebody changes the configuration or the image.
    Lasting,
    /// Somebody else is at it.
    Busy,
    /// It may work the next time.
    Passing,
}

/// Somebody else holds the lock on the deployments.
const BUSY: &[&str] = &["transaction in progress", "waiting for sysroot lock", "sysroot is locked"];

/// The network's, the credentials' and the moment's. They come first: a signature that could not be fetched is no bad
/// signature, and one mirror that does not know an image says nothing as long as another could not be asked.
const PASSING: &[&str] = &[
    "timeout",
    "timed out",
    "connection refused",
    "connection reset",
    "no such host",
    "could not resolve",
    "temporary failure",
    "no route to host",
    "network is unreachable",
    "eof",
    "toomanyrequests",
    "too many requests",
    "unauthorized",
    "authentication required",
    "internal server error",
    "bad gateway",
    "service unavailable",
    "cannot download",
    "no space left",
    "cancelled",
    "canceled",
];

/// The image's, the policy's and the packages'.
const LASTING: &[&str] = &[
    "manifest unknown",
    "name unknown",
    "name invalid",
    "repository name not known",
    "no such image",
    "invalid reference format",
    "invalid image reference",
    "is blocked in",
    "unsupported manifest",
    "unsupported schema version",
    "no image found in manifest list",
    "no image found in image index",
    "does not match provided manifest digest",
    "source image rejected",
    "rejected by policy",
    "signature was required",
    "signatures were required",
    "invalid signature",
    "invalid gpg signature",
    "signature verification",
    "no matching signature",
    "no signature exists",
    "invalid policy in",
    "loading registries configuration",
    "insecureacceptanything",
    "local rpm-ostree modifications",
    "no rollback available",
    "old and new refs are equal",
    "ostree.bootable",
    "image has architecture",
    "packages not found",
    "package not found",
    "no overrides for package",
    "is not currently requested",
    "multiple packages match",
    "could not depsolve transaction",
    "conflicting requests",
];

impl Complaint {
    /// Judges by the words.
    pub fn of(said: &str) -> Self {
        let said = said.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let unknown_package = said.contains("package \"") && said.contains("\" not found");
        match () {
            () if has(BUSY) => Self::Busy,
            () if has(PASSING) => Self::Passing,
            () if has(LASTING) || unknown_package => Self::Lasting,
            () => Self::Passing,
        }
    }
}

/// The cause in what a command wrote to its standard error: the last message of its log, or its last line.
pub fn reason(stderr: &str) -> String {
    let lines = || stderr.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let fatal = lines().find(|line| line.contains("level=fatal") || line.contains("level=error"));
    let line = fatal.or_else(|| lines().next()).unwrap_or("it gave no reason");
    let message = line.split_once("msg=\"").map(|(_, message)| message.strip_suffix('"').unwrap_or(message));
    let text = message.map_or_else(|| line.to_owned(), |message| message.replace("\\\"", "\"").replace("\\n", " "));
    let text = match text.strip_prefix("Error parsing image name ").and_then(|rest| rest.split_once("\": ")) {
        Some((_, cause)) => cause.to_owned(),
        None => text,
    };
    shortened(&without_secrets(&text))
}

fn shortened(text: &str) -> String {
    let surplus = text.chars().count().saturating_sub(MOST);
    if surplus == 0 { text.to_owned() } else { format!("…{}", text.chars().skip(surplus).collect::<String>()) }
}

/// Addresses without what stands before `@` and after `?`.
pub fn without_secrets(text: &str) -> String {
    let mut pieces = text.split("://");
    let mut clean = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = |character: char| character.is_whitespace() || matches!(character, '"' | '\'' | ')' | ']');
        let address: String = piece.chars().take_while(|character| !end(*character)).collect();
        let rest = piece.strip_prefix(address.as_str()).unwrap_or_default();
        clean.push_str("://");
        clean.push_str(&public(&address));
        clean.push_str(rest);
    }
    clean
}

fn public(address: &str) -> String {
    let (plain, query) = address.split_once('?').map_or((address, false), |(plain, _)| (plain, true));
    let (host, path) = plain.split_once('/').map_or((plain, None), |(host, path)| (host, Some(path)));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let path = path.map(|path| format!("/{path}")).unwrap_or_default();
    format!("{host}{path}{}", if query { "?…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_what_will_help() {
        use Complaint::{Busy, Lasting, Passing};
        for (said, expected) in [
            ("reading manifest sha256:00 in 127.0.0.1:5077/m/os: manifest unknown: manifest unknown", Lasting),
            (
                "Error retrieving manifest for image: Manifest does not match provided manifest digest sha256:00",
                Lasting,
            ),
            ("error: Source image rejected: A signature was required, but no signature exists", Lasting),
            ("remote error: cryptographic signature verification failed: invalid signature", Lasting),
            ("Running image docker://x is rejected by policy.", Lasting),
            ("containers-policy.json specifies a default of `insecureAcceptAnything`; refusing usage", Lasting),
            ("registry r.example is blocked in /etc/containers/registries.conf", Lasting),
            ("Packages not found: kata-containers, usbguard", Lasting),
            ("Package \"kernel-modules-core\" not found", Lasting),
            ("No overrides for package 'kernel'", Lasting),
            ("Old and new refs are equal: ostree-unverified-registry:r.example/os@sha256:00", Lasting),
            ("Importing: Manifest sha256:00 does not have ostree.bootable label", Lasting),
            ("Image has architecture arm64; expected amd64", Lasting),
            ("error: Transaction in progress: deploy", Busy),
            ("Source image rejected: Get \"https://sigs.example/1\": dial tcp: connect: connection refused", Passing),
            ("(Mirrors also failed: [mirror.example/os: manifest unknown]): dial tcp: i/o timeout", Passing),
            ("invalid username/password: unauthorized: x", Passing),
            // skopeo 1.22 leaves out the code of the registry's answer.
            (
                "(Mirrors also failed: [mirror.example/os: manifest unknown]): r.example/os: authentication required",
                Passing,
            ),
            ("Get \"https://r.example/v2/\": x509: certificate signed by unknown authority", Passing),
            ("received unexpected HTTP status: 503 Service Unavailable", Passing),
            ("Writing content object: min-free-space-percent '3%' would be exceeded", Passing),
            ("unexpected EOF", Passing),
            ("open /x: permission denied", Passing),
            ("", Passing),
        ] {
            assert_eq!(Complaint::of(said), expected, "{said}");
        }
    }

    #[test]
    fn the_cause_is_taken_out_of_the_log() {
        let log = "time=\"t\" level=warning msg=\"noise\"\ntime=\"t\" level=fatal msg=\"Error parsing image name \\\"docker://r.example/os@sha256:00\\\": pinging container registry r.example: Get \\\"https://r.example/v2/\\\": dial tcp: no such host\"\n";
        for (stderr, expected) in [
            (log, "pinging container registry r.example: Get \"https://r.example/v2/\": dial tcp: no such host"),
            ("panic: x\n\n", "panic: x"),
            ("", "it gave no reason"),
            ("FATA[0000] manifest unknown", "FATA[0000] manifest unknown"),
        ] {
            assert_eq!(reason(stderr), expected);
        }
        let long = format!("{}the end", "x".repeat(2000));
        assert_eq!(reason(&long).chars().count(), MOST + 1);
        assert!(reason(&long).ends_with("the end"));
    }

    #[test]
    fn secrets_in_addresses_are_left_out() {
        for (text, expected) in [
            ("proxy http://me:hunter2@p.example:3128 said no", "proxy http://p.example:3128 said no"),
            ("Get \"https://cdn.example/b?X-Sig=hunter2&e=1\": EOF", "Get \"https://cdn.example/b?…\": EOF"),
            ("docker://r.example/os@sha256:00", "docker://r.example/os@sha256:00"),
            ("a://u:p@h b://v@i", "a://h b://i"),
            ("://", "://"),
        ] {
            assert_eq!(without_secrets(text), expected);
        }
    }
}
