//! Ingresses: hosts, paths and the backends behind them.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::behaviour::Behaviour;
use crate::rules::access::{at, complain, int_at, list_at, opt_str_at, require_name, str_at, strings_at};
use crate::rules::net::{parse_ip_sloppy, validate_ip_of_old_field};
use crate::service::{balancer_warnings, validate_host_name};

const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
const NOT_AN_ADDRESS: &str = "must be a DNS name, not an IP address";

/// The rules of Ingresses.
pub(crate) struct Ingress;

/// Rules that a stored Ingress does not meet and that an update need not meet.
#[derive(Clone, Copy, Default)]
struct Tolerated {
    secret_names: bool,
    wildcard_rules: bool,
}

impl Behaviour for Ingress {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_spec(object, Tolerated::default(), errors);
        let annotation = class_annotation(object);
        if let (Some(annotated), Some(class)) = (annotation, opt_str_at(object, &["spec", "ingressClassName"]))
            && annotated != class
        {
            let annotations = PathRef::root("annotations");
            let detail = "must match `ingressClassName` when both are specified";
            errors.push(FieldError::invalid(
                &annotations.child(CLASS_ANNOTATION),
                annotated,
                detail,
            ));
        }
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            validate_status(object, old, errors);
        } else {
            validate_spec(object, tolerated(old), errors);
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_none() {
            let deprecated = class_annotation(object).is_some() && at(object, &["spec", "ingressClassName"]).is_none();
            return deprecated
                .then(|| {
                    format!(
                        r#"annotation "{CLASS_ANNOTATION}" is deprecated, please use 'spec.ingressClassName' instead"#
                    )
                })
                .into_iter()
                .collect();
        }
        Vec::new()
    }

    fn status_warnings(&self, object: &Value) -> Vec<String> {
        balancer_warnings(object)
    }
}

fn class_annotation(object: &Value) -> Option<&str> {
    opt_str_at(object, &["metadata", "annotations", CLASS_ANNOTATION])
}

fn tolerated(old: &Value) -> Tolerated {
    Tolerated {
        secret_names: list_at(old, &["spec", "tls"])
            .iter()
            .any(|tls| !secret_name(tls).is_empty()),
        wildcard_rules: list_at(old, &["spec", "rules"]).iter().any(|rule| {
            let mut errors = Errors::new();
            validate_rule_value(rule, &PathRef::root("rule"), &mut errors);
            str_at(rule, &["host"]).contains('*') && !errors.is_empty()
        }),
    }
}

fn secret_name(tls: &Value) -> Vec<String> {
    let name = str_at(tls, &["secretName"]);
    if name.is_empty() {
        Vec::new()
    } else {
        names::dns1123_subdomain(name)
    }
}

fn validate_spec(object: &Value, tolerated: Tolerated, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let backend = at(object, &["spec", "defaultBackend"]);
    let rules = list_at(object, &["spec", "rules"]);
    if rules.is_empty() && backend.is_none() {
        let shown = at(object, &["spec", "rules"]).cloned().unwrap_or(Value::Null);
        errors.push(FieldError::invalid(
            &spec,
            shown,
            "either `defaultBackend` or `rules` must be specified",
        ));
    }
    if let Some(backend) = backend {
        validate_backend(backend, &spec.child("defaultBackend"), errors);
    }
    let path = spec.child("rules");
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        let host = str_at(rule, &["host"]);
        let wildcard = host.contains('*');
        if !host.is_empty() {
            let host_path = path.child("host");
            if parse_ip_sloppy(host).is_some() {
                errors.push(FieldError::invalid(&host_path, host, NOT_AN_ADDRESS));
            }
            complain(&host_path, host, host_complaints(host), errors);
        }
        if !(wildcard && tolerated.wildcard_rules) {
            validate_rule_value(rule, &path, errors);
        }
    }
    let path = spec.child("tls");
    for (index, tls) in list_at(object, &["spec", "tls"]).iter().enumerate() {
        let path = path.index(index);
        let hosts = path.child("hosts");
        for (index, host) in strings_at(tls, &["hosts"]).into_iter().enumerate() {
            complain(&hosts.index(index), host, host_complaints(host), errors);
        }
        if !tolerated.secret_names {
            complain(
                &path.child("secretName"),
                str_at(tls, &["secretName"]),
                secret_name(tls),
                errors,
            );
        }
    }
    if let Some(class) = opt_str_at(object, &["spec", "ingressClassName"]) {
        complain(
            &spec.child("ingressClassName"),
            class,
            names::dns1123_subdomain(class),
            errors,
        );
    }
}

fn host_complaints(host: &str) -> Vec<String> {
    if host.contains('*') {
        names::wildcard_dns1123_subdomain(host)
    } else {
        names::dns1123_subdomain(host)
    }
}

fn validate_rule_value(rule: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    if at(rule, &["http"]).is_none() {
        return;
    }
    let http = path.child("http");
    let paths_path = http.child("paths");
    let paths = list_at(rule, &["http", "paths"]);
    if paths.is_empty() {
        errors.push(FieldError::required(&paths_path, ""));
    }
    for (index, item) in paths.iter().enumerate() {
        validate_path(item, &paths_path.index(index), errors);
    }
}

fn validate_path(item: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(kind) = opt_str_at(item, &["pathType"]) else {
        errors.push(FieldError::required(
            &path.child("pathType"),
            "pathType must be specified",
        ));
        return;
    };
    let text = str_at(item, &["path"]);
    let path_path = path.child("path");
    let mut refuse = |detail: String| errors.push(FieldError::invalid(&path_path, text, detail));
    match kind {
        "Exact" | "Prefix" => {
            if !text.starts_with('/') {
                refuse("must be an absolute path".into());
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"]
                .into_iter()
                .filter(|part| text.contains(part))
            {
                refuse(format!("must not contain '{part}'"));
            }
            for end in ["/..", "/."].into_iter().filter(|end| text.ends_with(end)) {
                refuse(format!("cannot end with '{end}'"));
            }
        }
        "ImplementationSpecific" => {
            if !text.is_empty() && !text.starts_with('/') {
                refuse("must be an absolute path".into());
            }
        }
        other => {
            let supported = ["Exact", "ImplementationSpecific", "Prefix"];
            errors.push(FieldError::not_supported(&path.child("pathType"), other, supported));
        }
    }
    let empty = Value::Null;
    validate_backend(at(item, &["backend"]).unwrap_or(&empty), &path.child("backend"), errors);
}

fn validate_backend(backend: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let service = path.child("service");
    match (at(backend, &["resource"]), at(backend, &["service"])) {
        (Some(_), Some(_)) => errors.push(FieldError::invalid(
            path,
            "",
            "cannot set both resource and service backends",
        )),
        (Some(resource), None) => validate_reference(resource, &path.child("resource"), errors),
        (None, Some(_)) => {
            let name = str_at(backend, &["service", "name"]);
            if name.is_empty() {
                errors.push(FieldError::required(&service.child("name"), ""));
            } else {
                complain(&service.child("name"), name, names::dns1123_label(name), errors);
            }
            let port = service.child("port");
            let (name, number) = (
                str_at(backend, &["service", "port", "name"]),
                int_at(backend, &["service", "port", "number"]),
            );
            match (name.is_empty(), number) {
                (true, 0) => errors.push(FieldError::required(path, "port name or number is required")),
                (true, number) => complain(&port.child("number"), number, names::port_number(number), errors),
                (false, 0) => complain(&port.child("name"), name, names::port_name(name), errors),
                (false, _) => errors.push(FieldError::invalid(path, "", "cannot set both port name & port number")),
            }
        }
        (None, None) => errors.push(FieldError::invalid(path, "", "resource or service backend is required")),
    }
}

/// A reference by group, kind and name.
pub(super) fn validate_reference(reference: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(group) = opt_str_at(reference, &["apiGroup"]) {
        complain(&path.child("apiGroup"), group, names::dns1123_subdomain(group), errors);
    }
    for field in ["kind", "name"] {
        require_name(reference, field, names::path_segment_name, path, errors);
    }
}

fn validate_status(object: &Value, old: &Value, errors: &mut Errors) {
    let place = ["status", "loadBalancer", "ingress"];
    let before: Vec<&str> = list_at(old, &place)
        .iter()
        .map(|item| str_at(item, &["ip"]))
        .filter(|ip| !ip.is_empty())
        .collect();
    let status = PathRef::root("status");
    let balancer = status.child("loadBalancer");
    let path = balancer.child("ingress");
    for (index, item) in list_at(object, &place).iter().enumerate() {
        let path = path.index(index);
        let address = str_at(item, &["ip"]);
        if !address.is_empty() {
            validate_ip_of_old_field(&path.child("ip"), address, &before, errors);
        }
        validate_host_name(str_at(item, &["hostname"]), &path.child("hostname"), errors);
    }
}
