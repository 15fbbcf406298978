//! Which item of one list is which item of the other. Linear in the items, apart from finding those that moved.
//!
//! Owns identity only: what differs between two items that belong together is the comparison's business.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

/// Two lists whose common items do not all keep their index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shift {
    /// Items that belong together, in the target's order.
    pub(super) pairs: Vec<Pair>,
    /// Indexes in the install-time list.
    pub(super) removed: Vec<usize>,
    /// Indexes in the target's list.
    pub(super) inserted: Vec<usize>,
}

/// One item in both lists.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// Index in the install-time list.
    pub(super) from: usize,
    /// Index in the target's.
    pub(super) to: usize,
    /// Whether it changed its place among the others, rather than being pushed along by them.
    pub(super) moved: bool,
}

/// What makes an item itself: a field by name, or all of it.
type Key<'a> = (&'static str, &'a Value);

/// Aligns two lists that are the field `list` of their parents. None where every item that both have keeps its index,
/// so that comparing index by index says all there is.
pub(super) fn shift(list: &str, old: &[Value], new: &[Value]) -> Option<Shift> {
    let mut partners = match_by_key(list, old, new);
    if partners.iter().enumerate().all(|(to, from)| from.is_none_or(|from| from == to)) {
        return None;
    }
    match_renamed(&mut partners, old, new);
    let mut kept = vec![false; old.len()];
    let mut shift = Shift { pairs: Vec::new(), removed: Vec::new(), inserted: Vec::new() };
    for (to, partner) in partners.into_iter().enumerate() {
        match partner {
            Some(from) => {
                kept.get_mut(from).into_iter().for_each(|kept| *kept = true);
                shift.pairs.push(Pair { from, to, moved: true });
            }
            None => shift.inserted.push(to),
        }
    }
    shift.removed = kept.iter().enumerate().filter(|(_, kept)| !**kept).map(|(from, _)| from).collect();
    mark_unmoved(&mut shift.pairs);
    Some(shift)
}

fn key<'a>(list: &str, item: &'a Value) -> Key<'a> {
    let field = match list {
        "disks" | "filesystems" => "device",
        "raid" | "luks" | "httpHeaders" => "name",
        "tang" => "url",
        // Number 0 means the next free one: it identifies nothing.
        "partitions" if item.get("number").and_then(Value::as_u64).unwrap_or(0) > 0 => "number",
        "partitions" => "label",
        _ => "",
    };
    item.get(field).map_or(("", item), |value| (field, value))
}

/// For every item of the target the index of the install-time item with the same key; equal keys pair up in order.
fn match_by_key(list: &str, old: &[Value], new: &[Value]) -> Vec<Option<usize>> {
    let mut known: HashMap<Key<'_>, VecDeque<usize>> = HashMap::with_capacity(old.len());
    for (index, item) in old.iter().enumerate() {
        known.entry(key(list, item)).or_default().push_back(index);
    }
    new.iter().map(|item| known.get_mut(&key(list, item)).and_then(VecDeque::pop_front)).collect()
}

/// Pairs items that follow a pair on both sides, have no partner and are alike: their key was changed.
fn match_renamed(partners: &mut [Option<usize>], old: &[Value], new: &[Value]) {
    let mut taken = vec![false; old.len()];
    for from in partners.iter().flatten() {
        taken.get_mut(*from).into_iter().for_each(|taken| *taken = true);
    }
    let mut next = 0;
    for (partner, item) in partners.iter_mut().zip(new) {
        if partner.is_none()
            && let Some(free) = taken.get_mut(next).filter(|taken| !**taken)
            && old.get(next).is_some_and(|former| are_alike(former, item))
        {
            *free = true;
            *partner = Some(next);
        }
        next = partner.map_or(old.len(), |from| from + 1);
    }
}

/// At least half of the fields are equal.
fn are_alike(old: &Value, new: &Value) -> bool {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return false;
    };
    let equal = old.iter().filter(|(name, value)| new.get(*name) == Some(value)).count();
    equal > 0 && equal * 2 >= old.len().max(new.len())
}

/// The longest run of pairs that are in the same order on both sides stays; the rest moved around it.
fn mark_unmoved(pairs: &mut [Pair]) {
    // For each length of an increasing run: the smallest `from` it can end with, and that pair's position.
    let mut ends: Vec<(usize, usize)> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (position, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|(from, _)| *from < pair.from);
        previous.push(length.checked_sub(1).and_then(|before| ends.get(before)).map(|(_, position)| *position));
        match ends.get_mut(length) {
            Some(end) => *end = (pair.from, position),
            None => ends.push((pair.from, position)),
        }
    }
    let mut current = ends.last().map(|(_, position)| *position);
    while let Some(position) = current {
        pairs.get_mut(position).into_iter().for_each(|pair| pair.moved = false);
        current = previous.get(position).copied().flatten();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn disks(names: &str) -> Vec<Value> {
        names.chars().map(|name| json!({"device": name.to_string()})).collect()
    }

    fn pairs(shift: &Shift) -> Vec<(usize, usize, bool)> {
        shift.pairs.iter().map(|pair| (pair.from, pair.to, pair.moved)).collect()
    }

    #[test]
    fn lists_that_differ_at_the_end_or_in_place_do_not_shift() {
        for (old, new) in [("ab", "ab"), ("ab", "abc"), ("abc", "ab"), ("abc", "axc"), ("ab", "xyz"), ("", "a")] {
            assert_eq!(shift("disks", &disks(old), &disks(new)), None, "{old} {new}");
        }
    }

    #[test]
    fn an_insertion_pushes_the_others_along() {
        let shift = shift("disks", &disks("ab"), &disks("xab")).unwrap();
        assert_eq!((shift.inserted.as_slice(), shift.removed.as_slice()), ([0].as_slice(), [].as_slice()));
        assert_eq!(pairs(&shift), [(0, 1, false), (1, 2, false)]);
    }

    #[test]
    fn only_the_item_out_of_order_has_moved() {
        let shift = shift("disks", &disks("abcd"), &disks("dabc")).unwrap();
        assert_eq!(pairs(&shift), [(3, 0, true), (0, 1, false), (1, 2, false), (2, 3, false)]);
        assert!(shift.inserted.is_empty() && shift.removed.is_empty());
    }

    #[test]
    fn equal_keys_pair_up_in_order() {
        let shift = shift("mountOptions", &[json!("x"), json!("x")], &[json!("y"), json!("x"), json!("x")]).unwrap();
        assert_eq!(pairs(&shift), [(0, 1, false), (1, 2, false)]);
    }

    #[test]
    fn a_renamed_item_among_shifted_ones_keeps_its_partner() {
        let disk = |name: &str| json!({"device": name, "wipeTable": true});
        let old = [disk("a"), disk("b"), disk("c"), disk("d")];
        let new = [disk("b"), disk("x"), disk("d")];
        let shift = shift("disks", &old, &new).unwrap();
        assert_eq!(pairs(&shift), [(1, 0, false), (2, 1, false), (3, 2, false)]);
        assert_eq!(shift.removed, [0]);
    }

    #[test]
    fn a_partition_is_known_by_its_number_or_else_by_its_label() {
        let old = [json!({"number": 1, "label": "a"}), json!({"number": 0, "label": "b"})];
        let new = [json!({"label": "b"}), json!({"number": 1, "label": "z"})];
        assert_eq!(pairs(&shift("partitions", &old, &new).unwrap()).len(), 2);
    }
}
