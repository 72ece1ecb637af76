//! Which events wake a reconciler.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::cache::Event;
use crate::object::Selector;

/// A test of events. It sees the old and the new object, so it can tell what changed.
///
/// ```
/// use kubewright_runtime::cache::Event;
/// use kubewright_runtime::controller::Predicate;
///
/// let spec_or_labels = Predicate::generation_changed().or(Predicate::labels_changed());
/// let no_deletes = Predicate::new(|event| !matches!(event, Event::Deleted { .. }));
/// let both = spec_or_labels.and(no_deletes);
/// # let _ = both;
/// ```
#[derive(Clone)]
pub struct Predicate(Arc<dyn Fn(&Event) -> bool + Send + Sync>);

impl Predicate {
    /// Any test of an event.
    pub fn new(test: impl Fn(&Event) -> bool + Send + Sync + 'static) -> Self {
        Predicate(Arc::new(test))
    }

    /// A test of the (new) object. Objects that do not decode pass, so that the reconciler can tell.
    pub fn object<K: DeserializeOwned + Send + Sync + 'static>(
        test: impl Fn(&K) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::new(move |event| event.object().view::<K>().map_or(true, |object| test(&object)))
    }

    /// A test of updates; additions and deletions pass.
    pub fn update(
        test: impl Fn(&crate::object::Record, &crate::object::Record) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::new(move |event| match event {
            Event::Updated { old, new } => test(old, new),
            _ => true,
        })
    }

    /// Updates pass only if the generation changed: the specification, not status or metadata.
    pub fn generation_changed() -> Self {
        Self::update(|old, new| old.generation() != new.generation())
    }

    /// Updates pass only if anything changed: resyncs do not.
    pub fn resource_version_changed() -> Self {
        Self::update(|old, new| old.resource_version() != new.resource_version())
    }

    /// Updates pass only if the labels changed.
    pub fn labels_changed() -> Self {
        Self::update(|old, new| !old.same_labels(new))
    }

    /// Updates pass only if the annotations changed.
    pub fn annotations_changed() -> Self {
        Self::update(|old, new| !old.same_annotations(new))
    }

    /// Only objects with these labels pass.
    pub fn selector(selector: Selector) -> Self {
        Self::new(move |event| event.object().matches(&selector))
    }

    /// Only what passes both.
    pub fn and(self, other: Predicate) -> Self {
        Self::new(move |event| self.admits(event) && other.admits(event))
    }

    /// What passes either.
    pub fn or(self, other: Predicate) -> Self {
        Self::new(move |event| self.admits(event) || other.admits(event))
    }

    /// What does not pass.
    #[allow(clippy::should_implement_trait, reason = "reads as `and` and `or` do")]
    pub fn not(self) -> Self {
        Self::new(move |event| !self.admits(event))
    }

    /// Whether an event passes.
    pub fn admits(&self, event: &Event) -> bool {
        (self.0)(event)
    }
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Predicate")
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::{Value, json};

    use super::*;
    use crate::object::{Kind, Record};

    fn record(metadata: &Value) -> Arc<Record> {
        let mut object = json!({ "metadata": metadata });
        object["metadata"]["name"] = "a".into();
        Arc::new(Record::parse(object.to_string().as_bytes(), &Kind::of::<ConfigMap>()).unwrap())
    }

    fn update(old: &Value, new: &Value) -> Event {
        Event::Updated {
            old: record(old),
            new: record(new),
        }
    }

    #[test]
    fn each_predicate_looks_at_its_own_part() {
        let changes = [
            (
                "generation",
                update(&json!({ "generation": 1 }), &json!({ "generation": 2 })),
            ),
            (
                "version",
                update(&json!({ "resourceVersion": "1" }), &json!({ "resourceVersion": "2" })),
            ),
            (
                "labels",
                update(&json!({ "labels": { "a": "1" } }), &json!({ "labels": { "a": "2" } })),
            ),
            (
                "annotations",
                update(&json!({}), &json!({ "annotations": { "a": "2" } })),
            ),
            (
                "nothing",
                update(
                    &json!({ "labels": { "a": "1", "b": "2" } }),
                    &json!({ "labels": { "b": "2", "a": "1" } }),
                ),
            ),
        ];
        let predicates = [
            ("generation", Predicate::generation_changed()),
            ("version", Predicate::resource_version_changed()),
            ("labels", Predicate::labels_changed()),
            ("annotations", Predicate::annotations_changed()),
        ];
        for (part, predicate) in &predicates {
            for (changed, event) in &changes {
                assert_eq!(predicate.admits(event), part == changed, "{part} {changed}");
            }
            let object = record(&json!({}));
            assert!(predicate.admits(&Event::Added {
                object: Arc::clone(&object),
                initial: false
            }));
            assert!(predicate.admits(&Event::Deleted {
                last: object,
                known: true
            }));
        }
    }

    #[test]
    fn predicates_combine() {
        let yes = || Predicate::new(|_| true);
        let no = || Predicate::new(|_| false);
        let event = update(&json!({}), &json!({ "labels": { "app": "web" } }));
        assert!(!yes().and(no()).admits(&event));
        assert!(no().or(yes()).admits(&event));
        assert!(no().not().admits(&event));
        assert!(Predicate::selector("app=web".parse().unwrap()).admits(&event));
        assert!(Predicate::object::<ConfigMap>(|object| object.data.is_none()).admits(&event));
    }
}
