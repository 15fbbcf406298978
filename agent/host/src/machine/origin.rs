//! What it takes to come back from a transaction, as the journal keeps it: the configuration before it, and everything it
//! displaces that no configuration knows.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ostler_core::recorded::Recorded;
use ostler_core::secret::Secret;
use serde::{Deserialize, Serialize};

use crate::disk::{Attributes, RootPath};
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
    made: Vec<String>,
    directories: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Displaced {
    path: String,
    stood: Stood,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Stood {
    Nothing,
    Link(String),
    File { contents: String, mode: u32, uid: u32, gid: u32, label: Option<String> },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptRecord {
    user: String,
    hash: String,
    day: Option<u64>,
}

const VERSION: u32 = 1;

impl Origin {
    /// As bytes for the journal.
    pub(super) fn encode(&self) -> Option<Secret<Vec<u8>>> {
        let texts = |paths: &[RootPath]| paths.iter().map(|path| path.as_str().to_owned()).collect();
        let displaced = |(path, standing): (&RootPath, &Option<Standing>)| Displaced {
            path: path.as_str().to_owned(),
            stood: stood(standing.as_ref()),
        };
        let record = Record {
            version: VERSION,
            config: STANDARD.encode(self.recorded.json.expose()),
            displaced: self.displaced.iter().map(displaced).collect(),
            passwords: self.passwords.iter().map(KeptRecord::of).collect(),
            made: texts(&self.made),
            directories: texts(&self.directories),
        };
        serde_json::to_vec(&record).ok().map(Secret::new)
    }

    /// From the journal; `None` when it is not what [`Origin::encode`] makes.
    pub(super) fn decode(payload: &Secret<Vec<u8>>) -> Option<Self> {
        let record: Record = serde_json::from_slice(payload.expose()).ok()?;
        if record.version != VERSION {
            return None;
        }
        let paths = |paths: Vec<String>| -> Option<Vec<RootPath>> {
            paths.into_iter().map(|path| RootPath::new(path).ok()).collect()
        };
        let displaced = record
            .displaced
            .into_iter()
            .map(|displaced| Some((RootPath::new(displaced.path).ok()?, standing(displaced.stood)?)));
        let passwords = record.passwords.into_iter().map(|kept| Kept {
            user: kept.user,
            hash: Secret::new(kept.hash),
            day: kept.day,
        });
        Some(Self {
            recorded: super::observe::recorded(STANDARD.decode(record.config).ok()?).ok()?,
            displaced: displaced.collect::<Option<_>>()?,
            passwords: passwords.collect(),
            made: paths(record.made)?,
            directories: paths(record.directories)?,
        })
    }
}

impl KeptRecord {
    fn of(kept: &Kept) -> Self {
        Self { user: kept.user.clone(), hash: kept.hash.expose().clone(), day: kept.day }
    }
}

fn stood(standing: Option<&Standing>) -> Stood {
    match standing {
        None => Stood::Nothing,
        Some(Standing::Link { target }) => Stood::Link(target.clone()),
        Some(Standing::File { contents, attributes, label }) => Stood::File {
            contents: STANDARD.encode(contents.expose()),
            mode: attributes.mode,
            uid: attributes.uid,
            gid: attributes.gid,
            label: label.clone(),
        },
    }
}

fn standing(stood: Stood) -> Option<Option<Standing>> {
    Some(match stood {
        Stood::Nothing => None,
        Stood::Link(target) => Some(Standing::Link { target }),
        Stood::File { contents, mode, uid, gid, label } => Some(Standing::File {
            contents: Secret::new(STANDARD.decode(contents).ok()?),
            attributes: Attributes { mode, uid, gid },
            label,
        }),
    })
}
