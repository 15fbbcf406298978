//! What would go wrong with the machines of a cluster if it were updated to a release: one risk per name, each with its
//! cause, the objects it is about and a remedy.
//!
//! Every check is a function of what was read. A check that lacks something it needs never guesses: it says so, and what
//! it says becomes a risk of its own. Nothing is read or written here.

mod checks;
mod compare;
mod configs;
mod document;
mod inventory;
mod message;
mod release;
#[cfg(test)]
mod tests;

pub use checks::{CHECKS, Check};
pub use compare::{Comparison, Row, compare};
pub use configs::{
    ConfigDigest, Configs, Passage, Verdict, digest, image_setters, passage, wanted_configs, wanted_passages,
};
pub use document::{Document, Entry, Execution, FORMAT};
pub use inventory::{Boot, Inventory, Reading};
use message::Unknown;
pub use message::{MAX_MESSAGE, Objects, shortened};
pub use release::{Distance, NotAVersion, ReleaseVersion};

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::boot_images::ShippedImages;
use crate::streams::{Flavour, Labels, Offer};

/// How much a risk matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The update would fail or stop.
    Critical,
    /// The update may take long, or leave something behind.
    Warning,
    /// Worth knowing.
    Info,
}

impl Severity {
    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// Something that would go wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Risk {
    /// Its name, by which it can be accepted: the same whatever the target is.
    pub name: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// Cause, objects and remedy.
    pub message: String,
    /// Where to read on.
    pub url: String,
}

/// Why a check has no answer, or only a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// What was missing.
    pub reason: String,
    /// What was found all the same.
    pub beside: Option<Box<Risk>>,
}

impl Undecided {
    /// For a reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), beside: None }
    }
}

/// What the cluster is to be updated to, and by what measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The release.
    pub version: ReleaseVersion,
    /// What a kernel has to be at least, as major and minor number; none where the release asks for nothing.
    pub kernel_floor: Option<(u64, u64)>,
    /// For how many days certificates have to last.
    pub window_days: u32,
    /// When the question is asked.
    pub now: Timestamp,
    /// Its images.
    pub images: Reading<ReleaseImages>,
    /// Its boot images.
    pub boot_images: Reading<ShippedImages>,
}

/// Images of a release that may be of an operating system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseImages {
    /// The images.
    pub offer: Offer,
    /// What is known of their labels.
    pub labels: BTreeMap<String, Labels>,
    /// Whose release it is.
    pub flavour: Flavour,
}

impl Target {
    /// The machine configuration book of the target's documentation.
    pub fn book(&self) -> String {
        self.documentation("machine_configuration")
    }

    /// A page of that book.
    pub fn page(&self, page: &str) -> String {
        format!("{}/{page}", self.book())
    }

    /// The book about updates.
    pub fn update_book(&self) -> String {
        self.documentation("updating_clusters")
    }

    fn documentation(&self, book: &str) -> String {
        let minor = self.version.minor_text();
        format!("https://docs.redhat.com/en/documentation/openshift_container_platform/{minor}/html/{book}")
    }
}

/// What all checks together say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// The risks, by name, one of each.
    pub risks: Vec<Risk>,
}

/// Name of the risk that some checks could not be made.
pub const UNKNOWN: &str = "MachineConfigCompatibilityUnknown";
const UNKNOWN_URL: &str = "https://docs.openshift.com/preflight-troubleshooting";

/// Runs all checks. For an update within a minor release, those are left out that such an update does not heed.
pub fn evaluate(inventory: &Inventory, target: &Target) -> Findings {
    let within = inventory.is_within_minor(target);
    let mut risks = Vec::new();
    let mut unknown = Unknown::default();
    for check in CHECKS.iter().filter(|check| !(within && check.minor_only)) {
        match (check.run)(inventory, target) {
            Ok(risk) => risks.extend(risk),
            Err(undecided) => {
                unknown.add(check.name, &undecided.reason);
                risks.extend(undecided.beside.map(|risk| *risk));
            }
        }
    }
    if inventory.distance(target) == Distance::Back {
        unknown.add("the target", "it is older than what the cluster runs, and updates only go forward");
    }
    if !unknown.is_empty() {
        let severity = Severity::Warning;
        risks.push(Risk { name: UNKNOWN, severity, message: unknown.message(), url: UNKNOWN_URL.to_owned() });
    }
    risks.sort_by_key(|risk| risk.name);
    Findings { risks }
}
