//! `NamespaceExists` and `NamespaceAutoProvision`: nothing is written into a namespace that is not there, or the namespace is
//! made (A19).

use serde_json::{Value, json};

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::object;
use crate::registry::BuiltInId;
use crate::wire::status::{Result, Status};
use crate::write::managed_fields::FieldWriter;

pub(super) struct NamespaceExists;
pub(super) struct NamespaceAutoProvision;

impl Plugin for NamespaceExists {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::NamespaceExists)
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        _object: &Value,
        _old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        if is_missing(attributes) {
            let namespaces = BuiltInId::Namespaces.resource();
            return Err(Status::not_found(namespaces.about(), attributes.namespace));
        }
        Ok(())
    }
}

impl Plugin for NamespaceAutoProvision {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::NamespaceAutoProvision)
    }

    fn mutate(&self, attributes: &Attributes<'_>, _object: &mut Value, _old: Option<&Value>) -> Result<()> {
        if attributes.operation == Operation::Create && !attributes.dry_run && is_missing(attributes) {
            provision(attributes);
        }
        Ok(())
    }
}

fn is_missing(attributes: &Attributes<'_>) -> bool {
    let server = attributes.server;
    let is_concerned = attributes.resource.namespaced
        && attributes.resource.is_stored()
        && !server.definitions.served().without_built_ins;
    is_concerned
        && server
            .store
            .get(BuiltInId::Namespaces.resource().table, attributes.namespace)
            .is_none()
}

/// Makes the namespace as its own endpoint would.
fn provision(attributes: &Attributes<'_>) {
    let (server, resource) = (attributes.server, BuiltInId::Namespaces.resource());
    let time = server.clock.stamp();
    let name = attributes.namespace;
    let mut namespace = json!({
        "kind": "Namespace", "apiVersion": "v1",
        "metadata": {
            "name": name, "uid": server.random.uuid(), "creationTimestamp": time,
            "labels": { "kubernetes.io/metadata.name": name },
        },
        "spec": {}, "status": {},
    });
    let writer = FieldWriter {
        resource,
        subresource: None,
        manager: "kube-apiserver",
        time: &time,
    };
    namespace = writer.update_built_in(None, namespace);
    namespace["spec"] = json!({ "finalizers": ["kubernetes"] });
    namespace["status"] = json!({ "phase": "Active" });
    let draft = object::to_built_in_draft(resource, &namespace);
    // Somebody else may have made it meanwhile, which serves as well.
    if server.store.create(resource.table, name, draft).is_ok() {
        server.after_create(resource, &namespace);
    }
}
