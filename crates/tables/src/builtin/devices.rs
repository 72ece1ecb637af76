//! Claims on devices, and where the devices are.

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, name};
use crate::age;
use crate::read::{list, text};
use crate::row::Cell;

pub(super) fn resource_claim(object: &Value, now: Timestamp) -> Vec<Cell> {
    let status = &object["status"];
    let deleted = !object["metadata"]["deletionTimestamp"].is_null();
    let mut words = Vec::new();
    if deleted {
        words.push("deleted");
    }
    if !status["allocation"].is_null() {
        words.push("allocated");
        if !list(&status["reservedFor"]).is_empty() {
            words.push("reserved");
        }
    } else if !deleted {
        words.push("pending");
    }
    cells![name(object), words.join(","), age::of(object, now)]
}

pub(super) fn resource_slice(object: &Value, now: Timestamp) -> Vec<Cell> {
    let spec = &object["spec"];
    cells![
        name(object),
        text(&spec["nodeName"]),
        text(&spec["driver"]),
        text(&spec["pool"]["name"]),
        age::of(object, now),
    ]
}
