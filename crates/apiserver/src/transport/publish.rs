//! Where clients inside the cluster find this server: the Endpoints and the `EndpointSlice` of Service `kubernetes`. A
//! kube-apiserver publishes its own address there, and nothing if that is an address which no Pod could reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};

use crate::access::User;
use crate::server::ApiServer;

const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const SERVICES: &str = "/api/v1/namespaces/default/services";

const JSON: &str = "application/json";

/// The port that the Service of a new cluster leads to.
const USUAL_PORT: u16 = 6443;

/// The address by which others reach a listener. One that listens everywhere is reached where this machine's default route
/// begins, if it has one.
pub(super) fn reached_at(listening: IpAddr) -> IpAddr {
    if !listening.is_unspecified() {
        return listening;
    }
    begin_of_default_route(listening).unwrap_or(listening)
}

/// The address where this machine's default route begins, of the family of another address if there is one.
pub(super) fn begin_of_default_route(like: IpAddr) -> Option<IpAddr> {
    // Addresses for documentation: nothing is sent to them, only a route is looked up.
    let four = || route_to(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into());
    let six = || {
        let far = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
        route_to(Ipv6Addr::UNSPECIFIED.into(), far.into())
    };
    match like {
        IpAddr::V4(_) => four(),
        IpAddr::V6(_) => six().or_else(four),
    }
}

fn route_to(from: IpAddr, far: IpAddr) -> Option<IpAddr> {
    let socket = UdpSocket::bind(SocketAddr::new(from, 0)).ok()?;
    socket.connect(SocketAddr::new(far, 9)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_unspecified()).then_some(address)
}

/// Whether an address may stand in Endpoints: not one that means something else on every machine, or only on one link.
fn is_for_others(address: IpAddr) -> bool {
    let is_of_one_link = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(address.is_unspecified() || address.is_loopback() || address.is_multicast() || is_of_one_link)
}

impl ApiServer {
    /// Makes Endpoints and `EndpointSlice` say that this server is at `address`, if others can reach it there.
    ///
    /// An object that an admission webhook refuses is left out. The server serves nevertheless.
    pub(crate) async fn publish(&self, address: SocketAddr) {
        if !is_for_others(address.ip()) {
            return;
        }
        let _ = self.server.published.set(address);
        self.lead_service_to(address.port()).await;
        let wanted = endpoints(address);
        if self.ask(Method::POST, ENDPOINTS, JSON, Some(&wanted)).await == StatusCode::CONFLICT {
            let path = format!("{ENDPOINTS}/kubernetes");
            self.ask(Method::PATCH, &path, "application/merge-patch+json", Some(&wanted))
                .await;
        }
        let wanted = slice(address);
        if self.ask(Method::POST, SLICES, JSON, Some(&wanted)).await == StatusCode::CONFLICT {
            let path = format!("{SLICES}/kubernetes");
            let status = self.ask(Method::PUT, &path, JSON, Some(&wanted)).await;
            // The type of a slice's addresses does not change: those of another type need another slice.
            if status == StatusCode::UNPROCESSABLE_ENTITY {
                self.ask(Method::DELETE, &path, JSON, None).await;
                self.ask(Method::POST, SLICES, JSON, Some(&wanted)).await;
            }
        }
    }

    /// Makes Service `kubernetes` again if somebody deleted it, and publishes again what was published.
    pub(crate) async fn publish_again(&self) {
        let port = self.server.service_port.get().copied().unwrap_or(USUAL_PORT);
        self.ask(Method::POST, SERVICES, JSON, Some(&service(port))).await;
        if let Some(address) = self.server.published.get() {
            self.publish(*address).await;
        }
    }

    /// Makes Service `kubernetes` of a new cluster lead to the port of this server.
    pub(super) async fn lead_service_to(&self, port: u16) {
        let _ = self.server.service_port.set(port);
        let patch = json!([
            { "op": "test", "path": "/spec/ports/0/targetPort", "value": USUAL_PORT },
            { "op": "replace", "path": "/spec/ports/0/targetPort", "value": port },
        ]);
        if port != USUAL_PORT {
            let service = format!("{SERVICES}/kubernetes");
            self.ask(Method::PATCH, &service, "application/json-patch+json", Some(&patch))
                .await;
        }
    }

    /// Asks this server itself, under the name of a kube-apiserver.
    pub(crate) async fn ask(&self, method: Method, path: &str, content_type: &str, body: Option<&Value>) -> StatusCode {
        let user = User::new("system:apiserver", ["system:masters"]);
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::USER_AGENT, "kube-apiserver")
            .header(header::CONTENT_TYPE, content_type)
            .body(body.into());
        match request {
            Ok(request) => self.handle_as(Some(&user), request).await.status(),
            // The paths and headers above are valid.
            Err(_) => StatusCode::BAD_REQUEST,
        }
    }
}

fn ports(address: SocketAddr) -> Value {
    json!([{ "name": "https", "port": address.port(), "protocol": "TCP" }])
}

/// The Service of a new cluster, as a kube-apiserver creates it.
fn service(port: u16) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": "kubernetes", "labels": { "component": "apiserver", "provider": "kubernetes" } },
        "spec": {
            "clusterIP": "10.0.0.1",
            "ipFamilyPolicy": "SingleStack",
            "ports": [{ "name": "https", "port": 443, "protocol": "TCP", "targetPort": port }],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
    })
}

fn endpoints(address: SocketAddr) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            // The slice is made here, and not by the controller that mirrors others' Endpoints.
            "labels": { "endpointslice.kubernetes.io/skip-mirror": "true" },
        },
        "subsets": [{ "addresses": [{ "ip": address.ip().to_string() }], "ports": ports(address) }],
    })
}

fn slice(address: SocketAddr) -> Value {
    let address_type = if address.is_ipv6() { "IPv6" } else { "IPv4" };
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": { "kubernetes.io/service-name": "kubernetes" },
        },
        "addressType": address_type,
        "endpoints": [{ "addresses": [address.ip().to_string()], "conditions": { "ready": true } }],
        "ports": ports(address),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_others_cannot_reach_are_not_published() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "0.0.0.0",
            "::",
            "169.254.1.1",
            "fe80::1",
            "224.0.0.1",
            "ff02::1",
        ] {
            assert!(!is_for_others(address.parse().unwrap()), "{address}");
        }
        for address in ["192.0.2.1", "10.0.0.7", "2001:db8::1"] {
            assert!(is_for_others(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_listener_is_reached_where_it_listens() {
        for address in ["127.0.0.1", "192.0.2.1", "::1"] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(reached_at(address), address);
        }
    }
}
