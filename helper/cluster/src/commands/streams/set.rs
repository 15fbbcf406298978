//! `ostler-cluster streams set`: moves a pool to a stream, after all that can be checked has been.

use anyhow::{Context, Result};
use kube::api::{Api, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use ostler_cluster_core::objects::{MachineConfigPool, Resource};
use ostler_cluster_core::streams::{Evidence, LAST_STREAM, Obstacle};
use serde_json::{Value, json};

use super::knowledge::Knowledge;
use super::verdict::Verdict;
use crate::cli::{ClusterOptions, Format, SetOptions};
use crate::commands::{Outcome, Trouble};
use crate::output;
use crate::own::MANAGER;
use crate::source::{Live, Source};

/// What no force can help: the API server would refuse it.
const NEVER: &str = "StreamMissing";

const GATE_OFF: &str = "the API server drops spec.osImageStream of pools while the feature gate OSStreams is off\n\
                        Fix: enable it in FeatureGate \"cluster\", or use a release that has it enabled";

/// Moves it.
pub async fn set(cluster: &ClusterOptions, options: &SetOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    let knowledge = Knowledge::read(&source, &options.policy, true).await?;
    let pool = knowledge.pool(&options.pool)?;
    let verdict = Verdict::new(&knowledge, pool, Some(&options.stream), |_| None);
    let there = pool.spec.os_image_stream.as_ref().is_some_and(|stream| stream.name == options.stream);
    let refusal = refusal(&verdict, options).filter(|_| !there);
    if refusal.is_none() && !there && !options.dry_run {
        let live = source.live();
        let live =
            live.ok_or_else(|| Trouble::input("a directory cannot be changed; use --dry-run, or name a cluster"))?;
        patch(live, options, verdict.assessment.last_known.as_ref()).await?;
    }
    let SetOptions { pool, stream, .. } = options;
    let (outcome, words) = match &refusal {
        Some(_) => ("refused", String::new()),
        None if there => ("unchanged", format!("pool {pool} names stream {stream} already\n")),
        None if options.dry_run => ("possible", format!("pool {pool} would be moved to stream {stream}\n")),
        None => ("moved", format!("pool {pool} names stream {stream} now; its nodes follow one by one\n")),
    };
    match options.output {
        Format::Json => output::json(&verdict.document(Some(outcome)))?,
        Format::Text => output::text(&format!("{}{}", verdict.obstacles_text(), words))?,
    }
    refusal.map_or(Ok(Outcome::Done), |words| Err(Trouble::no_answer(words).into()))
}

/// The first thing that keeps us from it, and what can be done about that.
fn refusal(verdict: &Verdict<'_>, options: &SetOptions) -> Option<String> {
    let holds = |obstacle: &Obstacle| obstacle.blocks && (!options.force || obstacle.reason == NEVER);
    let (pool, obstacle) = verdict.obstacles().find(|(_, obstacle)| holds(obstacle))?;
    let of = if pool == options.pool { String::new() } else { format!("pool {pool} would be taken along: ") };
    let remedy = if obstacle.reason == NEVER { "" } else { "; --force does it all the same" };
    Some(format!("refused: {of}{}{remedy}", obstacle.message))
}

/// Names the stream in the pool, and notes where the pool was: its status is blank until its nodes are there. While the
/// feature gate is off, the API server drops the stream and succeeds, so it is asked first what it would keep.
async fn patch(live: &Live, options: &SetOptions, last_known: Option<&Evidence>) -> Result<()> {
    let mut change = json!({"spec": {"osImageStream": {"name": options.stream}}});
    if let (Some(evidence), Some(fields)) = (last_known, change.as_object_mut()) {
        fields.insert("metadata".to_owned(), json!({"annotations": {LAST_STREAM: evidence.stream}}));
    }
    let kind = GroupVersionKind::gvk(MachineConfigPool::GROUP, MachineConfigPool::VERSION, MachineConfigPool::KIND);
    let resource = ApiResource::from_gvk_with_plural(&kind, MachineConfigPool::PLURAL);
    let api: Api<DynamicObject> = Api::all_with(live.client(), &resource);
    let failure = || format!("cannot move pool {} to stream {}", options.pool, options.stream);
    for dry_run in [true, false] {
        let parameters = PatchParams { dry_run, field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let patched = api.patch(&options.pool, &parameters, &Patch::Merge(&change)).await.with_context(failure)?;
        if patched.data.pointer("/spec/osImageStream/name").and_then(Value::as_str) != Some(options.stream.as_str()) {
            return Err(Trouble::no_answer(format!("{}: {GATE_OFF}", failure())).into());
        }
    }
    Ok(())
}
