//! Which files hold secrets, by where they are or by what they look like.
//!
//! Owns only the question whether contents may be shown to the person who asked for them. Logs, plans and status never
//! show contents, whatever the answer.

/// Paths, and directories whole, that hold keys, tokens or pull secrets.
const SECRET_PLACES: &[&str] = &[
    "/etc/crictl/auth",
    "/etc/kubernetes/bootstrap-secrets",
    "/etc/kubernetes/cloud.conf",
    "/etc/kubernetes/kubeconfig",
    "/etc/kubernetes/static-pod-resources",
    "/etc/luks",
    "/etc/mco/internal-registry-pull-secret.json",
    "/etc/mco/proxy.env",
    "/etc/NetworkManager/system-connections",
    "/etc/ostree/auth.json",
    "/etc/pki/tls/private",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/ssh",
    "/etc/sudoers",
    "/root",
    "/run/ostree/auth.json",
    "/var/lib/kubelet",
];

/// What a file name of a secret contains, in lower case.
const SECRET_NAMES: &[&str] = &[
    "auth.json",
    "credential",
    "htpasswd",
    "id_rsa",
    "kubeconfig",
    "passwd",
    "password",
    "private",
    "secret",
    "token",
];

const SECRET_SUFFIXES: &[&str] = &[".jks", ".key", ".keytab", ".p12", ".pfx"];

/// What gives contents away, in lower case.
const SECRET_MARKS: &[&str] =
    &["private key", "\"auths\"", "\"auth\":", "password", "passwd", "secret", "token", "client-key-data", "://"];

/// Whether a path is one where secrets are kept.
pub fn is_secret_path(path: &str) -> bool {
    let below = |place: &str| path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
    SECRET_PLACES.iter().any(|place| below(place))
        || SECRET_NAMES.iter().any(|part| name.contains(part))
        || SECRET_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// Whether a line of text looks as if it held a secret: a key, a password, or credentials in a URL.
pub fn is_secret_line(line: &str) -> bool {
    let line = line.to_lowercase();
    SECRET_MARKS.iter().any(|mark| match *mark {
        "://" => has_url_credentials(&line),
        mark => line.contains(mark),
    })
}

fn has_url_credentials(line: &str) -> bool {
    line.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', ' ', '"', '\'']).next().unwrap_or_default();
        authority.split_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

/// Whether a whole text must not be shown, because what makes it a secret spans lines.
pub fn is_secret_text(text: &str) -> bool {
    let text = text.to_lowercase();
    ["private key-----", "\"auths\"", "client-key-data"].iter().any(|mark| text.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_names_of_secrets_are_known() {
        for (path, secret) in [
            ("/var/lib/kubelet/config.json", true),
            ("/etc/kubernetes/kubeconfig", true),
            ("/etc/pki/tls/private/server.pem", true),
            ("/opt/app/Server.KEY", true),
            ("/opt/app/db-password.txt", true),
            ("/etc/chrony.conf", false),
            ("/etc/containers/registries.conf", false),
            ("/etc/kubernetes/kubelet.conf", false),
            ("/etc/sshd.d/x", false),
        ] {
            assert_eq!(is_secret_path(path), secret, "{path}");
        }
    }

    #[test]
    fn lines_that_look_like_secrets_are_known() {
        for (line, secret) in [
            ("Environment=DB_PASSWORD=x", true),
            ("proxy=http://user:pass@proxy:3128", true),
            ("server 0.pool.ntp.org iburst", false),
            ("url=https://example.com/a@b:c", false),
        ] {
            assert_eq!(is_secret_line(line), secret, "{line}");
        }
        assert!(is_secret_text("-----BEGIN RSA PRIVATE KEY-----\nabc"));
        assert!(!is_secret_text("-----BEGIN CERTIFICATE-----\nabc"));
    }
}
