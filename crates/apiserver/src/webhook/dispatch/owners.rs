//! Restores managedFields that a webhook made invalid, and warns the client (S1, S2).

use kubewright_codec::json;
use kubewright_merge::managed::{DecodeError, FieldSet, FieldsError, ManagedFields};
use serde_json::{Value, json};

use crate::object;

/// How many bytes around a mistake the warning quotes, as upstream's decoder does.
const NEAR: usize = 10;
const AROUND: usize = 50;

/// The managedFields before policies and webhooks changed the object. As long as none of them changes it, nothing is copied.
#[derive(Default)]
pub(crate) enum OwnersBefore {
    /// Nothing has changed the object yet: it has its own managedFields.
    #[default]
    Unchanged,
    /// Something has, and the object had these managedFields, or none.
    Were(Option<Value>),
}

impl OwnersBefore {
    /// Replaces the object by what a policy or a webhook made of it.
    pub(crate) fn replace(&mut self, object: &mut Value, changed: Value) {
        let mut before = std::mem::replace(object, changed);
        if matches!(self, Self::Unchanged) {
            let owners = before.pointer_mut("/metadata/managedFields");
            *self = Self::Were(owners.map(Value::take));
        }
    }

    /// Restores managedFields that cannot be decoded any more.
    pub(crate) fn restore(self, object: &mut Value, warnings: &mut Vec<String>) {
        if let Self::Were(before) = self {
            restore_owners(object, before, warnings);
        }
    }
}

fn restore_owners(object: &mut Value, before: Option<Value>, warnings: &mut Vec<String>) {
    let after = object.pointer("/metadata/managedFields");
    let Some(after) = after.filter(|after| Some(*after) != before.as_ref()).cloned() else {
        return;
    };
    let Err(error) = ManagedFields::decode(after.clone()) else {
        return;
    };
    warnings.push(format!(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating \
         admission controller; please fix your requests: {}",
        worded(&after, &error)
    ));
    match before {
        Some(before) => object::set_meta(object, "managedFields", before),
        None => object::remove_meta(object, "managedFields"),
    }
}

/// The text of the warning: it names the manager, and quotes the text around the first invalid key.
fn worded(owners: &Value, error: &DecodeError) -> String {
    let DecodeError::Fields(_) = error else {
        return error.to_string();
    };
    let broken = owners
        .as_array()
        .into_iter()
        .flatten()
        .find(|entry| ManagedFields::decode(json!([entry])).is_err());
    let Some(entry) = broken else {
        return error.to_string();
    };
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut fields = Vec::new();
    json::write(entry.get("fieldsV1").unwrap_or(&Value::Null), &mut fields);
    let fields = String::from_utf8_lossy(&fields).into_owned();
    let time = match text("time") {
        "" => "<nil>".to_owned(),
        time => format!("{} +0000 UTC", time.trim_end_matches('Z').replace('T', " ")),
    };
    let shown = format!(
        "{{{} {} {} {time} {} {fields} {}}}",
        text("manager"),
        text("operation"),
        text("apiVersion"),
        text("fieldsType"),
        text("subresource")
    );
    let found = mistake(&fields).map_or_else(String::new, |at| {
        let part = |reach: usize| {
            let (start, end) = (at.saturating_sub(reach), (at + reach).min(fields.len()));
            String::from_utf8_lossy(&fields.as_bytes()[start..end]).into_owned()
        };
        let (near, around) = (part(NEAR), part(AROUND));
        let position = at.min(NEAR);
        format!(", error found in #{position} byte of ...|{near}|..., bigger context ...|{around}|...")
    });
    format!("error decoding versioned set from {shown}: {error}{found}")
}

/// The position of upstream's decoder when it fails at the first key that is no path element: behind the key's colon.
fn mistake(fields: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(start) = fields[at..].find('"').map(|found| at + found) {
        let mut end = start + 1;
        while fields.as_bytes().get(end).is_some_and(|byte| *byte != b'"') {
            end += if fields.as_bytes()[end] == b'\\' { 2 } else { 1 };
        }
        let quoted = fields.get(start..=end)?;
        at = end + 1;
        if fields.as_bytes().get(at) != Some(&b':') {
            continue;
        }
        let key: String = serde_json::from_str(quoted).ok()?;
        if matches!(
            FieldSet::from_fields_v1(&json!({ key: {} })),
            Err(FieldsError::Element(_))
        ) {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_of_what_is_no_field_are_put_back_and_told_about() {
        let own = json!([{ "manager": "given", "operation": "Update", "apiVersion": "v1",
            "time": "2026-11-16T08:41:22Z", "fieldsType": "FieldsV1", "fieldsV1": { "f:data": {} } }]);
        let mut broken = own.clone();
        broken[0]["fieldsV1"] = json!({ "x": 1 });
        let mut object = json!({ "metadata": { "managedFields": broken } });
        let mut warnings = Vec::new();
        restore_owners(&mut object, Some(own.clone()), &mut warnings);
        assert_eq!(object["metadata"]["managedFields"], own);
        let told = warnings[0].split("requests: ").nth(1).unwrap();
        assert_eq!(
            told,
            "error decoding versioned set from {given Update v1 2026-11-16 08:41:22 +0000 UTC FieldsV1 {\"x\":1} }: \
             error decoding set: parsing key as path element: key must be 2 characters long:, error found in #5 byte of \
             ...|{\"x\":1}|..., bigger context ...|{\"x\":1}|..."
        );
    }

    #[test]
    fn owners_that_can_be_read_stay() {
        let mut object = json!({ "metadata": { "managedFields": [] } });
        let mut warnings = Vec::new();
        restore_owners(&mut object, None, &mut warnings);
        assert!(warnings.is_empty());
        assert_eq!(mistake(r#"{"f:a\"b":{"é":1}}"#), Some(16));
    }
}
