//! What follows from a write outside of the object itself: addresses are reserved and freed, Endpoints go with their Service.

use serde_json::Value;

use crate::object::{self, meta_text};
use crate::registry::{Registry, Resource};
use crate::server::Server;

impl Server {
    /// What follows from a creation, outside of the object itself: a hand-made `IPAddress` is a reservation.
    pub(crate) fn after_create(&self, resource: &Resource, object: &Value) {
        if resource.plural == "ipaddresses" {
            self.allocate.reserve(meta_text(object, "name"));
        }
    }

    /// What follows from a deletion, outside of the object itself: addresses are free again, and the Endpoints of a
    /// Service go with it.
    pub(crate) fn after_delete(&self, resource: &Resource, object: &Value) {
        match (resource.group, resource.plural) {
            ("", "services") => {
                self.allocate.release(&self.store, object);
                let endpoints = Registry::builtin().core("endpoints");
                let key = object::key(meta_text(object, "namespace"), meta_text(object, "name"));
                while let Some(record) = self.store.get(endpoints.table, &key) {
                    if self.store.delete(endpoints.table, &key, record.revision).is_ok() {
                        break;
                    }
                }
            }
            ("networking.k8s.io", "ipaddresses") => self.allocate.free(meta_text(object, "name")),
            _ => {}
        }
    }
}
