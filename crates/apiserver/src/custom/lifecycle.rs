//! What follows from a write of a definition, before its answer is sent: names are accepted, the kind is served, and a
//! deleted definition takes its objects along (C1, C2, C4). Upstream leaves this to controllers that run a moment later.

use std::sync::Arc;

use kubewright_store::Record;
use kubewright_structural::crd::{self, Definition};
use serde_json::Value;

use super::definitions::NameClaim;
use super::kind::CustomKind;
use crate::object::{self, finalizers, meta_text};
use crate::registry::{BuiltInId, Resource, Subresource};
use crate::request::delete_options::DeleteOptions;
use crate::server::Server;
use crate::verbs::delete;
use crate::write::managed_fields::FieldWriter;

/// The field manager of upstream's controllers.
const MANAGER: &str = "kube-apiserver";

/// As many objects of a deleted definition go without a pause: about as long as any other request takes.
const DELETED_AT_ONCE: usize = 256;

fn definitions() -> &'static Arc<Resource> {
    BuiltInId::CustomResourceDefinitions.resource()
}

impl Server {
    /// Brings what is served in line with a definition, whatever happened to it.
    pub(crate) fn after_definition(&self, name: &str) {
        let _turn = self.definitions.lock_for_change();
        let mut next = self.settle(name);
        // A name that one gave up may be what another of the group waits for, which may give up one in turn.
        while let Some(waiting) = next.pop() {
            next.extend(self.settle(&waiting));
        }
    }

    /// What follows from a new object: where its definition is on its way out, it goes too.
    pub(crate) fn after_new_instance(&self, resource: &Resource, kind: &CustomKind, key: &str) {
        let current = self.definitions.served();
        let stays = current
            .kind(&kind.definition.name)
            .is_some_and(|now| now.table == kind.table && !now.definition.terminating);
        if !stays {
            delete::delete_for_the_server(self, resource, key, &DeleteOptions::default());
            self.after_instance(kind);
        }
    }

    /// What follows from the end of an object: it may have been the last of a definition that is being deleted.
    pub(crate) fn after_instance(&self, kind: &CustomKind) {
        let name = &kind.definition.name;
        let is_terminating = |kind: &Arc<CustomKind>| kind.definition.terminating;
        if self.definitions.served().kind(name).is_some_and(is_terminating) {
            let _turn = self.definitions.lock_for_change();
            for waiting in self.finish_deletion(name) {
                self.after_definition(&waiting);
            }
        }
    }

    /// Works out the definitions that a fork was made in the middle of.
    pub(crate) fn settle_all(&self) {
        let snapshot = self.store.snapshot(definitions().table);
        for record in snapshot.records(None, None) {
            if !self.definitions.is_settled(&record.key, record.revision) {
                self.after_definition(&record.key);
            }
        }
    }

    /// Takes a definition through its next steps and serves the result. Returns the others of its group that may have
    /// to be looked at again.
    fn settle(&self, name: &str) -> Vec<String> {
        let table = definitions().table;
        let group = name.split_once('.').map_or("", |(_, group)| group);
        let Some(record) = self.store.get(table, name) else {
            if let Some(kind) = self.definitions.remove(name) {
                self.store.drop_resource(kind.table);
            }
            self.publish_group(group);
            self.definitions.claim(name, None);
            return self.definitions.waiting_in_group(group, name);
        };
        let others = self.definitions.names_of_group(group, name);
        let mut current = record;
        let mut object = object::to_value(definitions(), &current, current.revision);
        while let Some(next) = crd::names::next_step(&object, others.iter(), &self.clock.stamp()) {
            match self.write_status(name, &current, &object, next) {
                Some(written) => current = written,
                // A concurrent write was first: look at the new object.
                None => match self.store.get(table, name) {
                    Some(record) => current = record,
                    None => return self.settle(name),
                },
            }
            object = object::to_value(definitions(), &current, current.revision);
        }
        let has_other_names = self
            .definitions
            .claim(name, Some(NameClaim::of(&object, current.revision)));
        match Definition::of(&object) {
            Some(definition) => self.serve(definition, &current),
            None => {
                self.definitions.remove(name);
            }
        }
        self.publish_group(group);
        if !meta_text(&object, "deletionTimestamp").is_empty() {
            return self.delete_instances(name, &current);
        }
        if has_other_names {
            return self.definitions.waiting_in_group(group, name);
        }
        Vec::new()
    }

    fn serve(&self, definition: Definition, record: &Record) {
        let (kind, before) = self.definitions.put(definition, record);
        // Watches go on only where they would show the same.
        match before {
            Some(before) if before.table != kind.table => self.store.drop_resource(before.table),
            Some(before) if !kind.serves_like(&before) => self.store.end_watches(kind.table),
            _ => {}
        }
    }

    /// A write of the status in the name of upstream's controllers; `None` when the definition changed meanwhile.
    fn write_status(&self, name: &str, record: &Record, old: &Value, new: Value) -> Option<Arc<Record>> {
        let resource = definitions();
        let time = self.clock.stamp();
        let writer = FieldWriter {
            resource,
            subresource: Some(Subresource::Status),
            manager: MANAGER,
            time: &time,
        };
        let new = writer.update_built_in(Some(old), new);
        let draft = object::to_built_in_draft(resource, &new);
        self.store.update(resource.table, name, record.revision, draft).ok()
    }

    /// Deletes the objects of a definition that is being deleted, and then the definition (C4).
    fn delete_instances(&self, name: &str, record: &Arc<Record>) -> Vec<String> {
        let object = object::to_value(definitions(), record, record.revision);
        if !finalizers(&object).contains(&crd::FINALIZER) {
            return Vec::new();
        }
        let in_progress = crd::deletion::in_progress(&object, &self.clock.stamp());
        if in_progress != object && self.write_status(name, record, &object, in_progress).is_none() {
            return Vec::new();
        }
        if let Some(resource) = self.definitions.served().storage(name) {
            let snapshot = self.store.snapshot(resource.table);
            let mut keys = snapshot.records(None, None).map(|record| record.key.clone());
            self.delete_each(resource, keys.by_ref().take(DELETED_AT_ONCE));
            let rest: Vec<_> = keys.collect();
            self.delete_later(resource, rest);
        }
        self.finish_deletion(name)
    }

    fn delete_each(&self, resource: &Resource, keys: impl Iterator<Item = impl AsRef<str>>) {
        let options = DeleteOptions::default();
        for key in keys {
            delete::delete_for_the_server(self, resource, key.as_ref(), &options);
        }
    }

    /// Deletes objects behind the answer, and lets other requests be served between some and some. The last one that goes takes
    /// the definition along.
    fn delete_later<K: AsRef<str> + Send + Sync + 'static>(&self, resource: &Arc<Resource>, keys: Vec<K>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            // Nobody else is served where nothing runs.
            return self.delete_each(resource, keys.iter());
        };
        if keys.is_empty() {
            return;
        }
        let (server, resource) = (self.me.clone(), Arc::clone(resource));
        runtime.spawn(async move {
            for some in keys.chunks(DELETED_AT_ONCE) {
                tokio::task::yield_now().await;
                let Some(server) = server.upgrade() else { return };
                server.delete_each(&resource, some.iter());
            }
        });
    }

    /// Lets a definition go once no object of it is left. Returns whom that may concern.
    fn finish_deletion(&self, name: &str) -> Vec<String> {
        let table = definitions().table;
        let served = self.definitions.served();
        let left = served
            .storage(name)
            .is_some_and(|resource| !self.store.snapshot(resource.table).is_empty());
        let Some(record) = self.store.get(table, name).filter(|_| !left) else {
            return Vec::new();
        };
        let object = object::to_value(definitions(), &record, record.revision);
        if !finalizers(&object).contains(&crd::FINALIZER) {
            return Vec::new();
        }
        let done = crd::deletion::completed(&object, &self.clock.stamp());
        if finalizers(&done).is_empty() {
            if self.store.delete(table, name, record.revision).is_ok() {
                return self.settle(name);
            }
        } else {
            self.write_status(name, &record, &object, done);
        }
        Vec::new()
    }
}
