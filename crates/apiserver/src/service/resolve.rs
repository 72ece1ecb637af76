//! Resolves a Service: to what is registered with the server, to its endpoints, or to the host that it names (A5).

use std::net::SocketAddr;

use serde_json::Value;

use super::connection;
use super::local_endpoints::{ConnectionServer, EndpointAddress, LocalEndpoint};
use crate::object;
use crate::registry::BuiltInId;
use crate::server::Server;

/// Where a port of a Service leads.
pub(crate) struct Resolved {
    /// The host and port that upstream would call it by in URLs.
    pub(crate) authority: String,
    pub(crate) route: Route,
}

/// How it is reached.
#[derive(Clone)]
pub(crate) enum Route {
    /// The first of these addresses that accepts.
    Addresses(Vec<SocketAddr>),
    /// A host, to be looked up.
    Host(String, u16),
    /// A server in this process.
    InProcess(ConnectionServer),
}

impl Route {
    /// The addresses behind a host. The error is worded as Go's.
    pub(crate) async fn look_up(self) -> Result<Route, String> {
        match self {
            Route::Host(host, port) => Ok(Route::Addresses(connection::look_up(&host, port).await?)),
            known => Ok(known),
        }
    }
}

/// What a port of a Service leads to. The error is upstream's message.
pub(crate) fn service(server: &Server, namespace: &str, name: &str, port: u16) -> Result<Resolved, String> {
    let local_endpoints = &server.local_endpoints;
    match local_endpoints.get(EndpointAddress::Service(namespace, name, port)) {
        None => {}
        Some(LocalEndpoint::Listener(address)) => {
            return Ok(Resolved {
                authority: address.to_string(),
                route: Route::Addresses(vec![address]),
            });
        }
        Some(in_process) => {
            if let Some(connections) = in_process.connections() {
                return Ok(Resolved {
                    authority: format!("{name}.{namespace}.svc:{port}"),
                    route: Route::InProcess(connections),
                });
            }
        }
    }
    let quoted = kubewright_apimachinery::go::quote(name);
    let Some(service) = stored(server, BuiltInId::Services, &object::key(namespace, name)) else {
        return Err(format!("service {quoted} not found"));
    };
    let spec = |key: &str| service.pointer(&format!("/spec/{key}")).and_then(Value::as_str);
    if spec("type") == Some("ExternalName") {
        let host = spec("externalName").unwrap_or_default().to_owned();
        return Ok(Resolved {
            authority: join_host_port(&host, port),
            route: Route::Host(host, port),
        });
    }
    if spec("clusterIP") == Some("None") {
        return Err("cannot route to service with ClusterIP \"None\"".into());
    }
    let Some(port_name) = port_name(&service, port) else {
        return Err(format!("no service port {port} found for service {quoted}"));
    };
    let mut addresses = by_slices(server, namespace, name, &port_name);
    if addresses.is_empty() {
        addresses = by_endpoints(server, namespace, name, &port_name);
    }
    if addresses.is_empty() {
        return Err(format!("no endpoints available for service {quoted}"));
    }
    let at = server.random.below(addresses.len());
    addresses.rotate_left(at);
    Ok(Resolved {
        authority: addresses[0].to_string(),
        route: Route::Addresses(
            addresses
                .into_iter()
                .map(|address| local_endpoints.of_pod(address))
                .collect(),
        ),
    })
}

/// A host and a port as Go joins them.
fn join_host_port(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// The name of a Service's port with this number.
pub(crate) fn port_name(service: &Value, port: u16) -> Option<String> {
    let ports = service.pointer("/spec/ports").and_then(Value::as_array);
    let wanted = ports
        .into_iter()
        .flatten()
        .find(|found| found.get("port").and_then(Value::as_u64) == Some(port.into()))?;
    let name = wanted.get("name").and_then(Value::as_str).unwrap_or_default();
    Some(name.to_owned())
}

/// An object as it is stored.
pub(crate) fn stored(server: &Server, id: BuiltInId, key: &str) -> Option<Value> {
    let resource = id.resource();
    let record = server.store.get(resource.table, key)?;
    Some(object::to_value(resource, &record, record.revision))
}

/// The `EndpointSlices` of a Service.
pub(crate) fn slices(server: &Server, namespace: &str, service: &str) -> Vec<Value> {
    let resource = BuiltInId::EndpointSlices.resource();
    let snapshot = server.store.snapshot(resource.table);
    snapshot
        .records(Some(namespace), None)
        .filter(|record| record.label("kubernetes.io/service-name") == Some(service))
        .map(|record| object::to_value(resource, record, record.revision))
        .collect()
}

/// The ready endpoints of a slice.
pub(crate) fn ready_endpoints(slice: &Value) -> impl Iterator<Item = &Value> {
    let endpoints = slice.get("endpoints").and_then(Value::as_array);
    endpoints.into_iter().flatten().filter(|endpoint| {
        let ready = endpoint.pointer("/conditions/ready");
        ready.and_then(Value::as_bool) != Some(false)
    })
}

/// The ready addresses in the Service's `EndpointSlices`.
fn by_slices(server: &Server, namespace: &str, service: &str, port_name: &str) -> Vec<SocketAddr> {
    let mut found = Vec::new();
    for slice in slices(server, namespace, service) {
        for port in ports(&slice, port_name) {
            found.extend(ready_endpoints(&slice).filter_map(|endpoint| {
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
pub(crate) fn ports(of: &Value, name: &str) -> Vec<u16> {
    let ports = of.get("ports").and_then(Value::as_array);
    ports
        .into_iter()
        .flatten()
        .filter(|port| port.get("name").and_then(Value::as_str).unwrap_or_default() == name)
        .filter_map(|port| u16::try_from(port.get("port")?.as_u64()?).ok())
        .collect()
}
