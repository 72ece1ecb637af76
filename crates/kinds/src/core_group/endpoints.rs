//! Endpoints, the predecessor of endpoint slices.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::behaviour::Behaviour;
use crate::networking::endpoint_address;
use crate::rules::access::{at, complain, complain_if_set, int_at, list_at, opt_str_at, same, str_at};
use crate::rules::{net, ports};

pub(crate) struct Endpoints;

impl Behaviour for Endpoints {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_subsets(object, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        // Subsets that do not change are not validated again.
        if !same(at(object, &["subsets"]), at(old, &["subsets"])) {
            validate_subsets(object, errors);
        }
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        if str_at(object, &["metadata", "labels", "endpoints.kubernetes.io/managed-by"]) == "endpoint-controller" {
            return Vec::new();
        }
        let subsets = PathRef::root("subsets");
        let mut warnings = Vec::new();
        for (index, subset) in list_at(object, &["subsets"]).iter().enumerate() {
            let path = subsets.index(index);
            for field in ["addresses", "notReadyAddresses"] {
                let path = path.child(field);
                for (index, address) in list_at(subset, &[field]).iter().enumerate() {
                    warnings.extend(net::ip_warnings(
                        &path.index(index).child("ip"),
                        str_at(address, &["ip"]),
                    ));
                }
            }
        }
        warnings
    }
}

fn validate_subsets(object: &Value, errors: &mut Errors) {
    let subsets = PathRef::root("subsets");
    for (index, subset) in list_at(object, &["subsets"]).iter().enumerate() {
        let path = subsets.index(index);
        let (ready, not_ready) = (list_at(subset, &["addresses"]), list_at(subset, &["notReadyAddresses"]));
        if ready.is_empty() && not_ready.is_empty() {
            errors.push(FieldError::required(
                &path,
                "must specify `addresses` or `notReadyAddresses`",
            ));
        }
        for (field, addresses) in [("addresses", ready), ("notReadyAddresses", not_ready)] {
            let path = path.child(field);
            for (index, address) in addresses.iter().enumerate() {
                validate_address(address, &path.index(index), errors);
            }
        }
        let ports = list_at(subset, &["ports"]);
        let ports_path = path.child("ports");
        for (index, port) in ports.iter().enumerate() {
            validate_port(port, ports.len() > 1, &ports_path.index(index), errors);
        }
    }
}

fn validate_address(address: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let ip = str_at(address, &["ip"]);
    net::validate_ip_of_old_field(&path.child("ip"), ip, &[], errors);
    complain_if_set(address, "hostname", names::dns1123_label, path, errors);
    if let Some(node) = opt_str_at(address, &["nodeName"]) {
        complain(&path.child("nodeName"), node, names::dns1123_subdomain(node), errors);
    }
    endpoint_address::validate(ip, &path.child("ip"), errors);
}

fn validate_port(port: &Value, needs_name: bool, path: &PathRef<'_>, errors: &mut Errors) {
    let name = str_at(port, &["name"]);
    if !name.is_empty() {
        complain(&path.child("name"), name, names::dns1123_label(name), errors);
    } else if needs_name {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    let number = int_at(port, &["port"]);
    complain(&path.child("port"), number, names::port_number(number), errors);
    let protocol = opt_str_at(port, &["protocol"]).filter(|protocol| !protocol.is_empty());
    ports::validate_protocol(protocol, path, errors);
    ports::validate_app_protocol(port, path, errors);
}
