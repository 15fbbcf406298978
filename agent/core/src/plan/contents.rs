//! Measures every file of a target, so that nothing undecodable is found out after the drain.

use std::collections::HashMap;

use crate::ignition::{Config, Limits};
use crate::refusal::Refusal;

/// Most bytes that all files of one configuration may hold together.
const MAX_TOTAL: u64 = 512 * 1024 * 1024;

/// Sizes of the decoded contents by path. Contents themselves are not kept.
pub(super) fn sizes(target: &Config) -> Result<HashMap<&str, u64>, Refusal> {
    let mut sizes = HashMap::with_capacity(target.files.len());
    let mut total = 0_u64;
    for file in &target.files {
        let refused = |source| Refusal::Contents { path: file.path.clone(), source };
        let bytes = file.contents.size(Limits::default()).map_err(refused)? as u64;
        total = total.saturating_add(bytes);
        if total > MAX_TOTAL {
            return Err(Refusal::TooLarge { most: MAX_TOTAL });
        }
        sizes.insert(file.path.as_str(), bytes);
    }
    Ok(sizes)
}
