//! Which lines differ between two texts. Owns the choice of the algorithm, made once: a comparison that could use any of
//! them has all of them in the program.

use similar::DiffOp;
use similar::algorithms::{Capture, Compact, Replace, myers};

/// What leads from one list of lines to the other.
pub fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut found = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff(&mut found, old, 0..old.len(), new, 0..new.len());
    found.into_inner().into_inner().into_ops()
}

#[cfg(test)]
mod tests {
    use similar::ChangeTag;

    use super::*;

    #[test]
    fn what_is_told_leads_from_the_old_text_to_the_new() {
        let (old, new) = (["a", "b", "c", "d"], ["a", "c", "x", "d", "e"]);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut changed = 0;
        for change in compare(&old, &new).iter().flat_map(|op| op.iter_changes(old.as_slice(), new.as_slice())) {
            before.extend((change.tag() != ChangeTag::Insert).then(|| change.value()));
            after.extend((change.tag() != ChangeTag::Delete).then(|| change.value()));
            changed += usize::from(change.tag() != ChangeTag::Equal);
        }
        assert_eq!((before.as_slice(), after.as_slice(), changed), (old.as_slice(), new.as_slice(), 3));
        assert!(compare(&[], &[]).is_empty());
    }
}
