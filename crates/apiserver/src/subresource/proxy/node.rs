//! Which port of which node a request is passed on to: the kubelet of a simulated node, or a port where nothing listens.
//!
//! Nothing of the machine is ever reached: a node that nobody simulates has no kubelet, and the ports of a simulated one are those of its
//! Pods, to which `pods/proxy` leads.

use std::net::IpAddr;

use http::StatusCode;
use kubewright_apimachinery::go::quote;
use serde_json::Value;

use super::location::{is_global_unicast, split, stored, text};
use super::unreachable;
use crate::registry::BuiltInId;
use crate::request::call::Call;
use crate::wire::status::{Result, Status};

/// Where upstream looks for a kubelet that does not say where it listens.
const KUBELET_PORT: u16 = 10250;

/// What a request for a node leads to.
#[derive(Debug)]
pub(super) enum NodeLocation {
    /// The kubelet of the simulated node of this name.
    Kubelet(String),
    /// A port where nothing listens, as messages name it.
    Closed(String),
}

/// What the name of a node leads to.
pub(super) fn locate(call: &Call<'_>) -> Result<NodeLocation> {
    let id = call.target.name;
    let Some((_, name, port)) = split(id) else {
        return Err(Status::bad_request(format!("invalid node request {}", quote(id))));
    };
    let Some(node) = stored(call, BuiltInId::Nodes, name) else {
        return Err(Status::not_found(call.resource().about(), name));
    };
    let kubelet = kubelet_port(&node);
    let is_kubelet = port.is_empty() || port == kubelet.to_string();
    if is_kubelet && is_simulated(&node) {
        return Ok(NodeLocation::Kubelet(name.to_owned()));
    }
    let host = address(&node)?;
    let port = if is_kubelet {
        kubelet.to_string()
    } else {
        port.to_owned()
    };
    if port.parse::<u64>().is_ok_and(|number| number > u64::from(u16::MAX)) {
        return Err(unreachable(&format!("dial tcp: address {port}: invalid port")));
    }
    // Upstream's proxy panics here, and closes the connection without an answer.
    if port.parse::<u16>().is_err() {
        return Err(unreachable(&format!("dial tcp: lookup tcp/{port}: unknown port")));
    }
    Ok(NodeLocation::Closed(match host {
        IpAddr::V4(ip) => format!("{ip}:{port}"),
        IpAddr::V6(ip) => format!("[{ip}]:{port}"),
    }))
}

/// The address by which upstream would reach a node.
fn address(node: &Value) -> Result<IpAddr> {
    let addresses = node.pointer("/status/addresses").and_then(Value::as_array);
    let addresses: &[Value] = addresses.map_or(&[], Vec::as_slice);
    let of_type = |kind: &str| addresses.iter().find(|address| text(address, "type") == kind);
    // A name of a simulated node is one that no name server knows.
    let kinds: &[&str] = if is_simulated(node) {
        &["InternalIP", "ExternalIP"]
    } else {
        &["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"]
    };
    let Some(found) = kinds.iter().find_map(|kind| of_type(kind)) else {
        let known = addresses
            .iter()
            .map(|address| format!("{{{} {}}}", text(address, "type"), text(address, "address")));
        let known = known.collect::<Vec<_>>().join(" ");
        let why = format!("no preferred addresses found; known addresses: [{known}]");
        return Err(Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", why));
    };
    let host = text(found, "address");
    let Ok(ip) = host.parse::<IpAddr>() else {
        return Err(Status::bad_request(format!("lookup {host}: no such host")));
    };
    if is_global_unicast(&ip) {
        Ok(ip)
    } else {
        Err(Status::bad_request("address not allowed"))
    }
}

fn kubelet_port(node: &Value) -> u16 {
    let port = node.pointer("/status/daemonEndpoints/kubeletEndpoint/Port");
    let port = port.and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    port.filter(|port| *port > 0).unwrap_or(KUBELET_PORT)
}

/// Whether a node is one that the simulated kubelet keeps, and is not down.
fn is_simulated(node: &Value) -> bool {
    let runtime = node.pointer("/status/nodeInfo/containerRuntimeVersion");
    let runtime = runtime.and_then(Value::as_str).unwrap_or_default();
    let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    let is_ready =
        conditions.any(|condition| text(condition, "type") == "Ready" && text(condition, "status") == "True");
    runtime.starts_with("simulated://") && is_ready
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn simulated(ready: &str) -> Value {
        json!({ "status": {
            "nodeInfo": { "containerRuntimeVersion": "simulated://1" },
            "conditions": [{ "type": "Ready", "status": ready }],
            "addresses": [{ "type": "Hostname", "address": "n" }, { "type": "InternalIP", "address": "10.1.0.1" }],
        }})
    }

    #[test]
    fn a_simulated_node_has_a_kubelet_while_it_is_ready() {
        assert!(is_simulated(&simulated("True")));
        assert!(!is_simulated(&simulated("Unknown")) && !is_simulated(&json!({})));
        assert_eq!(address(&simulated("True")).unwrap(), IpAddr::from([10, 1, 0, 1]));
    }

    #[test]
    fn upstreams_address_of_a_node_is_its_name_first() {
        let named = address(&simulated("False")).unwrap_err();
        assert_eq!(named.to_value()["message"], "lookup n: no such host");
    }

    #[test]
    fn the_kubelet_says_where_it_listens() {
        assert_eq!(kubelet_port(&json!({})), 10250);
        let node = json!({ "status": { "daemonEndpoints": { "kubeletEndpoint": { "Port": 1 } } } });
        assert_eq!(kubelet_port(&node), 1);
    }
}
