//! Events of both groups: what happened to whom, how often and when.

use std::borrow::Cow;

use jiff::Timestamp;
use kubewright_kinds::events::to_core;
use serde_json::Value;

use super::{cells, lower, name};
use crate::age;
use crate::read::{int, text, text_or};
use crate::row::Cell;

pub(super) fn event(object: &Value, now: Timestamp) -> Vec<Cell> {
    let event = if text(&object["apiVersion"]).starts_with("events.k8s.io/") {
        Cow::Owned(to_core(object))
    } else {
        Cow::Borrowed(object)
    };
    let first = match age::time(&event["firstTimestamp"]) {
        Some(_) => age::since(&event["firstTimestamp"], now),
        None => age::since(&event["eventTime"], now),
    };
    let series = &event["series"];
    let last = if !series.is_null() {
        age::since(&series["lastObservedTime"], now)
    } else if age::time(&event["lastTimestamp"]).is_some() {
        age::since(&event["lastTimestamp"], now)
    } else {
        first.clone()
    };
    let count = match int(&event["count"]) {
        _ if !series.is_null() => int(&series["count"]),
        0 => 1,
        count => count,
    };
    let about = &event["involvedObject"];
    let mut target = lower(text(&about["kind"]));
    if !text(&about["name"]).is_empty() {
        target = format!("{target}/{}", text(&about["name"]));
    }
    cells![
        last,
        text(&event["type"]),
        text(&event["reason"]),
        target,
        text(&about["fieldPath"]),
        source(&event),
        text(&event["message"]).trim(),
        first,
        count,
        name(&event),
    ]
}

fn source(event: &Value) -> String {
    let source = &event["source"];
    let component = text_or(&source["component"], text(&event["reportingComponent"]));
    match text_or(&source["host"], text(&event["reportingInstance"])) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}
