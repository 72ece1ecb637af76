//! `ServiceCIDRs` and `IPAddresses`: the ranges Services get their addresses from, and who holds which address (B2).

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::behaviour::Behaviour;
use crate::rules::access::{IMMUTABLE, at, complain, complain_if_set, same, str_at, strings_at};
use crate::rules::net::{parse_cidr_sloppy, validate_cidr};
use crate::rules::printed;

/// The rules of `ServiceCIDRs`.
pub(crate) struct ServiceCidr;

impl Behaviour for ServiceCidr {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_ranges(object, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            return;
        }
        let (new, old) = (
            strings_at(object, &["spec", "cidrs"]),
            strings_at(old, &["spec", "cidrs"]),
        );
        let spec = PathRef::root("spec");
        let path = spec.child("cidrs");
        if new.len() == old.len() {
            for (index, (new, _)) in new.iter().zip(&old).enumerate().filter(|(_, (new, old))| new != old) {
                errors.push(FieldError::invalid(&path.index(index), *new, IMMUTABLE));
            }
        } else if old.len() == 1 && new.len() == 2 {
            if new[0] != old[0] {
                errors.push(FieldError::invalid(&path.index(0), new[0], IMMUTABLE));
            }
            validate_ranges(object, errors);
        } else {
            let shown = at(object, &["spec", "cidrs"]).cloned().unwrap_or(Value::Null);
            errors.push(FieldError::invalid(&path, shown, IMMUTABLE));
        }
    }
}

fn validate_ranges(object: &Value, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let path = spec.child("cidrs");
    let ranges = strings_at(object, &["spec", "cidrs"]);
    if ranges.is_empty() {
        errors.push(FieldError::required(&path, "at least one CIDR required"));
        return;
    }
    if ranges.len() > 2 {
        let shown = format!(r#"{{"CIDRs":{}}}"#, Value::from(ranges));
        errors.push(printed::invalid(&path, &shown, "may only hold up to 2 values"));
        return;
    }
    for (index, range) in ranges.iter().enumerate() {
        validate_cidr(&path.index(index), range, errors);
    }
    if let [first, second] = ranges[..] {
        let family = |range| parse_cidr_sloppy(range).map(|cidr| cidr.address.is_ipv6());
        if family(first).is_some() && family(first) == family(second) {
            let detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
            errors.push(FieldError::invalid(&path, ranges, detail));
        }
    }
}

/// The rules of `IPAddresses`.
pub(crate) struct IpAddress;

impl Behaviour for IpAddress {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let spec = PathRef::root("spec");
        let path = spec.child("parentRef");
        let Some(parent) = at(object, &["spec", "parentRef"]) else {
            errors.push(FieldError::required(&path, ""));
            return;
        };
        complain_if_set(parent, "group", names::dns1123_subdomain, &path, errors);
        for field in ["resource", "name", "namespace"] {
            let text = str_at(parent, &[field]);
            if !text.is_empty() {
                complain(&path.child(field), text, names::path_segment_name(text), errors);
            } else if field != "namespace" {
                errors.push(FieldError::required(&path.child(field), ""));
            }
        }
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        self.validate_create(object, errors);
        let parent = |object| at(object, &["spec", "parentRef"]);
        if !same(parent(object), parent(old)) {
            let shown = parent(object).map_or_else(
                || "null".to_owned(),
                |parent| {
                    let [group, resource, namespace, name] =
                        ["group", "resource", "namespace", "name"].map(|name| Value::from(str_at(parent, &[name])));
                    format!(r#"{{"Group":{group},"Resource":{resource},"Namespace":{namespace},"Name":{name}}}"#)
                },
            );
            errors.push(printed::invalid(
                &PathRef::root("spec").child("parentRef"),
                &shown,
                IMMUTABLE,
            ));
        }
    }
}
