//! `ResourceClaims`, their templates and `DeviceClasses`: which devices a pod asks for.

use std::collections::{HashMap, HashSet};

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::behaviour::{Behaviour, Update};
use crate::claim_status;
use crate::device_expressions;
use crate::pod::{internal, volume_sources};
use crate::rules::access::{
    IMMUTABLE, at, complain, int_at, list_at, opt_str_at, part, set_default, set_default_str, str_at, strings_at,
};
use crate::rules::{labels, resource_names};

const REQUESTS_MAX: usize = 32;
const CONSTRAINTS_MAX: usize = 32;
const CONFIG_MAX: usize = 32;
const SELECTORS_MAX: usize = 32;
const ALTERNATIVES_MAX: usize = 8;
const EXPRESSION_MAX: usize = 10 * 1024;
const PARAMETERS_MAX: usize = 10 * 1024;
pub(crate) const IDENTIFIER_MAX: usize = 32;
const NOT_A_REQUEST: &str =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

/// The rules of `ResourceClaims`.
pub(crate) struct ResourceClaim;

impl Behaviour for ResourceClaim {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = object.get_mut("spec") {
            default_requests(spec);
        }
    }

    fn prepare_update(&self, mut update: Update<'_>) {
        update.keep_unwritten();
        if update.subresource.is_some() {
            claim_status::drop_deallocated(update.object, update.old);
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let spec = part(object, "spec");
        validate_claim(spec, &PathRef::root("spec"), errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource.is_none() {
            require_same_spec("ResourceClaimSpec", object, old, errors);
        } else {
            let names = request_names(part(object, "spec"));
            claim_status::validate(object, old, &names, errors);
        }
    }
}

/// The rules of `ResourceClaimTemplates`.
pub(crate) struct ResourceClaimTemplate;

impl Behaviour for ResourceClaimTemplate {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = object.get_mut("spec").and_then(|spec| spec.get_mut("spec")) {
            default_requests(spec);
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let path = PathRef::root("spec");
        let template = part(object, "spec");
        volume_sources::validate_template_metadata(template, &path.child("metadata"), errors);
        let spec = part(template, "spec");
        validate_claim(spec, &path.child("spec"), errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        self.validate_create(object, errors);
        require_same_spec("ResourceClaimTemplateSpec", object, old, errors);
    }
}

/// The rules of `DeviceClasses`.
pub(crate) struct DeviceClass;

impl Behaviour for DeviceClass {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let path = PathRef::root("spec");
        let spec = part(object, "spec");
        validate_selectors(spec, &path.child("selectors"), errors);
        let configs = list_at(spec, &["config"]);
        let config_path = path.child("config");
        if fits(configs.len(), CONFIG_MAX, &config_path, errors) {
            for (index, config) in configs.iter().enumerate() {
                validate_config(config, &config_path.index(index), errors);
            }
        }
        if let Some(name) =
            opt_str_at(spec, &["extendedResourceName"]).filter(|name| !resource_names::is_extended(name))
        {
            let words = "must be a valid extended resource name";
            errors.push(FieldError::invalid(&path.child("extendedResourceName"), name, words));
        }
    }

    fn validate_update(&self, object: &Value, _old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        self.validate_create(object, errors);
    }
}

/// A request without a count is for one device.
fn default_requests(spec: &mut Value) {
    fn default_count(request: &mut Value) {
        set_default_str(request, &[], "allocationMode", "ExactCount");
        if str_at(request, &["allocationMode"]) == "ExactCount" && int_at(request, &["count"]) == 0 {
            if let Some(request) = request.as_object_mut() {
                request.remove("count");
            }
            set_default(request, &[], "count", 1);
        }
    }
    let requests = spec.pointer_mut("/devices/requests").and_then(Value::as_array_mut);
    for request in requests.into_iter().flatten() {
        if let Some(exactly) = request.get_mut("exactly").filter(|exactly| exactly.is_object()) {
            default_count(exactly);
        }
        let alternatives = request.get_mut("firstAvailable").and_then(Value::as_array_mut);
        alternatives.into_iter().flatten().for_each(default_count);
    }
}

fn require_same_spec(name: &str, object: &Value, old: &Value, errors: &mut Errors) {
    let (new, old) = (part(object, "spec"), part(old, "spec"));
    if !internal::same(name, new, old) {
        let shown = internal::print(name, new);
        errors.push(internal::invalid(&PathRef::root("spec"), &shown, IMMUTABLE));
    }
}

/// Whether a list is not too long; only then its items are validated.
pub(crate) fn fits(length: usize, max: usize, path: &PathRef<'_>, errors: &mut Errors) -> bool {
    if length > max {
        errors.push(FieldError::too_many(path, length, max));
    }
    length <= max
}

pub(crate) fn refuse_duplicates<'a>(keys: impl Iterator<Item = &'a str>, path: &PathRef<'_>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (index, key) in keys.enumerate() {
        if !seen.insert(key) {
            errors.push(FieldError::duplicate(&path.index(index), key));
        }
    }
}

/// The names of a claim's requests, each with those of its alternatives.
pub(crate) type RequestNames<'a> = HashMap<&'a str, HashSet<&'a str>>;

/// The names of the requests in the spec of a claim.
fn request_names(spec: &Value) -> RequestNames<'_> {
    let named = list_at(spec, &["devices", "requests"]).iter().map(|request| {
        let alternatives = list_at(request, &["firstAvailable"]).iter();
        (
            str_at(request, &["name"]),
            alternatives.map(|alternative| str_at(alternative, &["name"])).collect(),
        )
    });
    named.collect()
}

fn validate_claim(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child("devices");
    let requests = list_at(spec, &["devices", "requests"]);
    let names = request_names(spec);
    let requests_path = path.child("requests");
    if fits(requests.len(), REQUESTS_MAX, &requests_path, errors) {
        for (index, request) in requests.iter().enumerate() {
            validate_request(request, &requests_path.index(index), errors);
        }
        let keys = requests.iter().map(|request| str_at(request, &["name"]));
        refuse_duplicates(keys, &requests_path, errors);
    }
    let constraints = list_at(spec, &["devices", "constraints"]);
    let constraints_path = path.child("constraints");
    if fits(constraints.len(), CONSTRAINTS_MAX, &constraints_path, errors) {
        for (index, constraint) in constraints.iter().enumerate() {
            validate_constraint(constraint, &names, &constraints_path.index(index), errors);
        }
    }
    let configs = list_at(spec, &["devices", "config"]);
    let config_path = path.child("config");
    if fits(configs.len(), CONFIG_MAX, &config_path, errors) {
        for (index, config) in configs.iter().enumerate() {
            let path = config_path.index(index);
            validate_references(config, &names, &path.child("requests"), errors);
            validate_config(config, &path, errors);
        }
    }
}

fn validate_request_name(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    complain(path, name, names::dns1123_label(name), errors);
}

fn validate_request(request: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    validate_request_name(str_at(request, &["name"]), &path.child("name"), errors);
    let alternatives = list_at(request, &["firstAvailable"]);
    match (at(request, &["exactly"]), alternatives.is_empty()) {
        (None, true) => {
            let words = "exactly one of `exactly` or `firstAvailable` is required";
            errors.push(FieldError::required(path, words));
        }
        (Some(_), false) => {
            let words = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set";
            errors.push(FieldError::invalid(path, Value::Null, words));
        }
        (Some(exactly), true) => validate_wish(exactly, &path.child("exactly"), errors),
        (None, false) => {
            let path = path.child("firstAvailable");
            if fits(alternatives.len(), ALTERNATIVES_MAX, &path, errors) {
                for (index, alternative) in alternatives.iter().enumerate() {
                    let path = path.index(index);
                    validate_request_name(str_at(alternative, &["name"]), &path.child("name"), errors);
                    validate_wish(alternative, &path, errors);
                }
                let keys = alternatives.iter().map(|alternative| str_at(alternative, &["name"]));
                refuse_duplicates(keys, &path, errors);
            }
        }
    }
}

/// What one request, or one alternative of it, asks for.
fn validate_wish(wish: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let class = str_at(wish, &["deviceClassName"]);
    let class_path = path.child("deviceClassName");
    if class.is_empty() {
        errors.push(FieldError::required(&class_path, ""));
    } else {
        complain(&class_path, class, names::dns1123_subdomain(class), errors);
    }
    validate_selectors(wish, &path.child("selectors"), errors);
    let count = int_at(wish, &["count"]);
    match str_at(wish, &["allocationMode"]) {
        "All" if count != 0 => {
            let words = "must not be specified when allocationMode is 'All'";
            errors.push(FieldError::invalid(&path.child("count"), count, words));
        }
        "ExactCount" if count <= 0 => {
            errors.push(FieldError::invalid(
                &path.child("count"),
                count,
                "must be greater than zero",
            ));
        }
        "All" | "ExactCount" => {}
        other => errors.push(FieldError::not_supported(
            &path.child("allocationMode"),
            other,
            ["All", "ExactCount"],
        )),
    }
    let tolerations = path.child("tolerations");
    for (index, toleration) in list_at(wish, &["tolerations"]).iter().enumerate() {
        validate_toleration(toleration, &tolerations.index(index), errors);
    }
}

fn validate_selectors(holder: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let selectors = list_at(holder, &["selectors"]);
    if !fits(selectors.len(), SELECTORS_MAX, path, errors) {
        return;
    }
    for (index, selector) in selectors.iter().enumerate() {
        let path = path.index(index);
        let path = path.child("cel");
        if at(selector, &["cel"]).is_none() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        let expression = str_at(selector, &["cel", "expression"]);
        if expression.len() > EXPRESSION_MAX {
            errors.push(FieldError::too_long(&path.child("expression"), EXPRESSION_MAX));
        } else if let Err(why) = device_expressions::check(expression) {
            errors.push(FieldError::invalid(&path.child("expression"), expression, why));
        }
    }
}

fn validate_toleration(toleration: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let (key, value) = (str_at(toleration, &["key"]), str_at(toleration, &["value"]));
    if !key.is_empty() {
        labels::validate_label_name(key, &path.child("key"), errors);
    }
    match str_at(toleration, &["operator"]) {
        "Exists" if !value.is_empty() => {
            errors.push(FieldError::invalid(
                &path.child("value"),
                value,
                "must be empty for operator `Exists`",
            ));
        }
        "Exists" => {}
        "Equal" => complain(&path.child("value"), value, names::label_value(value), errors),
        "" => errors.push(FieldError::required(&path.child("operator"), "")),
        other => errors.push(FieldError::not_supported(
            &path.child("operator"),
            other,
            ["Equal", "Exists"],
        )),
    }
    let effect = str_at(toleration, &["effect"]);
    if !matches!(effect, "" | "NoExecute" | "NoSchedule" | "None") {
        errors.push(FieldError::not_supported(
            &path.child("effect"),
            effect,
            ["NoExecute", "NoSchedule", "None"],
        ));
    }
}

fn validate_constraint(constraint: &Value, names: &RequestNames<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    validate_references(constraint, names, &path.child("requests"), errors);
    let matched = opt_str_at(constraint, &["matchAttribute"]);
    let distinct = opt_str_at(constraint, &["distinctAttribute"]);
    match (matched, distinct) {
        (Some(name), _) => validate_attribute(name, &path.child("matchAttribute"), errors),
        (None, Some(name)) => validate_attribute(name, &path.child("distinctAttribute"), errors),
        (None, None) => {
            let words = "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields \
                         are set";
            errors.push(FieldError::required(path, words));
        }
    }
}

pub(crate) fn validate_references(holder: &Value, known: &RequestNames<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let references = strings_at(holder, &["requests"]);
    if !fits(references.len(), REQUESTS_MAX, path, errors) {
        return;
    }
    for (index, reference) in references.iter().enumerate() {
        validate_reference(reference, known, &path.index(index), errors);
    }
    refuse_duplicates(references.iter().copied(), path, errors);
}

/// The name of a request, or of one of its alternatives.
pub(crate) fn validate_reference(reference: &str, known: &RequestNames<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let parts: Vec<&str> = reference.split('/').collect();
    if parts.len() <= 2 {
        for part in &parts {
            validate_request_name(part, path, errors);
        }
    }
    let is_known = match parts.as_slice() {
        [name] => known.contains_key(name),
        [name, alternative] => known.get(name).is_some_and(|names| names.contains(alternative)),
        _ => false,
    };
    if !is_known {
        errors.push(FieldError::invalid(path, reference, NOT_A_REQUEST));
    }
}

/// `domain/name`, where the name is a C identifier.
fn validate_attribute(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    validate_qualified_name(name, path, errors);
    if !name.contains('/') {
        let words = "a fully qualified name must be a domain and a name separated by a slash";
        errors.push(FieldError::invalid(path, name, words));
    }
}

/// `domain/name` or `name`, where the name is a C identifier.
pub(crate) fn validate_qualified_name(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let identifier = |text: &str, errors: &mut Errors| {
        if text.len() > IDENTIFIER_MAX {
            errors.push(FieldError::too_long(path, IDENTIFIER_MAX));
        }
        complain(path, text, names::c_identifier(text), errors);
    };
    match name.split('/').collect::<Vec<_>>().as_slice() {
        [only] => identifier(only, errors),
        [domain, rest] => {
            if domain.is_empty() {
                errors.push(FieldError::invalid(path, "", "the domain must not be empty"));
            } else {
                validate_driver(domain, path, errors);
            }
            if rest.is_empty() {
                errors.push(FieldError::invalid(path, "", "the name must not be empty"));
            } else {
                identifier(rest, errors);
            }
        }
        // Upstream takes them as they are.
        _ => {}
    }
}

pub(crate) fn validate_driver(driver: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if driver.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    if driver.len() > names::LABEL_MAX {
        errors.push(FieldError::too_long(path, names::LABEL_MAX));
    }
    complain(path, driver, names::dns1123_subdomain(&driver.to_lowercase()), errors);
}

pub(crate) fn validate_config(config: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child("opaque");
    let Some(opaque) = at(config, &["opaque"]) else {
        errors.push(FieldError::required(&path, ""));
        return;
    };
    validate_driver(str_at(opaque, &["driver"]), &path.child("driver"), errors);
    let path = path.child("parameters");
    match at(opaque, &["parameters"]) {
        None => errors.push(FieldError::required(&path, "")),
        Some(parameters) if parameters.to_string().len() > PARAMETERS_MAX => {
            errors.push(FieldError::too_long(&path, PARAMETERS_MAX));
        }
        Some(Value::Object(_)) => {}
        Some(_) => errors.push(FieldError::invalid(
            &path,
            "<value omitted>",
            "must be a valid JSON object",
        )),
    }
}
