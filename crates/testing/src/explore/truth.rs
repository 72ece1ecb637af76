//! Whether a status tells the truth: about the generation that it is of, and about its transitions.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

/// Times in objects have whole seconds: what is not further apart may be the same moment.
const SAME_SECOND: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);

/// What the status of an object says of another generation than the object's, once everything has settled.
pub(super) fn generations(object: &Value) -> Vec<String> {
    let Some(generation) = object["metadata"]["generation"].as_i64() else {
        return Vec::new();
    };
    if !object["metadata"]["deletionTimestamp"].is_null() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut check = |what: &str, observed: &Value| {
        if let Some(observed) = observed.as_i64()
            && observed != generation
        {
            found.push(format!("{what} is {observed}, the generation is {generation}"));
        }
    };
    check("status.observedGeneration", &object["status"]["observedGeneration"]);
    for condition in conditions(object) {
        let what = format!("observedGeneration of condition {}", type_of(condition));
        check(&what, &condition["observedGeneration"]);
    }
    found
}

/// What is wrong with the conditions of an object after a write: two of one type, or another status since the same time as before.
pub(super) fn transitions(before: Option<&Value>, after: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut types = BTreeSet::new();
    for condition in conditions(after) {
        let own = type_of(condition);
        if !types.insert(own) {
            found.push(format!("two conditions of type {own}"));
        }
        let earlier = before.and_then(|before| conditions(before).find(|earlier| type_of(earlier) == own));
        let Some(earlier) = earlier else { continue };
        if earlier["status"] == condition["status"] || earlier["lastTransitionTime"] != condition["lastTransitionTime"]
        {
            continue;
        }
        let since = time(&condition["lastTransitionTime"]);
        if let (Some(since), Some(written)) = (since, written(after))
            && written.duration_since(since) > SAME_SECOND
        {
            found.push(format!(
                "condition {own} became {} at {written}, but has it since {since}",
                condition["status"]
            ));
        }
    }
    found
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"].as_array().into_iter().flatten()
}

fn type_of(condition: &Value) -> &str {
    condition["type"].as_str().unwrap_or_default()
}

/// When the status was written last.
fn written(object: &Value) -> Option<Timestamp> {
    let entries = object["metadata"]["managedFields"].as_array()?;
    let of_status = entries.iter().filter(|entry| entry["subresource"] == "status");
    of_status.filter_map(|entry| time(&entry["time"])).max()
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_of_another_generation_is_told() {
        let object = |observed: i64| {
            json!({
                "metadata": { "generation": 2 },
                "status": { "observedGeneration": 2, "conditions": [{ "type": "Ready", "observedGeneration": observed }] },
            })
        };
        assert_eq!(
            generations(&object(1)),
            ["observedGeneration of condition Ready is 1, the generation is 2"]
        );
        assert!(generations(&object(2)).is_empty());
        let mut deleted = object(1);
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert!(generations(&deleted).is_empty());
    }

    #[test]
    fn a_transition_without_its_time_is_told() {
        let object = |status: &str, since: &str, written: &str| {
            json!({
                "metadata": { "managedFields": [{ "subresource": "status", "time": written }] },
                "status": { "conditions": [{ "type": "Ready", "status": status, "lastTransitionTime": since }] },
            })
        };
        let (zero, one, five) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:05Z");
        let before = object("False", zero, zero);
        assert_eq!(transitions(Some(&before), &object("True", zero, five)).len(), 1);
        // In the same second, with a time of its own, and without a transition.
        assert!(transitions(Some(&before), &object("True", zero, one)).is_empty());
        assert!(transitions(Some(&before), &object("True", one, five)).is_empty());
        assert!(transitions(Some(&before), &object("False", zero, five)).is_empty());
        assert!(transitions(None, &object("True", zero, five)).is_empty());
    }

    #[test]
    fn two_conditions_of_one_type_are_told() {
        let object = json!({ "status": { "conditions": [{ "type": "Ready" }, { "type": "Ready" }] } });
        assert_eq!(transitions(None, &object), ["two conditions of type Ready"]);
    }
}
