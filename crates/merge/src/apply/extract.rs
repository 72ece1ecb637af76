//! What a manager last applied, read back from an object and its owners.

use serde_json::Value;

use super::error::ApplyError;
use super::metadata::managed_fields;
use super::typed::{Origin, extract_items, validate};
use crate::Topology;
use crate::managed::{ManagedFields, ManagerId, Operation};

/// The configuration that `manager` applied through `subresource` (empty for the main resource), as far as it still owns
/// it; `None` if it owns nothing. Fails for an object that holds an item twice or whose owners cannot be read.
/// An applier that changes a field of it and applies it again loses none of its fields.
pub fn extract<'t, T: Topology<'t>>(
    of: T,
    object: &Value,
    manager: &str,
    subresource: &str,
) -> Result<Option<Value>, ApplyError> {
    let problems = validate(of, object, Origin::Converted);
    if !problems.is_empty() {
        return Err(ApplyError::Failed(format!("error converting obj to typed: {problems}")));
    }
    let entries = ManagedFields::decode(managed_fields(object).clone())
        .map_err(|error| ApplyError::Failed(format!("error accessing metadata: {error}")))?;
    let Some(entry) = entries.get(&ManagerId::new(manager, Operation::Apply, "", subresource)) else {
        return Ok(None);
    };
    let mut extracted = extract_items(of, object, &entry.set().leaves());
    for name in ["apiVersion", "kind"] {
        if let (Value::Object(extracted), Some(value)) = (&mut extracted, object.get(name)) {
            extracted.entry(name).or_insert_with(|| value.clone());
        }
    }
    Ok(Some(extracted))
}
