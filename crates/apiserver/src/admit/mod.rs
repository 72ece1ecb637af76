//! Admission: built-in plugins that change or refuse writes, each one small file behind one trait (A2).
//! Webhooks come after them; policies will join here.

mod attributes;
mod default_tolerations;
mod namespace_lifecycle;
mod node_taint;
mod priority;
mod remote_api_service;
mod service_account;
mod storage_protection;

use kubewright_admission::Phase;
use serde_json::Value;

pub(crate) use attributes::{Attributes, BodyKind, Deadline, Operation, kind_of};

use crate::webhook::dispatch::{self, Reinvocation};
use crate::wire::status::Result;

/// Which plugins that can be switched are on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) service_accounts: bool,
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
const PLUGINS: [&dyn Plugin; 7] = [
    &namespace_lifecycle::NamespaceLifecycle,
    &service_account::ServiceAccount,
    &node_taint::TaintNodesByCondition,
    &priority::Priority,
    &default_tolerations::DefaultTolerationSeconds,
    &storage_protection::StorageObjectInUseProtection,
    &remote_api_service::NoAggregation,
];

/// Lets plugins and webhooks change what is to be written; what they warn of joins `warnings`.
pub(crate) async fn mutate(
    attributes: &Attributes<'_>,
    object: &mut Value,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    mutate_by_plugins(attributes, object, old)?;
    let Some(webhooks) = attributes.server.webhooks.of(Phase::Mutating) else {
        return Ok(());
    };
    let owners = dispatch::owners(object);
    let mut round = Reinvocation::default();
    dispatch::mutate(attributes, &webhooks, object, old, warnings, &mut round).await?;
    // What a webhook changed is seen by the plugins again, and by the webhooks that ask for it (A8).
    if round.again() {
        mutate_by_plugins(attributes, object, old)?;
        dispatch::mutate(attributes, &webhooks, object, old, warnings, &mut round).await?;
    }
    dispatch::restore_owners(object, owners, warnings);
    Ok(())
}

fn mutate_by_plugins(attributes: &Attributes<'_>, object: &mut Value, old: Option<&Value>) -> Result<()> {
    PLUGINS
        .iter()
        .try_for_each(|plugin| plugin.mutate(attributes, object, old))
}

/// Lets plugins and webhooks refuse what is about to be stored; what they warn of joins `warnings`.
pub(crate) async fn validate(
    attributes: &Attributes<'_>,
    object: &Value,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    PLUGINS
        .iter()
        .try_for_each(|plugin| plugin.validate(attributes, object, old))?;
    let Some(webhooks) = attributes.server.webhooks.of(Phase::Validating) else {
        return Ok(());
    };
    dispatch::validate(attributes, &webhooks, object, old, warnings).await
}
