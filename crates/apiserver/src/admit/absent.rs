//! Plugins that are not here, though a cluster may have them: whoever tells them something is warned that nobody listens.

use serde_json::Value;

use super::{Attributes, Operation, Plugin};
use crate::registry::BuiltInId;
use crate::wire::status::Result;

/// What `PodTolerationRestriction` reads of a namespace.
const TOLERATIONS: [&str; 2] = [
    "scheduler.alpha.kubernetes.io/defaultTolerations",
    "scheduler.alpha.kubernetes.io/tolerationsWhitelist",
];

pub(super) struct AbsentPlugins;

impl Plugin for AbsentPlugins {
    fn validate(
        &self,
        attributes: &Attributes<'_>,
        namespace: &Value,
        old: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        if !attributes.is(BuiltInId::Namespaces) || attributes.operation == Operation::Delete {
            return Ok(());
        }
        for annotation in TOLERATIONS {
            let is_new = value(namespace, annotation) != old.and_then(|old| value(old, annotation));
            if is_new && value(namespace, annotation).is_some() {
                warnings.push(format!(
                    "metadata.annotations[{annotation}]: this API server has no admission plugin PodTolerationRestriction, and does \
                     not obey it"
                ));
            }
        }
        Ok(())
    }
}

fn value<'v>(namespace: &'v Value, annotation: &str) -> Option<&'v Value> {
    namespace.get("metadata")?.get("annotations")?.get(annotation)
}
