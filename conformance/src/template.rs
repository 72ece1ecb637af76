//! Replaces `${name}` in case files: captured values, the case's own namespace, values of the matrix, and long texts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;
use thiserror::Error;

/// The values that `${…}` may name while a case runs.
pub type Variables = BTreeMap<String, Value>;

/// A `${…}` that names nothing.
#[derive(Debug, Error)]
#[error("${{{0}}} is not defined: no capture, matrix value or `let` has that name")]
pub struct UndefinedVariable(pub String);

static REFERENCE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\$\{([^}]*)\}").expect("the pattern is valid"));
static FILLER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^(.+) \* (\d+)$").expect("the pattern is valid"));

/// How deep the values of variables may refer to other variables.
const DEPTH: usize = 8;

/// Replaces every `${name}` of a text. `${x * 300}` is the value of `x`, or the letter `x`, three hundred times.
/// A value may itself refer to variables.
pub fn fill(text: &str, variables: &Variables) -> Result<String, UndefinedVariable> {
    fill_to(text, variables, DEPTH)
}

fn fill_to(text: &str, variables: &Variables, depth: usize) -> Result<String, UndefinedVariable> {
    let mut undefined = None;
    let filled = REFERENCE.replace_all(text, |found: &Captures<'_>| {
        named(&found[1], variables, depth).unwrap_or_else(|error| {
            undefined.get_or_insert(error);
            String::new()
        })
    });
    let filled = filled.into_owned();
    undefined.map_or(Ok(filled), Err)
}

fn named(name: &str, variables: &Variables, depth: usize) -> Result<String, UndefinedVariable> {
    if let Some(filler) = FILLER.captures(name) {
        let text = variables.get(&filler[1]).and_then(Value::as_str).unwrap_or(&filler[1]);
        return Ok(text.repeat(filler[2].parse().unwrap_or(0)));
    }
    match variables.get(name) {
        Some(Value::String(value)) if depth > 0 => fill_to(value, variables, depth - 1),
        Some(value) if depth > 0 => Ok(fill_value_to(value, variables, depth - 1)?.to_string()),
        _ => Err(UndefinedVariable(name.to_owned())),
    }
}

/// Replaces the variables that are known and leaves all others, for a text that is shown to people.
pub fn fill_known(text: &str, known: &Variables) -> String {
    let shown = |found: &Captures<'_>| match known.get(&found[1]) {
        Some(Value::String(value)) => value.clone(),
        _ => found[0].to_owned(),
    };
    REFERENCE.replace_all(text, shown).into_owned()
}

/// Replaces every `${name}` in a value, keys included. A string that is nothing but `${name}` becomes the named value
/// itself, so that a matrix can vary objects and numbers.
pub fn fill_value(value: &Value, variables: &Variables) -> Result<Value, UndefinedVariable> {
    fill_value_to(value, variables, DEPTH)
}

fn fill_value_to(value: &Value, variables: &Variables, depth: usize) -> Result<Value, UndefinedVariable> {
    Ok(match value {
        Value::String(text) => match whole_reference(text, variables) {
            Some(named) if depth > 0 => fill_value_to(named, variables, depth - 1)?,
            _ => Value::String(fill_to(text, variables, depth)?),
        },
        Value::Array(items) => items
            .iter()
            .map(|item| fill_value_to(item, variables, depth))
            .collect::<Result<_, _>>()?,
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, field)| Ok((fill_to(key, variables, depth)?, fill_value_to(field, variables, depth)?)))
                .collect::<Result<_, UndefinedVariable>>()?,
        ),
        plain => plain.clone(),
    })
}

fn whole_reference<'a>(text: &str, variables: &'a Variables) -> Option<&'a Value> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    variables.get(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn variables() -> Variables {
        [
            ("ns".to_owned(), json!("case-1")),
            ("n".to_owned(), json!(3)),
            ("meta".to_owned(), json!({"a": 1})),
        ]
        .into()
    }

    #[test]
    fn names_inside_a_text_become_text() {
        assert_eq!(
            fill("/api/v1/namespaces/${ns}?limit=${n}", &variables()).unwrap(),
            "/api/v1/namespaces/case-1?limit=3"
        );
    }

    #[test]
    fn a_name_alone_keeps_the_type_of_its_value() {
        let filled = fill_value(&json!({"metadata": "${meta}", "x-${ns}": ["${n}"]}), &variables()).unwrap();
        assert_eq!(filled, json!({"metadata": {"a": 1}, "x-case-1": [3]}));
    }

    #[test]
    fn a_product_is_filler() {
        assert_eq!(fill("${ab * 3}", &variables()).unwrap(), "ababab");
    }

    #[test]
    fn values_may_name_values_but_not_themselves() {
        let mut variables = variables();
        variables.insert("path".to_owned(), json!("/namespaces/${ns}"));
        variables.insert("loop".to_owned(), json!("${loop}"));
        assert_eq!(fill("${path}/pods", &variables).unwrap(), "/namespaces/case-1/pods");
        assert!(fill("${loop}", &variables).is_err());
    }

    #[test]
    fn an_unknown_name_is_named_in_the_error() {
        let error = fill("${rv}", &variables()).unwrap_err();
        assert!(error.to_string().starts_with("${rv} is not defined"), "{error}");
    }
}
