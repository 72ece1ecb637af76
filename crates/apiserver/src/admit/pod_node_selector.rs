//! `PodNodeSelector`: Pods get the node selector that an annotation of their namespace has (A19).

use serde_json::{Map, Value};

use super::{AdmissionPlugin, Attributes, Plugin};
use crate::object::meta_text;
use crate::registry::BuiltInId;
use crate::wire::status::{Result, Status};

pub(super) struct PodNodeSelector;

const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";

impl Plugin for PodNodeSelector {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::PodNodeSelector)
    }

    fn mutate(&self, attributes: &Attributes<'_>, pod: &mut Value, _old: Option<&Value>) -> Result<()> {
        if !attributes.creates(BuiltInId::Pods) {
            return Ok(());
        }
        let selector = selector_of(attributes)?;
        check(attributes, &selector, pod)?;
        let spec = pod.get_mut("spec").and_then(Value::as_object_mut);
        if let Some(spec) = spec.filter(|_| !selector.is_empty()) {
            let own = spec.entry("nodeSelector").or_insert_with(|| Map::new().into());
            for (key, value) in selector {
                own[key] = value.into();
            }
        }
        Ok(())
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        pod: &Value,
        _old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        if !attributes.creates(BuiltInId::Pods) {
            return Ok(());
        }
        check(attributes, &selector_of(attributes)?, pod)
    }
}

fn check(attributes: &Attributes<'_>, selector: &[(String, String)], pod: &Value) -> Result<()> {
    let own = pod.pointer("/spec/nodeSelector");
    let conflicts = selector.iter().any(|(key, value)| {
        let chosen = own.and_then(|own| own.get(key)).and_then(Value::as_str);
        chosen.is_some_and(|chosen| chosen != value)
    });
    if !conflicts {
        return Ok(());
    }
    let why = "pod node label selector conflicts with its namespace node label selector";
    Err(Status::forbidden(
        attributes.resource.about(),
        meta_text(pod, "name"),
        why,
    ))
}

/// The labels that the namespace demands, as `key=value,…`.
fn selector_of(attributes: &Attributes<'_>) -> Result<Vec<(String, String)>> {
    let namespace = attributes.stored(BuiltInId::Namespaces, attributes.namespace);
    let annotations = namespace
        .as_ref()
        .and_then(|namespace| namespace.pointer("/metadata/annotations"));
    let Some(text) = annotations.and_then(|all| all.get(ANNOTATION)).and_then(Value::as_str) else {
        return Ok(Vec::new());
    };
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |parts: &[&str]| {
        let message = format!("invalid selector: [{}]", parts.join(" "));
        Status::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message)
    };
    let pairs = text
        .split(',')
        .map(|pair| match pair.split('=').collect::<Vec<_>>()[..] {
            [key, value] => Ok((key.trim().to_owned(), value.trim().to_owned())),
            ref other => Err(failed(other)),
        });
    pairs.collect()
}
