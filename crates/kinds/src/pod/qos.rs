//! The quality of service class of a pod: how its requests relate to its limits.

use serde_json::Value;

use crate::rules::access::{at, list_at, map_at, part};

use super::resources::{Amounts, amounts};

/// `Guaranteed`, `Burstable` or `BestEffort`.
pub(crate) fn class(spec: &Value) -> &'static str {
    let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
    let mut guaranteed = true;
    if let Some(resources) = at(spec, &["resources"]) {
        add(&mut requests, resources, "requests");
        let limited = map_at(resources, &["limits"]).is_some_and(|limits| !limits.is_empty());
        if limited && !add(&mut limits, resources, "limits") {
            guaranteed = false;
        }
    } else {
        for list in ["containers", "initContainers"] {
            for container in list_at(spec, &[list]) {
                let resources = part(container, "resources");
                add(&mut requests, resources, "requests");
                guaranteed &= add(&mut limits, resources, "limits");
            }
        }
    }
    if requests.is_empty() && limits.is_empty() {
        return "BestEffort";
    }
    if guaranteed && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Adds up cpu and memory; returns whether both were there.
fn add(total: &mut Amounts, resources: &Value, kind: &str) -> bool {
    let mut found = 0;
    for (name, amount) in amounts(map_at(resources, &[kind])) {
        if matches!(name.as_str(), "cpu" | "memory") && amount.sign() > 0 {
            found += 1;
            match total.get_mut(&name) {
                Some(sum) => sum.add(&amount),
                None => drop(total.insert(name, amount)),
            }
        }
    }
    found == 2
}
