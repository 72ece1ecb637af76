//! The conditions of an object, as people read them.

use serde::Serialize;
use serde_json::Value;

use super::Standing;

/// Conditions that are good news when they are false.
const TROUBLES: [&str; 9] = [
    "Failed",
    "ReplicaFailure",
    "Degraded",
    "Stalled",
    "Dangling",
    "DisruptionTarget",
    "NetworkUnavailable",
    "NonStructuralSchema",
    "FailureTarget",
];

/// A condition.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Condition {
    /// `Ready`, `not Ready`, `Ready or not?`
    pub(crate) says: String,
    pub(crate) standing: Standing,
    pub(crate) reason: String,
    pub(crate) message: String,
    /// Since when, as the API server writes it; empty if it is not said.
    pub(crate) since: String,
    /// Whether it is about a generation that is past.
    pub(crate) is_stale: bool,
}

/// The conditions of an object, bad news first.
pub(crate) fn conditions(object: &Value) -> Vec<Condition> {
    let all = object["status"]["conditions"].as_array();
    let mut found: Vec<Condition> = all.into_iter().flatten().map(|one| condition(one, object)).collect();
    found.sort_by_key(|one| match one.standing {
        Standing::Bad => 0,
        Standing::Busy => 1,
        Standing::Good | Standing::Neutral => 2,
    });
    found
}

fn condition(condition: &Value, object: &Value) -> Condition {
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    let kind = text("type");
    let is_trouble = TROUBLES.contains(&&*kind) || kind.ends_with("Pressure") || kind.ends_with("Failed");
    let (says, standing) = match condition["status"].as_str() {
        Some("True") if is_trouble => (kind, Standing::Bad),
        Some("True") => (kind, Standing::Good),
        Some("False") if is_trouble => (format!("not {kind}"), Standing::Good),
        Some("False") => (format!("not {kind}"), Standing::Busy),
        _ => (format!("{kind}: not known"), Standing::Busy),
    };
    let (seen, generation) = (&condition["observedGeneration"], &object["metadata"]["generation"]);
    Condition {
        says,
        standing,
        reason: text("reason"),
        message: text("message"),
        since: text("lastTransitionTime"),
        is_stale: seen.is_number() && generation.is_number() && seen != generation,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_are_said_as_people_say_them_bad_news_first() {
        let object = json!({
            "metadata": { "generation": 2 },
            "status": { "conditions": [
                { "type": "Ready", "status": "True", "reason": "AllThere" },
                { "type": "Synced", "status": "False", "observedGeneration": 1 },
                { "type": "MemoryPressure", "status": "False" },
                { "type": "Degraded", "status": "True", "message": "two of three" },
                { "type": "Fresh", "status": "Unknown" },
            ] },
        });
        let told: Vec<String> = conditions(&object)
            .iter()
            .map(|one| format!("{} {:?} {}", one.says, one.standing, one.is_stale))
            .collect();
        assert_eq!(
            told,
            [
                "Degraded Bad false",
                "not Synced Busy true",
                "Fresh: not known Busy false",
                "Ready Good false",
                "not MemoryPressure Good false"
            ]
        );
    }
}
