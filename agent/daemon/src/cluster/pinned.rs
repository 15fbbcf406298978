//! The images that this node is to keep: its pools by name, and the sets that these name, by name.
//!
//! Owns which of them are watched. No list of all pools or sets is ever asked for: a node without pinned images costs the
//! watch of its pool, or of two where its pool is a custom one.

use std::collections::BTreeMap;
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::{Either, select};
use futures_util::stream::{self, BoxStream, StreamExt};
use kube::Client;
use kube::api::Api;
use kube::core::ObjectMeta;
use ostler_core::api::{MachineConfigPool, PinnedImageSet};
use ostler_core::pinned::{MOST_SETS, pools};

use super::watch::{Change, Watch};

/// What happens, and with it what becomes of the sets of the node's pools.
pub(super) fn followed(client: Client, changes: BoxStream<'static, Change>) -> BoxStream<'static, Change> {
    let following =
        Following { client, changes, pool: None, pools: BTreeMap::new(), sets: BTreeMap::new(), said: None };
    stream::unfold(following, |mut following| async move { Some((following.next().await?, following)) }).boxed()
}

struct Following {
    client: Client,
    changes: BoxStream<'static, Change>,
    /// The pool that the operator has put the node into.
    pool: Option<String>,
    /// Names of the sets of each pool.
    pools: BTreeMap<String, Followed<Vec<String>>>,
    sets: BTreeMap<String, Followed<Option<PinnedImageSet>>>,
    said: Option<Arc<Vec<PinnedImageSet>>>,
}

/// An object that is watched, and what is known of it.
struct Followed<C> {
    news: BoxStream<'static, C>,
    known: Option<C>,
}

impl<C> Followed<C> {
    fn new(news: BoxStream<'static, C>) -> Self {
        Self { news, known: None }
    }
}

impl Following {
    async fn next(&mut self) -> Option<Change> {
        loop {
            if let Some(sets) = self.news() {
                return Some(Change::PinnedSets(sets));
            }
            let heard = {
                let pool = heard(&mut self.pools);
                let set = heard(&mut self.sets);
                match select(self.changes.next(), Box::pin(select(Box::pin(pool), Box::pin(set)))).await {
                    Either::Left((change, _)) => Some(change?),
                    Either::Right(_) => None,
                }
            };
            if let Some(Change::MachineConfigNode(Some(report))) = &heard {
                self.pool = Some(report.spec.pool.name.clone());
            }
            self.settle();
            if heard.is_some() {
                return heard;
            }
        }
    }

    /// Watches what is named now, and nothing else.
    fn settle(&mut self) {
        let names = pools(self.pool.as_deref().unwrap_or_default());
        self.pools.retain(|name, _| names.contains(&name.as_str()));
        for name in names {
            let api = Api::<MachineConfigPool>::all(self.client.clone());
            let watch = || Followed::new(Watch::new(api, "MachineConfigPool", name, sets_of).stream());
            self.pools.entry(name.to_owned()).or_insert_with(watch);
        }
        // What a pool that is not known yet will name is not given up for it.
        if self.pools.values().any(|pool| pool.known.is_none()) {
            return;
        }
        let mut names: Vec<String> = self.pools.values().filter_map(|pool| pool.known.clone()).flatten().collect();
        names.sort();
        names.dedup();
        names.truncate(MOST_SETS);
        self.sets.retain(|name, _| names.contains(name));
        for name in names {
            let api = Api::<PinnedImageSet>::all(self.client.clone());
            let watch = || Followed::new(Watch::new(api, "PinnedImageSet", &name, slim).stream());
            self.sets.entry(name.clone()).or_insert_with(watch);
        }
    }

    /// All sets that there are, once everything is known and if it is not what was said last. A set that is only named is
    /// none yet.
    fn news(&mut self) -> Option<Arc<Vec<PinnedImageSet>>> {
        let known = !self.pools.is_empty()
            && self.pools.values().all(|pool| pool.known.is_some())
            && self.sets.values().all(|set| set.known.is_some());
        let sets: Vec<PinnedImageSet> = self.sets.values().filter_map(|set| set.known.clone().flatten()).collect();
        if !known || self.said.as_ref().is_some_and(|said| **said == sets) {
            return None;
        }
        let sets = Arc::new(sets);
        self.said = Some(Arc::clone(&sets));
        Some(sets)
    }
}

/// Waits for news of any of them and takes it in. Nothing is lost when it is not waited for any longer.
async fn heard<C>(all: &mut BTreeMap<String, Followed<C>>) {
    if all.is_empty() {
        return pending().await;
    }
    poll_fn(|context| {
        let mut news = Poll::Pending;
        for followed in all.values_mut() {
            if let Poll::Ready(Some(known)) = followed.news.poll_next_unpin(context) {
                followed.known = Some(known);
                news = Poll::Ready(());
            }
        }
        news
    })
    .await;
}

fn sets_of(pool: Option<MachineConfigPool>) -> Vec<String> {
    let sets = pool.map(|pool| pool.spec.pinned_image_sets).unwrap_or_default();
    sets.into_iter().map(|set| set.name).filter(|name| !name.is_empty()).collect()
}

/// Labels and who wrote what would make news of nothing.
fn slim(set: Option<PinnedImageSet>) -> Option<PinnedImageSet> {
    set.map(|set| {
        let ObjectMeta { name, uid, generation, .. } = set.metadata;
        PinnedImageSet { metadata: ObjectMeta { name, uid, generation, ..ObjectMeta::default() }, spec: set.spec }
    })
}

#[cfg(test)]
mod tests;
