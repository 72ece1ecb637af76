//! What the server fills in before anything reads a definition.

use serde_json::{Value, json};

use super::access::{at, list, object_mut, text};

/// Fills in the names that follow from the kind, the conversion, its service's port and the first stored version.
pub fn default(object: &mut Value) {
    let kind = text(object, &["spec", "names", "kind"]).to_owned();
    if let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) {
        if let Some(names) = object_mut(spec, &["names"]) {
            let is_empty = |field: &str| names.get(field).and_then(Value::as_str).is_none_or(str::is_empty);
            let (no_singular, no_list_kind) = (is_empty("singular"), is_empty("listKind"));
            if no_singular && !kind.is_empty() {
                names.insert("singular".to_owned(), kind.to_lowercase().into());
            }
            if no_list_kind && !kind.is_empty() {
                names.insert("listKind".to_owned(), format!("{kind}List").into());
            }
        }
        if at(spec, &["conversion"]).is_none() {
            spec["conversion"] = json!({"strategy": "None"});
        }
        let service = spec.pointer_mut("/conversion/webhook/clientConfig/service");
        if let Some(Value::Object(service)) = service
            && service.get("port").is_none_or(Value::is_null)
        {
            service.insert("port".to_owned(), 443.into());
        }
    }
    if list(object, &["status", "storedVersions"]).is_empty()
        && let Some(version) = storage_version(object)
        && let Some(status) = object_mut(object, &["status"])
    {
        status.insert("storedVersions".to_owned(), json!([version]));
    }
}

/// The name of the first version that is marked as the one objects are stored in.
pub(super) fn storage_version(object: &Value) -> Option<String> {
    list(object, &["spec", "versions"])
        .iter()
        .find(|version| super::access::flag(version, &["storage"]))
        .map(|version| text(version, &["name"]).to_owned())
}
