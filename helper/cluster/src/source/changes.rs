//! Waiting until a cluster changes, so that nobody has to read all of it again to see that it has not.

use std::future::pending;

use futures_util::TryStreamExt as _;
use kube::api::{ListParams, WatchParams};
use kube::core::{Request, WatchEvent};
use ostler_cluster_core::objects::{self, Resource};
use serde_json::Value;

use super::live::{Live, path, versions};

/// Where a kind stood at some time.
pub struct Mark {
    path: String,
    version: String,
}

impl Live {
    /// Where a kind stands; nothing where the cluster does not know it, or does not let us see it.
    pub async fn mark<T: Resource>(&self) -> Option<Mark> {
        for version in versions::<T>() {
            let path = path::<T>(version, None);
            let request = Request::new(&path).list(&ListParams::default().limit(1)).ok()?;
            if let Ok(page) = self.ask(T::PLURAL, request).await {
                let version = page.pointer("/metadata/resourceVersion").and_then(Value::as_str)?.to_owned();
                return Some(Mark { path, version });
            }
        }
        None
    }

    /// Waits until an object comes, goes or becomes other than those that are known. What is not kept of an object does not
    /// make it another one. A server that can tell no more is waited for in vain: whoever asks has a time of his own.
    pub async fn change<T: Resource + PartialEq>(&self, mark: Option<Mark>, known: &[T]) {
        let told = match mark {
            Some(mark) => self.told(&mark, known).await,
            None => None,
        };
        if told.is_none() {
            pending::<()>().await;
        }
    }

    async fn told<T: Resource + PartialEq>(&self, mark: &Mark, known: &[T]) -> Option<()> {
        let request = Request::new(&mark.path).watch(&WatchParams::default(), &mark.version).ok()?;
        let mut events = Box::pin(self.client.request_events::<Value>(request).await.ok()?);
        loop {
            let is_news = match events.try_next().await.ok()?? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => !is_known(object, known),
                // The server has forgotten what happened since; something may have.
                WatchEvent::Deleted(_) | WatchEvent::Error(_) => true,
                WatchEvent::Bookmark(_) => false,
            };
            if is_news {
                return Some(());
            }
        }
    }
}

fn is_known<T: Resource + PartialEq>(object: Value, known: &[T]) -> bool {
    objects::read::<T>(object).is_ok_and(|object| known.contains(&object))
}
