//! Templates of Pods: whether two are the same, but for the label with their hash.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::Value;

pub(super) const HASH_LABEL: &str = "pod-template-hash";

/// A template without the label with its hash.
pub(super) fn without_hash(mut template: PodTemplateSpec) -> PodTemplateSpec {
    if let Some(metadata) = &mut template.metadata
        && let Some(labels) = &mut metadata.labels
    {
        labels.remove(HASH_LABEL);
        if labels.is_empty() {
            metadata.labels = None;
        }
    }
    template
}

/// Whether two templates mean the same: what is empty is as good as absent.
pub(super) fn is_same(left: Option<&PodTemplateSpec>, right: &PodTemplateSpec) -> bool {
    let Some(left) = left else {
        return false;
    };
    let (left, right) = (without_hash(left.clone()), without_hash(right.clone()));
    left == right || meaning(&left) == meaning(&right)
}

fn meaning(template: &PodTemplateSpec) -> Value {
    let mut value = serde_json::to_value(template).unwrap_or_default();
    drop_empty(&mut value);
    value
}

/// Takes out members that are null, and lists and maps without content. An empty object may say something (`emptyDir: {}`),
/// but then it says so on both sides: only what stands beside nothing at all is looked at here.
fn drop_empty(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(drop_empty);
            members.retain(|_, member| !member.is_null() && !matches!(member, Value::Array(items) if items.is_empty()));
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template(value: Value) -> PodTemplateSpec {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_hash_label_and_empty_lists_make_no_difference() {
        let own = template(
            json!({ "metadata": { "labels": { "app": "web", HASH_LABEL: "abc" } }, "spec": {
            "containers": [{ "name": "web", "args": [] }],
        } }),
        );
        let wanted = template(json!({ "metadata": { "labels": { "app": "web" } }, "spec": {
            "containers": [{ "name": "web" }],
        } }));
        assert!(is_same(Some(&own), &wanted));
        let other = template(json!({ "metadata": { "labels": { "app": "web" } }, "spec": {
            "containers": [{ "name": "web", "image": "nginx" }],
        } }));
        assert!(!is_same(Some(&own), &other));
        assert!(!is_same(None, &other));
    }
}
