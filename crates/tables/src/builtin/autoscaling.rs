//! Autoscalers of both versions, with their metrics in one text; and Scale.

use std::borrow::Cow;

use jiff::Timestamp;
use kubewright_kinds::autoscaling::convert::v1_to_v2;
use serde_json::Value;

use super::{cells, name};
use crate::age;
use crate::read::{int, list, quantity, quantity_pointer, text};
use crate::row::Cell;

/// How many metrics are shown.
const MOST: usize = 2;
const UNKNOWN: &str = "<unknown>";

pub(super) fn horizontal_pod_autoscaler(object: &Value, now: Timestamp) -> Vec<Cell> {
    // The empty object of a bookmark has no name. It never was in the first version, whose conversion adds a metric.
    let scaler = if text(&object["apiVersion"]) == "autoscaling/v1" && !name(object).is_empty() {
        Cow::Owned(v1_to_v2(object))
    } else {
        Cow::Borrowed(object)
    };
    let (spec, status) = (&scaler["spec"], &scaler["status"]);
    let target = &spec["scaleTargetRef"];
    let least = spec["minReplicas"]
        .as_i64()
        .map_or_else(|| "<unset>".into(), |least| least.to_string());
    cells![
        name(object),
        format!("{}/{}", text(&target["kind"]), text(&target["name"])),
        metrics(list(&spec["metrics"]), list(&status["currentMetrics"])),
        least,
        int(&spec["maxReplicas"]),
        int(&status["currentReplicas"]),
        age::of(object, now),
    ]
}

/// Current and target of the first metrics. Statuses belong to specs by position.
fn metrics(specs: &[Value], statuses: &[Value]) -> String {
    if specs.is_empty() {
        return "<none>".into();
    }
    let shown: Vec<String> = specs
        .iter()
        .enumerate()
        .take(MOST)
        .map(|(at, spec)| metric(spec, statuses.get(at).unwrap_or(&Value::Null)))
        .collect();
    let list = shown.join(", ");
    if specs.len() > MOST {
        format!("{list} + {} more...", specs.len() - MOST)
    } else {
        list
    }
}

fn metric(spec: &Value, status: &Value) -> String {
    match text(&spec["type"]) {
        "External" => value_or_average(&spec["external"], &status["external"]),
        "Object" => value_or_average(&spec["object"], &status["object"]),
        "Pods" => {
            let current = if_reported(&status["pods"], "averageValue");
            let target = quantity_pointer(&spec["pods"]["target"]["averageValue"]);
            format!("{current}/{target}")
        }
        "Resource" => resource(&spec["resource"], &status["resource"]),
        "ContainerResource" => resource(&spec["containerResource"], &status["containerResource"]),
        _ => "<unknown type>".into(),
    }
}

fn value_or_average(spec: &Value, status: &Value) -> String {
    let target = &spec["target"];
    if target["averageValue"].is_null() {
        let current = if_reported(status, "value");
        return format!("{current}/{}", quantity_pointer(&target["value"]));
    }
    let current = match &status["current"]["averageValue"] {
        Value::Null => UNKNOWN.into(),
        current => quantity(current),
    };
    format!("{current}/{} (avg)", quantity(&target["averageValue"]))
}

/// A quantity that upstream prints without looking whether it is there.
fn if_reported(status: &Value, field: &str) -> String {
    if status.is_null() {
        UNKNOWN.into()
    } else {
        quantity_pointer(&status["current"][field])
    }
}

fn resource(spec: &Value, status: &Value) -> String {
    let (resource, target) = (text(&spec["name"]), &spec["target"]);
    if !target["averageValue"].is_null() {
        let current = if_reported(status, "averageValue");
        return format!("{resource}: {current}/{}", quantity(&target["averageValue"]));
    }
    let percent = |value: &Value, otherwise: &str| match value.as_i64() {
        Some(percent) => format!("{percent}%"),
        None => otherwise.to_owned(),
    };
    let current = percent(&status["current"]["averageUtilization"], UNKNOWN);
    let target = percent(&target["averageUtilization"], "<auto>");
    format!("{resource}: {current}/{target}")
}

pub(super) fn scale(object: &Value, now: Timestamp) -> Vec<Cell> {
    cells![
        name(object),
        int(&object["spec"]["replicas"]),
        int(&object["status"]["replicas"]),
        age::of(object, now),
    ]
}
