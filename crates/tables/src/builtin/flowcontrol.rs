//! How requests queue: flow schemas and priority levels.

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, name};
use crate::age;
use crate::read::{condition, int, text};
use crate::row::Cell;

pub(super) fn flow_schema(object: &Value, now: Timestamp) -> Vec<Cell> {
    let spec = &object["spec"];
    let distinguisher = match &spec["distinguisherMethod"] {
        Value::Null => "<none>",
        method => text(&method["type"]),
    };
    let dangling =
        condition(&object["status"]["conditions"], "Dangling").map_or("?", |condition| text(&condition["status"]));
    cells![
        name(object),
        text(&spec["priorityLevelConfiguration"]["name"]),
        int(&spec["matchingPrecedence"]),
        distinguisher,
        age::of(object, now),
        dangling,
    ]
}

pub(super) fn priority_level(object: &Value, now: Timestamp) -> Vec<Cell> {
    let spec = &object["spec"];
    let limited = &spec["limited"];
    let queuing = &limited["limitResponse"]["queuing"];
    let number = |parent: &Value, field: &str| match parent {
        Value::Null => Value::from("<none>"),
        parent => Value::from(int(&parent[field])),
    };
    cells![
        name(object),
        text(&spec["type"]),
        number(limited, "nominalConcurrencyShares"),
        number(queuing, "queues"),
        number(queuing, "handSize"),
        number(queuing, "queueLengthLimit"),
        age::of(object, now),
    ]
}
