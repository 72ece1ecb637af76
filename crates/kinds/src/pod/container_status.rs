//! What the status of a Pod says of the resources, users and volumes of its containers.

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{at, complain, int_at, list_at, map_at, opt_str_at, str_at};

/// The lists of statuses of containers.
pub(crate) const LISTS: [&str; 3] = [
    "containerStatuses",
    "initContainerStatuses",
    "ephemeralContainerStatuses",
];

const HEALTH: [&str; 3] = ["Healthy", "Unhealthy", "Unknown"];
const LONGEST_HEALTH_MESSAGE: usize = 1024;

/// What is wrong with the claim that was made for the extended resources of a Pod.
pub(crate) fn validate_extended_claim(pod: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(status) = at(pod, &["status", "extendedResourceClaimStatus"]) else {
        return;
    };
    let mappings = list_at(status, &["requestMappings"]);
    let list = path.child("requestMappings");
    if mappings.is_empty() {
        errors.push(FieldError::required(&list, "at least one request mapping is required"));
    }
    let mut seen = HashSet::new();
    for (index, mapping) in mappings.iter().enumerate() {
        let item = list.index(index);
        let [container, resource, request] =
            ["containerName", "resourceName", "requestName"].map(|field| str_at(mapping, &[field]));
        match named_container(pod, container) {
            None => {
                let words = "must match the name of an entry in spec.initContainers.name or spec.containers.name";
                errors.push(FieldError::invalid(&item.child("containerName"), container, words));
            }
            Some(found) if !requests(found, resource) => {
                let words = "must match the extended resource name of an entry in spec.initContainers.resources.requests or \
                             spec.containers.resources.requests";
                errors.push(FieldError::invalid(&item.child("resourceName"), resource, words));
            }
            Some(_) => {}
        }
        // Upstream names the field as if it stood beside the list.
        complain(
            &path.child("requestName"),
            request,
            names::dns1123_label(request),
            errors,
        );
        if !seen.insert((container, resource, request)) {
            errors.push(FieldError::duplicate(&item.child("containerName"), container));
            errors.push(FieldError::duplicate(&item.child("resourceName"), resource));
            errors.push(FieldError::duplicate(&item.child("requestName"), request));
        }
    }
    let claim = str_at(status, &["resourceClaimName"]);
    let path = path.child("resourceClaimName");
    if claim.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else {
        complain(&path, claim, names::dns1123_subdomain(claim), errors);
    }
}

/// The container of this name; one that is no init container, if both have it.
fn named_container<'a>(pod: &'a Value, name: &str) -> Option<&'a Value> {
    ["containers", "initContainers"]
        .iter()
        .flat_map(|list| list_at(pod, &["spec", list]).iter().rev())
        .find(|container| str_at(container, &["name"]) == name)
}

fn requests(container: &Value, resource: &str) -> bool {
    map_at(container, &["resources", "requests"]).is_some_and(|requests| requests.contains_key(resource))
}

/// What is wrong with the users that containers run as.
pub(crate) fn validate_users(pod: &Value, list: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let system = opt_str_at(pod, &["spec", "os", "name"]).unwrap_or("linux");
    for (index, status) in list_at(pod, &["status", list]).iter().enumerate() {
        let Some(user) = at(status, &["user", "linux"]) else {
            continue;
        };
        let path = path.index(index);
        let path = path.child("user");
        let path = path.child("linux");
        match system {
            "windows" => errors.push(FieldError::forbidden(&path, "cannot be set for a windows pod")),
            "linux" => validate_user(user, &path, errors),
            _ => {}
        }
    }
}

fn validate_user(user: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let validate = |id: i64, path: &PathRef<'_>, errors: &mut Errors| {
        complain(path, id, names::in_range(id, 0, i64::from(i32::MAX)), errors);
    };
    validate(int_at(user, &["uid"]), &path.child("uid"), errors);
    validate(int_at(user, &["gid"]), &path.child("gid"), errors);
    let groups = path.child("supplementalGroups");
    for (index, group) in list_at(user, &["supplementalGroups"]).iter().enumerate() {
        validate(group.as_i64().unwrap_or_default(), &groups.index(index), errors);
    }
}

/// What is wrong with what containers say of the resources that were allocated to them. `containers` is the list of the spec that they are in.
pub(crate) fn validate_allocated(pod: &Value, list: &str, containers: &str, path: &PathRef<'_>, errors: &mut Errors) {
    for (index, status) in list_at(pod, &["status", list]).iter().enumerate() {
        let path = path.index(index);
        let path = path.child("allocatedResourcesStatus");
        let name = str_at(status, &["name"]);
        let container = list_at(pod, &["spec", containers])
            .iter()
            .find(|container| str_at(container, &["name"]) == name);
        for (index, resource) in list_at(status, &["allocatedResourcesStatus"]).iter().enumerate() {
            let path = path.index(index);
            if let Some(container) = container {
                validate_requested(container, str_at(resource, &["name"]), &path.child("name"), errors);
            }
            validate_health(resource, &path.child("resources"), errors);
        }
    }
}

fn validate_requested(container: &Value, name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let (found, words) = if name.starts_with("claim:") {
        let claimed = list_at(container, &["resources", "claims"]).iter().any(|claim| {
            let shown = match str_at(claim, &["request"]) {
                "" => format!("claim:{}", str_at(claim, &["name"])),
                request => format!("claim:{}/{request}", str_at(claim, &["name"])),
            };
            shown == name
        });
        let words = "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or \
                     'claim:<claimName>' if request is empty";
        (claimed, words)
    } else {
        let words = "must match one of the container's resource requests";
        (requests(container, name), words)
    };
    if !found {
        errors.push(FieldError::invalid(path, name, words));
    }
}

fn validate_health(resource: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (index, device) in list_at(resource, &["resources"]).iter().enumerate() {
        let path = path.index(index);
        let health = str_at(device, &["health"]);
        if !HEALTH.contains(&health) {
            errors.push(FieldError::not_supported(&path.child("health"), health, HEALTH));
        }
        if let Some(message) = opt_str_at(device, &["message"]) {
            let path = path.child("message");
            if message.is_empty() {
                errors.push(FieldError::required(&path, "must be non-empty if specified"));
            } else if message.len() > LONGEST_HEALTH_MESSAGE {
                errors.push(FieldError::too_long(&path, LONGEST_HEALTH_MESSAGE));
            }
        }
        let id = str_at(device, &["resourceID"]);
        if !seen.insert(id) {
            errors.push(FieldError::duplicate(&path.child("resourceID"), id));
        }
    }
}

/// Nothing is allocated to an ephemeral container.
pub(crate) fn forbid_allocated(pod: &Value, list: &str, path: &PathRef<'_>, errors: &mut Errors) {
    for (index, status) in list_at(pod, &["status", list]).iter().enumerate() {
        if !list_at(status, &["allocatedResourcesStatus"]).is_empty() {
            errors.push(FieldError::forbidden(
                &path.index(index).child("allocatedResourcesStatus"),
                "must not be specified in container status",
            ));
        }
    }
}
