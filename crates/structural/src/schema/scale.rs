//! The scale subresource's fields in a custom resource (C10): they must be counts, whatever the schema says.

use kubewright_apimachinery::field::{BadValue, Errors, FieldError};
use kubewright_apimachinery::go::value::{Numbers, plain, type_name};
use serde_json::Value;

/// Where the scale subresource finds its fields (`spec.versions[].subresources.scale`), as JSON paths: `.spec.replicas`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    /// `specReplicasPath`: the wanted number, under `.spec`.
    pub spec_replicas_path: String,
    /// `statusReplicasPath`: the observed number, under `.status`.
    pub status_replicas_path: String,
    /// `labelSelectorPath`: the serialized label selector, under `.spec` or `.status`.
    pub label_selector_path: Option<String>,
}

/// What the scale subresource shows of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scaled {
    /// How many replicas are wanted, if the object says so.
    pub wanted: Option<i32>,
    /// How many there are.
    pub observed: i32,
    /// The selector of their pods, in the form of a query parameter.
    pub selector: String,
}

impl Scale {
    /// Reads `spec.versions[].subresources.scale`.
    pub fn from_json(scale: &Value) -> Self {
        let text = |name: &str| scale.get(name).and_then(Value::as_str).map(str::to_owned);
        Scale {
            spec_replicas_path: text("specReplicasPath").unwrap_or_default(),
            status_replicas_path: text("statusReplicasPath").unwrap_or_default(),
            label_selector_path: text("labelSelectorPath").filter(|path| !path.is_empty()),
        }
    }

    /// What the subresource shows of an object; the error is Go's sentence about a field of the wrong type.
    pub fn read(&self, object: &Value) -> Result<Scaled, String> {
        let count = |path: &str| match find(object, path)? {
            None => Ok(None),
            Some(value) => value.as_i64().map(Some).ok_or_else(|| mistyped(path, value, "int64")),
        };
        let wanted = count(&self.spec_replicas_path)?;
        let observed = count(&self.status_replicas_path)?.unwrap_or_default();
        let selector = match self.label_selector_path.as_deref() {
            None => None,
            Some(path) => match find(object, path)? {
                None => None,
                Some(value) => Some(
                    value
                        .as_str()
                        .ok_or_else(|| mistyped(path, value, "string"))?
                        .to_owned(),
                ),
            },
        };
        Ok(Scaled {
            // A Scale holds 32 bits; upstream lets more run over.
            wanted: wanted.map(|count| count as i32),
            observed: observed as i32,
            selector: selector.unwrap_or_default(),
        })
    }

    /// Writes the wanted number into an object, making the fields on the way to it.
    pub fn write(&self, object: &mut Value, wanted: i64) -> Result<(), String> {
        let path = self
            .spec_replicas_path
            .strip_prefix('.')
            .unwrap_or(&self.spec_replicas_path);
        let (parents, last) = path
            .rsplit_once('.')
            .map_or((None, path), |(parents, last)| (Some(parents), last));
        let mut place = object;
        let mut walked = String::new();
        for step in parents.into_iter().flat_map(|parents| parents.split('.')) {
            walked.push('.');
            walked.push_str(step);
            place = match place {
                Value::Object(fields) => fields
                    .entry(step)
                    .or_insert_with(|| Value::Object(serde_json::Map::new())),
                other => other,
            };
            if !place.is_object() {
                return Err(format!(
                    "value cannot be set because {walked} is not a map[string]interface{{}}"
                ));
            }
        }
        if let Value::Object(fields) = place {
            fields.insert(last.to_owned(), wanted.into());
        }
        Ok(())
    }

    pub(super) fn validate_spec(&self, object: &Value, errors: &mut Errors) {
        replicas(object, &self.spec_replicas_path, errors);
    }

    pub(super) fn validate_status(&self, object: &Value, errors: &mut Errors) {
        replicas(object, &self.status_replicas_path, errors);
        if let Some(path) = &self.label_selector_path {
            match find(object, path) {
                Err(message) => errors.push(invalid(path, "", message)),
                Ok(Some(value)) if !value.is_string() => {
                    errors.push(invalid(path, "", mistyped(path, value, "string")));
                }
                Ok(_) => {}
            }
        }
    }
}

fn replicas(object: &Value, path: &str, errors: &mut Errors) {
    let value = match find(object, path) {
        Err(message) => return errors.push(invalid(path, 0, message)),
        Ok(None) => return,
        Ok(Some(value)) => value,
    };
    let Some(count) = value.as_i64() else {
        return errors.push(invalid(path, 0, mistyped(path, value, "int64")));
    };
    if count < 0 {
        errors.push(invalid(
            path,
            Value::from(count),
            "should be a non-negative integer".to_owned(),
        ));
    } else if count > i64::from(i32::MAX) {
        let detail = format!("should be less than or equal to {}", i32::MAX);
        errors.push(invalid(path, Value::from(count), detail));
    }
}

/// The value at a path; an error if a step leads into something that is no object.
fn find<'v>(object: &'v Value, path: &str) -> Result<Option<&'v Value>, String> {
    let mut steps = path.strip_prefix('.').unwrap_or(path).split('.');
    let mut value = object;
    let mut walked = String::new();
    loop {
        let Some(step) = steps.next() else {
            return Ok(Some(value));
        };
        walked.push('.');
        walked.push_str(step);
        let Value::Object(fields) = value else {
            return if value.is_null() {
                Ok(None)
            } else {
                Err(mistyped_at(&walked, value, "map[string]interface{}"))
            };
        };
        match fields.get(step) {
            Some(below) => value = below,
            None => return Ok(None),
        }
    }
}

fn mistyped(path: &str, value: &Value, expected: &str) -> String {
    mistyped_at(&format!(".{}", path.strip_prefix('.').unwrap_or(path)), value, expected)
}

fn mistyped_at(path: &str, value: &Value, expected: &str) -> String {
    let shown = plain(value, Numbers::Int64);
    format!(
        "{path} accessor error: {shown} is of the type {}, expected {expected}",
        type_name(value, Numbers::Int64)
    )
}

fn invalid(path: &str, value: impl Into<BadValue>, detail: String) -> FieldError {
    FieldError::invalid(path, value, detail)
}
