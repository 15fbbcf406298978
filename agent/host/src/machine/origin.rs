//! What it takes to come back from a transaction, as the journal keeps it: the configuration before it, and everything it
//! displaces that no configuration knows. The configuration's text is kept apart, and named.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ostler_core::recorded::Recorded;
use ostler_core::secret::Secret;
use serde::{Deserialize, Serialize};

use crate::accounts::KnownOwners;
use crate::disk::{Attributes, RootPath};
use crate::journal::TextId;
use crate::originals::Standing;

/// Where a transaction comes from.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    /// The configuration before.
    pub(super) recorded: Recorded,
    /// What stood, or did not stand, at paths that the way back could not tell from that configuration.
    pub(super) displaced: BTreeMap<RootPath, Option<Standing>>,
    /// Hashes of passwords that the configuration does not have.
    pub(super) passwords: Vec<Kept>,
    /// Owners by the accounts before the change, which may rewrite those.
    pub(super) owners: KnownOwners,
    /// Directories that were not there, outermost first.
    pub(super) made: Vec<RootPath>,
    /// Directories in which an interrupted way may leave temporaries.
    pub(super) directories: Vec<RootPath>,
}

/// A password as it was.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) user: String,
    pub(super) hash: Secret<String>,
    pub(super) day: Option<u64>,
}

/// The text is written out in full: whoever may read the journal's directory may read the files themselves.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    version: u32,
    config: String,
    displaced: Vec<Displaced>,
    passwords: Vec<KeptRecord>,
    #[serde(default, skip_serializing_if = "KnownOwners::is_empty")]
    owners: KnownOwners,
    made: Vec<String>,
    directories: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Displaced {
    path: String,
    stood: Stood,
}

/// What stood at a path, as a record keeps it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum Stood {
    Nothing,
    Link(String),
    File {
        contents: String,
        mode: u32,
        uid: u32,
        gid: u32,
        label: Option<String>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        xattrs: BTreeMap<String, String>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptRecord {
    user: String,
    hash: String,
    day: Option<u64>,
}

const VERSION: u32 = 2;

/// An origin as it is stored, without the text of its configuration.
pub(super) struct Stored {
    /// That text's name.
    pub(super) config: TextId,
    record: Record,
}

impl Stored {
    /// From the journal; `None` when it is not what [`Origin::encode`] makes.
    pub(super) fn decode(payload: &Secret<Vec<u8>>) -> Option<Self> {
        let record: Record = serde_json::from_slice(payload.expose()).ok()?;
        let config = TextId::parse(&record.config)?;
        (record.version == VERSION).then_some(Self { config, record })
    }

    /// Whole again; `None` when a part is not what [`Origin::encode`] makes.
    pub(super) fn with(self, text: Secret<Vec<u8>>) -> Option<Origin> {
        let record = self.record;
        let paths = |paths: Vec<String>| -> Option<Vec<RootPath>> {
            paths.into_iter().map(|path| RootPath::new(path).ok()).collect()
        };
        let displaced = record
            .displaced
            .into_iter()
            .map(|displaced| Some((RootPath::new(displaced.path).ok()?, displaced.stood.standing()?)));
        let passwords = record.passwords.into_iter().map(|kept| Kept {
            user: kept.user,
            hash: Secret::new(kept.hash),
            day: kept.day,
        });
        Some(Origin {
            recorded: super::observe::recorded(text.into_exposed()).ok()?,
            displaced: displaced.collect::<Option<_>>()?,
            passwords: passwords.collect(),
            owners: record.owners,
            made: paths(record.made)?,
            directories: paths(record.directories)?,
        })
    }
}

impl Origin {
    /// As bytes for the journal, which has the configuration's text by this name.
    pub(super) fn encode(&self, config: &TextId) -> Option<Secret<Vec<u8>>> {
        let texts = |paths: &[RootPath]| paths.iter().map(|path| path.as_str().to_owned()).collect();
        let displaced = |(path, standing): (&RootPath, &Option<Standing>)| Displaced {
            path: path.as_str().to_owned(),
            stood: Stood::of(standing.as_ref()),
        };
        let record = Record {
            version: VERSION,
            config: config.as_str().to_owned(),
            displaced: self.displaced.iter().map(displaced).collect(),
            passwords: self.passwords.iter().map(KeptRecord::of).collect(),
            owners: self.owners.clone(),
            made: texts(&self.made),
            directories: texts(&self.directories),
        };
        serde_json::to_vec(&record).ok().map(Secret::new)
    }
}

impl KeptRecord {
    fn of(kept: &Kept) -> Self {
        Self { user: kept.user.clone(), hash: kept.hash.expose().clone(), day: kept.day }
    }
}

impl Stood {
    pub(super) fn of(standing: Option<&Standing>) -> Self {
        match standing {
            None => Self::Nothing,
            Some(Standing::Link { target }) => Self::Link(target.clone()),
            Some(Standing::File { contents, attributes, label, xattrs }) => Self::File {
                contents: STANDARD.encode(contents.expose()),
                mode: attributes.mode,
                uid: attributes.uid,
                gid: attributes.gid,
                label: label.clone(),
                xattrs: xattrs.iter().map(|(name, value)| (name.to_owned(), STANDARD.encode(value))).collect(),
            },
        }
    }

    /// As it stood; `None` when this is not what [`Self::of`] makes.
    pub(super) fn standing(self) -> Option<Option<Standing>> {
        Some(match self {
            Self::Nothing => None,
            Self::Link(target) => Some(Standing::Link { target }),
            Self::File { contents, mode, uid, gid, label, xattrs } => Some(Standing::File {
                contents: Secret::new(STANDARD.decode(contents).ok()?),
                attributes: Attributes { mode, uid, gid },
                label,
                xattrs: xattrs
                    .into_iter()
                    .map(|(name, value)| Some((name, STANDARD.decode(value).ok()?)))
                    .collect::<Option<_>>()?,
            }),
        })
    }
}
