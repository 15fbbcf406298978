//! What was said of drift, so that nothing is said twice and nobody can make us say it without end.

use std::collections::BTreeSet;
use std::time::Duration;

use ostler_core::drift::rhythm::Pace;
use ostler_core::drift::{Drift, Subject};
use ostler_core::node::Notice;
use ostler_core::node::duties::DriftSummary;

/// What was said last.
#[derive(Debug, Default)]
pub struct Told {
    summary: Option<DriftSummary>,
    subjects: BTreeSet<Subject>,
    /// What was told and went away. If it comes back, its going is told at growing distances.
    gone: BTreeSet<Subject>,
    pace: Pace,
    watched: Option<String>,
    unwatched: Option<String>,
    policy: Option<String>,
    hindrance: Option<String>,
}

/// When something is found.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Since some start.
    pub now: Duration,
    /// Since 1970, in seconds.
    pub seconds: u64,
    /// Any number.
    pub chance: u32,
}

/// What to say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Saying {
    /// The new state, where there is one.
    pub state: Option<Option<DriftSummary>>,
    /// What is worth telling.
    pub notices: Vec<Notice>,
    /// When to look again before that drift is gone can be said.
    pub again: Option<Duration>,
}

impl Told {
    /// What to say of drift that was found, or of none.
    pub fn found(&mut self, config: &str, drift: &[Drift], moment: Moment) -> Saying {
        let since = self.summary.as_ref().map_or(moment.seconds, |told| told.since);
        let summary = DriftSummary::new(config, drift, since);
        if summary == self.summary {
            return Saying::default();
        }
        let subjects: BTreeSet<Subject> = drift.iter().map(|drift| drift.subject.clone()).collect();
        let mut news = subjects.difference(&self.subjects).peekable();
        let is_news = news.peek().is_some();
        if news.any(|subject| self.gone.contains(subject)) {
            self.pace.tried(moment.now, moment.chance);
        } else if !is_news && moment.now < self.pace.due() {
            return Saying { again: Some(self.pace.due()), ..Saying::default() };
        }
        self.gone.extend(self.subjects.difference(&subjects).cloned());
        self.subjects = subjects;
        self.summary.clone_from(&summary);
        let config = config.to_owned();
        let notice = match &summary {
            None => Some(Notice::DriftGone { config }),
            Some(DriftSummary { count, words, .. }) => {
                is_news.then(|| Notice::DriftFound { config, count: *count, words: words.clone() })
            }
        };
        Saying { state: Some(summary), notices: notice.into_iter().collect(), again: None }
    }

    /// The machine is in another configuration: what was said of the last one is not true of it.
    pub fn other_config(&mut self, config: Option<&str>) -> Option<Saying> {
        self.summary.take_if(|told| Some(told.config.as_str()) != config)?;
        self.subjects.clear();
        self.gone.clear();
        Some(Saying { state: Some(None), ..Saying::default() })
    }

    /// Files are listened to, or cannot be.
    pub fn listening(&mut self, config: &str, trouble: Option<String>) -> Option<Notice> {
        if let Some(reason) = trouble {
            let news = self.unwatched.as_deref() != Some(&reason);
            self.unwatched = Some(reason.clone());
            return news.then_some(Notice::DriftUnwatched { reason });
        }
        self.unwatched = None;
        let news = self.watched.as_deref() != Some(config);
        self.watched = Some(config.to_owned());
        news.then(|| Notice::DriftWatched { config: config.to_owned() })
    }

    /// The policy can be read, or cannot.
    pub fn policy(&mut self, trouble: Option<String>) -> Option<Notice> {
        let news = self.policy != trouble;
        self.policy.clone_from(&trouble);
        let reason = format!("{}; until then all drift is reported and none repaired", trouble?);
        news.then(|| Notice::DutyRefused { duty: POLICY.to_owned(), reason })
    }

    /// Something is in the way, or not any more.
    pub fn hindered(&mut self, hindrance: Option<(String, u32, u64)>) -> Option<Notice> {
        let Some((reason, attempt, seconds)) = hindrance else {
            self.hindrance = None;
            return None;
        };
        let news = self.hindrance.as_deref() != Some(&reason);
        self.hindrance = Some(reason.clone());
        news.then(|| Notice::DutyDelayed { duty: DUTY.to_owned(), reason, attempt, seconds })
    }
}

const DUTY: &str = "configuration drift";
const POLICY: &str = "drift policy";

#[cfg(test)]
mod tests {
    use ostler_core::drift::Difference;

    use super::*;

    fn drift(paths: &[&str]) -> Vec<Drift> {
        let one = |path: &&str| Drift {
            subject: Subject::File { path: (*path).to_owned() },
            difference: Difference::Contents,
        };
        paths.iter().map(one).collect()
    }

    fn at(seconds: u64) -> Moment {
        Moment { now: Duration::from_secs(seconds), seconds, chance: u32::MAX }
    }

    fn names(saying: &Saying) -> Vec<&'static str> {
        let name = |notice: &Notice| match notice {
            Notice::DriftFound { .. } => "found",
            Notice::DriftGone { .. } => "gone",
            _ => "other",
        };
        saying.notices.iter().map(name).collect()
    }

    #[test]
    fn drift_is_told_once_and_again_when_there_is_more_or_none() {
        let mut told = Told::default();
        assert_eq!(told.found("a", &[], at(100)), Saying::default(), "nothing is no news");
        for (paths, expected, count) in [
            (&["/x"][..], &["found"][..], Some(1)),
            (&["/x"][..], &[][..], None),
            (&["/x", "/y"][..], &["found"][..], Some(2)),
            (&["/y"][..], &[][..], Some(1)),
            (&["/x"][..], &["found"][..], Some(1)),
        ] {
            let saying = told.found("a", &drift(paths), at(100));
            assert_eq!(names(&saying), expected, "{paths:?}");
            let state = saying.state.flatten();
            assert_eq!(state.as_ref().map(|summary| (summary.count, summary.since)), count.map(|count| (count, 100)));
        }
        let gone = told.found("a", &[], at(200));
        assert_eq!((names(&gone), gone.state), (vec!["gone"], Some(None)));
        assert_eq!(told.found("a", &drift(&["/x"]), at(300)).state.flatten().map(|summary| summary.since), Some(300));
    }

    #[test]
    fn drift_that_comes_and_goes_is_told_at_growing_distances() {
        let mut told = Told::default();
        let mut said = 0;
        // Somebody changes a file and changes it back, every other second for an hour.
        for second in 0..3600 {
            let paths: &[&str] = if second % 2 == 0 { &["/x"] } else { &[] };
            said += usize::from(told.found("a", &drift(paths), at(second)).state.is_some());
        }
        assert!(said <= 50, "said {said} times");
        let saying = told.found("a", &[], at(3600));
        let again = saying.again.map_or(3600, |again| again.as_secs());
        assert!(told.found("a", &[], at(again)).state.is_none_or(|state| state.is_none()));
    }

    #[test]
    fn what_was_said_of_another_configuration_is_taken_back() {
        let mut told = Told::default();
        told.found("a", &drift(&["/x"]), at(1));
        assert_eq!(told.other_config(Some("a")), None);
        assert_eq!(told.other_config(Some("b")), Some(Saying { state: Some(None), ..Saying::default() }));
        assert_eq!(told.other_config(Some("b")), None);
    }

    #[test]
    fn troubles_are_told_once_each() {
        let mut told = Told::default();
        let full = || Some("full".to_owned());
        let all = [
            told.listening("a", None),
            told.listening("a", None),
            told.listening("a", full()),
            told.listening("a", full()),
            told.listening("b", None),
        ];
        assert_eq!(all.map(|notice| notice.is_some()), [true, false, true, false, true]);
        let all = [told.policy(None), told.policy(full()), told.policy(full()), told.policy(None), told.policy(full())];
        assert_eq!(all.map(|notice| notice.is_some()), [false, true, false, false, true]);
        let busy = || Some(("busy".to_owned(), 1, 2));
        let all = [told.hindered(busy()), told.hindered(busy()), told.hindered(None), told.hindered(busy())];
        assert_eq!(all.map(|notice| notice.is_some()), [true, false, false, true]);
    }
}
