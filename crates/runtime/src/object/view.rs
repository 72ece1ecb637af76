//! Decoded objects: they are decoded on demand, shared while they are in use, and dropped afterwards.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::key::ObjectKey;
use super::record::Record;

/// An object of the cache does not fit the type it was read as.
#[derive(Debug, thiserror::Error)]
#[error("{key} does not decode as {kind}")]
pub struct DecodeError {
    /// The object.
    pub key: ObjectKey,
    /// The Rust type.
    pub kind: &'static str,
    /// What does not fit, and where.
    #[source]
    pub source: serde_json::Error,
}

/// An object of the cache, decoded. Dereferences to the object; cloning shares it.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::object::{Kind, Record};
/// use std::sync::Arc;
///
/// let bytes = br#"{"metadata":{"name":"settings","namespace":"shop"},"data":{"colour":"red"}}"#;
/// let record = Arc::new(Record::parse(bytes, &Kind::of::<ConfigMap>()).unwrap());
/// let view = record.view::<ConfigMap>().unwrap();
/// assert_eq!(view.data.as_ref().unwrap()["colour"], "red");
/// assert_eq!(view.record().key().to_string(), "shop/settings");
/// // While one reader holds it, others share it.
/// assert!(std::ptr::eq(&*view, &*record.view::<ConfigMap>().unwrap()));
/// let mut mine: ConfigMap = view.into_owned();
/// mine.data = None;
/// ```
pub struct View<K> {
    record: Arc<Record>,
    object: Arc<Decoded<K>>,
}

/// An object in a box of its own. The memo's weak pointer keeps the `Arc`'s allocation alive; in there is only a pointer, so
/// that a Pod nobody reads any more costs a few bytes and not its size.
struct Decoded<K>(Box<K>);

impl<K: DeserializeOwned + Send + Sync + 'static> View<K> {
    pub(super) fn of(record: &Arc<Record>) -> Result<Self, DecodeError> {
        let memo = record.memo();
        let object = match memo.find::<K>() {
            Some(object) => object,
            // Decoded without the lock: two readers may both decode, and the second one's work is kept.
            None => memo.keep(Arc::new(Decoded(Box::new(record.decode::<K>()?))), record.json().len()),
        };
        Ok(View {
            record: Arc::clone(record),
            object,
        })
    }
}

impl<K> View<K> {
    /// The bytes it was decoded from, and what is known of them.
    pub fn record(&self) -> &Arc<Record> {
        &self.record
    }

    /// Namespace and name.
    pub fn key(&self) -> &ObjectKey {
        self.record.key()
    }
}

impl<K: Clone> View<K> {
    /// The object itself, to change it. It is cloned only if it is used elsewhere, too.
    pub fn into_owned(self) -> K {
        match Arc::try_unwrap(self.object) {
            Ok(object) => *object.0,
            Err(shared) => K::clone(&shared.0),
        }
    }
}

impl<K> Clone for View<K> {
    fn clone(&self) -> Self {
        View {
            record: Arc::clone(&self.record),
            object: Arc::clone(&self.object),
        }
    }
}

impl<K> Deref for View<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.object.0
    }
}

impl<K: fmt::Debug> fmt::Debug for View<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// The decoded forms of a record that are still in use, one for each type.
#[derive(Default)]
pub(super) struct DecodedForms(Mutex<Vec<Weak<dyn Any + Send + Sync>>>);

impl DecodedForms {
    fn find<K: Send + Sync + 'static>(&self) -> Option<Arc<Decoded<K>>> {
        let forms = self.0.lock();
        forms
            .iter()
            .filter_map(Weak::upgrade)
            .find_map(|form| form.downcast::<Decoded<K>>().ok())
    }

    fn keep<K: Send + Sync + 'static>(&self, object: Arc<Decoded<K>>, bytes: usize) -> Arc<Decoded<K>> {
        let form: Arc<dyn Any + Send + Sync> = Arc::<Decoded<K>>::clone(&object);
        let mut forms = self.0.lock();
        forms.retain(|form| form.strong_count() > 0);
        // Most records are read as one type: a capacity of one, since a Vec would begin with four.
        forms.reserve_exact(1);
        forms.push(Arc::downgrade(&form));
        drop(forms);
        SHARED.with_borrow_mut(|shared| {
            if shared.depth > 0 {
                shared.forms.push((form, bytes));
            }
        });
        object
    }
}

thread_local! {
    static SHARED: RefCell<Shared> = RefCell::default();
}

/// The objects that were decoded on this thread while a [`DecodeSharing`] exists, with the sizes of their texts.
#[derive(Default)]
struct Shared {
    depth: usize,
    forms: Vec<(Arc<dyn Any + Send + Sync>, usize)>,
}

/// How many decoded objects of a store outlive their readers.
pub(crate) const MOST_RECENT: usize = 16;
/// The longest text of such an object.
const LONGEST_RECENT: usize = 64 * 1024;

/// The objects that were decoded last. An event is followed by reconciles of several controllers, and each of them reads the same few
/// objects: they are decoded once.
#[derive(Default)]
pub(crate) struct RecentForms(Mutex<VecDeque<Arc<dyn Any + Send + Sync>>>);

impl RecentForms {
    fn keep(&self, forms: Vec<(Arc<dyn Any + Send + Sync>, usize)>) {
        let mut recent = self.0.lock();
        recent.extend(
            forms
                .into_iter()
                .filter(|(_, bytes)| *bytes <= LONGEST_RECENT)
                .map(|(form, _)| form),
        );
        let too_many = recent.len().saturating_sub(MOST_RECENT);
        let old: Vec<_> = recent.drain(..too_many).collect();
        drop(recent);
        // Freed without the lock: their drop may decode other objects.
        drop(old);
    }
}

/// While it exists, objects that this thread decodes are kept, so that independent handlers of one event decode its object once; after
/// it, as long as they are among the recent ones.
#[must_use = "dropping it ends the sharing"]
pub(crate) struct DecodeSharing<'r>(&'r RecentForms, PhantomData<*const ()>);

/// Begins to share. The guard must not be held across an `await`.
pub(crate) fn sharing(recent: &RecentForms) -> DecodeSharing<'_> {
    SHARED.with_borrow_mut(|shared| shared.depth += 1);
    DecodeSharing(recent, PhantomData)
}

impl Drop for DecodeSharing<'_> {
    fn drop(&mut self) {
        // The objects are freed after the borrow of the cell ends, because their drop may decode other objects.
        let forms = SHARED.with_borrow_mut(|shared| {
            shared.depth -= 1;
            if shared.depth == 0 {
                std::mem::take(&mut shared.forms)
            } else {
                Vec::new()
            }
        });
        if !forms.is_empty() {
            self.0.keep(forms);
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::{DynamicObject, PartialObjectMeta};

    use super::*;
    use crate::object::Kind;

    fn record() -> Arc<Record> {
        let json = br#"{"metadata":{"name":"a","namespace":"n"},"data":{"k":"v"}}"#;
        Arc::new(Record::parse(json, &Kind::of::<ConfigMap>()).unwrap())
    }

    #[test]
    fn typed_dynamic_and_metadata_reads_are_views_of_the_same_bytes() {
        let record = record();
        let typed = record.view::<ConfigMap>().unwrap();
        let dynamic = record.view::<DynamicObject>().unwrap();
        let metadata = record.view::<PartialObjectMeta<ConfigMap>>().unwrap();
        assert_eq!(typed.data.as_ref().unwrap()["k"], "v");
        assert_eq!(dynamic.data["data"]["k"], "v");
        assert_eq!(dynamic.types.as_ref().unwrap().kind, "ConfigMap");
        assert_eq!(metadata.metadata.name.as_deref(), Some("a"));
        assert!(Arc::ptr_eq(&typed.object, &record.view::<ConfigMap>().unwrap().object));
    }

    #[test]
    fn a_decoded_object_lives_as_long_as_its_readers() {
        let record = record();
        let view = record.view::<ConfigMap>().unwrap();
        let weak = Arc::downgrade(&view.object);
        drop(view);
        assert!(weak.upgrade().is_none());
        assert!(record.memo().find::<ConfigMap>().is_none());
    }

    #[test]
    fn who_reads_the_same_event_shares_what_was_decoded() {
        let (record, recent) = (record(), RecentForms::default());
        let (outer, inner) = (sharing(&recent), sharing(&recent));
        let weak = Arc::downgrade(&record.view::<ConfigMap>().unwrap().object);
        drop(inner);
        assert!(weak.upgrade().is_some() && record.memo().find::<ConfigMap>().is_some());
        drop(outer);
        // And so do those who come soon after it.
        assert!(record.memo().find::<ConfigMap>().is_some());
        for _ in 0..MOST_RECENT {
            let _sharing = sharing(&recent);
            self::record().view::<ConfigMap>().unwrap();
        }
        assert!(weak.upgrade().is_none());
    }

    #[test]
    fn a_large_object_does_not_outlive_its_readers() {
        let text = format!(
            r#"{{"metadata":{{"name":"a"}},"data":{{"k":"{}"}}}}"#,
            "v".repeat(LONGEST_RECENT)
        );
        let record = Arc::new(Record::parse(text.as_bytes(), &Kind::of::<ConfigMap>()).unwrap());
        let recent = RecentForms::default();
        let sharing = sharing(&recent);
        let weak = Arc::downgrade(&record.view::<ConfigMap>().unwrap().object);
        drop(sharing);
        assert!(weak.upgrade().is_none());
    }

    #[test]
    fn an_object_that_does_not_fit_says_what_and_where() {
        let json = br#"{"metadata":{"name":"a","namespace":"n"},"data":7}"#;
        let record = Arc::new(Record::parse(json, &Kind::of::<ConfigMap>()).unwrap());
        let error = record.view::<ConfigMap>().unwrap_err();
        assert!(error.to_string().starts_with("n/a does not decode as"));
        assert!(error.source.to_string().contains("invalid type"));
    }
}
