//! What a Pod may tell its processes of itself: the downward API.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, ObjectFieldSelector, Pod, ResourceFieldSelector};
use kubewright_apimachinery::go::quote;
use kubewright_quantity::Quantity;

/// Where processes are found by themselves, whatever address their Pod has.
const HERE: &str = "127.0.0.1";

/// The value of a field; the error says what is wrong with its path.
pub(super) fn field(pod: &Pod, selector: &ObjectFieldSelector) -> Result<String, String> {
    let meta = &pod.metadata;
    let spec = pod.spec.as_ref();
    let text = |text: Option<&str>| Ok(text.unwrap_or_default().to_owned());
    if let Some((list, key)) = subscript(&selector.field_path) {
        let map = match list {
            "metadata.labels" => &meta.labels,
            "metadata.annotations" => &meta.annotations,
            _ => return Err(format!("fieldPath {:?} is not known", selector.field_path)),
        };
        return text(map.as_ref().and_then(|map| map.get(key)).map(String::as_str));
    }
    match selector.field_path.as_str() {
        "metadata.name" => text(meta.name.as_deref()),
        "metadata.namespace" => text(meta.namespace.as_deref()),
        "metadata.uid" => text(meta.uid.as_deref()),
        "metadata.labels" => Ok(lines(meta.labels.as_ref())),
        "metadata.annotations" => Ok(lines(meta.annotations.as_ref())),
        "spec.nodeName" => text(spec.and_then(|spec| spec.node_name.as_deref())),
        "spec.serviceAccountName" => text(spec.and_then(|spec| spec.service_account_name.as_deref())),
        // What a process can listen on and be reached at.
        "status.hostIP" | "status.hostIPs" | "status.podIP" | "status.podIPs" => text(Some(HERE)),
        path => Err(format!("fieldPath {path:?} is not known")),
    }
}

fn subscript(path: &str) -> Option<(&str, &str)> {
    let (list, rest) = path.split_once("['")?;
    Some((list, rest.strip_suffix("']")?))
}

fn lines(map: Option<&BTreeMap<String, String>>) -> String {
    let lines = map
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", quote(value)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The value of a container's resource, in the units of the divisor, rounded up.
pub(super) fn resource(
    pod: &Pod,
    own: Option<&Container>,
    allocatable: &BTreeMap<String, String>,
    selector: &ResourceFieldSelector,
) -> Result<String, String> {
    let named = selector.container_name.as_deref().filter(|name| !name.is_empty());
    let spec = pod.spec.iter();
    let mut all = spec.flat_map(|spec| spec.containers.iter().chain(spec.init_containers.iter().flatten()));
    let container = match named {
        Some(name) => all
            .find(|container| container.name == name)
            .ok_or_else(|| format!("container {name} not found"))?,
        None => own.ok_or("containerName is required")?,
    };
    let (list, name) = selector
        .resource
        .split_once('.')
        .ok_or_else(|| format!("resource {:?} is not known", selector.resource))?;
    let resources = container.resources.clone().unwrap_or_default();
    let amounts = match list {
        "limits" => resources.limits,
        "requests" => resources.requests,
        _ => return Err(format!("resource {:?} is not known", selector.resource)),
    };
    let amount = amounts.and_then(|amounts| amounts.get(name).map(|amount| amount.0.clone()));
    // Without a limit of its own it may have what the node has.
    let amount = amount.or_else(|| (list == "limits").then(|| allocatable.get(name).cloned()).flatten());
    let divisor = selector.divisor.as_ref().map(|divisor| divisor.0.as_str());
    let divisor = divisor.filter(|divisor| !matches!(*divisor, "" | "0")).unwrap_or("1");
    divided(amount.as_deref().unwrap_or("0"), divisor)
        .ok_or_else(|| format!("resource {:?} cannot be divided by {divisor}", selector.resource))
}

fn divided(amount: &str, divisor: &str) -> Option<String> {
    let milli = |text: &str| text.parse::<Quantity>().ok().map(|quantity| quantity.milli_value());
    let (amount, divisor) = (milli(amount)?, milli(divisor)?);
    (divisor > 0).then(|| {
        (i128::from(amount).max(0) as u128)
            .div_ceil(u128::from(divisor.unsigned_abs()))
            .to_string()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "web", "namespace": "shop", "uid": "1", "labels": { "a": "1", "b": "x\"y" } },
            "spec": {
                "nodeName": "node-1", "serviceAccountName": "robot",
                "containers": [{ "name": "c", "resources": { "limits": { "cpu": "1500m" }, "requests": { "memory": "64Mi" } } }],
            },
        }))
        .unwrap()
    }

    fn of(path: &str) -> Result<String, String> {
        let selector = ObjectFieldSelector {
            field_path: path.to_owned(),
            ..ObjectFieldSelector::default()
        };
        field(&pod(), &selector)
    }

    #[test]
    fn a_pod_tells_its_processes_of_itself() {
        assert_eq!(of("metadata.name").unwrap(), "web");
        assert_eq!(of("metadata.labels['a']").unwrap(), "1");
        assert_eq!(of("metadata.labels['none']").unwrap(), "");
        assert_eq!(of("metadata.labels").unwrap(), "a=\"1\"\nb=\"x\\\"y\"");
        assert_eq!(of("spec.serviceAccountName").unwrap(), "robot");
        assert_eq!(of("status.podIP").unwrap(), "127.0.0.1");
        assert!(of("spec.volumes").is_err() && of("spec['a']").is_err());
    }

    #[test]
    fn resources_are_divided_and_rounded_up() {
        let of = |resource: &str, divisor: &str| {
            let selector = serde_json::from_value(json!({ "resource": resource, "divisor": divisor })).unwrap();
            let allocatable = [("memory".to_owned(), "1Gi".to_owned())].into();
            let pod = pod();
            let own = pod.spec.as_ref().map(|spec| &spec.containers[0]);
            super::resource(&pod, own, &allocatable, &selector)
        };
        assert_eq!(of("limits.cpu", "1").unwrap(), "2");
        assert_eq!(of("limits.cpu", "1m").unwrap(), "1500");
        assert_eq!(of("requests.memory", "1Mi").unwrap(), "64");
        assert_eq!(of("limits.memory", "1Mi").unwrap(), "1024");
        assert_eq!(of("requests.cpu", "0").unwrap(), "0");
        assert!(of("cpu", "1").is_err() && of("claims.x", "1").is_err());
    }
}
