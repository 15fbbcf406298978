//! Whether a machine runs the operating system that its configuration asks for, judged by what can be seen of both.
//!
//! Owns the question for a machine that somebody else changed last; a transaction of ours compares with its own goal. Of
//! what is layered only the lack of anything counts: who changed the machine may have had other packages.

use serde::{Deserialize, Serialize};

use super::image::Pinned;
use super::state::{Installed, OsState};
use crate::kargs;
use crate::kernel::KernelType;
use crate::machine_config::MachineConfig;

/// In what the operating system is not the configuration's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Behind {
    /// Kernel arguments of the configuration that are not on the line.
    pub lacking: Vec<String>,
    /// All of it, in words.
    pub words: String,
}

impl Behind {
    /// How a machine is behind its configuration; nothing where it is not, or where that cannot be told.
    pub fn of(config: &MachineConfig, state: &OsState) -> Option<Self> {
        let booted = state.booted.as_ref()?;
        let wanted: Vec<String> = config.kernel_arguments.iter().flat_map(|entry| kargs::split(entry)).collect();
        let lacking = kargs::without(&wanted, &booted.kargs);
        let image = Pinned::parse(&config.os_image).ok();
        let mut words = Vec::new();
        if let Some(image) = &image {
            if let Some(found) = another_image(booted, image) {
                words.push(format!("it runs {found} and not {image}"));
            }
            if state.staged.as_ref().is_some_and(|staged| !is_of(staged, image)) {
                words.push("the next restart would bring another image".to_owned());
            }
        }
        if booted.packages.is_empty() && !config.extensions.is_empty() {
            words.push(format!("extensions are missing: {}", config.extensions.join(" ")));
        }
        if booted.packages.is_empty()
            && KernelType::parse(&config.kernel_type).is_ok_and(|kind| kind != KernelType::Default)
        {
            words.push(format!("its kernel is not the {} one", config.kernel_type));
        }
        if !lacking.is_empty() {
            words.push(format!("kernel arguments are missing: {}", lacking.join(" ")));
        }
        (!words.is_empty()).then(|| Self { lacking, words: words.join("; ") })
    }
}

/// The image that a machine runs, where it is another than this one.
pub fn another_image<'i>(booted: &'i Installed, image: &Pinned) -> Option<&'i str> {
    let name = || booted.image.as_deref().or(booted.digest.as_deref()).unwrap_or(&booted.checksum);
    (!is_of(booted, image)).then(name)
}

/// By its digest, or by the name that it was asked for by, which may hold the digest of an index of images.
fn is_of(installed: &Installed, image: &Pinned) -> bool {
    let named = installed.image.as_deref().and_then(|name| Pinned::parse(name).ok());
    installed.digest.as_deref() == Some(image.digest()) || named.is_some_and(|named| named.digest() == image.digest())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::fixture::{IMAGE_A, IMAGE_B, installed};

    fn config(image: &str, kargs: &[&str]) -> MachineConfig {
        let kernel_arguments = kargs.iter().map(|&entry| entry.to_owned()).collect();
        MachineConfig { os_image: image.to_owned(), kernel_arguments, ..MachineConfig::empty() }
    }

    fn running(booted: Installed, staged: Option<Installed>) -> OsState {
        OsState { booted: Some(booted), staged, ..OsState::default() }
    }

    #[test]
    fn a_machine_is_behind_where_image_or_arguments_are_not_the_configurations() {
        let a = || installed(IMAGE_A, "root=x nosmt");
        for (config, state, expected) in [
            (config(IMAGE_A, &["nosmt"]), running(a(), None), None),
            (config(IMAGE_A, &[]), running(a(), None), None),
            (config("", &[]), running(a(), None), None),
            (config("registry.example/os:latest", &[]), running(a(), None), None),
            (config(IMAGE_B, &[]), OsState::default(), None),
            (config(IMAGE_B, &[]), running(a(), None), Some("it runs")),
            (config(IMAGE_B, &[]), running(a(), Some(installed(IMAGE_B, "root=x"))), Some("it runs")),
            (config(IMAGE_A, &[]), running(a(), Some(installed(IMAGE_B, "root=x"))), Some("the next restart")),
            (config(IMAGE_A, &["quiet nosmt"]), running(a(), None), Some("kernel arguments are missing: quiet")),
        ] {
            let behind = Behind::of(&config, &state);
            let words = behind.as_ref().map(|behind| behind.words.as_str());
            assert_eq!(words.is_some(), expected.is_some(), "{words:?}");
            assert!(
                expected.is_none_or(|expected| words.is_some_and(|words| words.starts_with(expected))),
                "{words:?}"
            );
        }
    }

    #[test]
    fn an_index_of_images_is_known_by_the_name_it_was_asked_for_by() {
        let booted = Installed { digest: Some(format!("sha256:{}", "9".repeat(64))), ..installed(IMAGE_A, "") };
        assert_eq!(Behind::of(&config(IMAGE_A, &[]), &running(booted, None)), None);
    }
}
