//! `ostler-cluster streams set`: moves a pool to a stream, after all that can be checked has been.

use anyhow::{Context, Result};
use kube::api::{Api, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use ostler_cluster_core::objects::{MachineConfigPool, Resource};
use ostler_cluster_core::streams::{self, Evidence, LAST_STREAM};
use serde_json::json;

use super::knowledge::Knowledge;
use super::plan::obstacles;
use crate::cli::{ClusterOptions, SetOptions};
use crate::commands::{Outcome, Trouble};
use crate::output;
use crate::own::MANAGER;
use crate::source::{Live, Source};

/// What no force can help: the API server would refuse it.
const NEVER: &str = "StreamMissing";

/// Moves it.
pub async fn set(cluster: &ClusterOptions, options: &SetOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    let knowledge = Knowledge::read(&source, &options.policy, true).await?;
    let pool = knowledge.pool(&options.pool)?;
    let assessment = streams::assess(&knowledge.cluster(), pool, Some(&options.stream), None);
    output::text(&obstacles(&assessment.obstacles))?;
    let holds = |reason: &str| !options.force || reason == NEVER;
    if let Some(obstacle) = assessment.obstacles.iter().find(|obstacle| obstacle.blocks && holds(obstacle.reason)) {
        let remedy = if obstacle.reason == NEVER { "" } else { "; --force does it all the same" };
        return Err(Trouble::no_answer(format!("refused: {}{remedy}", obstacle.message)).into());
    }
    let named = pool.spec.os_image_stream.as_ref().map(|stream| stream.name.as_str());
    if named == Some(&options.stream) {
        output::text(&format!("pool {} names stream {} already\n", options.pool, options.stream))?;
        return Ok(Outcome::Done);
    }
    if options.dry_run {
        output::text(&format!("pool {} would be moved to stream {}\n", options.pool, options.stream))?;
        return Ok(Outcome::Done);
    }
    let live = source.live();
    let live = live.ok_or_else(|| Trouble::input("a directory cannot be changed; use --dry-run, or name a cluster"))?;
    patch(live, options, assessment.last_known.as_ref()).await?;
    output::text(&format!("pool {} names stream {} now; its nodes follow one by one\n", options.pool, options.stream))?;
    Ok(Outcome::Done)
}

/// Names the stream in the pool, and notes where the pool was: its status is blank until its nodes are there.
async fn patch(live: &Live, options: &SetOptions, last_known: Option<&Evidence>) -> Result<()> {
    let mut change = json!({"spec": {"osImageStream": {"name": options.stream}}});
    if let (Some(evidence), Some(fields)) = (last_known, change.as_object_mut()) {
        fields.insert("metadata".to_owned(), json!({"annotations": {LAST_STREAM: evidence.stream}}));
    }
    let kind = GroupVersionKind::gvk(MachineConfigPool::GROUP, MachineConfigPool::VERSION, MachineConfigPool::KIND);
    let resource = ApiResource::from_gvk_with_plural(&kind, MachineConfigPool::PLURAL);
    let api: Api<DynamicObject> = Api::all_with(live.client(), &resource);
    let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let patched = api.patch(&options.pool, &parameters, &Patch::Merge(&change)).await;
    patched.with_context(|| format!("cannot move pool {} to stream {}", options.pool, options.stream))?;
    Ok(())
}
