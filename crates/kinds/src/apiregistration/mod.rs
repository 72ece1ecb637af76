//! `APIServices`: which server answers for a group and version.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::names;
use serde_json::{Value, json};

use crate::behaviour::Behaviour;
use crate::rules::access::{at, bool_at, complain, int_at, list_at, str_at};

/// The rules of `APIServices`.
pub(crate) struct ApiService;

impl Behaviour for ApiService {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_name(object, errors);
        validate_spec(object, errors);
    }

    fn validate_update(&self, object: &Value, _old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            validate_status(object, errors);
        } else {
            self.validate_create(object, errors);
        }
    }
}

/// A local API service is created with the condition `Available`.
pub(crate) fn set_available(object: &mut Value, now: &str) {
    if at(object, &["spec", "service"]).is_some_and(|service| !service.is_null()) {
        return;
    }
    object["status"] = json!({ "conditions": [{
        "type": "Available",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    }] });
}

/// The name must be `<version>.<group>`.
fn validate_name(object: &Value, errors: &mut Errors) {
    let required = format!(
        "{}.{}",
        str_at(object, &["spec", "version"]),
        str_at(object, &["spec", "group"])
    );
    let name = str_at(object, &["metadata", "name"]);
    if !name.is_empty() && names::path_segment_name(name).is_empty() && name != required {
        let detail = format!("must be `spec.version+\".\"+spec.group`: {}", quote(&required));
        errors.push(FieldError::invalid(
            &PathRef::root("metadata").child("name"),
            name,
            detail,
        ));
    }
}

fn validate_spec(object: &Value, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let (group, version) = (str_at(object, &["spec", "group"]), str_at(object, &["spec", "version"]));
    if !group.is_empty() {
        complain(&spec.child("group"), group, names::dns1123_subdomain(group), errors);
    } else if version != "v1" {
        let detail = "only v1 may have an empty group and it better be legacy kube";
        errors.push(FieldError::required(&spec.child("group"), detail));
    }
    complain(&spec.child("version"), version, names::dns1035_label(version), errors);
    for (field, max) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
        let priority = int_at(object, &["spec", field]);
        if !(1..=max).contains(&priority) {
            errors.push(FieldError::invalid(
                &spec.child(field),
                priority,
                format!("must be positive and less than {max}"),
            ));
        }
    }
    if at(object, &["spec", "service"]).is_none() {
        validate_local(object, &spec, errors);
    } else {
        validate_service(object, &spec, errors);
    }
}

/// A local API service must have no fields about TLS.
fn validate_local(object: &Value, spec: &PathRef<'_>, errors: &mut Errors) {
    let bundle = str_at(object, &["spec", "caBundle"]);
    if !bundle.is_empty() {
        let shown = format!("{} bytes", decoded_length(bundle));
        let words = "local APIServices may not have a caBundle";
        errors.push(FieldError::invalid(&spec.child("caBundle"), shown, words));
    }
    if bool_at(object, &["spec", "insecureSkipTLSVerify"]) {
        let words = "local APIServices may not have insecureSkipTLSVerify";
        errors.push(FieldError::invalid(&spec.child("insecureSkipTLSVerify"), true, words));
    }
}

fn validate_service(object: &Value, spec: &PathRef<'_>, errors: &mut Errors) {
    let service = spec.child("service");
    for field in ["namespace", "name"] {
        if str_at(object, &["spec", "service", field]).is_empty() {
            errors.push(FieldError::required(&service.child(field), ""));
        }
    }
    let port = int_at(object, &["spec", "service", "port"]);
    let complaints = names::port_number(port);
    if !complaints.is_empty() {
        let detail = format!("port is not valid: {}", complaints.join(", "));
        errors.push(FieldError::invalid(&service.child("port"), port, detail));
    }
    if bool_at(object, &["spec", "insecureSkipTLSVerify"]) && !str_at(object, &["spec", "caBundle"]).is_empty() {
        let words = "may not be true if caBundle is present";
        errors.push(FieldError::invalid(&spec.child("insecureSkipTLSVerify"), true, words));
    }
}

/// How many bytes a base64 text decodes to.
fn decoded_length(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

fn validate_status(object: &Value, errors: &mut Errors) {
    let status = PathRef::root("status");
    let path = status.child("conditions");
    for (index, condition) in list_at(object, &["status", "conditions"]).iter().enumerate() {
        let value = str_at(condition, &["status"]);
        if !matches!(value, "True" | "False" | "Unknown") {
            let path = path.index(index);
            errors.push(FieldError::not_supported(
                &path.child("status"),
                value,
                ["True", "False", "Unknown"],
            ));
        }
    }
}
