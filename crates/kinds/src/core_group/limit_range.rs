//! Limit ranges: defaults that follow from one another, and amounts that must not contradict.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use kubewright_quantity::Quantity;
use serde_json::{Map, Value};

use crate::behaviour::Behaviour;
use crate::rules::access::{complain, list_at, map_at, str_at};
use crate::rules::resource_names::{self, amounts, is_overcommit_allowed};

pub(crate) struct LimitRange;

impl Behaviour for LimitRange {
    fn default(&self, object: &mut Value) {
        let limits = object.pointer_mut("/spec/limits").and_then(Value::as_array_mut);
        for limit in limits.into_iter().flatten() {
            default_limit(limit);
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let path = PathRef::root("spec");
        let path = path.child("limits");
        let mut kinds = BTreeSet::new();
        for (index, limit) in list_at(object, &["spec", "limits"]).iter().enumerate() {
            let path = path.index(index);
            let kind = str_at(limit, &["type"]);
            validate_kind(kind, &path.child("type"), errors);
            if !kinds.insert(kind) {
                errors.push(FieldError::duplicate(&path.child("type"), kind));
            }
            validate_limit(limit, kind, &path, errors);
        }
    }

    fn validate_update(&self, object: &Value, _old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        self.validate_create(object, errors);
    }
}

/// For containers: the default limit is the maximum, the default request is that, or else the minimum.
fn default_limit(limit: &mut Value) {
    if str_at(limit, &["type"]) != "Container" {
        return;
    }
    let Some(fields) = limit.as_object_mut() else { return };
    for (target, source) in [
        ("default", "max"),
        ("defaultRequest", "default"),
        ("defaultRequest", "min"),
    ] {
        let source: Map<String, Value> = fields
            .get(source)
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        if source.is_empty() {
            continue;
        }
        let slot = fields.entry(target).or_insert(Value::Null);
        if slot.is_null() {
            *slot = Value::Object(Map::new());
        }
        if let Some(target) = slot.as_object_mut() {
            for (name, amount) in source {
                target.entry(name).or_insert(amount);
            }
        }
    }
}

fn validate_kind(kind: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let complaints = names::qualified_name(kind);
    if !complaints.is_empty() {
        complain(path, kind, complaints, errors);
    } else if !kind.contains('/') && !matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim") {
        errors.push(FieldError::invalid(
            path,
            kind,
            "must be a standard limit type or fully qualified",
        ));
    }
}

fn validate_limit(limit: &Value, kind: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let read = |field: &'static str, errors: &mut Errors| -> BTreeMap<String, Quantity> {
        let path = path.child(field);
        amounts(map_at(limit, &[field]))
            .map(|(name, amount)| {
                match kind {
                    "Pod" | "Container" => {
                        resource_names::validate_container_name(name, &path.key(name), errors);
                    }
                    _ => {
                        resource_names::validate_name(name, &path.key(name), errors);
                    }
                }
                (name.to_owned(), amount)
            })
            .collect()
    };
    let max = read("max", errors);
    let min = read("min", errors);
    let (mut default, mut default_request) = (BTreeMap::new(), BTreeMap::new());
    if kind == "Pod" {
        for field in ["default", "defaultRequest"] {
            if map_at(limit, &[field]).is_some_and(|map| !map.is_empty()) {
                errors.push(FieldError::forbidden(
                    &path.child(field),
                    "may not be specified when `type` is 'Pod'",
                ));
            }
        }
    } else {
        default = read("default", errors);
        default_request = read("defaultRequest", errors);
    }
    if kind == "PersistentVolumeClaim" && !min.contains_key("storage") && !max.contains_key("storage") {
        let words = "either minimum or maximum storage value is required, but neither was provided";
        errors.push(FieldError::required(&path.child("limits"), words));
    }
    let ratios = read("maxLimitRequestRatio", errors);
    let resources: BTreeSet<&String> = [&max, &min, &default, &default_request, &ratios]
        .into_iter()
        .flat_map(BTreeMap::keys)
        .collect();
    for name in resources {
        let of_name = Amounts {
            name,
            min: min.get(name),
            max: max.get(name),
            default: default.get(name),
            default_request: default_request.get(name),
            ratio: ratios.get(name),
        };
        validate_amounts(&of_name, path, errors);
    }
}

/// What a limit says about one resource.
struct Amounts<'a> {
    name: &'a str,
    min: Option<&'a Quantity>,
    max: Option<&'a Quantity>,
    default: Option<&'a Quantity>,
    default_request: Option<&'a Quantity>,
    ratio: Option<&'a Quantity>,
}

fn validate_amounts(amounts: &Amounts<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let &Amounts {
        name,
        min,
        max,
        default,
        default_request,
        ratio,
    } = amounts;
    let mut at_most =
        |field: &str, shown, low: Option<&Quantity>, low_words: &str, high: Option<&Quantity>, high_words: &str| {
            let (Some(shown), Some(low), Some(high)) = (shown, low, high) else {
                return;
            };
            if low > high {
                let shown: &Quantity = shown;
                let words = format!("{low_words} value {low} is greater than {high_words} value {high}");
                errors.push(FieldError::invalid(
                    &path.child(field).key(name),
                    shown.to_string(),
                    words,
                ));
            }
        };
    at_most("min", min, min, "min", max, "max");
    at_most(
        "defaultRequest",
        default_request,
        min,
        "min",
        default_request,
        "default request",
    );
    at_most(
        "defaultRequest",
        default_request,
        default_request,
        "default request",
        max,
        "max",
    );
    at_most(
        "defaultRequest",
        default_request,
        default_request,
        "default request",
        default,
        "default limit",
    );
    // The value shown is upstream's choice.
    at_most("default", min, min, "min", default, "default");
    at_most("default", max, default, "default", max, "max");
    if let Some(ratio) = ratio {
        validate_ratio(ratio, min, max, &path.child("maxLimitRequestRatio").key(name), errors);
    }
    if let (Some(default), Some(request)) = (default, default_request)
        && !is_overcommit_allowed(name)
        && default != request
    {
        let words = format!("default value {default} must equal to defaultRequest value {request} in {name}");
        errors.push(FieldError::invalid(
            &path.child("defaultRequest").key(name),
            request.to_string(),
            words,
        ));
    }
}

fn validate_ratio(
    ratio: &Quantity,
    min: Option<&Quantity>,
    max: Option<&Quantity>,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    if *ratio < Quantity::from_int(1) {
        errors.push(FieldError::invalid(
            path,
            ratio.to_string(),
            format!("ratio {ratio} is less than 1"),
        ));
    }
    let (Some(min), Some(max)) = (min, max) else { return };
    // Thousandths where all three fit, so that small amounts are not rounded away.
    let fits = [ratio, min, max]
        .into_iter()
        .all(|amount| amount.value() < i64::MAX / 1000);
    let (ratio_value, limit) = if fits {
        (
            ratio.milli_value() as f64 / 1000.0,
            max.milli_value() as f64 / min.milli_value() as f64,
        )
    } else {
        (ratio.value() as f64, max.value() as f64 / min.value() as f64)
    };
    if ratio_value > limit {
        let words = format!("ratio {ratio} is greater than max/min = {limit:.6}");
        errors.push(FieldError::invalid(path, ratio.to_string(), words));
    }
}
