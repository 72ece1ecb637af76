//! The metrics of an autoscaler. A metric has one source, and the source must be the one its type names.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use kubewright_quantity::Quantity;
use serde_json::Value;

use super::validate::{Reference, api_version_problem, validate_reference};
use crate::rules::access::{at, complain, list_at, opt_int_at, str_at};
use crate::rules::resource_names::validate_container_name;

const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// The sources in the order they are looked at, each with the type that asks for it.
const SOURCES: [(&str, &str); 5] = [
    ("object", "Object"),
    ("external", "External"),
    ("pods", "Pods"),
    ("resource", "Resource"),
    ("containerResource", "ContainerResource"),
];

pub(super) fn validate(object: &Value, old: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    let mut rule = Reference {
        allow_core_group: true,
        allow_any: false,
    };
    rule.allow_any = old.is_some_and(|old| {
        list_at(old, &["spec", "metrics"]).iter().any(|metric| {
            let version = str_at(metric, &["object", "describedObject", "apiVersion"]);
            at(metric, &["object"]).is_some() && api_version_problem(version, rule).is_some()
        })
    });
    let metrics = list_at(object, &["spec", "metrics"]);
    for (index, metric) in metrics.iter().enumerate() {
        validate_metric(metric, rule, &path.index(index), errors);
    }
    let idle = metrics
        .iter()
        .any(|metric| matches!(str_at(metric, &["type"]), "Object" | "External"));
    if opt_int_at(object, &["spec", "minReplicas"]) == Some(0) && !idle {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(FieldError::forbidden(path, detail));
    }
}

fn validate_metric(metric: &Value, rule: Reference, path: &PathRef<'_>, errors: &mut Errors) {
    let kind = str_at(metric, &["type"]);
    let type_path = path.child("type");
    if kind.is_empty() {
        errors.push(FieldError::required(&type_path, "must specify a metric source type"));
    }
    if !TYPES.contains(&kind) {
        errors.push(FieldError::not_supported(&type_path, kind, TYPES));
    }
    let present: Vec<&str> = SOURCES
        .into_iter()
        .map(|(source, _)| source)
        .filter(|source| at(metric, &[source]).is_some())
        .collect();
    if let Some(first) = present.first() {
        validate_source(
            first,
            at(metric, &[first]).unwrap_or(&Value::Null),
            rule,
            &path.child(first),
            errors,
        );
    }
    let expected = SOURCES
        .into_iter()
        .find(|(_, of)| *of == kind)
        .map(|(source, _)| source);
    match expected {
        Some(source) if !present.contains(&source) => {
            let detail = "must populate information for the given metric source";
            errors.push(FieldError::required(&path.child(source), detail));
        }
        Some(_) => {}
        None => errors.push(FieldError::not_supported(&type_path, kind, TYPES)),
    }
    if present.len() != 1 {
        for source in present.into_iter().filter(|source| Some(*source) != expected) {
            errors.push(FieldError::forbidden(
                &path.child(source),
                "must populate the given metric source only",
            ));
        }
    }
}

fn validate_source(kind: &str, source: &Value, rule: Reference, path: &PathRef<'_>, errors: &mut Errors) {
    match kind {
        "object" => {
            validate_reference(
                at(source, &["describedObject"]),
                rule,
                &path.child("describedObject"),
                errors,
            );
            validate_identifier(source, path, errors);
        }
        "external" | "pods" => validate_identifier(source, path, errors),
        _ => validate_resource_name(kind, source, path, errors),
    }
    let target_path = path.child("target");
    validate_target(source, &target_path, errors);
    let set = |field: &str| at(source, &["target", field]).is_some();
    let (value, average, utilization) = (set("value"), set("averageValue"), set("averageUtilization"));
    let average_path = target_path.child("averageValue");
    match kind {
        "object" if !value && !average => {
            errors.push(FieldError::required(
                &average_path,
                "must set either a target value or averageValue",
            ));
        }
        "external" if !value && !average => {
            let detail = "must set either a target value for metric or a per-pod target";
            errors.push(FieldError::required(&average_path, detail));
        }
        "external" if value && average => {
            let detail = "may not set both a target value for metric and a per-pod target";
            errors.push(FieldError::forbidden(&target_path.child("value"), detail));
        }
        "pods" if !average => {
            errors.push(FieldError::required(
                &average_path,
                "must specify a positive target averageValue",
            ));
        }
        "resource" | "containerResource" if !utilization && !average => {
            let detail = "must set either a target raw value or a target utilization";
            errors.push(FieldError::required(&target_path.child("averageUtilization"), detail));
        }
        "resource" | "containerResource" if utilization && average => {
            let detail = "may not set both a target raw value and a target utilization";
            errors.push(FieldError::forbidden(&average_path, detail));
        }
        _ => {}
    }
}

fn validate_identifier(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let metric = path.child("metric");
    let path = metric.child("name");
    let name = str_at(source, &["metric", "name"]);
    if name.is_empty() {
        errors.push(FieldError::required(&path, "must specify a metric name"));
    } else {
        complain(&path, name, names::path_segment_name(name), errors);
    }
}

fn validate_resource_name(kind: &str, source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let name = str_at(source, &["name"]);
    let name_path = path.child("name");
    if name.is_empty() {
        errors.push(FieldError::required(&name_path, "must specify a resource name"));
    } else if kind == "containerResource" {
        validate_container_name(name, &name_path, errors);
    }
    if kind == "containerResource" {
        let container = str_at(source, &["container"]);
        let path = path.child("container");
        if container.is_empty() {
            errors.push(FieldError::required(&path, "must specify a container"));
        } else {
            complain(&path, container, names::dns1123_label(container), errors);
        }
    }
}

fn validate_target(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let kind = str_at(source, &["target", "type"]);
    let type_path = path.child("type");
    if kind.is_empty() {
        errors.push(FieldError::required(&type_path, "must specify a metric target type"));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        errors.push(FieldError::invalid(
            &type_path,
            kind,
            "must be either Utilization, Value, or AverageValue",
        ));
    }
    for field in ["value", "averageValue"] {
        if let Some(value) = at(source, &["target", field]) {
            let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            if Quantity::parse(&text).is_ok_and(|quantity| quantity.sign() != 1) {
                errors.push(FieldError::invalid(&path.child(field), text, "must be positive"));
            }
        }
    }
    if let Some(utilization) = opt_int_at(source, &["target", "averageUtilization"])
        && utilization < 1
    {
        errors.push(FieldError::invalid(
            &path.child("averageUtilization"),
            utilization,
            "must be greater than 0",
        ));
    }
}
