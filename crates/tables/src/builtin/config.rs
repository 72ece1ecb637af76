//! Configuration and bookkeeping: config maps, secrets, quotas, leases, and what shows no more than a name.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, name};
use crate::age;
use crate::read::{count, quantity, text};
use crate::row::Cell;

pub(super) fn name_and_age(object: &Value, now: Timestamp) -> Vec<Cell> {
    cells![name(object), age::of(object, now)]
}

pub(super) fn config_map(object: &Value, now: Timestamp) -> Vec<Cell> {
    let entries = count(&object["data"]) + count(&object["binaryData"]);
    cells![name(object), entries, age::of(object, now)]
}

pub(super) fn secret(object: &Value, now: Timestamp) -> Vec<Cell> {
    cells![
        name(object),
        text(&object["type"]),
        count(&object["data"]),
        age::of(object, now)
    ]
}

pub(super) fn lease(object: &Value, now: Timestamp) -> Vec<Cell> {
    let holder = text(&object["spec"]["holderIdentity"]);
    cells![name(object), holder, age::of(object, now)]
}

/// Used of allowed, what begins with `limits.` apart.
pub(super) fn resource_quota(object: &Value, now: Timestamp) -> Vec<Cell> {
    let (hard, used) = (&object["status"]["hard"], &object["status"]["used"]);
    let (mut requests, mut limits) = (String::new(), String::new());
    for (resource, allowed) in hard.as_object().into_iter().flatten() {
        let column = if resource.starts_with("limits.") {
            &mut limits
        } else {
            &mut requests
        };
        if !column.is_empty() {
            column.push_str(", ");
        }
        let _ = write!(
            column,
            "{resource}: {}/{}",
            quantity(&used[resource.as_str()]),
            quantity(allowed)
        );
    }
    cells![name(object), requests, limits, age::of(object, now)]
}
