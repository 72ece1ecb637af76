//! What of an object is a Pod.

use serde_json::Value;

/// The containers of a Pod of all three kinds, in the order in which checks name them.
pub(crate) fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    ["initContainers", "containers", "ephemeralContainers"]
        .into_iter()
        .flat_map(|field| list(pod.get("spec").and_then(|spec| spec.get(field))))
}

/// The part of a workload, by its group and plural name, that is a Pod with `metadata` and `spec`.
pub fn template_of<'o>(group: &str, plural: &str, object: &'o Value) -> Option<&'o Value> {
    match (group, plural) {
        ("", "pods") => Some(object),
        ("", "podtemplates") => object.get("template"),
        ("", "replicationcontrollers")
        | ("apps", "replicasets" | "deployments" | "statefulsets" | "daemonsets")
        | ("batch", "jobs") => object.pointer("/spec/template"),
        ("batch", "cronjobs") => object.pointer("/spec/jobTemplate/spec/template"),
        _ => None,
    }
    .filter(|template| template.is_object())
}

/// Whether an update of a Pod adds containers or changes images: only that is checked again.
pub fn changes_images(pod: &Value, old: &Value) -> bool {
    let of = |pod: &Value, field: &str| -> Vec<(String, String)> {
        let containers = list(pod.get("spec").and_then(|spec| spec.get(field))).iter();
        let pair = |container: &Value| (text(container, "name").to_owned(), text(container, "image").to_owned());
        containers.map(pair).collect()
    };
    for field in ["containers", "initContainers"] {
        let (new, old) = (of(pod, field), of(old, field));
        if new.len() != old.len() || new.iter().zip(&old).any(|((_, image), (_, old))| image != old) {
            return true;
        }
    }
    let known = of(old, "ephemeralContainers");
    of(pod, "ephemeralContainers")
        .iter()
        .any(|container| !known.contains(container))
}

pub(crate) fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
