//! Ingresses, policies and addresses of the cluster's network.

use jiff::Timestamp;
use serde_json::Value;

use super::services::balancer_addresses;
use super::{cells, lower, name};
use crate::age;
use crate::read::{given_or, list, strings, text};
use crate::row::Cell;
use crate::selector::format_selector;

/// How many hosts are shown.
const MOST: usize = 3;

pub(super) fn ingress(object: &Value, now: Timestamp) -> Vec<Cell> {
    let spec = &object["spec"];
    let ports = if list(&spec["tls"]).is_empty() { "80" } else { "80, 443" };
    cells![
        name(object),
        given_or(&spec["ingressClassName"], "<none>"),
        hosts(list(&spec["rules"])),
        balancer_addresses(&object["status"]["loadBalancer"]),
        ports,
        age::of(object, now),
    ]
}

/// The first hosts. What is left out is counted in rules, with or without a host.
fn hosts(rules: &[Value]) -> String {
    let mut shown: Vec<&str> = Vec::new();
    let mut more = false;
    for rule in rules {
        let host = text(&rule["host"]);
        if shown.len() == MOST {
            more = true;
            break;
        }
        if !host.is_empty() {
            shown.push(host);
        }
    }
    match (shown.is_empty(), more) {
        (true, _) => "*".into(),
        (false, false) => shown.join(","),
        (false, true) => format!("{} + {} more...", shown.join(","), rules.len() - MOST),
    }
}

pub(super) fn ingress_class(object: &Value, now: Timestamp) -> Vec<Cell> {
    let spec = &object["spec"];
    let default = text(&object["metadata"]["annotations"]["ingressclass.kubernetes.io/is-default-class"]) == "true";
    let parameters = &spec["parameters"];
    let shown = match (parameters, parameters["apiGroup"].as_str()) {
        (Value::Null, _) => "<none>".into(),
        (_, None) => format!("{}/{}", text(&parameters["kind"]), text(&parameters["name"])),
        (_, Some(group)) => format!("{}.{group}/{}", text(&parameters["kind"]), text(&parameters["name"])),
    };
    cells![
        format!("{}{}", name(object), if default { " (default)" } else { "" }),
        text(&spec["controller"]),
        shown,
        age::of(object, now),
    ]
}

pub(super) fn network_policy(object: &Value, now: Timestamp) -> Vec<Cell> {
    cells![
        name(object),
        format_selector(&object["spec"]["podSelector"]),
        age::of(object, now)
    ]
}

pub(super) fn service_cidr(object: &Value, now: Timestamp) -> Vec<Cell> {
    let cidrs: Vec<&str> = strings(&object["spec"]["cidrs"]).collect();
    cells![name(object), cidrs.join(","), age::of(object, now)]
}

pub(super) fn ip_address(object: &Value, now: Timestamp) -> Vec<Cell> {
    let parent = &object["spec"]["parentRef"];
    let shown = if parent.is_null() {
        "<none>".into()
    } else {
        let mut shown = lower(text(&parent["resource"]));
        if !text(&parent["group"]).is_empty() {
            shown = format!("{shown}.{}", lower(text(&parent["group"])));
        }
        if !text(&parent["namespace"]).is_empty() {
            shown = format!("{shown}/{}", text(&parent["namespace"]));
        }
        format!("{shown}/{}", text(&parent["name"]))
    };
    cells![name(object), shown, age::of(object, now)]
}
