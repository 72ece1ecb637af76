//! `LabelSelector` objects: `matchLabels` and `matchExpressions`.

use serde_json::Value;

use super::{Labels, Operator, Requirement, Selector, SelectorError};
use crate::go::quote;

impl Selector {
    /// Compiles a `LabelSelector` object. One without requirements selects everything, and so does null here; where an absent
    /// selector means nothing, the caller must ask before.
    pub fn from_label_selector(selector: &Value) -> Result<Self, SelectorError> {
        let mut requirements = Vec::new();
        for (key, value) in match_labels(selector) {
            let values = vec![value.to_owned()];
            requirements.push(Requirement::new(key, Operator::Equals, values)?);
        }
        for expression in match_expressions(selector) {
            let operator = label_operator(expression.operator).ok_or_else(|| {
                let name = quote(expression.operator);
                SelectorError(format!("{name} is not a valid label selector operator"))
            })?;
            let values = strings(expression.values).map(str::to_owned).collect();
            requirements.push(Requirement::new(expression.key, operator, values)?);
        }
        Ok(requirements.into_iter().collect())
    }
}

/// Whether a `LabelSelector` object selects labels, without compiling it: for a selector that is asked once. An operator
/// that does not exist selects nothing.
pub fn selects(selector: &Value, labels: &(impl Labels + ?Sized)) -> bool {
    match_labels(selector).all(|(key, value)| labels.label(key) == Some(value))
        && match_expressions(selector).all(|expression| {
            label_operator(expression.operator)
                .is_some_and(|operator| operator.holds(labels.label(expression.key), strings(expression.values)))
        })
}

/// The operators of label selectors; node selectors have more.
fn label_operator(name: &str) -> Option<Operator> {
    Operator::named(name).filter(|operator| !matches!(operator, Operator::GreaterThan | Operator::LessThan))
}

struct Expression<'a> {
    key: &'a str,
    operator: &'a str,
    values: &'a Value,
}

fn match_labels(selector: &Value) -> impl Iterator<Item = (&str, &str)> {
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    labels
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

fn match_expressions(selector: &Value) -> impl Iterator<Item = Expression<'_>> {
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    expressions.into_iter().flatten().map(|expression| {
        let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
        Expression {
            key: text("key"),
            operator: text("operator"),
            values: expression.get("values").unwrap_or(&Value::Null),
        }
    })
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}
