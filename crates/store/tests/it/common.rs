//! Writes as data, and a model that remembers every state a store ever had.

use std::collections::BTreeMap;

use bytes::Bytes;
use kubewright_store::{Event, EventKind, RecordDraft, ResourceId, Revision, Snapshot, Store};
use proptest::prelude::*;

pub(crate) const RESOURCES: [ResourceId; 2] = [ResourceId(3), ResourceId(7)];
/// `a-b` sorts before `a` as part of a key, though not as a namespace.
pub(crate) const NAMESPACES: [&str; 3] = ["a", "a-b", "b"];
pub(crate) const NAMES: [&str; 6] = ["one", "two", "three", "four", "five", "six"];

/// Key to body: what a table holds, without its revisions.
pub(crate) type Contents = BTreeMap<String, String>;

pub(crate) fn draft(body: &str) -> RecordDraft {
    RecordDraft {
        body: Bytes::copy_from_slice(body.as_bytes()),
        ..RecordDraft::default()
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Write {
    /// Creates the key, or updates it if it exists.
    Put {
        resource: ResourceId,
        namespace: &'static str,
        name: &'static str,
    },
    /// Deletes the key, if it exists.
    Delete {
        resource: ResourceId,
        namespace: &'static str,
        name: &'static str,
    },
}

pub(crate) fn resource() -> impl Strategy<Value = ResourceId> {
    prop::sample::select(&RESOURCES[..])
}

pub(crate) fn scope() -> impl Strategy<Value = Option<&'static str>> {
    prop::option::of(prop::sample::select(&NAMESPACES[..]))
}

pub(crate) fn write() -> impl Strategy<Value = Write> {
    let key = (
        resource(),
        prop::sample::select(&NAMESPACES[..]),
        prop::sample::select(&NAMES[..]),
    );
    (key, prop::bool::weighted(0.3)).prop_map(|((resource, namespace, name), delete)| {
        if delete {
            Write::Delete {
                resource,
                namespace,
                name,
            }
        } else {
            Write::Put {
                resource,
                namespace,
                name,
            }
        }
    })
}

pub(crate) fn writes(count: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Write>> {
    prop::collection::vec(write(), count)
}

/// A change as the model saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) revision: Revision,
    pub(crate) kind: EventKind,
    pub(crate) resource: ResourceId,
    pub(crate) key: String,
    pub(crate) body: String,
    pub(crate) previous: Option<String>,
}

impl Change {
    pub(crate) fn of(resource: ResourceId, event: &Event) -> Change {
        Change {
            revision: event.revision,
            kind: event.kind,
            resource,
            key: event.key().to_owned(),
            body: text(&event.record.body),
            previous: event.previous.as_ref().map(|record| text(&record.body)),
        }
    }

    /// Does to `contents` what the event says.
    pub(crate) fn apply(&self, contents: &mut Contents) {
        match self.kind {
            EventKind::Added => assert_eq!(contents.insert(self.key.clone(), self.body.clone()), None),
            EventKind::Modified => assert_eq!(contents.insert(self.key.clone(), self.body.clone()), self.previous),
            EventKind::Deleted => assert_eq!(contents.remove(&self.key), self.previous),
        }
    }
}

/// A store and all it should remember.
#[derive(Clone, Debug)]
pub(crate) struct Modelled {
    pub(crate) store: Store,
    pub(crate) changes: Vec<Change>,
}

impl Modelled {
    pub(crate) fn new(store: Store) -> Modelled {
        Modelled {
            store,
            changes: Vec::new(),
        }
    }

    pub(crate) fn fork(&self) -> Modelled {
        Modelled {
            store: self.store.fork(),
            changes: self.changes.clone(),
        }
    }

    pub(crate) fn write_all(&mut self, writes: Vec<Write>) {
        for write in writes {
            self.write(write);
        }
    }

    pub(crate) fn write(&mut self, write: Write) {
        let body = format!("written after {}", self.store.revision());
        match write {
            Write::Put {
                resource,
                namespace,
                name,
            } => {
                let key = format!("{namespace}/{name}");
                let before = self.store.get(resource, &key);
                let (kind, record) = match &before {
                    None => (
                        EventKind::Added,
                        self.store.create(resource, &key, draft(&body)).unwrap(),
                    ),
                    Some(before) => (
                        EventKind::Modified,
                        self.store
                            .update(resource, &key, before.revision, draft(&body))
                            .unwrap(),
                    ),
                };
                let previous = before.map(|record| text(&record.body));
                self.changes.push(Change {
                    revision: record.revision,
                    kind,
                    resource,
                    key,
                    body,
                    previous,
                });
            }
            Write::Delete {
                resource,
                namespace,
                name,
            } => {
                let key = format!("{namespace}/{name}");
                let Some(before) = self.store.get(resource, &key) else {
                    return;
                };
                let deleted = self.store.delete(resource, &key, before.revision).unwrap();
                let body = text(&before.body);
                self.changes.push(Change {
                    revision: deleted.revision,
                    kind: EventKind::Deleted,
                    resource,
                    key,
                    previous: Some(body.clone()),
                    body,
                });
            }
        }
    }

    /// What a resource held at a revision, by replaying everything from the beginning.
    pub(crate) fn contents_at(&self, resource: ResourceId, revision: Revision) -> Contents {
        let mut contents = Contents::new();
        for change in self
            .changes_in(resource, None)
            .filter(|change| change.revision <= revision)
        {
            change.apply(&mut contents);
        }
        contents
    }

    pub(crate) fn changes_in(&self, resource: ResourceId, namespace: Option<&str>) -> impl Iterator<Item = &Change> {
        self.changes
            .iter()
            .filter(move |change| change.resource == resource && in_scope(&change.key, namespace))
    }

    /// Every revision that can be read, oldest first.
    pub(crate) fn retained(&self) -> impl Iterator<Item = Revision> + use<> {
        (self.store.compacted().0..=self.store.revision().0).map(Revision)
    }
}

pub(crate) fn in_scope(key: &str, namespace: Option<&str>) -> bool {
    namespace.is_none_or(|namespace| key.split('/').next() == Some(namespace))
}

pub(crate) fn contents(snapshot: &Snapshot) -> Contents {
    snapshot
        .records(None, None)
        .map(|record| (record.key.to_string(), text(&record.body)))
        .collect()
}

pub(crate) fn text(body: &Bytes) -> String {
    String::from_utf8(body.to_vec()).unwrap()
}
