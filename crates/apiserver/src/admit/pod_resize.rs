//! `PodResizeValidator`: a Pod is resized only to what its node has, and only on Linux (A19).

use kubewright_quota::{Basis, ResourceList, pod_requests};
use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::object::meta_number;
use crate::registry::{BuiltInId, Subresource};
use crate::wire::status::{Cause, Result, Status};

pub(super) struct PodResizeValidator;

impl Plugin for PodResizeValidator {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::PodResizeValidator)
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        pod: &Value,
        old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        let is_resized = attributes.resource.is(BuiltInId::Pods)
            && attributes.operation == Operation::Update
            && attributes.subresource == Some(Subresource::Resize);
        if !is_resized || old.is_some_and(|old| meta_number(old, "generation") == meta_number(pod, "generation")) {
            return Ok(());
        }
        let name = pod
            .pointer("/spec/nodeName")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if name.is_empty() {
            return Ok(());
        }
        let quoted = kubewright_apimachinery::go::quote(name);
        let Some(node) = attributes.stored(BuiltInId::Nodes, name) else {
            return Err(attributes.forbidden(&format!("node {quoted} not found")));
        };
        let labels = node.pointer("/metadata/labels");
        let system = labels
            .and_then(|labels| labels.get("kubernetes.io/os"))
            .and_then(Value::as_str);
        if let Some(system) = system.filter(|system| *system != "linux") {
            let system = kubewright_apimachinery::go::quote(system);
            let why = format!("pod resize is only supported on linux nodes, node {quoted} is {system}");
            return Err(because(attributes.forbidden(&why), "UnsupportedPlatform"));
        }
        match too_much(pod, &node) {
            Some(why) => Err(because(attributes.forbidden(&why), "NodeCapacity")),
            None => Ok(()),
        }
    }
}

fn too_much(pod: &Value, node: &Value) -> Option<String> {
    let requests = pod_requests(pod, Basis::SpecWithOverhead);
    let allocatable = ResourceList::read(node.pointer("/status/allocatable"));
    let mut missing = Vec::new();
    for name in ["cpu", "memory"] {
        let is_exceeded = match (requests.get(name), allocatable.get(name)) {
            (Some(wanted), Some(there)) => wanted > there,
            (Some(wanted), None) => !wanted.is_zero(),
            (None, _) => false,
        };
        if is_exceeded {
            let amount = |list: &ResourceList| {
                list.get(name).map_or(0, |amount| {
                    if name == "cpu" {
                        amount.milli_value()
                    } else {
                        amount.value()
                    }
                })
            };
            let (wanted, there) = (amount(&requests), amount(&allocatable));
            missing.push(format!("{name}, requested: {wanted}, allocatable: {there}"));
        }
    }
    let missing = (!missing.is_empty()).then(|| missing.join("; "))?;
    Some(format!("node didn't have enough allocatable resources: {missing}"))
}

fn because(mut status: Box<Status>, reason: &'static str) -> Box<Status> {
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            reason: reason.into(),
            message: String::new(),
            field: String::new(),
        });
    }
    status
}
