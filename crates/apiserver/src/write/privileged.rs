//! Privileged containers on a server that does not allow them. Upstream's rules of a kind ask the process whether it does; here that is the
//! server's affair, so that these errors stand behind those of the kind.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_pod_security::template_of;
use serde_json::Value;

use crate::registry::{Resource, Subresource};
use crate::server::Server;

/// The fields in which a Pod has containers, in the order in which upstream checks them.
const LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Refuses privileged containers of a Pod, or of the template of one, where the server does not allow any.
pub(super) fn check(
    server: &Server,
    resource: &Resource,
    subresource: Option<Subresource>,
    object: &Value,
    errors: &mut Errors,
) {
    let is_of_containers = match subresource {
        None => true,
        Some(part) => matches!(part.name(), "ephemeralcontainers" | "resize"),
    };
    if server.privileged_containers || !is_of_containers {
        return;
    }
    let Some(spec) = template_of(&resource.group, &resource.plural, object).and_then(|pod| pod.get("spec")) else {
        return;
    };
    let place = match (&*resource.group, &*resource.plural) {
        ("", "pods") => "spec",
        ("", "podtemplates") => "template.spec",
        ("batch", "cronjobs") => "spec.jobTemplate.spec.template.spec",
        _ => "spec.template.spec",
    };
    let place = PathRef::root(place);
    let mut has_host_process = false;
    for list in LISTS {
        let list_place = place.child(list);
        for (index, container) in spec
            .get(list)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            has_host_process |= is_host_process(container).or(is_host_process(spec)) == Some(true);
            if container.pointer("/securityContext/privileged") == Some(&Value::Bool(true)) {
                let place = list_place.index(index);
                let place = place.child("securityContext");
                errors.push(FieldError::forbidden(
                    &place.child("privileged"),
                    "disallowed by cluster policy",
                ));
            }
        }
    }
    if has_host_process {
        errors.push(FieldError::forbidden(
            &place,
            "hostProcess containers are disallowed by cluster policy",
        ));
    }
}

fn is_host_process(of: &Value) -> Option<bool> {
    of.pointer("/securityContext/windowsOptions/hostProcess")?.as_bool()
}
