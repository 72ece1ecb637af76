//! Compares two transcripts of a case.

use std::fmt;

use serde_json::Value;

/// One place where a replay differs from the recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The step, counted from one.
    pub step: usize,
    /// The JSON pointer into the recorded step; empty for the whole step.
    pub at: String,
    /// The value of the recording, if it has one there.
    pub expected: Option<Value>,
    /// The value of the replay, if it has one there.
    pub actual: Option<Value>,
}

/// All differences between a recorded and a replayed transcript, in order.
pub fn differences(expected: &Value, actual: &Value) -> Vec<Difference> {
    let none = Vec::new();
    let (expected, actual) = (expected.as_array().unwrap_or(&none), actual.as_array().unwrap_or(&none));
    let mut found = Vec::new();
    for index in 0..expected.len().max(actual.len()) {
        compare(index + 1, "", expected.get(index), actual.get(index), &mut found);
    }
    found
}

fn compare(step: usize, at: &str, expected: Option<&Value>, actual: Option<&Value>, found: &mut Vec<Difference>) {
    match (expected, actual) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let mut keys: Vec<_> = one
                .keys()
                .chain(other.keys().filter(|key| !one.contains_key(*key)))
                .collect();
            keys.sort();
            for key in keys {
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                compare(step, &at, one.get(key), other.get(key), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for index in 0..one.len().max(other.len()) {
                compare(step, &format!("{at}/{index}"), one.get(index), other.get(index), found);
            }
        }
        (one, other) if one == other => {}
        (one, other) => found.push(Difference {
            step,
            at: at.to_owned(),
            expected: one.cloned(),
            actual: other.cloned(),
        }),
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.at.is_empty() { "the whole step" } else { &self.at };
        writeln!(f, "    step {} {place}", self.step)?;
        let (expected, actual) = (shown(self.expected.as_ref()), shown(self.actual.as_ref()));
        let common = expected
            .chars()
            .zip(actual.chars())
            .take_while(|(one, other)| one == other)
            .count();
        writeln!(f, "      - {}", excerpt(&expected, common))?;
        write!(f, "      + {}", excerpt(&actual, common))
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "(absent)".to_owned(), Value::to_string)
}

/// A long text, cut so that it begins a little before the first difference.
fn excerpt(text: &str, common: usize) -> String {
    const ENOUGH: usize = 600;
    const BEFORE: usize = 60;
    let skipped = if text.chars().count() <= ENOUGH {
        0
    } else {
        common.saturating_sub(BEFORE)
    };
    let mut rest = text.chars().skip(skipped);
    let mut excerpt: String = if skipped > 0 { "…" } else { "" }
        .chars()
        .chain(rest.by_ref().take(ENOUGH))
        .collect();
    if rest.next().is_some() {
        excerpt.push('…');
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_transcripts_have_no_differences() {
        let steps = json!([{"status": 200, "body": {"a": [1, {"b": null}]}}]);
        assert_eq!(differences(&steps, &steps), []);
    }

    #[test]
    fn a_difference_names_its_step_and_place() {
        let expected = json!([{"status": 200}, {"body": {"a/b": [1, 2]}}]);
        let actual = json!([{"status": 200}, {"body": {"a/b": [1, 3], "c": true}}]);
        let found = differences(&expected, &actual);
        assert_eq!(
            found.iter().map(|d| (d.step, d.at.as_str())).collect::<Vec<_>>(),
            [(2, "/body/a~1b/1"), (2, "/body/c")]
        );
        assert_eq!(found[1].expected, None);
    }

    #[test]
    fn long_texts_are_shown_where_they_differ() {
        let text = |end: &str| Some(Value::from(format!("{}{end}", "x".repeat(5000))));
        let difference = Difference {
            step: 1,
            at: "/body".to_owned(),
            expected: text("one"),
            actual: text("two"),
        };
        let shown = difference.to_string();
        assert!(
            shown.contains("xone") && shown.contains("xtwo") && shown.len() < 400,
            "{shown}"
        );
    }

    #[test]
    fn a_missing_step_is_a_difference() {
        assert_eq!(differences(&json!([{"status": 200}]), &json!([])).len(), 1);
    }
}
