//! What is asked before a write: webhooks, policies and their bindings.

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, name};
use crate::age;
use crate::read::{count, text};
use crate::row::Cell;
use crate::selector::debug;

pub(super) fn webhook_configuration(object: &Value, now: Timestamp) -> Vec<Cell> {
    cells![name(object), count(&object["webhooks"]), age::of(object, now)]
}

pub(super) fn validating_policy(object: &Value, now: Timestamp) -> Vec<Cell> {
    policy(object, "validations", now)
}

pub(super) fn mutating_policy(object: &Value, now: Timestamp) -> Vec<Cell> {
    policy(object, "mutations", now)
}

fn policy(object: &Value, steps: &str, now: Timestamp) -> Vec<Cell> {
    let spec = &object["spec"];
    let parameters = match &spec["paramKind"] {
        Value::Null => "<unset>".into(),
        kind => format!("{}/{}", text(&kind["apiVersion"]), text(&kind["kind"])),
    };
    cells![name(object), count(&spec[steps]), parameters, age::of(object, now)]
}

pub(super) fn policy_binding(object: &Value, now: Timestamp) -> Vec<Cell> {
    let spec = &object["spec"];
    let parameters = &spec["paramRef"];
    let shown = match (text(&parameters["namespace"]), text(&parameters["name"])) {
        ("", name) if !name.is_empty() => format!("*/{name}"),
        (namespace, name) if !name.is_empty() => format!("{namespace}/{name}"),
        _ if !parameters["selector"].is_null() => debug(&parameters["selector"]),
        _ => "<unset>".into(),
    };
    cells![name(object), text(&spec["policyName"]), shown, age::of(object, now)]
}
