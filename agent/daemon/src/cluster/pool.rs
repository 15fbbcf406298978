//! The pool in the specification of a node's `MachineConfigNode`.
//!
//! The operator writes it, and so do we while the operator does not: it decides which pinned images the node keeps. All pools
//! are listed only when the one that is named cannot be the one of the desired configuration.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::core::ResourceExt;
use ostler_core::api::{MachineConfigNode, MachineConfigPool};
use ostler_core::node::keys::NOT_YET_SET;
use ostler_core::pool;
use serde_json::json;

use super::connect::Cluster;
use super::error::ClusterError;
use super::publish::{MANAGER, slim};

impl Cluster {
    /// The pool of this node. Why there is none is logged once, unless the cluster has no pools or none that may be read.
    pub(super) async fn primary_pool(&self) -> Result<Option<String>, ClusterError> {
        let pools = Api::<MachineConfigPool>::all(self.client.clone()).list(&ListParams::default()).await;
        let pools = match pools.map_err(|error| ClusterError::new("list MachineConfigPools", error)) {
            Ok(pools) if pools.items.is_empty() => return Ok(None),
            Ok(pools) => pools.items,
            Err(error) if error.is_transient() => return Err(error),
            Err(_) => return Ok(None),
        };
        let found = pool::primary(&pools, &self.labels().await?);
        let problem = found.as_ref().err().map(ToString::to_string);
        let mut logged = self.pool_problem.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(problem) = problem.as_ref().filter(|_| *logged != problem) {
            tracing::warn!(
                "cannot tell the pool of node {}: {problem}, so no pinned images are pulled\n\
                 Fix: give the node the labels of one pool (node-role.kubernetes.io/worker)",
                self.node
            );
        }
        *logged = problem;
        Ok(found.ok())
    }

    async fn labels(&self) -> Result<BTreeMap<String, String>, ClusterError> {
        let node = Api::<Node>::all(self.client.clone()).get_metadata(&self.node).await;
        let what = format!("get node {}", self.node);
        Ok(node.map_err(|error| ClusterError::new(&what, error).of_own_node())?.labels().clone())
    }

    /// Names the node's pool, where nobody else has named one. Asked once for each desired configuration: the controller
    /// desires another one of a node that changes its pool.
    pub async fn name_pool(&self, object: MachineConfigNode, desired: &str) -> Result<MachineConfigNode, ClusterError> {
        let named = object.spec.pool.name.clone();
        let asked = Some(desired.to_owned());
        if desired.starts_with(&format!("rendered-{named}-")) || *self.pool_asked.lock().await == asked {
            return Ok(object);
        }
        let pool = self.primary_pool().await?.filter(|pool| *pool != named);
        *self.pool_asked.lock().await = asked;
        let Some(pool) = pool else { return Ok(object) };
        let reports = Api::<MachineConfigNode>::all(self.client.clone());
        let what = format!("name the pool of MachineConfigNode {}", self.node);
        let read = reports.get(&self.node).await.map_err(|error| ClusterError::new(&what, error))?;
        if named != NOT_YET_SET && !is_named_by_us(&read) {
            return Ok(object);
        }
        let version = read.metadata.resource_version;
        let patch = Patch::Merge(json!({"metadata": {"resourceVersion": version}, "spec": {"pool": {"name": pool}}}));
        let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let written = reports.patch(&self.node, &parameters, &patch).await;
        written.map(slim).map_err(|error| ClusterError::new(&what, error))
    }
}

fn is_named_by_us(object: &MachineConfigNode) -> bool {
    let owns = |fields: &serde_json::Value| fields.pointer("/f:spec/f:pool/f:name").is_some();
    let mut owners = object.metadata.managed_fields.iter().flatten();
    owners.all(|entry| {
        let theirs = entry.fields_v1.as_ref().is_some_and(|fields| owns(&fields.0));
        !theirs || entry.manager.as_deref() == Some(MANAGER)
    })
}

#[cfg(test)]
mod tests;
