//! `LabelSelector` objects, compiled.

use serde_json::{Map, Value};

/// Requirements that must all hold. An absent or empty selector selects everything, as webhooks have it.
#[derive(Clone, Debug, Default)]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
}

impl Selector {
    /// Reads a `LabelSelector` object; the error is upstream's sentence.
    pub fn read(selector: Option<&Value>) -> Result<Selector, String> {
        let Some(selector) = selector.filter(|selector| !selector.is_null()) else {
            return Ok(Selector::default());
        };
        let mut requirements = Vec::new();
        let labels = selector.get("matchLabels").and_then(Value::as_object);
        for (key, value) in labels.into_iter().flatten() {
            requirements.push(Requirement {
                key: key.clone(),
                test: Test::In(vec![value.as_str().unwrap_or_default().to_owned()]),
            });
        }
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        for expression in expressions.into_iter().flatten() {
            let values: Vec<String> = expression
                .get("values")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            let test = match expression.get("operator").and_then(Value::as_str).unwrap_or_default() {
                "In" => Test::In(values),
                "NotIn" => Test::NotIn(values),
                "Exists" => Test::Exists,
                "DoesNotExist" => Test::Absent,
                other => {
                    return Err(format!(
                        "{} is not a valid label selector operator",
                        kubewright_codec::quote(other)
                    ));
                }
            };
            let key = expression.get("key").and_then(Value::as_str).unwrap_or_default();
            requirements.push(Requirement {
                key: key.to_owned(),
                test,
            });
        }
        Ok(Selector(requirements))
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it selects these labels.
    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.0.iter().all(|requirement| {
            let found = labels.and_then(|labels| labels.get(&requirement.key));
            let found = found.and_then(Value::as_str);
            match &requirement.test {
                Test::In(values) => found.is_some_and(|found| values.iter().any(|value| value == found)),
                Test::NotIn(values) => found.is_none_or(|found| values.iter().all(|value| value != found)),
                Test::Exists => found.is_some(),
                Test::Absent => found.is_none(),
            }
        })
    }

    /// Whether it selects an object by its own labels. What is no object is not selected.
    pub(crate) fn matches_object(&self, object: &Value) -> bool {
        object.get("metadata").is_some_and(|metadata| {
            let labels = metadata.get("labels").and_then(Value::as_object);
            self.matches(labels)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_absent_selector_selects_everything() {
        for selector in [None, Some(&Value::Null), Some(&json!({}))] {
            let selector = Selector::read(selector).unwrap();
            assert!(selector.is_empty());
            assert!(selector.matches(None));
        }
    }

    #[test]
    fn every_operator_means_what_it_says() {
        let labels = json!({"a": "1"});
        let labels = labels.as_object();
        for (operator, key, values, wanted) in [
            ("In", "a", json!(["1", "2"]), true),
            ("In", "a", json!(["2"]), false),
            ("In", "b", json!(["1"]), false),
            ("NotIn", "a", json!(["1"]), false),
            ("NotIn", "b", json!(["1"]), true),
            ("Exists", "a", json!(null), true),
            ("Exists", "b", json!(null), false),
            ("DoesNotExist", "a", json!(null), false),
            ("DoesNotExist", "b", json!(null), true),
        ] {
            let expression = json!({"key": key, "operator": operator, "values": values});
            let selector = Selector::read(Some(&json!({"matchExpressions": [expression]}))).unwrap();
            assert_eq!(selector.matches(labels), wanted, "{operator} {key}");
        }
    }

    #[test]
    fn an_operator_that_does_not_exist_is_a_mistake() {
        let selector = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
        let error = Selector::read(Some(&selector)).unwrap_err();
        assert_eq!(error, r#""Near" is not a valid label selector operator"#);
    }
}
