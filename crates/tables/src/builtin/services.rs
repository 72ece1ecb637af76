//! Services: how they are reached from inside and outside.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, name};
use crate::age;
use crate::read::{int, list, strings, text};
use crate::row::Cell;
use crate::selector::format_labels;

pub(super) fn service(object: &Value, now: Timestamp) -> Vec<Cell> {
    let spec = &object["spec"];
    cells![
        name(object),
        text(&spec["type"]),
        spec["clusterIPs"][0].as_str().unwrap_or("<none>"),
        external_address(object),
        ports(&spec["ports"]),
        age::of(object, now),
        format_labels(&spec["selector"]),
    ]
}

fn external_address(object: &Value) -> String {
    let spec = &object["spec"];
    let external: Vec<&str> = strings(&spec["externalIPs"]).collect();
    match text(&spec["type"]) {
        "ClusterIP" | "NodePort" if external.is_empty() => "<none>".into(),
        "ClusterIP" | "NodePort" => external.join(","),
        "LoadBalancer" => {
            let balancer = balancer_addresses(&object["status"]["loadBalancer"]);
            match (balancer.is_empty(), external.is_empty()) {
                (true, true) => "<pending>".into(),
                (false, true) => balancer,
                (true, false) => external.join(","),
                (false, false) => format!("{balancer},{}", external.join(",")),
            }
        }
        "ExternalName" => text(&spec["externalName"]).to_owned(),
        _ => "<unknown>".into(),
    }
}

/// The addresses of a load balancer, each once, sorted. A hostname counts where there is no address.
pub(super) fn balancer_addresses(balancer: &Value) -> String {
    let address = |point: &Value| match text(&point["ip"]) {
        "" => text(&point["hostname"]).to_owned(),
        ip => ip.to_owned(),
    };
    let addresses: BTreeSet<String> = list(&balancer["ingress"])
        .iter()
        .map(address)
        .filter(|address| !address.is_empty())
        .collect();
    addresses.into_iter().collect::<Vec<_>>().join(",")
}

fn ports(ports: &Value) -> String {
    let port = |port: &Value| {
        let protocol = text(&port["protocol"]);
        match int(&port["nodePort"]) {
            node_port @ 1.. => format!("{}:{node_port}/{protocol}", int(&port["port"])),
            _ => format!("{}/{protocol}", int(&port["port"])),
        }
    };
    let all: Vec<String> = list(ports).iter().map(port).collect();
    if all.is_empty() { "<none>".into() } else { all.join(",") }
}
