//! From the object in a request to a type.

use serde_json::Value;

use super::request::{self, ContentError};
use super::response::AdmissionResponse;
use super::review;
use crate::object::{Kind, Object};

/// An object of this kind; what does not say what it is, is taken for it.
pub(super) fn decode<T: Object>(kind: &Kind, value: &Value) -> Result<T, Box<AdmissionResponse>> {
    read(kind, value).map_err(|error| Box::new(AdmissionResponse::errored(400, error.to_string())))
}

fn read<T: Object>(kind: &Kind, value: &Value) -> Result<T, ContentError> {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Null => return request::decode(value),
        other => return Err(ContentError(review::not_an_object(other))),
    };
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, name) = (text("apiVersion"), text("kind"));
    let known = kind.api_version();
    if (!api_version.is_empty() && api_version != known) || (!name.is_empty() && name != kind.kind()) {
        let slash = if api_version.contains('/') { "" } else { "/" };
        return Err(ContentError(format!(
            "unable to decode {slash}{api_version}, Kind={name} into {}",
            kind.kind()
        )));
    }
    if !api_version.is_empty() && !name.is_empty() {
        return request::decode(value);
    }
    let mut fields = fields.clone();
    fields.insert("apiVersion".to_owned(), known.into());
    fields.insert("kind".to_owned(), kind.kind().into());
    request::decode(&Value::Object(fields))
}
