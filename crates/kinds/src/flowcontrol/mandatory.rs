//! The mandatory schemas and levels (`exempt`, `catch-all`), whose specs are fixed.

use kubewright_apimachinery::field::{Errors, PathRef};
use serde_json::{Value, json};

use crate::rules::access::{at, bool_at, int_at, list_at, remove, same, str_at, strings_at};
use crate::rules::printed::{self, pointer};

/// A mandatory schema has its fixed spec.
pub(super) fn validate_schema(object: &Value, errors: &mut Errors) {
    let everything = |subjects: Value| {
        json!([{
            "subjects": subjects,
            "resourceRules": [{
                "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"],
            }],
            "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
        }])
    };
    let group = |name: &str| json!({ "kind": "Group", "group": { "name": name } });
    let name = str_at(object, &["metadata", "name"]);
    let fixed = match name {
        "exempt" => json!({
            "priorityLevelConfiguration": { "name": "exempt" },
            "matchingPrecedence": 1,
            "rules": everything(json!([group("system:masters")])),
        }),
        "catch-all" => json!({
            "priorityLevelConfiguration": { "name": "catch-all" },
            "matchingPrecedence": 10_000,
            "distinguisherMethod": { "type": "ByUser" },
            "rules": everything(json!([group("system:unauthenticated"), group("system:authenticated")])),
        }),
        _ => return,
    };
    let spec = at(object, &["spec"]);
    if !same(spec, Some(&fixed)) {
        let detail = format!("spec of '{name}' must equal the fixed value");
        let shown = shown_schema(spec.unwrap_or(&Value::Null));
        errors.push(printed::invalid(&PathRef::root("spec"), &shown, &detail));
    }
}

/// A mandatory level has its fixed spec; only the field `exempt` of the level `exempt` may be configured.
pub(super) fn validate_level(object: &Value, errors: &mut Errors) {
    let name = str_at(object, &["metadata", "name"]);
    let mut spec = at(object, &["spec"]).cloned().unwrap_or(Value::Null);
    let shown = shown_level(&spec);
    let (fixed, detail) = match name {
        "exempt" => {
            remove(&mut spec, &["exempt"]);
            (
                json!({ "type": "Exempt" }),
                "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value",
            )
        }
        "catch-all" => {
            let limited = json!({
                "nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": { "type": "Reject" },
            });
            (
                json!({ "type": "Limited", "limited": limited }),
                "spec of 'catch-all' must equal the fixed value",
            )
        }
        _ => return,
    };
    if !same(Some(&spec), Some(&fixed)) {
        errors.push(printed::invalid(&PathRef::root("spec"), &shown, detail));
    }
}

fn text(value: &Value, path: &[&str]) -> Value {
    str_at(value, path).into()
}

/// A list as Go prints it: none is null.
fn strings(value: &Value, field: &str) -> Value {
    let items = strings_at(value, &[field]);
    if items.is_empty() { Value::Null } else { items.into() }
}

fn items(value: &Value, field: &str, show: fn(&Value) -> String) -> String {
    let items = list_at(value, &[field]);
    if items.is_empty() {
        return "null".to_owned();
    }
    format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(","))
}

fn shown_schema(spec: &Value) -> String {
    let method = at(spec, &["distinguisherMethod"]).map_or_else(
        || "null".to_owned(),
        |method| json!({ "Type": str_at(method, &["type"]) }).to_string(),
    );
    format!(
        r#"{{"PriorityLevelConfiguration":{{"Name":{}}},"MatchingPrecedence":{},"DistinguisherMethod":{method},"Rules":{}}}"#,
        text(spec, &["priorityLevelConfiguration", "name"]),
        int_at(spec, &["matchingPrecedence"]),
        items(spec, "rules", shown_rule),
    )
}

fn shown_rule(rule: &Value) -> String {
    format!(
        r#"{{"Subjects":{},"ResourceRules":{},"NonResourceRules":{}}}"#,
        items(rule, "subjects", shown_subject),
        items(rule, "resourceRules", shown_resource_rule),
        items(rule, "nonResourceRules", |rule| {
            format!(
                r#"{{"Verbs":{},"NonResourceURLs":{}}}"#,
                strings(rule, "verbs"),
                strings(rule, "nonResourceURLs")
            )
        }),
    )
}

fn shown_subject(subject: &Value) -> String {
    let named = |field: &str| {
        at(subject, &[field]).map_or_else(
            || "null".to_owned(),
            |found| json!({ "Name": str_at(found, &["name"]) }).to_string(),
        )
    };
    let account = at(subject, &["serviceAccount"]).map_or_else(
        || "null".to_owned(),
        |account| {
            format!(
                r#"{{"Namespace":{},"Name":{}}}"#,
                text(account, &["namespace"]),
                text(account, &["name"])
            )
        },
    );
    format!(
        r#"{{"Kind":{},"User":{},"Group":{},"ServiceAccount":{account}}}"#,
        text(subject, &["kind"]),
        named("user"),
        named("group"),
    )
}

fn shown_resource_rule(rule: &Value) -> String {
    format!(
        r#"{{"Verbs":{},"APIGroups":{},"Resources":{},"ClusterScope":{},"Namespaces":{}}}"#,
        strings(rule, "verbs"),
        strings(rule, "apiGroups"),
        strings(rule, "resources"),
        bool_at(rule, &["clusterScope"]),
        strings(rule, "namespaces"),
    )
}

fn shown_level(spec: &Value) -> String {
    let limited = at(spec, &["limited"]).map_or_else(|| "null".to_owned(), shown_limited);
    let exempt = at(spec, &["exempt"]).map_or_else(
        || "null".to_owned(),
        |exempt| {
            format!(
                r#"{{"NominalConcurrencyShares":{},"LendablePercent":{}}}"#,
                pointer(at(exempt, &["nominalConcurrencyShares"])),
                pointer(at(exempt, &["lendablePercent"])),
            )
        },
    );
    format!(
        r#"{{"Type":{},"Limited":{limited},"Exempt":{exempt}}}"#,
        text(spec, &["type"])
    )
}

fn shown_limited(limited: &Value) -> String {
    let queuing = at(limited, &["limitResponse", "queuing"]).map_or_else(
        || "null".to_owned(),
        |queuing| {
            format!(
                r#"{{"Queues":{},"HandSize":{},"QueueLengthLimit":{}}}"#,
                int_at(queuing, &["queues"]),
                int_at(queuing, &["handSize"]),
                int_at(queuing, &["queueLengthLimit"]),
            )
        },
    );
    format!(
        r#"{{"NominalConcurrencyShares":{},"LimitResponse":{{"Type":{},"Queuing":{queuing}}},"LendablePercent":{},"BorrowingLimitPercent":{}}}"#,
        int_at(limited, &["nominalConcurrencyShares"]),
        text(limited, &["limitResponse", "type"]),
        pointer(at(limited, &["lendablePercent"])),
        pointer(at(limited, &["borrowingLimitPercent"])),
    )
}
