//! Which items of a list are which of another.

use serde_json::Value;

/// One step from a list to another; the numbers are places in the old and in the new list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListEdit {
    /// The same item, changed or not.
    Pair(usize, usize),
    /// An item that was removed.
    Delete(usize),
    /// An item that is new.
    Insert(usize),
}

/// Longer lists are compared item by item: the work must not grow with the product of two lengths that a client chooses.
const MOST_COMPARISONS: usize = 250_000;

/// The keys that identify items of Kubernetes' lists.
const IDENTITIES: [&str; 10] = [
    "name",
    "key",
    "type",
    "id",
    "ip",
    "mountPath",
    "devicePath",
    "containerPort",
    "port",
    "topologyKey",
];

/// The steps from one list to another that keep as much as they can.
pub(super) fn align(old: &[Value], new: &[Value]) -> Vec<ListEdit> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let (old_middle, new_middle) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    let mut steps: Vec<ListEdit> = (0..head).map(|at| ListEdit::Pair(at, at)).collect();
    steps.extend(middle(old_middle, new_middle).into_iter().map(|step| match step {
        ListEdit::Pair(old, new) => ListEdit::Pair(head + old, head + new),
        ListEdit::Delete(old) => ListEdit::Delete(head + old),
        ListEdit::Insert(new) => ListEdit::Insert(head + new),
    }));
    let (old_tail, new_tail) = (old.len() - tail, new.len() - tail);
    steps.extend((0..tail).map(|at| ListEdit::Pair(old_tail + at, new_tail + at)));
    steps
}

/// The longest common subsequence, where equal items weigh more than items that may be the same.
fn middle(old: &[Value], new: &[Value]) -> Vec<ListEdit> {
    if old.len().saturating_mul(new.len()) > MOST_COMPARISONS {
        return in_order(old, new);
    }
    let width = new.len() + 1;
    let mut best = vec![(0_u32, 0_u32); (old.len() + 1) * width];
    for at in (0..old.len()).rev() {
        for there in (0..new.len()).rev() {
            let skip = best[(at + 1) * width + there].max(best[at * width + there + 1]);
            let (equal, same) = best[(at + 1) * width + there + 1];
            best[at * width + there] = if old[at] == new[there] {
                skip.max((equal + 1, same))
            } else if may_be_the_same(&old[at], &new[there]) {
                skip.max((equal, same + 1))
            } else {
                skip
            };
        }
    }
    let mut steps = Vec::new();
    let (mut at, mut there) = (0, 0);
    while at < old.len() && there < new.len() {
        let here = best[at * width + there];
        let (equal, same) = best[(at + 1) * width + there + 1];
        let pairs = if old[at] == new[there] {
            here == (equal + 1, same)
        } else {
            may_be_the_same(&old[at], &new[there]) && here == (equal, same + 1)
        };
        if pairs {
            steps.push(ListEdit::Pair(at, there));
            (at, there) = (at + 1, there + 1);
        } else if here == best[(at + 1) * width + there] {
            steps.push(ListEdit::Delete(at));
            at += 1;
        } else {
            steps.push(ListEdit::Insert(there));
            there += 1;
        }
    }
    steps.extend((at..old.len()).map(ListEdit::Delete));
    steps.extend((there..new.len()).map(ListEdit::Insert));
    steps
}

/// Item by item.
fn in_order(old: &[Value], new: &[Value]) -> Vec<ListEdit> {
    let both = old.len().min(new.len());
    let mut steps = Vec::with_capacity(old.len().max(new.len()));
    for at in 0..both {
        if may_be_the_same(&old[at], &new[at]) {
            steps.push(ListEdit::Pair(at, at));
        } else {
            steps.extend([ListEdit::Delete(at), ListEdit::Insert(at)]);
        }
    }
    steps.extend((both..old.len()).map(ListEdit::Delete));
    steps.extend((both..new.len()).map(ListEdit::Insert));
    steps
}

/// Whether one item may have become the other: not, if what names them differs.
fn may_be_the_same(old: &Value, new: &Value) -> bool {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return std::mem::discriminant(old) == std::mem::discriminant(new);
    };
    let both = |key: &&str| Some((old.get(*key)?, new.get(*key)?));
    IDENTITIES.iter().find_map(both).is_none_or(|(old, new)| old == new)
}
