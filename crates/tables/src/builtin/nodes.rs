//! Machines, and what decides how pods run on them.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, name};
use crate::age;
use crate::read::{entries, flag, int, list, text, text_or};
use crate::row::Cell;

pub(super) fn node(object: &Value, now: Timestamp) -> Vec<Cell> {
    let info = &object["status"]["nodeInfo"];
    let mut kernel = text_or(&info["kernelVersion"], "<unknown>").to_owned();
    if !text(&info["architecture"]).is_empty() {
        kernel = format!("{kernel} ({})", text(&info["architecture"]));
    }
    cells![
        name(object),
        node_status(object),
        roles(object),
        age::of(object, now),
        text(&info["kubeletVersion"]),
        address(object, "InternalIP"),
        address(object, "ExternalIP"),
        text_or(&info["osImage"], "<unknown>"),
        kernel,
        text_or(&info["containerRuntimeVersion"], "<unknown>"),
    ]
}

fn node_status(object: &Value) -> String {
    // The last of several conditions of one type counts, as in upstream's map.
    let ready = list(&object["status"]["conditions"])
        .iter()
        .rfind(|condition| text(&condition["type"]) == "Ready");
    let status = match ready.map(|condition| text(&condition["status"])) {
        None => "Unknown",
        Some("True") => "Ready",
        Some(_) => "NotReady",
    };
    if flag(&object["spec"]["unschedulable"]) {
        format!("{status},SchedulingDisabled")
    } else {
        status.into()
    }
}

fn roles(object: &Value) -> String {
    let role = |(key, value): (&str, &str)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => Some(role.to_owned()),
        None if key == "kubernetes.io/role" => Some(value.to_owned()),
        None => None,
    };
    let roles: BTreeSet<String> = entries(&object["metadata"]["labels"])
        .filter_map(role)
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() {
        "<none>".into()
    } else {
        roles.into_iter().collect::<Vec<_>>().join(",")
    }
}

fn address<'a>(object: &'a Value, kind: &str) -> &'a str {
    list(&object["status"]["addresses"])
        .iter()
        .find(|address| text(&address["type"]) == kind)
        .map_or("<none>", |address| text(&address["address"]))
}

pub(super) fn priority_class(object: &Value, now: Timestamp) -> Vec<Cell> {
    cells![
        name(object),
        int(&object["value"]),
        flag(&object["globalDefault"]),
        age::of(object, now),
        text(&object["preemptionPolicy"]),
    ]
}

pub(super) fn runtime_class(object: &Value, now: Timestamp) -> Vec<Cell> {
    cells![name(object), text(&object["handler"]), age::of(object, now)]
}
