//! `ostler-cluster streams run`: turn after turn, what is to be done about the streams; with `--own` it is done.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ostler_cluster_core::objects::{ClusterVersion, MachineConfigPool, OSImageStream, OSImageStreamStatus};
use ostler_cluster_core::streams::{self, Ownership, Upkeep, Version};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use super::discover::Gathered;
use super::knowledge::policy_of;
use crate::cli::{ClusterOptions, RunOptions};
use crate::commands::{Outcome, Trouble};
use crate::output;
use crate::own::{Leadership, STATUS_MANAGER, Writer};
use crate::source::Source;

/// Runs until told to end, or for one turn.
pub async fn run(cluster: &ClusterOptions, options: &RunOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    if !options.own {
        return Turns { source: &source, options, writer: None, leadership: None, told: BTreeMap::new() }.all().await;
    }
    let live = source.live().ok_or_else(|| Trouble::input("a directory cannot be changed: leave out --own"))?;
    let (client, seconds) = (live.client(), u64::from(options.lease_seconds));
    let mut leadership =
        Leadership::start(client.clone(), &options.lease_namespace, &options.identity, Duration::from_secs(seconds));
    let writer = Writer::new(client, options.take_over);
    let mut turns = Turns {
        source: &source,
        options,
        writer: Some(&writer),
        leadership: Some(&mut leadership),
        told: BTreeMap::new(),
    };
    let ended = turns.all().await;
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
}

impl Turns<'_> {
    async fn all(&mut self) -> Result<Outcome> {
        let mut ends = Ends::listen()?;
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
                Ok(()) if self.options.once => return Ok(Outcome::Done),
                Ok(()) => {}
                // What is for a person to put right does not pass by itself; the rest may.
                Err(error) if self.options.once || error.is::<Foreign>() => return Err(error),
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
        let release = match (&self.options.sources.release_image, &version) {
            (Some(image), _) => image.clone(),
            (None, Some(version)) => version.status.desired.image.clone(),
            (None, None) => String::new(),
        };
        if release.is_empty() {
            return Err(Trouble::no_answer("the ClusterVersion names no release image yet").into());
        }
        let object: Option<OSImageStream> = self.source.get(None, OSImageStream::NAME).await?;
        let ownership = streams::ownership(object.as_ref().map(|object| &object.metadata), STATUS_MANAGER);
        if let (Ownership::Foreign { evidence }, true) = (&ownership, self.writer.is_some() && !self.options.take_over)
        {
            return Err(Foreign(evidence.clone()).into());
        }
        match streams::upkeep(object.as_ref(), &release) {
            Upkeep::Discover { because } => self.discover(object.as_ref(), &release, because).await?,
            Upkeep::MoveDefault(status) => self.move_default(&status).await?,
            Upkeep::NoSuchDefault { wanted } => {
                self.tell(
                    "streams",
                    format!("spec.defaultStream asks for {wanted}, which is not offered; the default stays"),
                );
            }
            Upkeep::Nothing => self.tell("streams", "the OSImageStream is as it should be".to_owned()),
        }
        self.conditions(version.as_ref()).await
    }

    async fn discover(&mut self, object: Option<&OSImageStream>, release: &str, because: &str) -> Result<()> {
        let gathered = Gathered::read(Some(self.source), &self.options.sources).await?;
        let found = gathered.discover().await;
        let remarks = match &found {
            Ok(found) => found.remarks.iter(),
            Err(none) => none.remarks().iter(),
        };
        let remarks: Vec<String> = gathered.remarks.iter().chain(remarks).map(ToString::to_string).collect();
        let found = match found {
            Ok(found) => found,
            Err(none) => {
                remarks.iter().for_each(|remark| output::note(remark));
                return Err(Trouble::no_answer(format!("{because}, but {none}; it stays as it is")).into());
            }
        };
        let status = found.status;
        let names: Vec<&str> = status.available_streams.iter().map(|set| set.name.as_str()).collect();
        let words = format!("{because}: {} with default {}", names.join(", "), status.default_stream);
        let Some(writer) = self.writer else {
            self.tell("streams", format!("would be written, because {words}"));
            return Ok(());
        };
        remarks.iter().for_each(|remark| output::note(remark));
        self.may_write()?;
        let asked = object.map(|object| object.spec.default_stream.as_str()).filter(|name| !name.is_empty());
        writer.object(asked.unwrap_or(&status.default_stream), release).await?;
        self.may_write()?;
        writer.status(&status).await?;
        self.tell("streams", format!("written, because {words}"));
        Ok(())
    }

    async fn move_default(&mut self, status: &OSImageStreamStatus) -> Result<()> {
        let words = format!("the default moves to {}, and all pools without a choice with it", status.default_stream);
        let Some(writer) = self.writer else {
            self.tell("streams", format!("with --own, {words}"));
            return Ok(());
        };
        self.may_write()?;
        writer.status(status).await?;
        self.tell("streams", words);
        Ok(())
    }

    /// Tells and writes which pools are in streams that come to their end. The cluster's own condition is only told: it
    /// belongs to others.
    async fn conditions(&mut self, version: Option<&ClusterVersion>) -> Result<()> {
        let Some(release) = version.and_then(|version| Version::parse(&version.status.desired.version).ok()) else {
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
            followed.push((name.clone(), stream));
            let Some(writer) = self.writer else { continue };
            self.may_write()?;
            if writer.pool_condition(name, &condition).await? {
                output::note(&format!("condition {} of pool {name} is {} now", condition.type_, condition.status));
            }
        }
        let upgrade = streams::upgrade_condition(&policy, &followed, &release);
        if !upgrade.is_true() {
            self.tell("upgrade", format!("{}: {}", upgrade.reason, upgrade.message));
        }
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
