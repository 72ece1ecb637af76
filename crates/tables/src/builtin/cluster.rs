//! The cluster's own parts: namespaces, component health, API services.

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, name};
use crate::age;
use crate::read::{condition, text};
use crate::row::Cell;

pub(super) fn namespace(object: &Value, now: Timestamp) -> Vec<Cell> {
    cells![name(object), text(&object["status"]["phase"]), age::of(object, now)]
}

pub(super) fn component_status(object: &Value, _now: Timestamp) -> Vec<Cell> {
    let Some(healthy) = condition(&object["conditions"], "Healthy") else {
        return cells![name(object), "Unknown", "", ""];
    };
    let status = match text(&healthy["status"]) {
        "True" => "Healthy",
        _ => "Unhealthy",
    };
    cells![name(object), status, text(&healthy["message"]), text(&healthy["error"])]
}

pub(super) fn api_service(object: &Value, now: Timestamp) -> Vec<Cell> {
    let service = match &object["spec"]["service"] {
        Value::Null => "Local".into(),
        service => format!("{}/{}", text(&service["namespace"]), text(&service["name"])),
    };
    let available = match condition(&object["status"]["conditions"], "Available") {
        None => "Unknown".into(),
        Some(condition) => match (text(&condition["status"]), text(&condition["reason"])) {
            (status @ "True", _) | (status, "") => status.to_owned(),
            (status, reason) => format!("{status} ({reason})"),
        },
    };
    cells![name(object), service, available, age::of(object, now)]
}
