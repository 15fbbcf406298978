//! What the root half is asked for, and what comes of it: which images, of which sets, and whose fault it is if one is
//! missing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::os::image::{ImageError, Pinned};

/// More sets than a node reports.
pub const MOST_SETS: usize = 100;
/// More images than a node could hold.
pub const MOST_IMAGES: usize = 10_000;
/// Images that an error names; the others are counted.
const NAMED: usize = 3;

/// All images that a node is to keep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    /// Sets, of which an image may be in several.
    pub sets: Vec<SetOrder>,
    /// Whether to pull one image after the other, because the machine has more important things to do.
    pub gently: bool,
}

/// One set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetOrder {
    /// Its name.
    pub name: String,
    /// Its images by digest.
    pub images: Vec<String>,
}

/// Why an order is not begun at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sets} sets with {images} images are more than the {MOST_SETS} and {MOST_IMAGES} that a node keeps")]
pub struct OrderError {
    sets: usize,
    images: usize,
}

/// What became of an order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// How many images CRI-O keeps now.
    pub pinned: usize,
    /// Sets that are not complete, and why. All others are.
    pub failures: Vec<SetFailure>,
    /// What is worth knowing and stops nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Why a set is not complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetFailure {
    /// The set.
    pub set: String,
    /// Why.
    pub reason: String,
}

/// What became of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is there.
    Present,
    /// It is not.
    Failed(String),
}

impl Order {
    /// Refuses what is too much.
    pub fn check(&self) -> Result<(), OrderError> {
        let (sets, images) = (self.sets.len(), self.sets.iter().map(|set| set.images.len()).sum());
        if sets > MOST_SETS || images > MOST_IMAGES { Err(OrderError { sets, images }) } else { Ok(()) }
    }

    /// Every image that can be had, once; and those that cannot, because their names do not say what is meant.
    pub fn images(&self) -> (BTreeMap<String, Pinned>, Judgement) {
        let mut images = BTreeMap::new();
        let mut judgement = Judgement::default();
        for name in self.sets.iter().flat_map(|set| &set.images) {
            match Pinned::parse(name) {
                Ok(image) => drop(images.insert(name.clone(), image)),
                Err(error) => judgement.set(name, Outcome::Failed(unusable(&error).to_owned())),
            }
        }
        (images, judgement)
    }
}

const fn unusable(error: &ImageError) -> &'static str {
    match error {
        ImageError::Unpinned { .. } => "it has no digest, so it is not pulled: it could change under its name",
        ImageError::Malformed { .. } => "it is no name of an image",
    }
}

/// What became of the images of an order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement(BTreeMap<String, Outcome>);

impl Judgement {
    /// Notes what became of an image.
    pub fn set(&mut self, image: &str, outcome: Outcome) {
        self.0.insert(image.to_owned(), outcome);
    }

    /// Whether an image is there.
    pub fn has(&self, image: &str) -> bool {
        self.0.get(image) == Some(&Outcome::Present)
    }

    /// What CRI-O is to keep: the images of complete sets, and of those that it kept before the ones that a set still
    /// wants. The rest of an incomplete set is not kept, so that on a full disk it can be collected.
    pub fn pins<'o>(&self, order: &'o Order, before: &[String]) -> BTreeSet<&'o str> {
        let before: BTreeSet<&String> = before.iter().collect();
        let complete = order.sets.iter().filter(|set| set.images.iter().all(|image| self.has(image)));
        let kept = order.sets.iter().flat_map(|set| &set.images).filter(|image| before.contains(image));
        let images = complete.flat_map(|set| &set.images).chain(kept.filter(|image| self.has(image)));
        images.map(String::as_str).collect()
    }

    /// Sets that are not complete.
    pub fn failures(&self, order: &Order) -> Vec<SetFailure> {
        order.sets.iter().filter_map(|set| self.failure(set)).collect()
    }

    fn failure(&self, set: &SetOrder) -> Option<SetFailure> {
        let images: BTreeSet<&String> = set.images.iter().collect();
        let missing: Vec<&String> = images.into_iter().filter(|image| !self.has(image)).collect();
        let said = |image: &&String| match self.0.get(*image) {
            Some(Outcome::Failed(reason)) => format!("{image}: {reason}"),
            _ => format!("{image}: it was not tried"),
        };
        let mut reasons: Vec<String> = missing.iter().take(NAMED).map(said).collect();
        let others = missing.len().saturating_sub(NAMED);
        if others > 0 {
            reasons.push(format!("and {others} more"));
        }
        (!missing.is_empty()).then(|| SetFailure { set: set.name.clone(), reason: reasons.join("; ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(name: &str) -> String {
        format!("r.example/{name}@sha256:{}", "0".repeat(64))
    }

    fn order(sets: &[(&str, &[&str])]) -> Order {
        let set = |(name, images): &(&str, &[&str])| SetOrder {
            name: (*name).to_owned(),
            images: images.iter().map(|name| image(name)).collect(),
        };
        Order { sets: sets.iter().map(set).collect(), gently: false }
    }

    fn judgement(present: &[&str], failed: &[(&str, &str)]) -> Judgement {
        let mut judgement = Judgement::default();
        present.iter().for_each(|name| judgement.set(&image(name), Outcome::Present));
        failed.iter().for_each(|(name, why)| judgement.set(&image(name), Outcome::Failed((*why).to_owned())));
        judgement
    }

    #[test]
    fn an_error_is_told_of_the_sets_that_have_it() {
        let order = order(&[("one", &["a", "b"]), ("two", &["b", "c"]), ("three", &["a"])]);
        let judgement = judgement(&["a", "b"], &[("c", "manifest unknown")]);
        let failures = judgement.failures(&order);
        assert_eq!(
            failures,
            [SetFailure { set: "two".to_owned(), reason: format!("{}: manifest unknown", image("c")) }]
        );
    }

    #[test]
    fn an_error_names_a_few_images_and_counts_the_rest() {
        let order = order(&[("one", &["a", "b", "c", "d", "e", "e"])]);
        let failures = judgement(&[], &[("a", "x"), ("b", "x"), ("c", "x"), ("d", "x")]).failures(&order);
        let reason = &failures[0].reason;
        assert!(reason.contains(&image("c")) && !reason.contains(&image("d")), "{reason}");
        assert!(reason.ends_with("; and 2 more"), "{reason}");
    }

    #[test]
    fn complete_sets_are_kept_and_incomplete_ones_only_as_far_as_before() {
        let order = order(&[("one", &["a", "b"]), ("two", &["c", "d", "e"])]);
        let judgement = judgement(&["a", "b", "c", "d"], &[("e", "x")]);
        let before = [image("c"), image("gone")];
        let expected = [image("a"), image("b"), image("c")];
        assert!(judgement.pins(&order, &before).into_iter().eq(expected.iter().map(String::as_str)));
        assert!(judgement.pins(&Order::default(), &before).is_empty());
    }

    #[test]
    fn what_has_no_digest_is_never_pulled() {
        let mut order = order(&[("one", &["a", "a"])]);
        order.sets[0].images.extend(["r.example/b:latest".to_owned(), "nonsense".to_owned()]);
        let (images, judgement) = order.images();
        assert_eq!(images.into_keys().collect::<Vec<_>>(), [image("a")]);
        let reason = &judgement.failures(&order)[0].reason;
        assert!(reason.contains("r.example/b:latest: it has no digest") && reason.contains("nonsense: "), "{reason}");
    }

    #[test]
    fn more_than_a_node_keeps_is_refused() {
        assert!(order(&[("one", &["a"])]).check().is_ok());
        let many = Order { sets: vec![SetOrder::default(); MOST_SETS + 1], gently: false };
        assert!(many.check().is_err());
        let set = SetOrder { name: "s".to_owned(), images: vec![image("a"); MOST_IMAGES + 1] };
        assert!(Order { sets: vec![set], gently: false }.check().is_err());
    }
}
