//! `ostler-cluster streams run`: turn after turn, what is to be done about the streams; with `--own` it is done.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ostler_cluster_core::objects::{ClusterVersion, Condition, MachineConfigPool, OSImageStream, OSImageStreamStatus};
use ostler_cluster_core::streams::{self, Compared, NoStreams, Ownership, Upkeep, Version};
use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use super::discover::Gathered;
use super::knowledge::policy_of;
use crate::cli::{ClusterOptions, Format, RunOptions};
use crate::commands::{Outcome, Trouble};
use crate::output;
use crate::own::{Leadership, STATUS_MANAGER, Writer};
use crate::source::Source;

/// Runs until told to end, or for one turn.
pub async fn run(cluster: &ClusterOptions, options: &RunOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    let turns = |writer, leadership| Turns {
        source: &source,
        options,
        writer,
        leadership,
        told: BTreeMap::new(),
        shown: None,
        found: None,
    };
    if !options.own {
        return turns(None, None).all().await;
    }
    let live = source.live().ok_or_else(|| Trouble::input("a directory cannot be changed: leave out --own"))?;
    let (client, seconds) = (live.client(), u64::from(options.lease_seconds));
    let mut leadership =
        Leadership::start(client.clone(), &options.lease_namespace, &options.identity, Duration::from_secs(seconds));
    let writer = Writer::new(client, options.take_over);
    let ended = turns(Some(&writer), Some(&mut leadership)).all().await;
    leadership.give_up().await;
    ended
}

struct Turns<'a> {
    source: &'a Source,
    options: &'a RunOptions,
    writer: Option<&'a Writer>,
    leadership: Option<&'a mut Leadership>,
    /// What was said last of each topic: what stays as it is is said once.
    told: BTreeMap<&'static str, String>,
    /// The report that was printed last.
    shown: Option<Report>,
    /// What was found last, and for what: who only looks need not ask registries the same thing every turn.
    found: Option<(Asked, OSImageStreamStatus)>,
}

/// What an answer depends on: the release, and the object that is there.
type Asked = (String, Option<OSImageStream>);

/// What `streams run -o json` prints of a turn. Keys are a contract; more may be added.
#[derive(Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    release: String,
    /// Whether somebody else writes the object, and by what that shows.
    foreign_writer: Option<String>,
    /// `discover`, `moveDefault`, `noSuchDefault` or `nothing`.
    action: &'static str,
    because: Option<String>,
    written: bool,
    /// What is or would be written.
    status: Option<OSImageStreamStatus>,
    pools: Vec<PoolReport>,
    conditions: Vec<Condition>,
}

#[derive(Clone, PartialEq, Serialize)]
struct PoolReport {
    name: String,
    stream: String,
    conditions: Vec<Condition>,
}

impl Turns<'_> {
    async fn all(&mut self) -> Result<Outcome> {
        let mut ends = Ends::listen()?;
        // What was saved of a cluster does not change any more.
        let once = self.options.once || self.source.live().is_none();
        loop {
            let turn = async {
                if let Some(leadership) = &mut self.leadership {
                    leadership.won().await;
                }
                self.turn().await
            };
            let done = tokio::select! {
                done = turn => done,
                () = ends.asked() => return Ok(Outcome::Done),
            };
            match done {
                Ok(()) if once => return Ok(Outcome::Done),
                Ok(()) => {}
                // What is for a person to put right does not pass by itself; the rest may.
                Err(error) if once || error.is::<Foreign>() => return Err(error),
                Err(error) => output::error(&error),
            }
            tokio::select! {
                () = sleep(Duration::from_secs(u64::from(self.options.interval))) => {}
                () = ends.asked() => return Ok(Outcome::Done),
            }
        }
    }

    async fn turn(&mut self) -> Result<()> {
        let version: Option<ClusterVersion> = self.source.get(None, ClusterVersion::NAME).await?;
        let wanted = version.as_ref().map(|version| version.status.desired.image.clone());
        let release = self.options.sources.release_image.clone().or(wanted).unwrap_or_default();
        if release.is_empty() {
            return Err(Trouble::no_answer("the ClusterVersion names no release image yet").into());
        }
        let object: Option<OSImageStream> = self.source.get(None, OSImageStream::NAME).await?;
        let mut report = Report { release, ..Report::default() };
        if let Ownership::Foreign { evidence } =
            streams::ownership(object.as_ref().map(|object| &object.metadata), STATUS_MANAGER)
        {
            if self.writer.is_some() && !self.options.take_over {
                return Err(Foreign(evidence).into());
            }
            self.tell("writer", format!("somebody else writes the OSImageStream: {evidence}"));
            report.foreign_writer = Some(evidence);
        }
        match streams::upkeep(object.as_ref(), &report.release) {
            Upkeep::Discover { because } => self.discover(object.as_ref(), because, &mut report).await?,
            Upkeep::MoveDefault(status) => self.move_default(object.as_ref(), status, &mut report).await?,
            Upkeep::NoSuchDefault { wanted } => {
                report.action = "noSuchDefault";
                let words = format!("spec.defaultStream asks for {wanted}, which is not offered; the default stays");
                report.because = Some(words.clone());
                self.tell("streams", words);
            }
            Upkeep::Nothing => {
                report.action = "nothing";
                self.tell("streams", "the OSImageStream is as it should be".to_owned());
            }
        }
        self.conditions(version.as_ref(), &mut report).await?;
        self.show(report)
    }

    fn show(&mut self, report: Report) -> Result<()> {
        if self.options.output == Format::Json && self.shown.as_ref() != Some(&report) {
            output::json_line(&report)?;
            self.shown = Some(report);
        }
        Ok(())
    }

    async fn discover(&mut self, object: Option<&OSImageStream>, because: &str, report: &mut Report) -> Result<()> {
        let asked = (report.release.clone(), object.cloned());
        let known = self.found.take_if(|(before, _)| self.writer.is_none() && *before == asked);
        let status = match known {
            Some((_, status)) => status,
            None => self.look(because).await?,
        };
        self.found = Some((asked, status.clone()));
        let words = format!("{because}: {} with default {}", status.names().join(", "), status.default_stream);
        (report.action, report.because) = ("discover", Some(because.to_owned()));
        match self.writer {
            Some(writer) => {
                self.may_write()?;
                let asked = object.map(|object| object.spec.default_stream.as_str()).filter(|name| !name.is_empty());
                writer.object(asked.unwrap_or(&status.default_stream), &report.release).await?;
                self.may_write()?;
                writer.status(&status).await?;
                self.tell("streams", format!("written, because {words}"));
                report.written = true;
            }
            None if report.foreign_writer.is_some() => {
                self.tell("streams", format!("its writer is to renew it, because {words}"));
            }
            None => self.tell("streams", format!("would be written, because {words}")),
        }
        report.status = Some(status);
        Ok(())
    }

    /// Asks registries, and tells what was left out, once.
    async fn look(&mut self, because: &str) -> Result<OSImageStreamStatus> {
        let gathered = Gathered::read(Some(self.source), &self.options.sources).await?;
        let found = gathered.discover().await;
        let remarks = match &found {
            Ok(found) => found.remarks.iter(),
            Err(none) => none.remarks().iter(),
        };
        let remarks: Vec<String> = gathered.remarks.iter().chain(remarks).map(ToString::to_string).collect();
        if self.told.insert("images", remarks.concat()) != Some(remarks.concat()) {
            remarks.iter().for_each(|remark| output::note(remark));
        }
        let none = |none: NoStreams| Trouble::no_answer(format!("{because}, but {none}; it stays as it is"));
        Ok(found.map_err(none)?.status)
    }

    async fn move_default(
        &mut self,
        object: Option<&OSImageStream>,
        status: OSImageStreamStatus,
        report: &mut Report,
    ) -> Result<()> {
        let old = object.and_then(|object| object.status.as_ref()).map(|status| status.default_stream.as_str());
        let back = old.is_some_and(|old| streams::compare(old, &status.default_stream) == Compared::Back);
        let words = format!("the default moves to {}, and all pools without a choice with it", status.default_stream);
        let warning = if back { "; that goes back to an older system, which is not supported" } else { "" };
        let words = format!("{words}{warning}");
        (report.action, report.because) = ("moveDefault", Some(words.clone()));
        if let Some(writer) = self.writer {
            self.may_write()?;
            writer.status(&status).await?;
            report.written = true;
            self.tell("streams", words);
        } else {
            let who = if report.foreign_writer.is_some() { "by its writer" } else { "with --own" };
            self.tell("streams", format!("{who}, {words}"));
        }
        report.status = Some(status);
        Ok(())
    }

    /// Tells and writes which pools are in streams that come to their end. The cluster's own condition is only told: it
    /// belongs to others.
    async fn conditions(&mut self, version: Option<&ClusterVersion>, report: &mut Report) -> Result<()> {
        let Some(release) = version.and_then(|version| Version::parse(&version.status.desired.version).ok()) else {
            self.tell("upgrade", "which streams come to their end is not told: the release has no version".to_owned());
            return Ok(());
        };
        let policy = policy_of(self.source, &self.options.policy).await?;
        let object: Option<OSImageStream> = self.source.get(None, OSImageStream::NAME).await?;
        let Some(status) = object.and_then(|object| object.status) else { return Ok(()) };
        let pools: Vec<MachineConfigPool> = self.source.list(None).await?;
        let mut followed = Vec::new();
        for pool in &pools {
            let (name, stream) = (&pool.metadata.name, streams::effective(pool, &pools, &status.default_stream).stream);
            let condition = streams::pool_condition(&policy, &stream, &release);
            followed.push((name.clone(), stream.clone()));
            if let Some(writer) = self.writer {
                self.may_write()?;
                if writer.pool_condition(name, &condition).await? {
                    output::note(&format!("condition {} of pool {name} is {} now", condition.type_, condition.status));
                }
            }
            report.pools.push(PoolReport { name: name.clone(), stream, conditions: vec![condition] });
        }
        let upgrade = streams::upgrade_condition(&policy, &followed, &release);
        if !upgrade.is_true() {
            self.tell("upgrade", format!("{}: {}", upgrade.reason, upgrade.message));
        }
        report.conditions.push(upgrade);
        Ok(())
    }

    /// Asked before every write: the Lease may be lost meanwhile.
    fn may_write(&self) -> Result<()> {
        if self.leadership.as_ref().is_some_and(|leadership| !leadership.leads()) {
            bail!("the Lease was lost; somebody else goes on");
        }
        Ok(())
    }

    fn tell(&mut self, topic: &'static str, words: String) {
        if self.told.get(topic) != Some(&words) {
            output::note(&words);
            self.told.insert(topic, words);
        }
    }
}

/// Somebody else writes the object.
#[derive(Debug, thiserror::Error)]
#[error("somebody else writes the OSImageStream: {0}; leave it to them, or end them and use --take-over")]
struct Foreign(String);

/// Signals that ask to end.
struct Ends {
    terminate: Signal,
    interrupt: Signal,
}

impl Ends {
    fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
