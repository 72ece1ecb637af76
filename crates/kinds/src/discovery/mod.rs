//! `EndpointSlices`: the addresses behind a Service.

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::behaviour::{Behaviour, Create, Update};
use crate::networking::endpoint_address;
use crate::rules::access::{
    at, complain, complain_if_set, list_at, opt_str_at, require_immutable_str, same, str_at, strings_at,
};
use crate::rules::net::{ip_warnings, parse_ip_sloppy, validate_ip, validate_ip_of_old_field};
use crate::rules::{labels, ports};
use crate::strategy::strategy;

const ENDPOINTS_MAX: usize = 1000;
const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20_000;
const HINTS_MAX: usize = 8;
const TOPOLOGY_MAX: usize = 16;

/// The managers of slices for whose addresses there are no warnings.
const CONTROLLERS: [&str; 2] = [
    "endpointslice-controller.k8s.io",
    "endpointslicemirroring-controller.k8s.io",
];

/// The rules of `EndpointSlices`.
pub(crate) struct EndpointSlice;

impl Behaviour for EndpointSlice {
    fn prepare_create(&self, create: Create<'_>) {
        drop_topology(create.object, None);
    }

    fn prepare_update(&self, mut update: Update<'_>) {
        update.keep_unwritten();
        // What is dropped counts as a change.
        let generation = strategy("discovery.k8s.io", "endpointslices").generation;
        let next = generation.after_update(update.object, update.old);
        drop_topology(update.object, Some(update.old));
        let metadata = update.object.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata.filter(|_| next > 0) {
            metadata.insert("generation".to_owned(), next.into());
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate(object, None, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        validate(object, Some(old), errors);
        require_immutable_str(object, old, &["addressType"], errors);
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        if old.is_none() && str_at(object, &["addressType"]) == "FQDN" {
            warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
        }
        let manager = str_at(
            object,
            &["metadata", "labels", "endpointslice.kubernetes.io/managed-by"],
        );
        if !CONTROLLERS.contains(&manager) {
            let endpoints = PathRef::root("endpoints");
            for (index, endpoint) in list_at(object, &["endpoints"]).iter().enumerate() {
                let path = endpoints.index(index);
                let path = path.child("addresses");
                for (index, address) in strings_at(endpoint, &["addresses"]).into_iter().enumerate() {
                    warnings.extend(ip_warnings(&path.index(index), address));
                }
            }
        }
        warnings
    }
}

/// `deprecatedTopology` is kept only if the endpoints do not change.
fn drop_topology(object: &mut Value, old: Option<&Value>) {
    if old.is_some_and(|old| same(at(object, &["endpoints"]), at(old, &["endpoints"]))) {
        return;
    }
    for endpoint in object
        .get_mut("endpoints")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(endpoint) = endpoint.as_object_mut() {
            endpoint.remove("deprecatedTopology");
        }
    }
}

fn validate(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let kind = str_at(object, &["addressType"]);
    if kind.is_empty() {
        errors.push(FieldError::required(&PathRef::root("addressType"), ""));
    } else if !matches!(kind, "IPv4" | "IPv6" | "FQDN") {
        errors.push(FieldError::not_supported(
            &PathRef::root("addressType"),
            kind,
            ["FQDN", "IPv4", "IPv6"],
        ));
    }
    validate_ports(list_at(object, &["ports"]), errors);
    let mut found = Errors::new();
    validate_endpoints(list_at(object, &["endpoints"]), kind, &mut found);
    let unchanged = || old.is_some_and(|old| same(at(object, &["endpoints"]), at(old, &["endpoints"])));
    if !found.is_empty() && !unchanged() {
        errors.extend(found);
    }
}

fn validate_ports(ports: &[Value], errors: &mut Errors) {
    let root = PathRef::root("ports");
    if ports.len() > PORTS_MAX {
        errors.push(FieldError::too_many(&root, ports.len(), PORTS_MAX));
        return;
    }
    let mut seen = HashSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = root.index(index);
        complain_if_set(port, "name", names::dns1123_label, &path, errors);
        let name = str_at(port, &["name"]);
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
        ports::validate_protocol(opt_str_at(port, &["protocol"]), &path, errors);
        ports::validate_app_protocol(port, &path, errors);
    }
}

fn validate_endpoints(endpoints: &[Value], kind: &str, errors: &mut Errors) {
    let root = PathRef::root("endpoints");
    if endpoints.len() > ENDPOINTS_MAX {
        errors.push(FieldError::too_many(&root, endpoints.len(), ENDPOINTS_MAX));
        return;
    }
    for (index, endpoint) in endpoints.iter().enumerate() {
        let path = root.index(index);
        let addresses = strings_at(endpoint, &["addresses"]);
        let addresses_path = path.child("addresses");
        if addresses.is_empty() {
            errors.push(FieldError::required(&addresses_path, "must contain at least 1 address"));
        } else if addresses.len() > ADDRESSES_MAX {
            errors.push(FieldError::too_many(&addresses_path, addresses.len(), ADDRESSES_MAX));
        }
        for (index, address) in addresses.into_iter().enumerate() {
            validate_address(address, kind, &addresses_path, index, errors);
        }
        if let Some(node) = opt_str_at(endpoint, &["nodeName"]) {
            complain(&path.child("nodeName"), node, names::dns1123_subdomain(node), errors);
        }
        let topology = at(endpoint, &["deprecatedTopology"]);
        let topology_path = path.child("deprecatedTopology");
        let size = topology.and_then(Value::as_object).map_or(0, serde_json::Map::len);
        if size > TOPOLOGY_MAX {
            errors.push(FieldError::too_many(&topology_path, size, TOPOLOGY_MAX));
        }
        labels::validate_labels(topology, &topology_path, errors);
        if let Some(host) = opt_str_at(endpoint, &["hostname"]) {
            complain(&path.child("hostname"), host, names::dns1123_label(host), errors);
        }
        if let Some(hints) = at(endpoint, &["hints"]) {
            validate_hints(hints, &path.child("hints"), errors);
        }
    }
}

fn validate_address(address: &str, kind: &str, path: &PathRef<'_>, index: usize, errors: &mut Errors) {
    let item = path.index(index);
    let before = errors.len();
    match kind {
        "IPv4" => validate_ip_of_old_field(&item, address, &[], errors),
        "IPv6" => validate_ip(&item, address, errors),
        "FQDN" => return validate_domain_name(address, &item, errors),
        _ => return,
    }
    if errors.len() > before {
        return;
    }
    if parse_ip_sloppy(address).is_some_and(|parsed| parsed.is_ipv6() != (kind == "IPv6")) {
        errors.push(FieldError::invalid(path, address, format!("must be an {kind} address")));
    }
    endpoint_address::validate(address, &item, errors);
}

fn validate_domain_name(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let complaints = names::dns1123_subdomain(name);
    if !complaints.is_empty() {
        errors.push(FieldError::invalid(path, name, complaints.join(",")));
    } else if !name.contains('.') {
        errors.push(FieldError::invalid(
            path,
            name,
            "should be a domain with at least two segments separated by dots",
        ));
    } else if let Some((label, complaints)) = name
        .split('.')
        .map(|label| (label, names::dns1123_label(label)))
        .find(|(_, found)| !found.is_empty())
    {
        errors.push(FieldError::invalid(path, label, complaints.join(",")));
    }
}

fn validate_hints(hints: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for (field, rule) in [
        ("forZones", names::label_value as fn(&str) -> Vec<String>),
        ("forNodes", names::dns1123_subdomain),
    ] {
        let path = path.child(field);
        let targets = list_at(hints, &[field]);
        if targets.len() > HINTS_MAX {
            errors.push(FieldError::too_many(&path, targets.len(), HINTS_MAX));
            return;
        }
        let mut seen = HashSet::new();
        for (index, target) in targets.iter().enumerate() {
            let path = path.index(index);
            let path = path.child("name");
            let name = str_at(target, &["name"]);
            if !seen.insert(name) {
                errors.push(FieldError::duplicate(&path, name));
            }
            complain(&path, name, rule(name), errors);
        }
    }
}
