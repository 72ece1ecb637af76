//! Probes and lifecycle hooks: exactly one handler each, and numbers that make sense together.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{at, complain, int_at, list_at, opt_int_at, require_non_negative, str_at};

/// Everything wrong with the hooks and probes of a container that runs with its pod.
pub(crate) fn validate_life(spec: &Value, container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let grace_period = opt_int_at(spec, &["terminationGracePeriodSeconds"]);
    if let Some(lifecycle) = at(container, &["lifecycle"]) {
        for hook in ["postStart", "preStop"] {
            if let Some(handler) = at(lifecycle, &[hook]) {
                let kinds = ["exec", "httpGet", "tcpSocket", "sleep"];
                validate_handler(
                    handler,
                    &kinds,
                    grace_period,
                    &path.child("lifecycle").child(hook),
                    errors,
                );
            }
        }
    }
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = at(container, &[field]) else { continue };
        let path = path.child(field);
        validate_probe(probe, grace_period, &path, errors);
        if field == "readinessProbe" {
            if let Some(seconds) = opt_int_at(probe, &["terminationGracePeriodSeconds"]) {
                errors.push(FieldError::invalid(
                    &path.child("terminationGracePeriodSeconds"),
                    seconds,
                    "must not be set for readinessProbes",
                ));
            }
        } else {
            let threshold = int_at(probe, &["successThreshold"]);
            if threshold != 1 {
                errors.push(FieldError::invalid(
                    &path.child("successThreshold"),
                    threshold,
                    "must be 1",
                ));
            }
        }
    }
}

fn validate_probe(probe: &Value, grace_period: Option<i64>, path: &PathRef<'_>, errors: &mut Errors) {
    validate_handler(
        probe,
        &["exec", "httpGet", "tcpSocket", "grpc"],
        grace_period,
        path,
        errors,
    );
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        require_non_negative(int_at(probe, &[field]), &path.child(field), errors);
    }
    if let Some(seconds) = opt_int_at(probe, &["terminationGracePeriodSeconds"]).filter(|seconds| *seconds <= 0) {
        let path = path.child("terminationGracePeriodSeconds");
        errors.push(FieldError::invalid(&path, seconds, "must be greater than 0"));
    }
}

fn validate_handler(
    handler: &Value,
    kinds: &[&str],
    grace_period: Option<i64>,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    let mut found = false;
    for kind in kinds {
        let Some(action) = at(handler, &[kind]) else { continue };
        let path = path.child(kind);
        if found {
            errors.push(FieldError::forbidden(&path, "may not specify more than 1 handler type"));
            continue;
        }
        found = true;
        match *kind {
            "exec" => {
                if list_at(action, &["command"]).is_empty() {
                    errors.push(FieldError::required(&path.child("command"), ""));
                }
            }
            "httpGet" => validate_http_get(action, &path, errors),
            "sleep" => {
                let seconds = int_at(action, &["seconds"]);
                if let Some(limit) = grace_period.filter(|limit| seconds < 0 || seconds > *limit) {
                    let words = format!("must be non-negative and less than terminationGracePeriodSeconds ({limit})");
                    errors.push(FieldError::invalid(&path, seconds, words));
                }
            }
            _ => validate_port(action.get("port"), &path.child("port"), errors),
        }
    }
    if !found {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
}

fn validate_http_get(action: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    if str_at(action, &["path"]).is_empty() {
        errors.push(FieldError::required(&path.child("path"), ""));
    }
    validate_port(action.get("port"), &path.child("port"), errors);
    let scheme = str_at(action, &["scheme"]);
    if !matches!(scheme, "HTTP" | "HTTPS") {
        errors.push(FieldError::not_supported(
            &path.child("scheme"),
            scheme,
            ["HTTP", "HTTPS"],
        ));
    }
    for header in list_at(action, &["httpHeaders"]) {
        let name = str_at(header, &["name"]);
        complain(&path.child("httpHeaders"), name, names::http_header_name(name), errors);
    }
}

fn validate_port(port: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(name) = port.and_then(Value::as_str) {
        complain(path, name, names::port_name(name), errors);
    } else {
        let number = port.and_then(Value::as_i64).unwrap_or_default();
        complain(path, number, names::port_number(number), errors);
    }
}
