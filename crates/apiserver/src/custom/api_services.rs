//! The `APIService` objects of defined groups: one for each served version, made and removed with the definitions (O6).

use std::collections::BTreeSet;

use kubewright_structural::discovery::api_service;
use serde_json::{Map, Value};

use crate::object::{self, meta_text, set_meta};
use crate::registry::{BuiltInId, Registry, Resource};
use crate::server::Server;
use crate::write::managed_fields::FieldWriter;

/// The field manager of upstream's aggregator.
const MANAGER: &str = "kube-apiserver";
const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

impl Server {
    /// Makes the `APIServices` of a group what its definitions say.
    pub(super) fn publish_group(&self, group: &str) {
        let resource = BuiltInId::ApiServices.resource();
        let served = self.definitions.served();
        let versions: BTreeSet<&str> = served
            .kinds()
            .filter(|kind| kind.definition.group == group)
            .flat_map(|kind| &kind.definition.versions)
            .filter(|version| version.served)
            .map(|version| version.name.as_str())
            .collect();
        for version in &versions {
            self.put_api_service(resource, group, version);
        }
        let suffix = format!(".{group}");
        let snapshot = self.store.snapshot(resource.table);
        let obsolete = snapshot.records(None, None).filter(|record| {
            let version = record.key.strip_suffix(&suffix);
            record.label(AUTOMANAGED) == Some("true")
                && version.is_some_and(|version| {
                    !version.contains('.') && !versions.contains(version) && !is_built_in(group, version)
                })
        });
        for record in obsolete {
            // One that was changed meanwhile stays: the error is ignored.
            let _ = self.store.delete(resource.table, &record.key, record.revision);
        }
        if !self.aggregation.set().is_empty() {
            self.aggregate_apis();
        }
    }

    fn put_api_service(&self, resource: &Resource, group: &str, version: &str) {
        let name = format!("{version}.{group}");
        if self.store.get(resource.table, &name).is_some() {
            return;
        }
        let now = self.clock.stamp();
        let mut service = api_service(group, version, &now);
        let status = service["status"].take();
        service["status"] = Value::Object(Map::new());
        let writer = FieldWriter {
            resource,
            subresource: None,
            manager: MANAGER,
            time: &now,
        };
        service = writer.update_built_in(None, service);
        service["status"] = status;
        set_meta(&mut service, "uid", self.random.uuid());
        set_meta(&mut service, "creationTimestamp", now);
        // If another request has created it meanwhile, that one is served: the error is ignored.
        let _ = self.store.create(
            resource.table,
            meta_text(&service, "name"),
            object::to_built_in_draft(resource, &service),
        );
    }
}

fn is_built_in(group: &str, version: &str) -> bool {
    Registry::builtin()
        .iter()
        .any(|resource| resource.group == group && resource.version == version)
}
