//! Which configurations and images the status names, and how far it has followed the object. A text that the API server
//! would refuse is left out, since it would refuse the whole status with it.

use crate::api::machine_config_node::{StatusConfigImage, StatusConfigVersion};
use crate::api::{MachineConfigNode, MachineConfigNodeStatus};
use crate::node::keys::NOT_YET_SET;
use crate::node::situation::{Phase, Situation};

/// Longest pull specification.
const MAX_IMAGE: usize = 447;
/// Longest namespace in a pull specification.
const MAX_NAMESPACE: usize = 61;
/// Digits of a digest.
const DIGEST: usize = 64;

/// The configurations the node has and is to have. One that it cannot have is not named.
pub(super) fn config_version(situation: &Situation, observed: &MachineConfigNodeStatus) -> StatusConfigVersion {
    let before = observed.config_version.as_ref().and_then(|version| version.current.clone());
    let current = situation.current.as_ref().map(|current| current.config.clone()).filter(|name| is_name(name));
    let desired = situation.desired.as_ref().filter(|_| situation.phase != Phase::Refused);
    let desired = desired.map(|desired| desired.config.clone()).filter(|name| is_name(name));
    StatusConfigVersion { current: current.or(before), desired: desired.unwrap_or_else(|| NOT_YET_SET.to_owned()) }
}

/// The images the node has and is to have, if there are any and all of them are acceptable.
pub(super) fn config_image(situation: &Situation) -> Option<StatusConfigImage> {
    let current_image = situation.current.as_ref().and_then(|current| current.image.clone());
    let desired_image = situation.desired.as_ref().and_then(|desired| desired.image.clone());
    let given = current_image.is_some() || desired_image.is_some();
    let acceptable = current_image.iter().chain(&desired_image).all(|image| is_image(image));
    (given && acceptable).then_some(StatusConfigImage { current_image, desired_image })
}

/// Whether the status has these images already. What is not given cannot be taken back from others who have said it.
pub(super) fn is_told(wanted: Option<&StatusConfigImage>, observed: Option<&StatusConfigImage>) -> bool {
    let told = |wanted: Option<&String>, observed: Option<&String>| wanted.is_none() || wanted == observed;
    wanted.is_none_or(|wanted| {
        told(wanted.current_image.as_ref(), observed.and_then(|observed| observed.current_image.as_ref()))
            && told(wanted.desired_image.as_ref(), observed.and_then(|observed| observed.desired_image.as_ref()))
    })
}

/// One more than the object's generation, as every writer of this field has it, and never less than before.
pub(super) fn observed_generation(object: &MachineConfigNode) -> i64 {
    let before = object.status.as_ref().and_then(|status| status.observed_generation);
    object.metadata.generation.unwrap_or(0).saturating_add(1).max(before.unwrap_or(1)).max(1)
}

fn is_name(name: &str) -> bool {
    let version = StatusConfigVersion { current: None, desired: name.to_owned() };
    MachineConfigNodeStatus { config_version: Some(version), ..Default::default() }.check().is_ok()
}

/// `host.with.dot[:port]/[namespace/]name@sha256:digest`.
fn is_image(image: &str) -> bool {
    let Some((name, digest)) = image.split_once('@') else { return false };
    let Some((host, rest)) = name.split_once('/') else { return false };
    image.len() <= MAX_IMAGE && is_digest(digest) && is_host(host) && is_repository(rest)
}

fn is_digest(digest: &str) -> bool {
    let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    digest.strip_prefix("sha256:").is_some_and(|digits| digits.len() == DIGEST && digits.chars().all(hex))
}

fn is_host(host: &str) -> bool {
    let (host, port) = host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port)));
    let label = |label: &str| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let number = |port: &str| (2..=5).contains(&port.len()) && port.chars().all(|c| c.is_ascii_digit());
    host.contains('.') && host.split('.').all(label) && port.is_none_or(number)
}

fn is_repository(rest: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let (namespace, name) = rest.split_once('/').map_or(("", rest), |(namespace, name)| (namespace, name));
    namespace.len() <= MAX_NAMESPACE && namespace.chars().all(plain) && name.chars().all(|c| plain(c) || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::view::ConfigRef;

    fn image(name: &str) -> String {
        format!("{name}@sha256:{}", "0a".repeat(32))
    }

    #[test]
    fn an_image_is_named_by_host_and_digest() {
        let long = format!("r.example.com/{}/os", "n".repeat(MAX_NAMESPACE));
        for name in ["r.example.com/os", "r.example.com:5000/ocp/os.v1_2", "r.e/", "1-a.b:22/a/", long.as_str()] {
            assert!(is_image(&image(name)), "{name}");
        }
        let too_long = format!("r.example.com/{}/os", "n".repeat(MAX_NAMESPACE + 1));
        let names = ["", "os", "localhost/os", "r.example.com:5/os", "r.example.com:123456/os", "r..com/os", "r.é/os"];
        let paths = ["r.example.com/a/b/os", "r.example.com/a.b/os", "r.example.com/os:tag", too_long.as_str()];
        for name in names.into_iter().chain(paths) {
            assert!(!is_image(&image(name)), "{name}");
        }
        let digest = "0a".repeat(32);
        for tail in ["".to_owned(), ":latest".to_owned(), format!("@sha512:{digest}"), format!("@sha256:{digest}0")] {
            assert!(!is_image(&format!("r.example.com/os{tail}")), "{tail}");
        }
        assert!(!is_image(&format!("r.example.com/os@sha256:{}", "0A".repeat(32))));
        assert!(!is_image(&image(&image("r.example.com/os"))));
        assert!(is_image(&image(&format!("r.example.com/{}", "n".repeat(MAX_IMAGE - 72 - 14)))));
        assert!(!is_image(&image(&format!("r.example.com/{}", "n".repeat(MAX_IMAGE - 72 - 13)))));
    }

    #[test]
    fn images_are_named_only_if_all_of_them_are_acceptable() {
        let good = image("r.example.com/os");
        let bad = "r.example.com/os:latest".to_owned();
        let some = |current: &str, desired: &str| {
            let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Some(StatusConfigImage { current_image: text(current), desired_image: text(desired) })
        };
        for (current, desired, expected) in [
            ("", "", None),
            (good.as_str(), "", some(&good, "")),
            ("", &good, some("", &good)),
            (&good, &good, some(&good, &good)),
            (&good, &bad, None),
            (&bad, "", None),
        ] {
            let mut situation = super::super::tests::settled("worker-0", "rendered-a");
            situation.current = ConfigRef::from_texts(Some("rendered-a"), Some(current));
            situation.desired = ConfigRef::from_texts(Some("rendered-a"), Some(desired));
            assert_eq!(config_image(&situation), expected, "{current} {desired}");
        }
    }

    #[test]
    fn images_are_told_again_only_if_one_of_them_is_another() {
        let images = |current: &str, desired: &str| {
            let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            StatusConfigImage { current_image: text(current), desired_image: text(desired) }
        };
        let observed = images("a", "b");
        for (wanted, told) in [("ab", true), ("a-", true), ("-b", true), ("bb", false), ("-a", false)] {
            let (current, desired) = wanted.split_at(1);
            let wanted = images(current.trim_matches('-'), desired.trim_matches('-'));
            assert_eq!(is_told(Some(&wanted), Some(&observed)), told, "{wanted:?}");
            assert!(!is_told(Some(&wanted), None) && is_told(None, Some(&observed)));
        }
    }

    #[test]
    fn a_configuration_is_named_if_it_is_wanted_and_a_name() {
        let observed = MachineConfigNodeStatus {
            config_version: Some(StatusConfigVersion { current: Some("before".into()), desired: "before".into() }),
            ..Default::default()
        };
        for (current, desired, phase, expected) in [
            ("a", "b", Phase::Considering, (Some("a"), "b")),
            ("a", "b", Phase::Refused, (Some("a"), NOT_YET_SET)),
            ("a", "", Phase::Considering, (Some("a"), NOT_YET_SET)),
            ("", "b", Phase::Considering, (Some("before"), "b")),
            ("No Name", "No Name", Phase::Considering, (Some("before"), NOT_YET_SET)),
        ] {
            let mut situation = super::super::tests::settled("worker-0", "rendered-a");
            situation.phase = phase;
            situation.current = ConfigRef::from_texts(Some(current), None);
            situation.desired = ConfigRef::from_texts(Some(desired), None);
            let version = config_version(&situation, &observed);
            assert_eq!((version.current.as_deref(), version.desired.as_str()), expected, "{current} {desired}");
        }
    }
}
