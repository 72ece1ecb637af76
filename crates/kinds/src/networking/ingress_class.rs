//! `IngressClasses`: which controller serves an Ingress.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use super::ingress::validate_reference;
use crate::behaviour::Behaviour;
use crate::rules::access::{at, complain, opt_str_at, require_immutable_str, set_default, str_at};

const CONTROLLER_MAX: usize = 250;

/// The rules of `IngressClasses`.
pub(crate) struct IngressClass;

impl Behaviour for IngressClass {
    fn default(&self, object: &mut Value) {
        if at(object, &["spec", "parameters"]).is_some() {
            set_default(object, &["spec", "parameters"], "scope", "Cluster");
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate(object, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        require_immutable_str(object, old, &["spec", "controller"], errors);
        validate(object, errors);
    }
}

fn validate(object: &Value, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let controller = str_at(object, &["spec", "controller"]);
    let path = spec.child("controller");
    if controller.len() > CONTROLLER_MAX {
        errors.push(FieldError::too_long(&path, CONTROLLER_MAX));
    }
    validate_domain_prefixed_path(controller, &path, errors);
    if let Some(parameters) = at(object, &["spec", "parameters"]) {
        validate_parameters(parameters, &spec.child("parameters"), errors);
    }
}

/// A host, a slash and a path, such as `example.com/controller`.
pub(crate) fn validate_domain_prefixed_path(text: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if text.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let Some((host, rest)) = text
        .split_once('/')
        .filter(|(host, rest)| !host.is_empty() && !rest.is_empty())
    else {
        errors.push(FieldError::invalid(
            path,
            text,
            r#"must be a domain-prefixed path (such as "acme.io/foo")"#,
        ));
        return;
    };
    complain(path, host, names::dns1123_subdomain(host), errors);
    if !names::is_http_path(rest) {
        errors.push(FieldError::invalid(
            path,
            rest,
            names::regex_message("Invalid path", names::HTTP_PATH, &[]),
        ));
    }
}

fn validate_parameters(parameters: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    validate_reference(parameters, path, errors);
    let namespace = opt_str_at(parameters, &["namespace"]);
    let namespace_path = path.child("namespace");
    match (opt_str_at(parameters, &["scope"]), namespace) {
        (None, _) => errors.push(FieldError::required(&path.child("scope"), "")),
        (Some("Namespace"), None) => {
            errors.push(FieldError::required(
                &namespace_path,
                "`parameters.scope` is set to 'Namespace'",
            ));
        }
        (Some("Namespace"), Some(name)) => complain(&namespace_path, name, names::dns1123_label(name), errors),
        (Some("Cluster"), Some(_)) => {
            errors.push(FieldError::forbidden(
                &namespace_path,
                "`parameters.scope` is set to 'Cluster'",
            ));
        }
        (Some("Cluster"), None) => {}
        (Some(scope), _) => {
            errors.push(FieldError::not_supported(
                &path.child("scope"),
                scope,
                ["Cluster", "Namespace"],
            ));
        }
    }
}
