//! Settings that apply to the finished list of objects: the image, the number of replicas, the order.

use serde_json::Value;

use super::BundleError;

/// The image of a project whose settings name none.
const ANY_IMAGE: &str = "controller:latest";

/// Replaces the image `controller` in every Deployment, as kustomize does.
pub(super) fn set_image(objects: &mut [Value], image: &str) -> Result<(), BundleError> {
    let mut found = false;
    for object in objects.iter_mut().filter(|object| object["kind"] == "Deployment") {
        for list in ["containers", "initContainers"] {
            let containers = object.pointer_mut(&format!("/spec/template/spec/{list}"));
            for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
                let name = container["image"].as_str().unwrap_or_default();
                if name == "controller" || name.starts_with("controller:") || name.starts_with("controller@") {
                    container["image"] = image.into();
                    found = true;
                }
            }
        }
    }
    // Without a chosen image, the one in the manager's file stays.
    if found || image == ANY_IMAGE {
        Ok(())
    } else {
        Err(BundleError::NoImage {
            image: image.to_owned(),
        })
    }
}

pub(super) fn set_replicas(objects: &mut [Value], replicas: Option<u32>) {
    let Some(replicas) = replicas else { return };
    for object in objects.iter_mut().filter(|object| object["kind"] == "Deployment") {
        object["spec"]["replicas"] = replicas.into();
    }
}

/// Puts objects in the order in which a cluster takes them: what is referred to comes before what refers to it.
pub(super) fn sort(objects: &mut [Value]) {
    objects.sort_by_key(|object| order(object["kind"].as_str().unwrap_or_default()));
}

fn order(kind: &str) -> usize {
    let kinds = [
        "Namespace",
        "ServiceAccount",
        "Role",
        "ClusterRole",
        "RoleBinding",
        "ClusterRoleBinding",
        "Service",
        "APIService",
        "Issuer",
        "Certificate",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "NetworkPolicy",
        "ServiceMonitor",
        "PrometheusRule",
    ];
    // Kinds that users added to a file go before the manager, too.
    let behind = if kind == "Deployment" {
        kinds.len() + 1
    } else {
        kinds.len()
    };
    kinds.iter().position(|known| *known == kind).unwrap_or(behind)
}
