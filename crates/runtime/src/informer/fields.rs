//! Field selectors, as far as we must judge them ourselves: would a watch with this selector show this object?

use kubewright_apimachinery::fields;
use serde_json::Value;

use crate::object::Record;

/// Whether an object satisfies a field selector such as `metadata.name=a,status.phase!=Failed`.
///
/// The server knows a few fields that are not paths of the object; what is not found is taken for empty, as there.
pub(super) fn matches(selector: &str, record: &Record) -> bool {
    let Ok(requirements) = fields::parse(selector) else {
        return false;
    };
    let object: Value = serde_json::from_slice(record.json()).unwrap_or_default();
    requirements.iter().all(|requirement| {
        let mut value = &object;
        for part in requirement.field.split('.') {
            value = value.get(part).unwrap_or(&Value::Null);
        }
        match value {
            Value::String(text) => requirement.matches(text),
            Value::Bool(_) | Value::Number(_) => requirement.matches(&value.to_string()),
            _ => requirement.matches(""),
        }
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

    use super::*;
    use crate::object::Kind;

    #[test]
    fn a_field_selector_is_judged_by_the_objects_fields() {
        let json = br#"{"metadata":{"name":"a","namespace":"n"},"spec":{"nodeName":"x","hostNetwork":true}}"#;
        let pod = Record::parse(json, &Kind::of::<Pod>()).unwrap();
        for holds in [
            "",
            "metadata.name=a",
            "spec.nodeName==x,metadata.namespace=n",
            "status.phase!=Failed",
            "spec.hostNetwork=true",
        ] {
            assert!(matches(holds, &pod), "{holds}");
        }
        for fails in [
            "metadata.name=b",
            "metadata.name=a,spec.nodeName=y",
            "status.phase=Running",
            "nonsense",
        ] {
            assert!(!matches(fails, &pod), "{fails}");
        }
    }
}
