//! `RuntimeClass`: a Pod gets the overhead, the node selector and the tolerations of its runtime class (A19).

use kubewright_quota::ResourceList;
use serde_json::{Map, Value};

use super::{AdmissionPlugin, Attributes, Plugin};
use crate::registry::BuiltInId;
use crate::wire::status::Result;

pub(super) struct RuntimeClass;

impl Plugin for RuntimeClass {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::RuntimeClass)
    }

    fn mutate(&self, attributes: &Attributes<'_>, pod: &mut Value, _old: Option<&Value>) -> Result<()> {
        if !attributes.creates(BuiltInId::Pods) {
            return Ok(());
        }
        let Some(class) = class_of(attributes, pod)? else {
            return Ok(());
        };
        let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
            return Ok(());
        };
        set_overhead(attributes, spec, &class)?;
        set_scheduling(attributes, spec, &class)
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
        let class = class_of(attributes, pod)?;
        let own = pod.pointer("/spec/overhead").filter(|own| !own.is_null());
        match class.as_ref().and_then(|class| class.get("overhead")) {
            Some(overhead) if !is_same(own, overhead.get("podFixed")) => Err(attributes.forbidden(OTHER_OVERHEAD)),
            None if own.is_some() => {
                let why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
                Err(attributes.forbidden(why))
            }
            _ => Ok(()),
        }
    }
}

const OTHER_OVERHEAD: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

fn class_of(attributes: &Attributes<'_>, pod: &Value) -> Result<Option<Value>> {
    let Some(name) = pod.pointer("/spec/runtimeClassName").and_then(Value::as_str) else {
        return Ok(None);
    };
    let class = attributes.stored(BuiltInId::RuntimeClasses, name);
    if class.is_none() {
        let name = kubewright_apimachinery::go::quote(name);
        return Err(attributes.forbidden(&format!("pod rejected: RuntimeClass {name} not found")));
    }
    Ok(class)
}

fn is_same(one: Option<&Value>, other: Option<&Value>) -> bool {
    ResourceList::read(one) == ResourceList::read(other)
}

fn set_overhead(attributes: &Attributes<'_>, spec: &mut Map<String, Value>, class: &Value) -> Result<()> {
    let Some(overhead) = class.get("overhead") else {
        return Ok(());
    };
    let (own, fixed) = (spec.get("overhead"), overhead.get("podFixed"));
    let is_set = own.and_then(Value::as_object).is_some_and(|own| !own.is_empty());
    if is_set && !is_same(own, fixed) {
        return Err(attributes.forbidden(OTHER_OVERHEAD));
    }
    if let Some(fixed) = fixed {
        spec.insert("overhead".into(), fixed.clone());
    }
    Ok(())
}

fn set_scheduling(attributes: &Attributes<'_>, spec: &mut Map<String, Value>, class: &Value) -> Result<()> {
    let Some(scheduling) = class.get("scheduling") else {
        return Ok(());
    };
    if let Some(selector) = scheduling.get("nodeSelector").and_then(Value::as_object) {
        let own = spec.entry("nodeSelector").or_insert_with(|| Map::new().into());
        for (key, value) in selector {
            let chosen = own.get(key).and_then(Value::as_str);
            let wanted = value.as_str().unwrap_or_default();
            if let Some(chosen) = chosen.filter(|chosen| *chosen != wanted) {
                return Err(attributes.forbidden(&format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted}; pod.spec.nodeSelector[{key}] = {chosen}"
                )));
            }
            own[key] = value.clone();
        }
    }
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let merged = merged(list(spec.get("tolerations")), list(scheduling.get("tolerations")));
    if !merged.is_empty() {
        spec.insert("tolerations".into(), merged.into());
    }
    Ok(())
}

/// Both lists, without what another toleration includes.
fn merged(mut first: Vec<Value>, mut second: Vec<Value>) -> Vec<Value> {
    first.append(&mut second);
    let mut merged: Vec<Value> = Vec::new();
    for (index, toleration) in first.iter().enumerate() {
        let later = &first[index + 1..];
        let is_redundant = merged.iter().any(|known| includes(known, toleration))
            || later
                .iter()
                .any(|other| other != toleration && includes(other, toleration));
        if !is_redundant {
            merged.push(toleration.clone());
        }
    }
    merged
}

/// Whether everything that `one` tolerates is tolerated by `wide`.
fn includes(wide: &Value, one: &Value) -> bool {
    let text = |toleration: &Value, key: &str| {
        toleration
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let seconds = |toleration: &Value| toleration.get("tolerationSeconds").and_then(Value::as_i64);
    if wide == one {
        return true;
    }
    let is_any_key = text(wide, "key").is_empty() && text(wide, "operator") == "Exists";
    if text(one, "key") != text(wide, "key") && !is_any_key {
        return false;
    }
    if text(one, "effect") != text(wide, "effect") && !text(wide, "effect").is_empty() {
        return false;
    }
    if text(wide, "effect") == "NoExecute"
        && let Some(longest) = seconds(wide)
        && seconds(one).is_none_or(|wanted| wanted > longest)
    {
        return false;
    }
    match text(wide, "operator").as_str() {
        "" | "Equal" => text(one, "operator") == "Equal" && text(one, "value") == text(wide, "value"),
        "Exists" => true,
        _ => false,
    }
}
