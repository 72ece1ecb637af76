//! Resolves the Service of a webhook: to a listener registered with the server, or to its endpoints (A5).

use std::net::SocketAddr;

use serde_json::Value;

use super::connection;
use crate::object;
use crate::registry::BuiltInId;
use crate::server::Server;

/// The addresses behind a port of a Service. The error is upstream's message.
pub(super) async fn service(
    server: &Server,
    namespace: &str,
    name: &str,
    port: u16,
) -> Result<Vec<SocketAddr>, String> {
    if let Some(address) = server.webhooks.local_endpoints.listener(namespace, name, port) {
        return Ok(vec![address]);
    }
    let quoted = kubewright_apimachinery::go::quote(name);
    let Some(service) = stored(server, BuiltInId::Services, &object::key(namespace, name)) else {
        return Err(format!("service {quoted} not found"));
    };
    let spec = |key: &str| service.pointer(&format!("/spec/{key}")).and_then(Value::as_str);
    if spec("type") == Some("ExternalName") {
        return connection::look_up(spec("externalName").unwrap_or_default(), port).await;
    }
    if spec("clusterIP") == Some("None") {
        return Err("cannot route to service with ClusterIP \"None\"".into());
    }
    let ports = service.pointer("/spec/ports").and_then(Value::as_array);
    let wanted = ports
        .into_iter()
        .flatten()
        .find(|found| found.get("port").and_then(Value::as_u64) == Some(port.into()));
    let Some(wanted) = wanted else {
        return Err(format!("no service port {port} found for service {quoted}"));
    };
    let port_name = wanted.get("name").and_then(Value::as_str).unwrap_or_default();
    let mut addresses = by_slices(server, namespace, name, port_name);
    if addresses.is_empty() {
        addresses = by_endpoints(server, namespace, name, port_name);
    }
    if addresses.is_empty() {
        return Err(format!("no endpoints available for service {quoted}"));
    }
    let at = server.random.below(addresses.len());
    addresses.rotate_left(at);
    let local_endpoints = &server.webhooks.local_endpoints;
    Ok(addresses
        .into_iter()
        .map(|address| local_endpoints.of_pod(address))
        .collect())
}

fn stored(server: &Server, id: BuiltInId, key: &str) -> Option<Value> {
    let resource = id.resource();
    let record = server.store.get(resource.table, key)?;
    Some(object::to_value(resource, &record, record.revision))
}

/// The ready addresses in the Service's `EndpointSlices`.
fn by_slices(server: &Server, namespace: &str, service: &str, port_name: &str) -> Vec<SocketAddr> {
    let resource = BuiltInId::EndpointSlices.resource();
    let snapshot = server.store.snapshot(resource.table);
    let mut found = Vec::new();
    for record in snapshot.records(Some(namespace), None) {
        if record.label("kubernetes.io/service-name") != Some(service) {
            continue;
        }
        let slice = object::to_value(resource, record, record.revision);
        let endpoints = || slice.get("endpoints").and_then(Value::as_array).into_iter().flatten();
        for port in ports(&slice, port_name) {
            let ready = endpoints().filter(|endpoint| {
                let ready = endpoint.pointer("/conditions/ready");
                ready.and_then(Value::as_bool) != Some(false)
            });
            found.extend(ready.filter_map(|endpoint| {
                let address = endpoint.pointer("/addresses/0")?.as_str()?;
                Some(SocketAddr::new(address.parse().ok()?, port))
            }));
        }
    }
    found
}

/// The ready addresses in the Service's Endpoints.
fn by_endpoints(server: &Server, namespace: &str, service: &str, port_name: &str) -> Vec<SocketAddr> {
    let Some(endpoints) = stored(server, BuiltInId::Endpoints, &object::key(namespace, service)) else {
        return Vec::new();
    };
    let subsets = endpoints.get("subsets").and_then(Value::as_array);
    let mut found = Vec::new();
    for subset in subsets.into_iter().flatten() {
        for port in ports(subset, port_name) {
            let addresses = subset.get("addresses").and_then(Value::as_array);
            found.extend(addresses.into_iter().flatten().filter_map(|address| {
                let ip = address.get("ip")?.as_str()?;
                Some(SocketAddr::new(ip.parse().ok()?, port))
            }));
        }
    }
    found
}

/// The ports of this name.
fn ports(of: &Value, name: &str) -> Vec<u16> {
    let ports = of.get("ports").and_then(Value::as_array);
    ports
        .into_iter()
        .flatten()
        .filter(|port| port.get("name").and_then(Value::as_str).unwrap_or_default() == name)
        .filter_map(|port| u16::try_from(port.get("port")?.as_u64()?).ok())
        .collect()
}
