//! Secrets: `stringData`, what the well-known types must hold, a size limit, and immutability.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use super::config_map::{SIZE_LIMIT, decoded_length, validate_immutable};
use super::pem;
use crate::behaviour::{Behaviour, Update};
use crate::rules::access::{complain, entries_at, keep, map_at, map_mut, require_immutable_str, str_at};
use crate::rules::go_json;

pub(crate) struct Secret;

impl Behaviour for Secret {
    fn default(&self, object: &mut Value) {
        merge_string_data(object);
    }

    fn prepare_update(&self, update: Update<'_>) {
        if str_at(update.object, &["type"]).is_empty() {
            keep(update.object, update.old, &["type"]);
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let path = PathRef::root("data");
        let mut size = 0;
        for (key, value) in entries_at(object, &["data"]) {
            complain(&path.key(key), key, names::config_map_key(key), errors);
            size += decoded_length(value);
        }
        if size > SIZE_LIMIT {
            errors.push(FieldError::too_long(&path, SIZE_LIMIT));
        }
        validate_type(object, &path, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        require_immutable_str(object, old, &["type"], errors);
        validate_immutable(object, old, &["data"], errors);
        self.validate_create(object, errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        if str_at(object, &["type"]) != "kubernetes.io/tls" {
            return Vec::new();
        }
        let bytes = |key| entry(object, key).unwrap_or_default();
        pem::key_pair_problem(&bytes("tls.crt"), &bytes("tls.key"))
            .into_iter()
            .collect()
    }
}

/// `stringData` is a way of writing `data` and is never read back.
fn merge_string_data(object: &mut Value) {
    let Some(Value::Object(strings)) = object.as_object_mut().and_then(|fields| fields.remove("stringData")) else {
        return;
    };
    if strings.is_empty() {
        return;
    }
    if let Some(data) = map_mut(object, &["data"]) {
        for (key, value) in strings {
            let text = value.as_str().unwrap_or_default();
            data.insert(key, STANDARD.encode(text).into());
        }
    }
}

/// The bytes under a key of `data`.
fn entry(object: &Value, key: &str) -> Option<Vec<u8>> {
    let encoded = map_at(object, &["data"])?.get(key)?;
    Some(
        STANDARD
            .decode(encoded.as_str().unwrap_or_default())
            .unwrap_or_default(),
    )
}

fn validate_type(object: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let has = |key: &str| map_at(object, &["data"]).is_some_and(|data| data.contains_key(key));
    let mut require = |key: &str| errors.push(FieldError::required(&path.key(key), ""));
    match str_at(object, &["type"]) {
        "kubernetes.io/service-account-token" => {
            const OWNER: &str = "kubernetes.io/service-account.name";
            if str_at(object, &["metadata", "annotations", OWNER]).is_empty() {
                let metadata = PathRef::root("metadata");
                errors.push(FieldError::required(&metadata.child("annotations").key(OWNER), ""));
            }
        }
        "kubernetes.io/dockercfg" => validate_json(object, ".dockercfg", path, errors),
        "kubernetes.io/dockerconfigjson" => validate_json(object, ".dockerconfigjson", path, errors),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            require("username");
            require("password");
        }
        "kubernetes.io/ssh-auth" if entry(object, "ssh-privatekey").is_none_or(|key| key.is_empty()) => {
            require("ssh-privatekey");
        }
        "kubernetes.io/tls" => ["tls.crt", "tls.key"]
            .into_iter()
            .filter(|key| !has(key))
            .for_each(require),
        _ => {}
    }
}

fn validate_json(object: &Value, key: &str, path: &PathRef<'_>, errors: &mut Errors) {
    match entry(object, key) {
        None => errors.push(FieldError::required(&path.key(key), "")),
        Some(bytes) => {
            if let Err(words) = go_json::check_object(&bytes) {
                errors.push(FieldError::invalid(&path.key(key), "<secret contents redacted>", words));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn string_data_replaces_data_and_disappears() {
        let mut object = json!({"data": {"a": "b2xk", "b": "Yg=="}, "stringData": {"a": "new"}});
        Secret.default(&mut object);
        assert_eq!(object, json!({"data": {"a": "bmV3", "b": "Yg=="}}));
    }
}
