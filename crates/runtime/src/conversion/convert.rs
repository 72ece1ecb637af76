//! JSON of one version to JSON of another, through their types.

use std::fmt;

use kube::core::ObjectMeta;
use serde_json::Value;

use super::unknown;
use crate::object::Object;
use crate::strict::located::decode;

/// A conversion between two versions, as a function of JSON.
pub(super) type ConvertFn = fn(&Value) -> Result<Value, ConvertError>;

/// Why an object could not be converted.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConvertError {
    /// The object is not one of its version's type.
    #[error("{0}")]
    Decode(String),
    /// The conversion said no.
    #[error("{0}")]
    Refused(String),
    /// The conversion changed what identifies the object. The words are the API server's.
    #[error("must have the same {what}: {before} != {after}")]
    Identity {
        what: &'static str,
        before: String,
        after: String,
    },
    /// The result cannot be written as an object.
    #[error("the converted object cannot be written: {0}")]
    Encode(String),
}

/// Converts an object. With the same type twice it is the way to an object's normal form.
pub(super) fn convert<A, B>(source: &Value) -> Result<Value, ConvertError>
where
    A: Object,
    B: Object + TryFrom<A>,
    <B as TryFrom<A>>::Error: fmt::Display,
{
    let mut ignored = Vec::new();
    let from: A = decode(source, &mut ignored).map_err(ConvertError::Decode)?;
    let before = from.meta().clone();
    let to = B::try_from(from).map_err(|error| ConvertError::Refused(error.to_string()))?;
    let after = to.meta();
    check_identity(&before, after)?;
    let mut target = serde_json::to_value(&to).map_err(|error| ConvertError::Encode(error.to_string()))?;
    let Value::Object(members) = &mut target else {
        return Err(ConvertError::Encode("it is not a JSON object".to_owned()));
    };
    members.insert("apiVersion".to_owned(), B::api_version(&()).into());
    members.insert("kind".to_owned(), B::kind(&()).into());
    if let Some(metadata) = source.get("metadata") {
        members.insert("metadata".to_owned(), converted_metadata(metadata, &before, after));
    }
    ignored.retain(|path| unknown::is_content(path));
    unknown::carry::<B>(source, &ignored, &mut target);
    Ok(target)
}

/// Whether a conversion left metadata alone: types that build their target from nothing but the content do.
fn is_untouched(after: &ObjectMeta) -> bool {
    *after == ObjectMeta::default()
}

fn check_identity(before: &ObjectMeta, after: &ObjectMeta) -> Result<(), ConvertError> {
    if is_untouched(after) {
        return Ok(());
    }
    let same = |what, before: &Option<String>, after: &Option<String>| {
        let (before, after) = (before.as_deref().unwrap_or(""), after.as_deref().unwrap_or(""));
        if before == after {
            return Ok(());
        }
        Err(ConvertError::Identity {
            what,
            before: before.to_owned(),
            after: after.to_owned(),
        })
    };
    same("name", &before.name, &after.name)?;
    same("namespace", &before.namespace, &after.namespace)?;
    same("UID", &before.uid, &after.uid)
}

/// The metadata of the source, with the labels and annotations of the target where the conversion changed them.
fn converted_metadata(source: &Value, before: &ObjectMeta, after: &ObjectMeta) -> Value {
    let mut metadata = source.clone();
    let Value::Object(members) = &mut metadata else {
        return metadata;
    };
    if is_untouched(after) {
        return metadata;
    }
    let fields = [
        ("labels", &before.labels, &after.labels),
        ("annotations", &before.annotations, &after.annotations),
    ];
    for (field, before, after) in fields {
        if before == after {
            continue;
        }
        match after {
            Some(values) => members.insert(field.to_owned(), values.clone().into_iter().collect()),
            None => members.remove(field),
        };
    }
    metadata
}
