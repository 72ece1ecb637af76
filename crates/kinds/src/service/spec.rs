//! A Service's spec as its rules read it: absent and empty fields are equal, and what depends on the type is a method.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Map, Value};

use crate::rules::access;
use crate::rules::net::parse_ip_sloppy;

/// The value of `clusterIP` that makes a Service headless.
pub(crate) const NONE: &str = "None";

/// A view of `spec`; every field of a missing spec is empty.
#[derive(Clone, Copy)]
pub(crate) struct Spec<'a>(Option<&'a Map<String, Value>>);

impl<'a> Spec<'a> {
    pub(crate) fn of(service: &'a Value) -> Self {
        Spec(service.get("spec").and_then(Value::as_object))
    }

    pub(crate) fn get(self, field: &str) -> Option<&'a Value> {
        self.0?.get(field).filter(|value| !value.is_null())
    }

    pub(crate) fn text(self, field: &str) -> &'a str {
        self.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn texts(self, field: &str) -> Vec<&'a str> {
        self.list(field)
            .iter()
            .map(|item| item.as_str().unwrap_or_default())
            .collect()
    }

    pub(crate) fn list(self, field: &str) -> &'a [Value] {
        self.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn number(self, field: &str) -> i64 {
        self.get(field).and_then(Value::as_i64).unwrap_or_default()
    }

    pub(crate) fn service_type(self) -> &'a str {
        self.text("type")
    }

    pub(crate) fn ports(self) -> &'a [Value] {
        self.list("ports")
    }

    pub(crate) fn cluster_ips(self) -> Vec<&'a str> {
        self.texts("clusterIPs")
    }

    pub(crate) fn ip_families(self) -> Vec<&'a str> {
        self.texts("ipFamilies")
    }

    pub(crate) fn is_external_name(self) -> bool {
        self.service_type() == "ExternalName"
    }

    pub(crate) fn is_load_balancer(self) -> bool {
        self.service_type() == "LoadBalancer"
    }

    /// Every type but `ExternalName` has a cluster IP, which may be `None`.
    pub(crate) fn needs_cluster_ip(self) -> bool {
        !self.is_external_name()
    }

    /// Whether its ports get ports on every node unless they name some.
    pub(crate) fn needs_node_ports(self) -> bool {
        match self.service_type() {
            "NodePort" => true,
            "LoadBalancer" => {
                let allocates = self.get("allocateLoadBalancerNodePorts").and_then(Value::as_bool);
                allocates.unwrap_or(true)
            }
            _ => false,
        }
    }

    /// Whether `clusterIPs` is exactly `["None"]`.
    pub(crate) fn is_headless(self) -> bool {
        self.cluster_ips() == [NONE]
    }

    pub(crate) fn has_selector(self) -> bool {
        self.get("selector")
            .and_then(Value::as_object)
            .is_some_and(|selector| !selector.is_empty())
    }

    /// Whether traffic from outside the cluster can reach the Service.
    pub(crate) fn externally_accessible(self) -> bool {
        match self.service_type() {
            "LoadBalancer" | "NodePort" => true,
            "ClusterIP" => !self.list("externalIPs").is_empty(),
            _ => false,
        }
    }

    /// Whether load balancers probe the nodes on `healthCheckNodePort`.
    pub(crate) fn needs_health_check(self) -> bool {
        self.is_load_balancer() && self.text("externalTrafficPolicy") == "Local"
    }

    /// The node ports the spec names, in order.
    pub(crate) fn node_ports(self) -> Vec<i64> {
        self.ports()
            .iter()
            .map(|port| int(port, "nodePort"))
            .filter(|port| *port != 0)
            .collect()
    }

    /// The node ports the spec names, as a set.
    pub(crate) fn node_port_set(self) -> BTreeSet<i64> {
        self.node_ports().into_iter().collect()
    }
}

/// The integer in a field of `value`; absent is zero.
pub(crate) fn int(value: &Value, field: &str) -> i64 {
    access::int_at(value, &[field])
}

/// The string in a field of `value`; absent is empty.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    access::str_at(value, &[field])
}

/// The spec to write to, if the object has one.
pub(crate) fn spec_mut(service: &mut Value) -> Option<&mut Map<String, Value>> {
    service.get_mut("spec").and_then(Value::as_object_mut)
}

/// Whether the text is an IPv4 address.
pub(crate) fn is_v4(address: &str) -> bool {
    matches!(parse_ip_sloppy(address), Some(IpAddr::V4(_)))
}

/// Whether the text is an IPv6 address; one that maps an IPv4 address is not.
pub(crate) fn is_v6(address: &str) -> bool {
    matches!(parse_ip_sloppy(address), Some(IpAddr::V6(_)))
}
