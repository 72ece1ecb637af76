//! The admit step: built-in plugins that shape or refuse writes, each one small file behind one trait (A2).
//! Webhooks and policies will join here.

mod default_tolerations;
mod namespace_lifecycle;
mod node_taint;
mod priority;
mod remote_api_service;
mod storage_protection;

use serde_json::Value;

use crate::access::User;
use crate::call::Call;
use crate::registry::Resource;
use crate::server::Server;
use crate::status::Result;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

/// What plugins may know about a write.
pub(crate) struct Attributes<'a> {
    pub(crate) server: &'a Server,
    #[expect(dead_code, reason = "webhooks and policies send it on")]
    pub(crate) user: &'a User,
    pub(crate) resource: &'a Resource,
    pub(crate) operation: Operation,
    pub(crate) namespace: &'a str,
    pub(crate) name: String,
    pub(crate) subresource: &'a str,
    #[expect(dead_code, reason = "webhooks with side effects need it")]
    pub(crate) dry_run: bool,
}

impl<'a> Attributes<'a> {
    pub(crate) fn new(call: &Call<'a>, operation: Operation, name: &str, dry_run: bool) -> Self {
        Attributes {
            server: call.server,
            user: call.user,
            resource: &call.target.resource,
            operation,
            namespace: &call.target.namespace,
            name: name.to_owned(),
            subresource: &call.target.subresource,
            dry_run,
        }
    }

    /// Whether the write is of this core resource itself, not of a part of it.
    fn is(&self, plural: &str) -> bool {
        self.resource.group.is_empty() && self.resource.plural == plural && self.subresource.is_empty()
    }
}

/// A plugin. `object` is null for a deletion, `old` is there for updates and deletions.
trait Plugin: Sync {
    /// May change the object, or refuse.
    fn mutate(&self, _attributes: &Attributes<'_>, _object: &mut Value, _old: Option<&Value>) -> Result<()> {
        Ok(())
    }

    /// May refuse.
    fn validate(&self, _attributes: &Attributes<'_>, _object: &Value, _old: Option<&Value>) -> Result<()> {
        Ok(())
    }
}

/// In upstream's order (A1).
const PLUGINS: [&dyn Plugin; 6] = [
    &namespace_lifecycle::NamespaceLifecycle,
    &node_taint::TaintNodesByCondition,
    &priority::Priority,
    &default_tolerations::DefaultTolerationSeconds,
    &storage_protection::StorageObjectInUseProtection,
    &remote_api_service::NoAggregation,
];

pub(crate) fn mutate(attributes: &Attributes<'_>, object: &mut Value, old: Option<&Value>) -> Result<()> {
    PLUGINS
        .iter()
        .try_for_each(|plugin| plugin.mutate(attributes, object, old))
}

pub(crate) fn validate(attributes: &Attributes<'_>, object: &Value, old: Option<&Value>) -> Result<()> {
    PLUGINS
        .iter()
        .try_for_each(|plugin| plugin.validate(attributes, object, old))
}
