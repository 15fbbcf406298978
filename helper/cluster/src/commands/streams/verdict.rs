//! What a stream means for a pool and for those that it takes along, as `plan` and `set` show it. Decides nothing.

use ostler_cluster_core::objects::{Condition, MachineConfigPool};
use ostler_cluster_core::streams::{self, Assessment, Choice, Labels, Obstacle};
use serde::Serialize;

use super::knowledge::Knowledge;
use crate::output::{self, BAD, CAUTION, FAINT, GOOD, HEADING};

/// An assessment of a pool with its followers.
pub struct Verdict<'k> {
    knowledge: &'k Knowledge,
    pool: &'k MachineConfigPool,
    /// Of the pool itself.
    pub assessment: Assessment,
    followers: Vec<(String, Assessment)>,
}

/// What `streams plan -o json` prints, and `streams set -o json` with an outcome. Keys are a contract; more may be added.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document<'a> {
    pool: &'a str,
    stream: &'a str,
    choice: Choice,
    blocked: bool,
    os_image: Option<&'a str>,
    extensions_image: Option<&'a str>,
    overridden_by: Option<&'a str>,
    extensions_overridden_by: Option<&'a str>,
    last_known_stream: Option<&'a str>,
    last_known_from: Option<&'static str>,
    expected_status: Option<&'a str>,
    reported_status: Option<&'a str>,
    obstacles: &'a [Obstacle],
    conditions: Vec<Condition>,
    followers: Vec<Follower<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
}

/// A pool that is taken along.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Follower<'a> {
    pool: &'a str,
    blocked: bool,
    os_image: Option<&'a str>,
    extensions_image: Option<&'a str>,
    last_known_stream: Option<&'a str>,
    obstacles: &'a [Obstacle],
}

impl<'k> Verdict<'k> {
    /// Of a pool as it is, or with another stream of its own; `labels` by image are of images that are no stream's.
    pub fn new(
        knowledge: &'k Knowledge,
        pool: &'k MachineConfigPool,
        stream: Option<&str>,
        labels: impl Fn(&str) -> Option<Labels>,
    ) -> Self {
        let cluster = knowledge.cluster();
        let first = streams::assess(&cluster, pool, stream, None);
        let labels = first.injected.as_ref().and_then(|injected| labels(&injected.os_image));
        let assessment = streams::assess(&cluster, pool, stream, labels.as_ref());
        let named = assessment.effective.choice == Choice::Explicit;
        let followers = match named {
            true => streams::assess_followers(&cluster, pool, &assessment.effective.stream),
            false => Vec::new(),
        };
        Self { knowledge, pool, assessment, followers }
    }

    /// Everything that stands in the way, with the pool that it stands in the way of.
    pub fn obstacles(&self) -> impl Iterator<Item = (&str, &Obstacle)> {
        let own = std::iter::once((self.pool.metadata.name.as_str(), &self.assessment));
        let followers = self.followers.iter().map(|(name, assessment)| (name.as_str(), assessment));
        own.chain(followers)
            .flat_map(|(name, assessment)| assessment.obstacles.iter().map(move |obstacle| (name, obstacle)))
    }

    /// For a program.
    pub fn document(&self, outcome: Option<&'static str>) -> Document<'_> {
        let Assessment { effective, injected, last_known, reported, obstacles, .. } = &self.assessment;
        let injected = injected.as_ref();
        let release = self.knowledge.release.as_ref();
        let condition =
            release.map(|release| streams::pool_condition(&self.knowledge.policy, &effective.stream, release));
        Document {
            pool: &self.pool.metadata.name,
            stream: &effective.stream,
            choice: effective.choice,
            blocked: obstacles.iter().any(|obstacle| obstacle.blocks),
            os_image: injected.map(|injected| injected.os_image.as_str()),
            extensions_image: injected.map(|injected| injected.extensions_image.as_str()),
            overridden_by: injected.and_then(|injected| injected.overridden_by.as_deref()),
            extensions_overridden_by: injected.and_then(|injected| injected.extensions_overridden_by.as_deref()),
            last_known_stream: last_known.as_ref().map(|evidence| evidence.stream.as_str()),
            last_known_from: last_known.as_ref().map(|evidence| evidence.found_in),
            expected_status: reported.as_deref(),
            reported_status: self.pool.status.os_image_stream.as_ref().map(|stream| stream.name.as_str()),
            obstacles,
            conditions: Vec::from_iter(condition),
            followers: self.followers.iter().map(Follower::new).collect(),
            outcome,
        }
    }

    /// For a person.
    pub fn text(&self) -> String {
        let document = self.document(None);
        let mut text = String::new();
        let mut line = |heading: &str, value: &str| {
            text.push_str(&format!("{} {}\n", output::styled(HEADING, heading), output::printable(value)));
        };
        line("pool:", document.pool);
        line("stream:", &format!("{} ({})", document.stream, document.choice));
        line("OS image:", document.os_image.unwrap_or("none"));
        line("extensions image:", document.extensions_image.unwrap_or("none"));
        match &self.assessment.last_known {
            Some(evidence) => line("was in:", &format!("{} (by {})", evidence.stream, evidence.found_in)),
            None => line("was in:", "not known"),
        }
        if !self.followers.is_empty() {
            let names: Vec<&str> = self.followers.iter().map(|(name, _)| name.as_str()).collect();
            line("takes along:", &format!("{} (inherited from {})", names.join(", "), document.pool));
        }
        text.push('\n');
        text.push_str(&self.obstacles_text());
        text
    }

    /// What stands in the way, one line each, or that nothing does.
    pub fn obstacles_text(&self) -> String {
        let line = |(pool, obstacle): (&str, &Obstacle)| {
            let (style, word) = if obstacle.blocks { (BAD, "blocked") } else { (CAUTION, "note") };
            let of = if pool == self.pool.metadata.name { String::new() } else { format!("pool {pool}: ") };
            let words = output::printable(&format!("{of}{}", obstacle.message));
            let reason = output::styled(FAINT, &format!("({})", obstacle.reason));
            format!("{} {words} {reason}\n", output::styled(style, &format!("{word}:")))
        };
        // Followers meet much of what the pool itself meets; once is enough for a person.
        let own = |obstacle: &Obstacle| self.assessment.obstacles.contains(obstacle);
        let news = |(pool, obstacle): &(&str, &Obstacle)| *pool == self.pool.metadata.name || !own(obstacle);
        let text: String = self.obstacles().filter(news).map(line).collect();
        if text.is_empty() { format!("{}\n", output::styled(GOOD, "nothing stands in the way")) } else { text }
    }
}

impl<'a> Follower<'a> {
    fn new((pool, assessment): &'a (String, Assessment)) -> Self {
        let injected = assessment.injected.as_ref();
        Self {
            pool,
            blocked: assessment.obstacles.iter().any(|obstacle| obstacle.blocks),
            os_image: injected.map(|injected| injected.os_image.as_str()),
            extensions_image: injected.map(|injected| injected.extensions_image.as_str()),
            last_known_stream: assessment.last_known.as_ref().map(|evidence| evidence.stream.as_str()),
            obstacles: &assessment.obstacles,
        }
    }
}
