//! What is written: the OSImageStream, its status, and a condition of pools.
//!
//! The object's spec is the administrator's: it is written once, when the object is made, and confirmed as it is after that.
//! The annotation with the controller's hash is never written.

use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use ostler_cluster_core::objects::{Condition, MachineConfigPool, OSImageStream, OSImageStreamStatus, Resource};
use ostler_cluster_core::streams::RELEASE_IMAGE;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{MANAGER, STATUS_MANAGER};

/// Longest time of a request.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// Writes.
pub struct Writer {
    streams: Api<DynamicObject>,
    pools: Api<DynamicObject>,
    force: bool,
}

impl Writer {
    /// With `force`, fields that somebody else wrote are taken over.
    pub fn new(client: Client, force: bool) -> Self {
        Self {
            streams: Api::all_with(client.clone(), &resource::<OSImageStream>()),
            pools: Api::all_with(client, &resource::<MachineConfigPool>()),
            force,
        }
    }

    /// Makes the object, or notes of which release it is. `default` is the spec's as it is, or the first one.
    pub async fn object(&self, default: &str, release: &str) -> Result<()> {
        let object = json!({
            "apiVersion": api_version::<OSImageStream>(), "kind": OSImageStream::KIND,
            "metadata": {"name": OSImageStream::NAME, "annotations": {RELEASE_IMAGE: release}},
            "spec": {"defaultStream": default},
        });
        let parameters = self.parameters(MANAGER);
        let patch = Patch::Apply(&object);
        bounded("write the OSImageStream", self.streams.patch(OSImageStream::NAME, &parameters, &patch)).await?;
        Ok(())
    }

    /// Writes the status, whole. Where fields of a former writer would be left beside ours, it is replaced.
    pub async fn status(&self, status: &OSImageStreamStatus) -> Result<()> {
        let object = json!({
            "apiVersion": api_version::<OSImageStream>(), "kind": OSImageStream::KIND,
            "metadata": {"name": OSImageStream::NAME}, "status": status,
        });
        let parameters = self.parameters(STATUS_MANAGER);
        let what = "write the status of the OSImageStream";
        let patch = Patch::Apply(&object);
        let mut written = bounded(what, self.streams.patch_status(OSImageStream::NAME, &parameters, &patch)).await?;
        let held: Option<OSImageStreamStatus> =
            written.data.get("status").and_then(|status| serde_json::from_value(status.clone()).ok());
        if held.as_ref().is_some_and(|held| same(held, status)) {
            return Ok(());
        }
        if let Some(fields) = written.data.as_object_mut() {
            fields.insert("status".to_owned(), json!(status));
        }
        let parameters = PostParams { field_manager: Some(STATUS_MANAGER.to_owned()), ..PostParams::default() };
        bounded(what, self.streams.replace_status(OSImageStream::NAME, &parameters, &written)).await?;
        Ok(())
    }

    /// Writes a condition of a pool beside those of others; says whether there was anything to write. The list belongs to
    /// the pool's own controller as a whole, so it is changed as it was read or not at all.
    pub async fn pool_condition(&self, pool: &str, condition: &Condition) -> Result<bool> {
        let what = format!("write condition {} of pool {pool}", condition.type_);
        let object = bounded(&what, self.pools.get(pool)).await?;
        let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array).cloned();
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let Some(conditions) = with_condition(conditions.unwrap_or_default(), condition, &now) else {
            return Ok(false);
        };
        let change = json!({
            "metadata": {"resourceVersion": object.metadata.resource_version}, "status": {"conditions": conditions},
        });
        let parameters = PatchParams { field_manager: Some(STATUS_MANAGER.to_owned()), ..PatchParams::default() };
        bounded(&what, self.pools.patch_status(pool, &parameters, &Patch::Merge(&change))).await?;
        Ok(true)
    }

    fn parameters(&self, manager: &str) -> PatchParams {
        let parameters = PatchParams::apply(manager);
        if self.force { parameters.force() } else { parameters }
    }
}

/// The API server may keep the streams in another order.
fn same(held: &OSImageStreamStatus, wanted: &OSImageStreamStatus) -> bool {
    let all = wanted.available_streams.iter().all(|set| held.set(&set.name) == Some(set));
    all && held.available_streams.len() == wanted.available_streams.len()
        && held.default_stream == wanted.default_stream
}

/// The conditions with one more or another; nothing where it changes nothing. One that does not hold is not added.
fn with_condition(mut conditions: Vec<Value>, condition: &Condition, now: &str) -> Option<Vec<Value>> {
    let at = conditions.iter().position(|old| old.get("type").and_then(Value::as_str) == Some(&condition.type_));
    let old = at.map(|at| conditions.remove(at));
    let text = |key: &str| old.as_ref().and_then(|old| old.get(key)).and_then(Value::as_str).unwrap_or_default();
    let (status, reason, message) = (text("status"), text("reason"), text("message"));
    if (status, reason, message) == (&condition.status, &condition.reason, &condition.message) {
        return None;
    }
    if old.is_none() && !condition.is_true() {
        return None;
    }
    let since = if status == condition.status { text("lastTransitionTime") } else { now };
    let since = if since.is_empty() { now } else { since }.to_owned();
    conditions.push(json!({
        "type": condition.type_, "status": condition.status, "reason": condition.reason, "message": condition.message,
        "lastTransitionTime": since,
    }));
    Some(conditions)
}

async fn bounded<T>(what: &str, request: impl Future<Output = kube::Result<T>>) -> Result<T> {
    let answered = timeout(REQUEST_LIMIT, request).await;
    let answered =
        answered.with_context(|| format!("cannot {what}: no answer within {} s", REQUEST_LIMIT.as_secs()))?;
    answered.with_context(|| format!("cannot {what}"))
}

fn resource<T: Resource>() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(T::GROUP, T::VERSION, T::KIND), T::PLURAL)
}

fn api_version<T: Resource>() -> String {
    format!("{}/{}", T::GROUP, T::VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(status: &str, message: &str) -> Condition {
        Condition {
            type_: "T".into(),
            status: status.into(),
            reason: "R".into(),
            message: message.into(),
            ..Condition::default()
        }
    }

    #[test]
    fn a_condition_is_written_once_and_keeps_its_time_while_it_holds() {
        let other = json!({"type": "Updated", "status": "True"});
        let first = with_condition(vec![other.clone()], &condition("True", "m"), "t1").unwrap();
        assert_eq!(first[0], other);
        assert_eq!(first[1]["lastTransitionTime"], "t1");
        assert_eq!(with_condition(first.clone(), &condition("True", "m"), "t2"), None);
        let reworded = with_condition(first.clone(), &condition("True", "n"), "t2").unwrap();
        assert_eq!((&reworded[1]["message"], &reworded[1]["lastTransitionTime"]), (&json!("n"), &json!("t1")));
        let over = with_condition(first, &condition("False", ""), "t3").unwrap();
        assert_eq!((&over[1]["status"], &over[1]["lastTransitionTime"]), (&json!("False"), &json!("t3")));
        assert_eq!(with_condition(vec![other], &condition("False", ""), "t"), None, "what never held is not written");
    }
}
