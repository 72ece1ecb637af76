//! What a write is charged with, or why a quota refuses it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use crate::evaluator::Kind;
use crate::pod::{compute_usage, has_own_resources};
use crate::scope::{self, has_deadline};
use crate::{Evaluator, ResourceList, list, text};

/// What every container must say if the quota counts it.
const DEMANDED: [&str; 6] = [
    "cpu",
    "memory",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
];

/// A write that quotas are asked about.
#[derive(Clone, Copy, Debug)]
pub struct QuotaWrite<'a> {
    object: &'a Value,
    /// What an update replaces.
    old: Option<&'a Value>,
    subresource: &'a str,
}

/// What a quota has used after a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Which of the given quotas.
    pub quota: usize,
    /// Its new `status.used`.
    pub used: ResourceList,
}

impl<'a> QuotaWrite<'a> {
    /// A new object.
    pub fn create(object: &'a Value) -> Self {
        QuotaWrite {
            object,
            old: None,
            subresource: "",
        }
    }

    /// A changed object, or a part of it.
    pub fn update(object: &'a Value, old: &'a Value, subresource: &'a str) -> Self {
        QuotaWrite {
            object,
            old: Some(old),
            subresource,
        }
    }

    /// Whether such a write can change what is used.
    pub fn concerns(&self, evaluator: &Evaluator) -> bool {
        match (evaluator.kind, self.subresource, self.old) {
            (Kind::Uncounted, ..) => false,
            (Kind::Pods, "", Some(old)) => has_deadline(old) != has_deadline(self.object),
            (Kind::Pods, "resize", Some(_))
            | (Kind::VolumeClaims, "status", Some(_))
            | (Kind::Services | Kind::VolumeClaims | Kind::DeviceClaims, "", Some(_))
            | (_, "", None) => true,
            _ => false,
        }
    }
}

/// What the quotas of a namespace have used after a write, for those where that changes; or the refusal of one of them, in
/// upstream's words. A quota without `status.hard` counts nothing yet.
pub fn charges(
    quotas: &[Value],
    evaluator: &Evaluator,
    write: &QuotaWrite<'_>,
    now: Timestamp,
) -> Result<Vec<Charge>, String> {
    if !write.concerns(evaluator) {
        return Ok(Vec::new());
    }
    let mut concerned = Vec::new();
    for (index, quota) in quotas.iter().enumerate() {
        if applies(quota, evaluator, write.object) {
            check_status(quota, evaluator, write.object)?;
            concerned.push((index, quota));
        }
    }
    if concerned.is_empty() {
        return Ok(Vec::new());
    }
    let usage = evaluator.usage(write.object, now);
    let negative: Vec<&str> = usage
        .iter()
        .filter(|(_, amount)| amount.is_negative())
        .map(|(name, _)| name)
        .collect();
    if !negative.is_empty() {
        return Err(format!(
            "quota usage is negative for resource(s): {}",
            negative.join(",")
        ));
    }
    let growth = write.old.map(|old| (old, usage.less(&evaluator.usage(old, now))));
    let mut charges = Vec::new();
    for (index, quota) in concerned {
        let delta = match &growth {
            Some((old, growth)) if applies(quota, evaluator, old) => growth,
            _ => &usage,
        };
        if let Some(used) = charged(quota, delta, write.subresource)? {
            charges.push(Charge { quota: index, used });
        }
    }
    Ok(charges)
}

/// Whether the quota is about the object.
fn applies(quota: &Value, evaluator: &Evaluator, object: &Value) -> bool {
    let hard = quota.pointer("/status/hard").and_then(Value::as_object);
    hard.is_some_and(|hard| hard.keys().any(|name| evaluator.counts(name)))
        && scope::matches(quota, evaluator.kind, object)
}

/// Refuses what says too little for this quota, and everything while the quota has not been counted.
fn check_status(quota: &Value, evaluator: &Evaluator, object: &Value) -> Result<(), String> {
    let name = quota.get("metadata").map_or("", |metadata| text(metadata, "name"));
    let hard = quota.pointer("/status/hard").and_then(Value::as_object);
    let counted: BTreeSet<&str> = hard
        .into_iter()
        .flat_map(|hard| hard.keys().map(String::as_str))
        .filter(|name| evaluator.counts(name))
        .collect();
    if evaluator.kind == Kind::Pods
        && let Some(missing) = unsaid(&counted, object)
    {
        return Err(format!("failed quota: {name}: {missing}"));
    }
    let used = quota.pointer("/status/used");
    let is_known = |name: &&str| used.is_some_and(|used| used.get(*name).is_some());
    if counted.iter().all(is_known) {
        return Ok(());
    }
    let counted: Vec<&str> = counted.into_iter().collect();
    Err(format!(
        "status unknown for quota: {name}, resources: {}",
        counted.join(",")
    ))
}

/// Which containers do not say what they need of what is counted.
fn unsaid(counted: &BTreeSet<&str>, pod: &Value) -> Option<String> {
    if has_own_resources(pod) {
        return None;
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for place in ["/spec/containers", "/spec/initContainers"] {
        for container in list(pod.pointer(place)) {
            let own = |which| ResourceList::read(container.get("resources").and_then(|own| own.get(which)));
            let said = compute_usage(&own("requests"), &own("limits"));
            for name in DEMANDED {
                if counted.contains(name) && said.get(name).is_none() {
                    missing.entry(name).or_default().insert(text(container, "name"));
                }
            }
        }
    }
    if missing.is_empty() {
        return None;
    }
    let missing = missing.into_iter().map(|(name, containers)| {
        let containers: Vec<&str> = containers.into_iter().collect();
        format!("{name} for: {}", containers.join(","))
    });
    Some(format!("must specify {}", missing.collect::<Vec<_>>().join("; ")))
}

/// What the quota has used then, if that is something else.
fn charged(quota: &Value, delta: &ResourceList, subresource: &str) -> Result<Option<ResourceList>, String> {
    let hard = ResourceList::read(quota.pointer("/status/hard"));
    let used = ResourceList::read(quota.pointer("/status/used"));
    if delta.iter().all(|(_, amount)| amount.is_zero()) {
        return Ok(None);
    }
    let requested =
        delta.only(|name| delta.get(name).is_some_and(|amount| !amount.is_zero()) && hard.get(name).is_some());
    let mut sum = used.clone();
    sum.add(&requested);
    let is_exceeded = |name: &str| {
        requested.get(name).is_some() && hard.get(name).zip(sum.get(name)).is_some_and(|(hard, sum)| sum > hard)
    };
    if subresource != "status" && hard.iter().any(|(name, _)| is_exceeded(name)) {
        let name = quota.get("metadata").map_or("", |metadata| text(metadata, "name"));
        return Err(format!(
            "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
            requested.only(is_exceeded).printed(),
            used.only(is_exceeded).printed(),
            hard.only(is_exceeded).printed(),
        ));
    }
    Ok((sum != used).then_some(sum))
}
