//! `PodSecurity`: Pods keep to the level that labels of their namespace name; workloads are warned of, and so is who changes
//! the labels over Pods that violate them (A17).

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_pod_security::{
    LabelError, Level, Policy, changes_images, template_of, violations, warnings_of_existing_pods,
};
use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::object;
use crate::registry::{BuiltInId, Subresource};
use crate::wire::status::{Result, Status};

pub(super) struct PodSecurity;

impl Plugin for PodSecurity {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::PodSecurity)
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        object: &Value,
        old: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        if !matches!(attributes.operation, Operation::Create | Operation::Update) {
            return Ok(());
        }
        if attributes.is(BuiltInId::Namespaces) {
            return of_namespace(attributes, object, old, warnings);
        }
        let is_pod = attributes.resource.is(BuiltInId::Pods);
        let is_looked_at = if is_pod {
            matches!(
                attributes.subresource,
                None | Some(Subresource::EphemeralContainers | Subresource::Resize)
            )
        } else {
            attributes.subresource.is_none()
        };
        if !is_looked_at || attributes.resource.custom().is_some() {
            return Ok(());
        }
        let (group, plural) = (&attributes.resource.group, &attributes.resource.plural);
        let Some(pod) = template_of(group, plural, object) else {
            return Ok(());
        };
        let configuration = &*attributes.server.admission.pod_security;
        let exempt = |what: &str| {
            let key = "pod-security.kubernetes.io/exempt".to_owned();
            attributes.annotations.add(key, what.to_owned());
            Ok(())
        };
        if configuration.exempts_namespace(attributes.namespace) {
            return exempt("namespace");
        }
        if configuration.exempts_user(&attributes.user.name) {
            return exempt("user");
        }
        let Some((policy, mistakes)) = policy_of(attributes) else {
            return Ok(());
        };
        let is_unneeded = if is_pod {
            policy.is_privileged()
        } else {
            policy.warn.level == Level::Privileged && policy.audit.level == Level::Privileged
        };
        if is_unneeded && mistakes.is_empty() {
            if is_pod {
                let key = "pod-security.kubernetes.io/enforce-policy";
                attributes.annotations.add(key, "privileged:latest");
            }
            return Ok(());
        }
        if is_pod && old.is_some_and(|old| !changes_images(object, old)) {
            return Ok(());
        }
        if configuration.exempts_runtime_class_of(pod) {
            return exempt("runtimeClass");
        }
        evaluate(attributes, policy, pod, is_pod, warnings)
    }
}

/// The policy of the namespace of a write, with the labels that are mistaken.
fn policy_of(attributes: &Attributes<'_>) -> Option<(Policy, Vec<LabelError>)> {
    let resource = BuiltInId::Namespaces.resource();
    let record = attributes.server.store.get(resource.table, attributes.namespace)?;
    // Nearly all namespaces have no such label: their objects need not be read.
    if !record
        .labels
        .iter()
        .any(|(key, _)| key.starts_with("pod-security.kubernetes.io/"))
    {
        return Some((attributes.server.admission.pod_security.defaults, Vec::new()));
    }
    let namespace = object::to_value(resource, &record, record.revision);
    let labels = namespace.pointer("/metadata/labels");
    Some(Policy::of_labels(
        labels,
        attributes.server.admission.pod_security.defaults,
    ))
}

fn evaluate(
    attributes: &Attributes<'_>,
    policy: Policy,
    pod: &Value,
    enforces: bool,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let note = |key: &str, value: String| {
        let key = format!("pod-security.kubernetes.io/{key}");
        attributes.annotations.add(key, value);
    };
    let audited = violations(policy.audit, pod);
    if !audited.is_empty() {
        let said = format!("would violate PodSecurity \"{}\": {}", policy.audit, audited.details());
        note("audit-violations", said);
    }
    if enforces {
        note("enforce-policy", policy.enforce.to_string());
        let forbidden = violations(policy.enforce, pod);
        if !forbidden.is_empty() {
            let why = format!("violates PodSecurity \"{}\": {}", policy.enforce, forbidden.details());
            return Err(Status::forbidden(attributes.resource.about(), &attributes.name, &why));
        }
    }
    let warned = violations(policy.warn, pod);
    if !warned.is_empty() {
        warnings.push(format!(
            "would violate PodSecurity \"{}\": {}",
            policy.warn,
            warned.details()
        ));
    }
    Ok(())
}

/// Labels must be levels and versions; a stricter policy than before is compared with the Pods that are there.
fn of_namespace(
    attributes: &Attributes<'_>,
    namespace: &Value,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let labels = namespace.pointer("/metadata/labels");
    let old_labels = old.and_then(|old| old.pointer("/metadata/labels"));
    if old.is_some() && labels == old_labels {
        return Ok(());
    }
    let configuration = &*attributes.server.admission.pod_security;
    let (new, mistakes) = Policy::of_labels(labels, configuration.defaults);
    let (before, known) = Policy::of_labels(old_labels, configuration.defaults);
    if !mistakes.is_empty() && (old.is_none() || mistakes != known) {
        let path = PathRef::root("metadata");
        let path = path.child("labels");
        let errors: Errors = mistakes
            .iter()
            .map(|mistake| FieldError::invalid(&path.key(mistake.label), mistake.value.as_str(), mistake.message))
            .collect();
        return Err(Status::invalid("", "Namespace", &attributes.name, &errors));
    }
    let (enforce, before) = (new.enforce, before.enforce);
    let is_loosened = enforce.version == before.version && enforce.level <= before.level;
    if old.is_some() && (enforce == before || enforce.level == Level::Privileged || is_loosened) {
        return Ok(());
    }
    if configuration.exempts_namespace(&attributes.name) {
        warnings.extend(configuration.warning_of_exempt_namespace(&attributes.name, &new, labels));
        return Ok(());
    }
    if old.is_none() {
        return Ok(());
    }
    let mut pods = attributes.all_stored(BuiltInId::Pods, Some(&attributes.name));
    pods.retain(|pod| !configuration.exempts_runtime_class_of(pod));
    warnings.extend(warnings_of_existing_pods(&attributes.name, enforce, &pods));
    Ok(())
}
