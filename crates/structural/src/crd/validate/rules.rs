//! The validation rules of a schema (`x-kubernetes-validations`): their texts here, their types and costs by the CEL
//! crate (C16, C17).

use std::collections::{HashMap, HashSet};

use kubewright_apimachinery::field::{BadValue, ErrorType, Errors, FieldError, PathRef};
use kubewright_cel::rules::check_schema;
use serde_json::Value;

use super::props::Props;
use super::{field_path, printed, structural};
use crate::crd::access::{at, text};

const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// The nodes whose rules are worth compiling: those with nothing else wrong at or below them.
#[derive(Default)]
pub(super) struct CompilableRules<'a> {
    nodes: HashSet<*const Value>,
    rules: HashMap<String, &'a Value>,
}

impl<'a> CompilableRules<'a> {
    /// Adds the rules of a node.
    pub(super) fn add(&mut self, node: Props<'a>, path: &PathRef<'_>) {
        self.nodes.insert(std::ptr::from_ref(node.0));
        let path = path.child("x-kubernetes-validations");
        for (index, rule) in node.rules().iter().enumerate() {
            self.rules.insert(path.index(index).to_string(), rule);
        }
    }
}

/// What is wrong with the texts of a node's rules.
pub(super) fn validate_texts(node: Props<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child("x-kubernetes-validations");
    for (index, rule) in node.rules().iter().enumerate() {
        validate_text(rule, node, &path.index(index), errors);
    }
}

fn validate_text(rule: &Value, node: Props<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let has_line_break = |text: &str| text.contains(['\n', '\r']);
    let (expression, message) = (text(rule, &["rule"]).trim(), text(rule, &["message"]));
    let message_path = path.child("message");
    if expression.is_empty() {
        errors.push(FieldError::required(&path.child("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(FieldError::invalid(
            &message_path,
            message,
            "must be non-empty if specified",
        ));
    } else if has_line_break(message.trim()) {
        errors.push(FieldError::invalid(
            &message_path,
            message,
            "must not contain line breaks",
        ));
    } else if has_line_break(expression) && message.trim().is_empty() {
        let words = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(&message_path, words));
    }
    let message_expression = text(rule, &["messageExpression"]);
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        let words = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(&path.child("messageExpression"), words));
    }
    if let Some(reason) = at(rule, &["reason"]).and_then(Value::as_str)
        && !REASONS.contains(&reason)
    {
        errors.push(FieldError::not_supported(&path.child("reason"), reason, REASONS));
    }
    let field = text(rule, &["fieldPath"]);
    if field.is_empty() {
        return;
    }
    let path = path.child("fieldPath");
    if field.trim().is_empty() {
        errors.push(FieldError::invalid(&path, field, "must be non-empty if specified"));
    }
    if has_line_break(field) {
        errors.push(FieldError::invalid(&path, field, "must not contain line breaks"));
    }
    if structural::unsupported(node).is_none() && field_path::find(field, Some(node), true).is_err() {
        errors.push(FieldError::invalid(&path, field, "must be a valid path"));
    }
}

/// Compiles the rules and reports types, costs and uses of `oldSelf` that are wrong. With `any_cost`, the cost of a
/// single rule is not limited.
pub(super) fn validate(
    schema: &Value,
    compilable: &CompilableRules<'_>,
    any_cost: bool,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    if compilable.rules.is_empty() {
        return;
    }
    let path = path.to_string();
    let issues = if Props(schema)
        .any(&mut |node| !node.rules().is_empty() && !compilable.nodes.contains(&std::ptr::from_ref(node.0)))
    {
        check_schema(&without_dropped(schema, compilable), &path)
    } else {
        check_schema(schema, &path)
    };
    for issue in issues {
        let is_cost = issue.kind == ErrorType::Forbidden && issue.detail.starts_with("estimated ");
        if any_cost && is_cost {
            continue;
        }
        let shown = if issue.kind == ErrorType::Invalid {
            shown_rule(&issue.path, &issue.detail, compilable)
        } else {
            None
        };
        let shown = shown.map(BadValue::verbatim);
        errors.push(FieldError::new(issue.kind, &issue.path, shown, issue.detail));
    }
}

/// What an error shows of a rule: the whole of it when it does not compile, else the part that is wrong.
fn shown_rule(path: &str, detail: &str, compilable: &CompilableRules<'_>) -> Option<String> {
    let (place, field) = path.rsplit_once('.')?;
    let rule = compilable.rules.get(place)?;
    Some(match field {
        "optionalOldSelf" => printed::json(at(rule, &["optionalOldSelf"])?),
        "rule" if detail.starts_with("oldSelf cannot be used") => {
            kubewright_apimachinery::go::quote(text(rule, &["rule"]))
        }
        _ => printed::rule(rule),
    })
}

/// The schema without the rules that are not worth compiling.
fn without_dropped(schema: &Value, compilable: &CompilableRules<'_>) -> Value {
    match schema {
        Value::Object(fields) => {
            let drops = !compilable.nodes.contains(&std::ptr::from_ref(schema));
            let fields = fields
                .iter()
                .filter(|(name, value)| !(drops && *name == "x-kubernetes-validations" && value.is_array()))
                .map(|(name, value)| (name.clone(), without_dropped(value, compilable)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| without_dropped(item, compilable)).collect()),
        other => other.clone(),
    }
}
