//! Groups that belong to the Kubernetes community: a definition there names the approval of its API in an annotation.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::url::Url;
use serde_json::Value;

use crate::crd::access::text;
use crate::crd::conditions::{self, Condition};

const ANNOTATION: &str = "api-approved.kubernetes.io";
const POLICY: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// What the annotation of a definition in a protected group says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Invalid,
    Approved,
    Bypassed,
    Missing,
}

/// The condition of a definition in a protected group; `None` for every other group.
pub(in crate::crd) fn condition(object: &Value) -> Option<Condition> {
    if !is_protected(text(object, &["spec", "group"])) {
        return None;
    }
    let (state, message) = state(object);
    let (status, reason) = match state {
        State::Invalid => ("False", "InvalidAnnotation"),
        State::Missing => ("False", "MissingAnnotation"),
        State::Approved => ("True", "ApprovedAnnotation"),
        State::Bypassed => ("False", "UnapprovedAnnotation"),
    };
    Some(Condition::new(conditions::API_APPROVAL, status, reason, message))
}

/// Refuses a protected group without a good annotation, unless nothing about it changed.
pub(super) fn validate(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    if !is_protected(text(object, &["spec", "group"])) {
        return;
    }
    let (now, reason) = state(object);
    if old.is_some_and(|old| state(old).0 == now) {
        return;
    }
    let path = PathRef::root("metadata");
    let path = path.child("annotations");
    let path = path.key(ANNOTATION);
    match now {
        State::Invalid => errors.push(FieldError::invalid(&path, annotation(object), reason)),
        State::Missing => errors.push(FieldError::required(&path, reason)),
        State::Approved | State::Bypassed => {}
    }
}

fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        group
            .strip_suffix(domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

fn annotation(object: &Value) -> &str {
    text(object, &["metadata", "annotations", ANNOTATION])
}

fn state(object: &Value) -> (State, String) {
    let words = annotation(object);
    let name = quote(ANNOTATION);
    if words.is_empty() {
        let reason = format!("protected groups must have approval annotation {name}, {POLICY}");
        (State::Missing, reason)
    } else if words.starts_with("unapproved") {
        (State::Bypassed, format!("not approved: {}", quote(words)))
    } else if is_url(words) {
        (State::Approved, format!("approved in {words}"))
    } else {
        let reason = format!(
            "protected groups must have approval annotation {name} with either a URL or a reason starting with \
             \"unapproved\", {POLICY}"
        );
        (State::Invalid, reason)
    }
}

/// Whether the text is a URL with a scheme and a host.
fn is_url(text: &str) -> bool {
    Url::parse_request(text).is_ok_and(|url| !url.scheme.is_empty() && !url.host.is_empty())
}
