//! The boot loader: which one is installed, which one could be, where it lies, and what writing it can do to a machine.

use std::fmt::Write as _;

use ostler_core::os::bootloader::{Action, Adoptable, Component, Intent, Report, Updatable, Verdict, Version};
use ostler_core::protocol::Failure;
use serde::Serialize;

use super::course::failure_or;
use super::phrase::{BAD, CAUTION, FAINT, GOOD, HEADING, printable, styled};

/// What `ostler bootloader status` says.
pub fn bootloader(report: &Report) -> String {
    let mut text = verdict(report.verdict);
    for (name, component) in &report.status.components {
        text.push_str(&kept(name, component));
    }
    for (name, adoptable) in &report.status.adoptable {
        text.push_str(&foreign(name, adoptable));
    }
    text.push_str(&place(report));
    text
}

fn verdict(verdict: Verdict) -> String {
    let (style, word, rest) = match verdict {
        Verdict::Interrupted => (
            BAD,
            "Interrupted:",
            "writing the boot loader did not end, and nobody knows what is on the disk.\n\
             Do NOT restart the machine: see \"bootupctl validate\", then run \"bootupctl update\" with a console and rescue \
             media at hand.",
        ),
        Verdict::UpdateAvailable => (
            CAUTION,
            "Update available:",
            "the booted image brings a newer boot loader than the one that is installed.\n\
             \"ostler bootloader update --dry-run\" tells whether it can be written, and what can happen.",
        ),
        Verdict::Adoptable => (
            CAUTION,
            "Adoptable:",
            "there is a boot loader that bootupd does not keep yet, so no update reaches it.\n\
             \"ostler bootloader adopt --dry-run\" tells whether it can be taken over, and what can happen.",
        ),
        Verdict::UpToDate => (GOOD, "Up to date:", "the booted image brings nothing newer."),
        Verdict::Unmanaged => (GOOD, "Unmanaged:", "bootupd keeps no boot loader here, and knows of none to adopt."),
    };
    format!("{} {rest}\n", styled(style, word))
}

fn kept(name: &str, component: &Component) -> String {
    let mut text = format!("\n{}\n", styled(HEADING, &printable(name)));
    let _ = writeln!(text, "  installed    {}", version(&component.installed));
    if let Some(interrupted) = &component.interrupted {
        let _ = writeln!(text, "  {}  {}", styled(BAD, "interrupted"), version(interrupted));
    }
    let available = component.update.as_ref().map_or_else(|| "none in the booted image".to_owned(), version);
    let _ = writeln!(text, "  available    {available}");
    let _ = writeln!(text, "  that is      {}", comparison(component.updatable));
    text
}

const fn comparison(updatable: Updatable) -> &'static str {
    match updatable {
        Updatable::NoUpdateAvailable => "nothing to update to",
        Updatable::AtLatestVersion => "the same",
        Updatable::Upgradable => "newer",
        Updatable::WouldDowngrade => "older: it is not installed",
        Updatable::Unknown => "in a way that bootupd has a new word for: see \"bootupctl status\"",
    }
}

fn foreign(name: &str, adoptable: &Adoptable) -> String {
    let sure = if adoptable.confident {
        "bootupd is sure of it, and an update adopts it too"
    } else {
        "bootupd is not sure of it, and only adopting takes it over"
    };
    let name = styled(HEADING, &printable(name));
    format!("\n{name}\n  found        {}\n  not kept     {sure}\n", version(&adoptable.version))
}

fn version(version: &Version) -> String {
    let name = printable(&version.version);
    if version.timestamp.is_empty() {
        return name;
    }
    format!("{name} {}", styled(FAINT, &format!("({})", printable(&version.timestamp))))
}

fn place(report: &Report) -> String {
    let layout = &report.layout;
    let places = match layout.partitions.as_slice() {
        [] => "none found".to_owned(),
        partitions => partitions.iter().map(|partition| printable(partition)).collect::<Vec<_>>().join(", "),
    };
    let mut text = format!("\n{}  {places}\n", styled(HEADING, "EFI system partitions"));
    if layout.partitions.len() > 1 {
        text.push_str("  bootupd may write only one of them, so Ostler does not let it write any\n");
    }
    if let Some(array) = &layout.array {
        let _ = writeln!(text, "{}  the array {}", styled(HEADING, "/boot is on"), printable(array));
        text.push_str("  its disks have boot loaders of their own, so Ostler does not let bootupd write any\n");
    }
    text
}

/// What would be done, and what that can lead to, before anybody is asked.
pub fn intent(intent: &Intent) -> String {
    let verb = match intent.action {
        Action::Update => "To update:",
        Action::Adopt => "To adopt:",
    };
    let components = intent.components.iter().map(|name| printable(name)).collect::<Vec<_>>().join(", ");
    let mut text = format!("{} {components}\n{}\n", styled(CAUTION, verb), styled(BAD, "What can happen"));
    for line in intent.risk.lines() {
        let _ = writeln!(text, "  {}", printable(line));
    }
    text
}

/// What has become of it.
pub fn written(report: Option<&Report>) -> String {
    match report {
        None => "Nothing was changed.\n".to_owned(),
        Some(report) => format!("{}\n{}", styled(GOOD, "Written."), bootloader(report)),
    }
}

/// Why it was not written, or not wholly.
pub fn bootloader_failure(failure: &Failure) -> String {
    failure_or(
        failure,
        "Nobody can tell whether the boot loader is whole. Do NOT restart the machine before \"ostler bootloader status\" says \
         how it is.",
    )
}

/// What `ostler bootloader status -o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BootloaderDocument<'a> {
    verdict: Verdict,
    components: Vec<ComponentDocument<'a>>,
    adoptable: Vec<AdoptableDocument<'a>>,
    partitions: &'a [String],
    array: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ComponentDocument<'a> {
    name: &'a str,
    installed: &'a Version,
    available: Option<&'a Version>,
    interrupted: Option<&'a Version>,
    updatable: Updatable,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AdoptableDocument<'a> {
    name: &'a str,
    found: &'a Version,
    confident: bool,
}

impl<'a> BootloaderDocument<'a> {
    /// Of this report.
    pub fn new(report: &'a Report) -> Self {
        let component = |(name, component): (&'a String, &'a Component)| ComponentDocument {
            name,
            installed: &component.installed,
            available: component.update.as_ref(),
            interrupted: component.interrupted.as_ref(),
            updatable: component.updatable,
        };
        let adoptable = |(name, adoptable): (&'a String, &'a Adoptable)| AdoptableDocument {
            name,
            found: &adoptable.version,
            confident: adoptable.confident,
        };
        Self {
            verdict: report.verdict,
            components: report.status.components.iter().map(component).collect(),
            adoptable: report.status.adoptable.iter().map(adoptable).collect(),
            partitions: &report.layout.partitions,
            array: report.layout.array.as_deref(),
        }
    }
}

/// What `ostler bootloader update -o json` and `adopt -o json` print, unless they fail.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteDocument<'a> {
    result: &'static str,
    intent: Option<&'a Intent>,
    bootloader: Option<BootloaderDocument<'a>>,
}

impl<'a> WriteDocument<'a> {
    /// It was written.
    pub const WRITTEN: &'static str = "written";
    /// It could be, and no more than that was wanted.
    pub const CHECKED: &'static str = "checked";
    /// A person did not agree.
    pub const DECLINED: &'static str = "declined";
    /// There is nothing newer.
    pub const NOTHING: &'static str = "nothing";

    /// What was meant, and how it is now.
    pub fn new(result: &'static str, intent: Option<&'a Intent>, report: Option<&'a Report>) -> Self {
        Self { result, intent, bootloader: report.map(BootloaderDocument::new) }
    }
}
