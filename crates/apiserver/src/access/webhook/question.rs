//! What is asked, as the `spec` of a `SubjectAccessReview`.

use kubewright_access::{Attributes, User};
use kubewright_apimachinery::fields;
use kubewright_apimachinery::labels::{Operator, Selector};
use serde_json::{Map, Value, json};

/// Whether a user may do something.
pub(super) fn question(user: &User, asked: &Attributes<'_>) -> Value {
    let mut spec = Map::new();
    if asked.is_resource {
        let mut of = texts(&[
            ("namespace", &*asked.namespace),
            ("verb", &*asked.verb),
            ("group", &*asked.group),
            ("version", &*asked.version),
            ("resource", &*asked.resource),
            ("subresource", &*asked.subresource),
            ("name", &*asked.name),
        ]);
        for (key, requirements) in [
            ("fieldSelector", field_requirements(&asked.field_selector)),
            ("labelSelector", label_requirements(&asked.label_selector)),
        ] {
            if !requirements.is_empty() {
                of.insert(key.into(), json!({ "requirements": requirements }));
            }
        }
        spec.insert("resourceAttributes".into(), of.into());
    } else {
        let of = texts(&[("path", &*asked.path), ("verb", &*asked.verb)]);
        spec.insert("nonResourceAttributes".into(), of.into());
    }
    spec.extend(texts(&[("user", user.name.as_str()), ("uid", user.uid.as_str())]));
    if !user.groups.is_empty() {
        spec.insert("groups".into(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        spec.insert("extra".into(), json!(user.extra));
    }
    spec.into()
}

fn texts(fields: &[(&str, &str)]) -> Map<String, Value> {
    let set = fields.iter().filter(|(_, text)| !text.is_empty());
    set.map(|(key, text)| ((*key).to_owned(), Value::from(*text))).collect()
}

/// What cannot be read narrows nothing down.
fn field_requirements(selector: &str) -> Vec<Value> {
    let requirements = fields::parse(selector).unwrap_or_default();
    let requirement = |requirement: fields::Requirement<'_>| {
        let operator = if requirement.is_equal { "In" } else { "NotIn" };
        json!({ "key": requirement.field, "operator": operator, "values": [requirement.value] })
    };
    requirements.into_iter().map(requirement).collect()
}

fn label_requirements(selector: &str) -> Vec<Value> {
    let selector: Selector = selector.parse().unwrap_or_default();
    let requirements = selector.requirements().iter().filter_map(|requirement| {
        let operator = match requirement.operator() {
            Operator::Equals | Operator::DoubleEquals | Operator::In => "In",
            Operator::NotEquals | Operator::NotIn => "NotIn",
            Operator::Exists => "Exists",
            Operator::DoesNotExist => "DoesNotExist",
            Operator::GreaterThan | Operator::LessThan => return None,
        };
        let mut told = json!({ "key": requirement.key(), "operator": operator });
        if !requirement.values().is_empty() {
            told["values"] = json!(requirement.values());
        }
        Some(told)
    });
    requirements.collect()
}
