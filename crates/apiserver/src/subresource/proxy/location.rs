//! Which port of which Pod a request is passed on to: `[scheme:]NAME[:PORT]`, of a Pod or of a Service.

use std::net::IpAddr;

use http::StatusCode;
use kubewright_apimachinery::go::quote;
use serde_json::Value;

use super::unreachable;
use crate::object;
use crate::registry::BuiltInId;
use crate::request::call::Call;
use crate::stream::containers::{PodContainers, PodIdentity};
use crate::subresource::life::ConnectionLife;
use crate::wire::status::{Result, Status};

/// A port of a Pod.
pub(super) struct Location {
    pub(super) is_https: bool,
    pub(super) ip: IpAddr,
    pub(super) port: u16,
    pub(super) containers: PodContainers,
    pub(super) life: ConnectionLife,
}

impl Location {
    /// The Pod's address, as a URL has it.
    pub(super) fn host(&self) -> String {
        match self.ip {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        }
    }

    /// A port of a Pod. Pods without anything to connect to are refused.
    fn new(
        is_https: bool,
        (ip, port): (IpAddr, u16),
        pod: &Value,
        containers: PodContainers,
        life: ConnectionLife,
    ) -> Result<Location> {
        if !containers.may_listen() {
            let pod = quote(object::meta_text(pod, "name"));
            return Err(unreachable(&format!(
                "the containers of Pod {pod} are simulated, there is no process to connect to; `TestEnv::on_connect` and \
                 `ApiServer::on_connect` answer for one"
            )));
        }
        Ok(Location {
            is_https,
            ip,
            port,
            containers,
            life,
        })
    }
}

/// The parts of `[scheme:]name[:port]`; `None` for anything else.
pub(super) fn split(id: &str) -> Option<(&str, &str, &str)> {
    let parts: Vec<&str> = id.split(':').collect();
    let (scheme, name, port) = match parts[..] {
        [name] => ("", name, ""),
        [name, port] => ("", name, port),
        [scheme, name, port] => (scheme, name, port),
        _ => return None,
    };
    (!name.is_empty() && matches!(scheme, "" | "http" | "https")).then_some((scheme, name, port))
}

/// The path that is asked for on the port: cleaned, with its last slash; empty if the request's path ends with `proxy`.
pub(super) fn path(call: &Call<'_>) -> String {
    let asked = call.target.rest;
    let mut parts: Vec<&str> = Vec::new();
    for part in asked.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let slash = crate::wire::query::percent_decode(call.parts.uri.path()).ends_with('/');
    match (parts.is_empty(), slash) {
        (true, false) if asked.is_empty() => String::new(),
        (true, _) => "/".to_owned(),
        (false, true) => format!("/{}/", parts.join("/")),
        (false, false) => format!("/{}", parts.join("/")),
    }
}

/// The port that the name of a Pod leads to, which is the first one of its containers if it names none.
pub(super) fn of_pod(call: &Call<'_>) -> Result<Location> {
    let id = call.target.name;
    let Some((scheme, name, port)) = split(id) else {
        return Err(Status::bad_request(format!("invalid pod request {}", quote(id))));
    };
    let namespace = call.target.namespace;
    let Some((pod, identity, life)) = find(call, namespace, name) else {
        return Err(Status::not_found(call.resource().about(), name));
    };
    let ips = pod.pointer("/status/podIPs/0/ip").and_then(Value::as_str);
    let ip = ips.and_then(|ip| ip.parse::<IpAddr>().ok()).filter(is_global_unicast);
    let Some(ip) = ip else {
        return Err(Status::bad_request("address not allowed"));
    };
    let is_https = scheme == "https";
    let first = || {
        let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
        let ports = containers.into_iter().flatten();
        let mut ports = ports.filter_map(|container| container.pointer("/ports/0/containerPort")?.as_u64());
        ports.next().map(|port| port.to_string())
    };
    let port = match port {
        "" => first().unwrap_or_else(|| if is_https { "443" } else { "80" }.to_owned()),
        named => named.to_owned(),
    };
    let Ok(port) = port.parse::<u16>() else {
        return Err(unreachable(&format!("dial tcp: lookup tcp/{port}: unknown port")));
    };
    let containers = call.server.containers.of(&call.server.store, &identity);
    Location::new(is_https, (ip, port), &pod, containers, life)
}

/// The port of a Pod that a port of a Service leads to, chosen among those that are ready.
pub(super) fn of_service(call: &Call<'_>) -> Result<Location> {
    let id = call.target.name;
    let Some((scheme, name, port)) = split(id) else {
        return Err(Status::bad_request(format!("invalid service request {}", quote(id))));
    };
    let namespace = call.target.namespace;
    let unavailable = |why: String| Status::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", why);
    let port_name = if let Ok(number) = port.parse::<i64>() {
        let service = stored(call, BuiltInId::Services, &object::key(namespace, name));
        let service = service.ok_or_else(|| Status::not_found(call.resource().about(), name))?;
        let ports = service.pointer("/spec/ports").and_then(Value::as_array);
        let found = ports
            .into_iter()
            .flatten()
            .find(|port| port.get("port").and_then(Value::as_i64) == Some(number));
        let Some(found) = found else {
            let name = quote(name);
            return Err(unavailable(format!(
                "no service port {number} found for service {name}"
            )));
        };
        text(found, "name").to_owned()
    } else {
        port.to_owned()
    };
    let subsets = subsets(call, namespace, name)?;
    if subsets.is_empty() {
        return Err(unavailable(format!(
            "no endpoints available for service {}",
            quote(name)
        )));
    }
    let none = || unavailable(format!("no endpoints available for service {}", quote(id)));
    let mut candidates: Vec<(&Value, u16)> = Vec::new();
    for subset in &subsets {
        let ports = subset.get("ports").and_then(Value::as_array).into_iter().flatten();
        for port in ports.filter(|port| text(port, "name") == port_name) {
            let number = port.get("port").and_then(Value::as_u64);
            let Some(number) = number.and_then(|port| u16::try_from(port).ok()) else {
                continue;
            };
            let addresses = subset.get("addresses").and_then(Value::as_array);
            candidates.extend(addresses.into_iter().flatten().map(|address| (address, number)));
        }
    }
    if candidates.is_empty() {
        return Err(none());
    }
    let begin = call.server.random.below(candidates.len());
    candidates.rotate_left(begin);
    let mut refusal = None;
    for (address, port) in candidates {
        // Only what is a Pod is ever reached.
        let target = address
            .get("targetRef")
            .filter(|target| text(target, "namespace") == namespace);
        let Some((pod, identity, life)) = target.and_then(|target| find(call, namespace, text(target, "name"))) else {
            continue;
        };
        let ip = text(address, "ip");
        let ips = pod.pointer("/status/podIPs").and_then(Value::as_array);
        let is_its_own = ips.into_iter().flatten().any(|own| text(own, "ip") == ip);
        let Some(ip) = ip.parse::<IpAddr>().ok().filter(|_| is_its_own) else {
            continue;
        };
        let containers = call.server.containers.of(&call.server.store, &identity);
        match Location::new(scheme == "https", (ip, port), &pod, containers, life) {
            Ok(location) => return Ok(location),
            Err(simulated) => refusal = Some(simulated),
        }
    }
    Err(refusal.unwrap_or_else(none))
}

/// A Pod, and how long a connection to it may last.
fn find(call: &Call<'_>, namespace: &str, name: &str) -> Option<(Value, PodIdentity, ConnectionLife)> {
    let (record, life) = ConnectionLife::of(call, namespace, name)?;
    let identity = PodIdentity {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: record.uid.to_string(),
    };
    let pod = object::to_value(BuiltInId::Pods.resource(), &record, record.revision);
    Some((pod, identity, life))
}

pub(super) fn stored(call: &Call<'_>, id: BuiltInId, key: &str) -> Option<Value> {
    let resource = id.resource();
    let record = call.server.store.get(resource.table, key)?;
    Some(object::to_value(resource, &record, record.revision))
}

/// The addresses and ports behind a Service, by its Endpoints; by its `EndpointSlices` where nobody makes those any more.
fn subsets(call: &Call<'_>, namespace: &str, name: &str) -> Result<Vec<Value>> {
    if let Some(found) = stored(call, BuiltInId::Endpoints, &object::key(namespace, name)) {
        let subsets = found.get("subsets").and_then(Value::as_array).cloned();
        return Ok(subsets.unwrap_or_default());
    }
    let slices = BuiltInId::EndpointSlices.resource();
    let snapshot = call.server.store.snapshot(slices.table);
    let own = snapshot.records(Some(namespace), None);
    let own = own.filter(|record| record.label("kubernetes.io/service-name") == Some(name));
    let own: Vec<Value> = own
        .map(|record| subset(&object::to_value(slices, record, record.revision)))
        .collect();
    if own.is_empty() {
        // Upstream names the resource of the request, not that of the endpoints.
        return Err(Status::not_found(call.resource().about(), name));
    }
    Ok(own)
}

/// A slice in the form of Endpoints: what is ready of it.
fn subset(slice: &Value) -> Value {
    let endpoints = slice.get("endpoints").and_then(Value::as_array);
    let ready = endpoints.into_iter().flatten().filter(|endpoint| {
        let ready = endpoint.pointer("/conditions/ready");
        ready.and_then(Value::as_bool) != Some(false)
    });
    let addresses = ready.filter_map(|endpoint| {
        let ip = endpoint.pointer("/addresses/0")?;
        Some(serde_json::json!({ "ip": ip, "targetRef": endpoint.get("targetRef")? }))
    });
    serde_json::json!({ "addresses": addresses.collect::<Vec<Value>>(), "ports": slice.get("ports") })
}

pub(super) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Whether Go's `IsGlobalUnicast` says so.
pub(super) fn is_global_unicast(ip: &IpAddr) -> bool {
    let is_link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_broadcast(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !ip.is_unspecified() && !ip.is_loopback() && !ip.is_multicast() && !is_link_local
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_a_scheme_and_a_port() {
        assert_eq!(split("web"), Some(("", "web", "")));
        assert_eq!(split("web:80"), Some(("", "web", "80")));
        assert_eq!(split("https:web:http"), Some(("https", "web", "http")));
        assert_eq!(split("http:web:"), Some(("http", "web", "")));
        for wrong in ["", ":80", "ftp:web:80", "a:b:c:d", "https::80"] {
            assert_eq!(split(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn addresses_of_this_machine_are_not_allowed() {
        for (ip, allowed) in [
            ("10.244.0.1", true),
            ("fd00::1", true),
            ("127.0.0.1", false),
            ("::1", false),
            ("169.254.169.254", false),
            ("fe80::1", false),
            ("0.0.0.0", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
        ] {
            assert_eq!(is_global_unicast(&ip.parse().unwrap()), allowed, "{ip}");
        }
    }
}
