//! Resources that are served in more than one version or group but stored once: Events and autoscalers.

use kubewright_kinds::{autoscaling::convert as autoscaling, events};
use serde_json::Value;

use crate::registry::Resource;

/// How a served version relates to the stored one.
#[derive(Clone, Copy)]
pub(crate) struct Conversion {
    from_stored: fn(&mut Value),
    to_stored: fn(&mut Value),
    /// The served version has rules of its own: events.k8s.io is stricter than the core.
    pub(crate) has_own_rules: bool,
}

impl Conversion {
    pub(crate) fn serve(self, object: &mut Value) {
        (self.from_stored)(object);
    }

    pub(crate) fn store(self, object: &mut Value) {
        (self.to_stored)(object);
    }
}

/// The group and version under which a resource is stored.
pub(crate) fn stored_as<'a>(group: &'a str, version: &'a str, plural: &str) -> (&'a str, &'a str) {
    match (group, plural) {
        ("events.k8s.io", "events") => ("", "v1"),
        ("autoscaling", "horizontalpodautoscalers") => ("autoscaling", "v2"),
        _ => (group, version),
    }
}

/// The conversion of a version that is not the stored one.
pub(crate) fn conversion(group: &str, version: &str, plural: &str) -> Option<Conversion> {
    match (group, version, plural) {
        ("events.k8s.io", _, "events") => Some(Conversion {
            from_stored: |event| *event = events::to_events(event),
            to_stored: |event| *event = events::to_core(event),
            has_own_rules: true,
        }),
        ("autoscaling", "v1", "horizontalpodautoscalers") => Some(Conversion {
            from_stored: |scaler| *scaler = autoscaling::v2_to_v1(scaler),
            to_stored: |scaler| *scaler = autoscaling::v1_to_v2(scaler),
            has_own_rules: false,
        }),
        _ => None,
    }
}

/// Brings an object in any version of its kind to `to`'s version.
pub(crate) fn between(object: &mut Value, to: &Resource) {
    let from = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if from == to.api_version {
        return;
    }
    let (group, version) = from.split_once('/').unwrap_or(("", from));
    if let Some(conversion) = conversion(group, version, &to.plural) {
        conversion.store(object);
    }
    to.to_served(object);
}
