//! Access to devices as an administrator: a claim may ask for it, and be given it, in a namespace that is labelled for it.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::registry::{BuiltInId, Resource};
use crate::server::Server;

const LABEL: &str = "resource.kubernetes.io/admin-access";

/// Refuses a new claim, or template of claims, that asks for such access in another namespace.
pub(super) fn check_requests(server: &Server, resource: &Resource, object: &Value, errors: &mut Errors) {
    let requests = match (&*resource.group, &*resource.plural) {
        ("resource.k8s.io", "resourceclaims") => "/spec/devices/requests",
        ("resource.k8s.io", "resourceclaimtemplates") => "/spec/spec/devices/requests",
        _ => return,
    };
    let asked = first(object.pointer(requests), "/exactly/adminAccess");
    // Upstream names the place in a claim, also for a template.
    check(server, object, asked, &["spec", "devices", "requests"], errors);
}

/// Refuses a status by which a claim is given such access in another namespace.
pub(super) fn check_results(server: &Server, resource: &Resource, object: &Value, old: &Value, errors: &mut Errors) {
    if (&*resource.group, &*resource.plural) != ("resource.k8s.io", "resourceclaims") {
        return;
    }
    let given = |object: &Value| first(object.pointer("/status/allocation/devices/results"), "/adminAccess");
    if given(old).is_none() {
        let place = ["status", "allocation", "devices", "results"];
        check(server, object, given(object), &place, errors);
    }
}

/// The place of the first item that has the access.
fn first(items: Option<&Value>, access: &str) -> Option<usize> {
    items?
        .as_array()?
        .iter()
        .position(|item| item.pointer(access) == Some(&Value::Bool(true)))
}

fn check(server: &Server, object: &Value, item: Option<usize>, place: &[&str], errors: &mut Errors) {
    let Some(item) = item else { return };
    let namespace = object
        .pointer("/metadata/namespace")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let namespaces = BuiltInId::Namespaces.resource();
    let record = server.store.get(namespaces.table, namespace);
    if record.is_some_and(|record| record.label(LABEL) == Some("true")) {
        return;
    }
    let list = place.join(".");
    let list = PathRef::root(&list);
    let words = format!("admin access to devices requires the `{LABEL}: true` label on the containing namespace");
    errors.push(FieldError::forbidden(&list.index(item).child("adminAccess"), words));
}
