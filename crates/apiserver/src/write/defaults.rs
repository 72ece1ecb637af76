//! The default stage, and owners that are given twice.

use std::collections::HashSet;

use kubewright_schema as schema;
use serde_json::Value;

use crate::registry::Resource;

/// The unconditional and the conditional defaults of a kind.
pub(crate) fn default(resource: &Resource, object: &mut Value) {
    if let Some(ty) = resource.ty() {
        schema::default(ty, object);
    }
    match resource.conversion() {
        None => resource.behaviour().default(object),
        // Conditional defaults are written for the stored version; what a served one gets comes from its conversion.
        Some(conversion) => {
            conversion.store(object);
            conversion.serve(object);
        }
    }
}

/// Owners given twice count once, with a warning (M13).
pub(crate) fn dedup_owners(object: &mut Value, warnings: &mut Vec<String>) {
    let Some(Value::Array(owners)) = object.pointer_mut("/metadata/ownerReferences") else {
        return;
    };
    let mut seen: HashSet<String> = HashSet::with_capacity(owners.len());
    let mut duplicates = Vec::new();
    owners.retain(|owner| {
        let first = seen.insert(owner.to_string());
        if !first {
            duplicates.push(owner["uid"].as_str().unwrap_or_default().to_owned());
        }
        first
    });
    if !duplicates.is_empty() {
        warnings.push(format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and \
             may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            duplicates.join(", ")
        ));
    }
}
