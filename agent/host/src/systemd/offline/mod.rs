//! Enablement under a foreign root, as the links that are missing and the links that are too many.
//!
//! Owns systemd's rules of `[Install]`, presets and aliases. Refuses to write: the caller puts the result into the batch
//! that carries the units themselves, so that both appear together. Drop-ins are not asked for `[Install]`.

mod enable;
mod existing;
mod glob;
mod install;
mod name;
mod preset;
mod state;
#[cfg(test)]
mod tests;
mod texts;

use std::io;

use ostler_core::secret::Secret;

use crate::disk::{Disk, PathError, RootPath};
use existing::Existing;

pub use state::{EnabledState, is_enabled};
pub use texts::DiskTexts;

/// What a unit's links shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Those of its `[Install]` section and no others.
    Enable,
    /// None.
    Disable,
    /// What the preset files of the root say.
    Preset,
}

/// One wish for one unit.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Name of the unit, template or instance.
    pub unit: &'a str,
    /// What shall become of it.
    pub wish: Wish,
}

/// A unit file as it will be after the transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitText {
    /// There will be none.
    Absent,
    /// It will be a link to `/dev/null`, or empty.
    Masked,
    /// It will be a link to another file, as written in the link.
    Link(String),
    /// It will be a file.
    File {
        /// Where it stands, as seen inside the root: what links to it say.
        path: RootPath,
        /// What it says.
        text: Secret<String>,
    },
}

/// Where unit texts come from.
pub trait UnitTexts {
    /// The file of exactly this name; a template's file is asked for by the template's name.
    fn unit(&self, name: &str) -> io::Result<UnitText>;
}

/// What to do to `/etc/systemd/system`; sorted by path, no path twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Links and their targets. Where a link with another target stands, it is to be replaced.
    pub add: Vec<(RootPath, String)>,
    /// Links that have to go.
    pub remove: Vec<RootPath>,
}

/// Why links cannot be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OfflineError {
    /// The root could not be read.
    #[error("cannot read {what} below the root")]
    Read {
        /// A unit or a directory.
        what: String,
        /// The disk's word.
        #[source]
        source: io::Error,
    },
    /// Not the name of a unit.
    #[error("{name:?} is no name of a unit{}: {problem}", of(.unit))]
    Name {
        /// The name.
        name: String,
        /// The unit whose `[Install]` section has it, if it is not the one that was asked for.
        unit: Option<String>,
        /// What is wrong with it.
        problem: ostler_core::unit_name::NameProblem,
    },
    /// The unit file is a link to a file outside the places for units.
    #[error(
        "{unit} is a link to {target}, which may not be there at boot; put the file itself below /etc/systemd/system"
    )]
    Linked {
        /// The link's name.
        unit: String,
        /// Where it leads.
        target: String,
    },
    /// An `Alias=` that systemd would refuse.
    #[error("{unit} cannot have the alias {alias}: both must be of one type, and both templates or neither")]
    Mismatch {
        /// The unit.
        unit: String,
        /// Its alias.
        alias: String,
    },
    /// An alias whose place is taken.
    #[error("{unit} cannot have the alias {alias}: {by} has that name; remove one of them")]
    Occupied {
        /// The unit.
        unit: String,
        /// Its alias.
        alias: String,
        /// Who has the name.
        by: String,
    },
    /// A specifier that needs the running machine, or that nobody knows.
    #[error("the [Install] section of {unit} uses the specifier %{specifier}, which cannot be resolved offline")]
    Specifier {
        /// The unit.
        unit: String,
        /// The letter.
        specifier: char,
    },
    /// Too many units hang together by `Also=`, or there are too many files of presets.
    #[error("{what}: more than {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The bound.
        most: usize,
    },
    /// A path made of names from the root is none.
    #[error("a link for {unit} would have an impossible path")]
    Path {
        /// The unit.
        unit: String,
        /// Why.
        #[source]
        source: PathError,
    },
}

fn of(unit: &Option<String>) -> String {
    unit.as_ref().map(|unit| format!(" ([Install] section of {unit})")).unwrap_or_default()
}

/// Whether the text of a unit gives it this other name when it is enabled.
pub fn has_alias(text: &str, name: &str) -> bool {
    install::Install::parse(text).alias.iter().any(|alias| alias == name)
}

impl OfflineError {
    fn read(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Read { what, source }
    }
}

/// The links that turn what stands below the root into what is wished. Wishes are met in their order.
pub fn links(disk: &impl Disk, texts: &impl UnitTexts, changes: &[Change<'_>]) -> Result<Links, OfflineError> {
    let before = Existing::scan(disk, texts)?;
    let presets = match changes.iter().any(|change| change.wish == Wish::Preset) {
        true => preset::read(disk)?,
        false => preset::Presets::default(),
    };
    let mut after = before.clone();
    for change in changes {
        name::check(change.unit, None)?;
        match change.wish {
            Wish::Enable => enable::reenable(texts, &mut after, change.unit)?,
            Wish::Disable => enable::disable(texts, &mut after, change.unit)?,
            Wish::Preset => match presets.verdict(change.unit) {
                _ if enable::lookup(texts, change.unit)? == UnitText::Masked => {
                    enable::disable(texts, &mut after, change.unit)?;
                }
                preset::Verdict::Enable => enable::reenable(texts, &mut after, change.unit)?,
                preset::Verdict::Instances(instances) => {
                    enable::disable(texts, &mut after, change.unit)?;
                    for instance in instances {
                        enable::enable(texts, &mut after, &instance)?;
                    }
                }
                preset::Verdict::Disable => enable::disable(texts, &mut after, change.unit)?,
                preset::Verdict::Ignore => {}
            },
        }
    }
    before.difference(&after)
}
