//! What follows from a write outside of the object itself: addresses are reserved and freed, Endpoints go with their Service.

use serde_json::Value;

use crate::object::{self, meta_text};
use crate::registry::{BuiltInId, Resource};
use crate::server::Server;

impl Server {
    /// What follows from a creation, outside of the object itself: a hand-made `IPAddress` is a reservation, and a
    /// definition is served.
    pub(crate) fn after_create(&self, resource: &Resource, object: &Value) {
        self.after_update(resource, object);
        if let Some(version) = resource.custom() {
            let key = object::key(meta_text(object, "namespace"), meta_text(object, "name"));
            self.after_new_instance(resource, &version.kind, &key);
        }
        if resource.is(BuiltInId::IpAddresses) {
            self.allocate.reserve(meta_text(object, "name"));
        }
    }

    /// What follows from a change, outside of the object itself: what a definition says is served, and what a role or a
    /// binding gives is given.
    pub(crate) fn after_update(&self, resource: &Resource, object: &Value) {
        self.after_access(resource, object);
        self.webhooks.after_write(resource, &self.store);
        self.policies.after_write(resource, &self.store);
        self.aggregate_after(resource, object);
        if is_definition(resource) {
            self.after_definition(meta_text(object, "name"));
        }
    }

    /// What follows from a deletion, outside of the object itself: addresses are free again, and the Endpoints of a
    /// Service go with it.
    pub(crate) fn after_delete(&self, resource: &Resource, object: &Value) {
        self.after_access(resource, object);
        self.webhooks.after_write(resource, &self.store);
        self.policies.after_write(resource, &self.store);
        self.aggregate_after(resource, object);
        if let Some(version) = resource.custom() {
            self.after_instance(&version.kind);
        }
        match resource.id() {
            Some(BuiltInId::CustomResourceDefinitions) => self.after_definition(meta_text(object, "name")),
            Some(BuiltInId::Services) => {
                self.allocate.release(&self.store, object);
                let endpoints = BuiltInId::Endpoints.resource();
                let key = object::key(meta_text(object, "namespace"), meta_text(object, "name"));
                while let Some(record) = self.store.get(endpoints.table, &key) {
                    if self.store.delete(endpoints.table, &key, record.revision).is_ok() {
                        break;
                    }
                }
            }
            Some(BuiltInId::Pods) => self
                .logs
                .forget(meta_text(object, "namespace"), meta_text(object, "name")),
            Some(BuiltInId::IpAddresses) => self.allocate.free(meta_text(object, "name")),
            _ => {}
        }
        self.restore_own(resource, object);
    }
}

pub(crate) fn is_definition(resource: &Resource) -> bool {
    resource.is(BuiltInId::CustomResourceDefinitions)
}
