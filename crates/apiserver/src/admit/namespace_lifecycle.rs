//! `NamespaceLifecycle`: nothing is created in a namespace that is missing or going away (D8, D9).

use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::object;
use crate::registry::BuiltInId;
use crate::wire::status::{Cause, Result, Status};

pub(super) struct NamespaceLifecycle;

/// Namespaces without which a cluster does not work.
const UNDELETABLE: [&str; 3] = ["default", "kube-system", "kube-public"];

impl Plugin for NamespaceLifecycle {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::NamespaceLifecycle)
    }

    fn mutate(&self, attributes: &Attributes<'_>, _object: &mut Value, _old: Option<&Value>) -> Result<()> {
        let namespaces = BuiltInId::Namespaces.resource();
        if attributes.is(BuiltInId::Namespaces) {
            if attributes.operation == Operation::Delete && UNDELETABLE.contains(&attributes.name.as_str()) {
                return Err(Status::forbidden(
                    namespaces.about(),
                    &attributes.name,
                    "this namespace may not be deleted",
                ));
            }
            return Ok(());
        }
        if attributes.operation != Operation::Create || !attributes.resource.namespaced {
            return Ok(());
        }
        // The namespaces of an aggregated API are those of another server.
        if attributes.server.definitions.served().without_built_ins {
            return Ok(());
        }
        // Reviews are answered, not kept: they may ask about any namespace.
        if !attributes.resource.is_stored() {
            return Ok(());
        }
        // A path may leave the namespace empty; the validation of the object refuses that.
        if attributes.namespace.is_empty() {
            return Ok(());
        }
        let name = attributes.namespace;
        let Some(namespace) = attributes.server.store.get(namespaces.table, name) else {
            return Err(Status::not_found(namespaces.about(), name));
        };
        let namespace = object::to_value(namespaces, &namespace, namespace.revision);
        if namespace.pointer("/status/phase").and_then(Value::as_str) != Some("Terminating") {
            return Ok(());
        }
        let why = format!("unable to create new content in namespace {name} because it is being terminated");
        let mut status = attributes.forbidden(&why);
        if let Some(details) = &mut status.details {
            details.causes.push(Cause {
                reason: "NamespaceTerminating".into(),
                message: format!("namespace {name} is being terminated"),
                field: "metadata.namespace".into(),
            });
        }
        Err(status)
    }
}
