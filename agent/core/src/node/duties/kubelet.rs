//! How the kubelet says it is, counted.

use crate::node::notice::Notice;

/// So many failures in a row are more than a restart of the kubelet explains.
pub const UNWELL: u32 = 3;

/// How often in a row the kubelet did not say that it is well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KubeletTally {
    /// How often.
    pub failures: u32,
}

impl KubeletTally {
    /// Counts one answer; what is worth telling about it.
    pub fn count(&mut self, well: bool) -> Option<Notice> {
        let before = self.failures;
        self.failures = if well { 0 } else { before.saturating_add(1) };
        match self.failures {
            0 if before >= UNWELL => Some(Notice::KubeletWell),
            UNWELL => Some(Notice::KubeletUnwell { failures: UNWELL }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_once_that_the_kubelet_is_unwell_and_once_that_it_is_well_again() {
        let mut tally = KubeletTally::default();
        let unwell = Some(Notice::KubeletUnwell { failures: 3 });
        for (well, failures, told) in [
            (true, 0, None),
            (false, 1, None),
            (false, 2, None),
            (true, 0, None),
            (false, 1, None),
            (false, 2, None),
            (false, 3, unwell),
            (false, 4, None),
            (true, 0, Some(Notice::KubeletWell)),
            (true, 0, None),
        ] {
            assert_eq!((tally.count(well), tally.failures), (told, failures));
        }
        tally.failures = u32::MAX;
        assert_eq!((tally.count(false), tally.failures), (None, u32::MAX));
    }
}
