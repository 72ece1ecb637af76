//! Admission: built-in plugins that change or refuse writes, each one small file behind one trait (A2).
//! Policies and webhooks come after them.

mod always_pull_images;
mod anti_affinity;
mod attributes;
mod claim_resize;
mod declared_features;
mod default_class;
mod default_tolerations;
mod event_rate_limit;
mod extended_resources;
mod external_ips;
mod image_policy;
mod limit_ranger;
mod namespace_exists;
mod namespace_lifecycle;
mod node_restriction;
mod node_taint;
mod owner_references;
mod pod_node_selector;
mod pod_resize;
mod pod_security;
mod pod_tolerations;
mod priority;
mod references;
mod resource_quota;
mod runtime_class;
mod service_account;
mod settings;
mod storage_protection;
mod topology_labels;

use kubewright_admission::Phase;
use serde_json::Value;

pub(crate) use attributes::{Attributes, BodyKind, Deadline, Operation, kind_of};
pub(crate) use resource_quota::charge;
pub(crate) use settings::Settings;
pub use settings::{AdmissionConfigurationError, AdmissionPlugin};

use crate::policy::{self, PolicyReinvocation};
use crate::webhook::dispatch::{self, OwnersBefore, Reinvocation};
use crate::wire::status::Result;

/// A plugin. `object` is null for a deletion, `old` is there for updates and deletions.
trait Plugin: Sync {
    /// Its name, if it can be off.
    fn switch(&self) -> Option<AdmissionPlugin> {
        None
    }

    /// May change the object, or refuse.
    fn mutate(&self, _attributes: &Attributes<'_>, _object: &mut Value, _old: Option<&Value>) -> Result<()> {
        Ok(())
    }

    /// May refuse, and may warn.
    fn validate(
        &self,
        _attributes: &Attributes<'_>,
        _object: &Value,
        _old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        Ok(())
    }
}

/// Those that come before `ImagePolicyWebhook`, in upstream's order (A1).
const BEFORE_IMAGES: &[&dyn Plugin] = &[
    &namespace_exists::NamespaceAutoProvision,
    &namespace_lifecycle::NamespaceLifecycle,
    &namespace_exists::NamespaceExists,
    &anti_affinity::LimitPodHardAntiAffinityTopology,
    &limit_ranger::LimitRanger,
    &service_account::ServiceAccount,
    &node_restriction::NodeRestriction,
    &node_taint::TaintNodesByCondition,
    &always_pull_images::AlwaysPullImages,
];

/// Those that come after it.
const AFTER_IMAGES: &[&dyn Plugin] = &[
    &pod_security::PodSecurity,
    &pod_node_selector::PodNodeSelector,
    &priority::Priority,
    &default_tolerations::DefaultTolerationSeconds,
    &pod_tolerations::PodTolerationRestriction,
    &event_rate_limit::EventRateLimit,
    &extended_resources::ExtendedResourceToleration,
    &default_class::DefaultStorageClass,
    &storage_protection::StorageObjectInUseProtection,
    &owner_references::OwnerReferencesPermissionEnforcement,
    &claim_resize::PersistentVolumeClaimResize,
    &runtime_class::RuntimeClass,
    &default_class::DefaultIngressClass,
    &external_ips::DenyServiceExternalIPs,
    &topology_labels::PodTopologyLabels,
    &declared_features::NodeDeclaredFeatureValidator,
    &pod_resize::PodResizeValidator,
];

/// Those of the plugins that are on.
fn those_on<'a>(
    plugins: &'static [&'static dyn Plugin],
    attributes: &Attributes<'a>,
) -> impl Iterator<Item = &'static dyn Plugin> + use<'a> {
    let settings = &attributes.server.admission;
    plugins
        .iter()
        .copied()
        .filter(move |plugin| plugin.switch().is_none_or(|switch| settings.has(switch)))
}

/// Whether there is a webhook, or a policy about the resource, that may change what is to be written.
pub(crate) fn others_may_mutate(attributes: &Attributes<'_>) -> bool {
    attributes.server.webhooks.of(Phase::Mutating).is_some() || policy::may_mutate(attributes)
}

/// Lets plugins, policies and webhooks change what is to be written; what they warn of joins `warnings`.
pub(crate) async fn mutate(
    attributes: &Attributes<'_>,
    object: &mut Value,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    mutate_by_plugins(attributes, object, old).await?;
    if !others_may_mutate(attributes) {
        return Ok(());
    }
    let mut round = MutationRound::default();
    mutate_by_others(attributes, object, old, warnings, &mut round).await?;
    // What a policy or a webhook changed is seen by the plugins again, and by those of them that ask for it (A8).
    if round.policies.again() | round.webhooks.again() {
        mutate_by_plugins(attributes, object, old).await?;
        mutate_by_others(attributes, object, old, warnings, &mut round).await?;
    }
    round.owners.restore(object, warnings);
    Ok(())
}

/// What is known of the changes that policies and webhooks made so far.
#[derive(Default)]
struct MutationRound {
    policies: PolicyReinvocation,
    webhooks: Reinvocation,
    owners: OwnersBefore,
}

/// Lets policies and then webhooks change what is to be written.
async fn mutate_by_others(
    attributes: &Attributes<'_>,
    object: &mut Value,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
    round: &mut MutationRound,
) -> Result<()> {
    let server = attributes.server;
    if server.admission.has(AdmissionPlugin::MutatingAdmissionPolicy) {
        policy::mutate(attributes, object, old, (&mut round.policies, &mut round.owners)).await?;
    }
    if server.admission.has(AdmissionPlugin::MutatingAdmissionWebhook)
        && let Some(hooks) = server.webhooks.of(Phase::Mutating)
    {
        let round = (&mut round.webhooks, &mut round.owners);
        dispatch::mutate(attributes, &hooks, object, old, warnings, round).await?;
    }
    Ok(())
}

async fn mutate_by_plugins(attributes: &Attributes<'_>, object: &mut Value, old: Option<&Value>) -> Result<()> {
    // Begun anew where a plugin has to wait for an answer.
    let sent = attributes.questions().map(|_| object.clone());
    attributes
        .settled(|| {
            if let Some(sent) = &sent {
                object.clone_from(sent);
            }
            those_on(BEFORE_IMAGES, attributes)
                .chain(those_on(AFTER_IMAGES, attributes))
                .try_for_each(|plugin| plugin.mutate(attributes, object, old))
        })
        .await
}

/// Lets plugins, policies and webhooks refuse what is about to be stored; what they warn of joins `warnings`.
pub(crate) async fn validate(
    attributes: &Attributes<'_>,
    object: &Value,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    validate_by(BEFORE_IMAGES, attributes, object, old, warnings).await?;
    let object = &*image_policy::validate(attributes, object).await?;
    validate_by(AFTER_IMAGES, attributes, object, old, warnings).await?;
    if attributes
        .server
        .admission
        .has(AdmissionPlugin::ValidatingAdmissionPolicy)
    {
        policy::validate(attributes, object, old, warnings).await?;
    }
    if !attributes
        .server
        .admission
        .has(AdmissionPlugin::ValidatingAdmissionWebhook)
    {
        return Ok(());
    }
    let Some(webhooks) = attributes.server.webhooks.of(Phase::Validating) else {
        return Ok(());
    };
    dispatch::validate(attributes, &webhooks, object, old, warnings).await
}

async fn validate_by(
    plugins: &'static [&'static dyn Plugin],
    attributes: &Attributes<'_>,
    object: &Value,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let warned = warnings.len();
    attributes
        .settled(|| {
            warnings.truncate(warned);
            those_on(plugins, attributes).try_for_each(|plugin| plugin.validate(attributes, object, old, warnings))
        })
        .await
}
