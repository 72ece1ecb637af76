//! `AlwaysPullImages`: every container pulls its image anew, so that nobody runs an image by having it on the node (A19).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::registry::BuiltInId;
use crate::wire::status::Result;

pub(super) struct AlwaysPullImages;

const FIELDS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

impl Plugin for AlwaysPullImages {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::AlwaysPullImages)
    }

    fn mutate(&self, attributes: &Attributes<'_>, pod: &mut Value, old: Option<&Value>) -> Result<()> {
        if !concerns(attributes, pod, old) {
            return Ok(());
        }
        let Some(spec) = pod.get_mut("spec") else { return Ok(()) };
        for field in FIELDS {
            for container in spec.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(container) = container.as_object_mut() {
                    container.insert("imagePullPolicy".into(), "Always".into());
                }
            }
        }
        for volume in spec
            .get_mut("volumes")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(image) = volume.get_mut("image").and_then(Value::as_object_mut) {
                image.insert("pullPolicy".into(), "Always".into());
            }
        }
        Ok(())
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        pod: &Value,
        old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        if !concerns(attributes, pod, old) {
            return Ok(());
        }
        let Some(place) = unforced(pod) else { return Ok(()) };
        let (path, value) = place;
        let value = kubewright_apimachinery::go::quote(&value);
        let why = format!("{path}: Unsupported value: {value}: supported values: \"Always\"");
        Err(attributes.forbidden(&why))
    }
}

/// New Pods, and those that get an image they did not have.
fn concerns(attributes: &Attributes<'_>, pod: &Value, old: Option<&Value>) -> bool {
    if !attributes.is(BuiltInId::Pods) {
        return false;
    }
    match (attributes.operation, old) {
        (Operation::Create, _) => true,
        (Operation::Update, Some(old)) => !images(pod).is_subset(&images(old)),
        _ => false,
    }
}

fn images(pod: &Value) -> BTreeSet<&str> {
    let containers = FIELDS
        .into_iter()
        .filter_map(|field| pod.get("spec")?.get(field)?.as_array())
        .flatten();
    containers
        .filter_map(|container| container.get("image")?.as_str())
        .collect()
}

/// The first policy that a later plugin or webhook has changed, with its place.
fn unforced(pod: &Value) -> Option<(String, String)> {
    let spec = pod.get("spec")?;
    for field in FIELDS {
        for (index, container) in spec
            .get(field)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            let policy = container
                .get("imagePullPolicy")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if policy != "Always" {
                return Some((format!("spec.{field}[{index}].imagePullPolicy"), policy.to_owned()));
            }
        }
    }
    let volumes = spec.get("volumes").and_then(Value::as_array).into_iter().flatten();
    volumes.enumerate().find_map(|(index, volume)| {
        let policy = volume
            .get("image")?
            .get("pullPolicy")
            .and_then(Value::as_str)
            .unwrap_or_default();
        (policy != "Always").then(|| (format!("spec.volumes[{index}].image.pullPolicy"), policy.to_owned()))
    })
}
