//! What a difference is called, so that equal ones are counted together.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::generated::GeneratedCase;
use crate::diff::Difference;

/// The name of a difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// Method, resource, place and values, without what varies from case to case.
    pub text: String,
}

static VARYING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""(?:[^"\\]|\\.)*"|[0-9]+|<[^>]*>"#).expect("the pattern is valid"));

/// How much of a text is part of a name.
const LONGEST: usize = 110;

impl Signature {
    /// Whether the other one is at the same place of a request of the same kind, whatever the values are.
    pub fn is_like(&self, other: &Signature) -> bool {
        let place = |text: &str| text.split_once(": ").map_or(text, |(place, _)| place).to_owned();
        place(&self.text) == place(&other.text)
    }

    /// The name of the first of these differences, which are all of one step.
    pub fn of(case: &GeneratedCase, differences: &[Difference]) -> Self {
        let Some(first) = differences.first() else {
            return Signature {
                text: "nothing".to_owned(),
            };
        };
        let request = case
            .steps
            .get(first.step.saturating_sub(1))
            .map_or(&Value::Null, |step| &step["request"]);
        let request = target(request.as_str().unwrap_or_default());
        // A refusal that differs is named by its message, whatever else differs with it.
        let message = differences.iter().find(|difference| difference.at == "/body/message");
        let status = differences.iter().find(|difference| difference.at == "/status");
        let main = message.or(status).unwrap_or(first);
        let mut text = format!("{request} {}", place(&main.at));
        if let Some(status) = status {
            let (expected, actual) = (shown(status.expected.as_ref()), shown(status.actual.as_ref()));
            let _ = write!(text, " [{expected} not {actual}]");
        }
        if !main.at.contains("managedFields") && main.at != "/status" {
            let (expected, actual) = (shown(main.expected.as_ref()), shown(main.actual.as_ref()));
            let _ = write!(
                text,
                ": {} not {}",
                short(&expected, &actual),
                short(&actual, &expected)
            );
        }
        Signature { text }
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// The part of a text where it begins to differ from the other one, without the values in it.
fn short(text: &str, other: &str) -> String {
    let clean = |text: &str| VARYING.replace_all(text, "_").into_owned();
    let (text, other) = (clean(text), clean(other));
    let common = text
        .chars()
        .zip(other.chars())
        .take_while(|(one, other)| one == other)
        .count();
    text.chars()
        .skip(common.saturating_sub(LONGEST / 2))
        .take(LONGEST)
        .collect()
}

/// Method and resource of a request line.
fn target(line: &str) -> String {
    let (method, path) = line.split_once(' ').unwrap_or(("", line));
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let from = match parts.first() {
        Some(&"api") => 2,
        Some(&"apis") => 3,
        _ => return format!("{method} {path}"),
    };
    let rest = parts.get(from..).unwrap_or_default();
    let rest = match rest {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        rest => rest,
    };
    match rest {
        [] => format!("{method} {path}"),
        [plural] => format!("{method} {plural}"),
        [plural, _] => format!("{method} {plural}/…"),
        [plural, _, rest @ ..] => format!("{method} {plural}/…/{}", rest.join("/")),
    }
}

/// A place without the numbers of items, and without what is inside managedFields.
fn place(at: &str) -> String {
    let mut parts = Vec::new();
    for part in at.split('/') {
        if part.parse::<usize>().is_ok() {
            parts.push("*");
        } else {
            parts.push(part);
        }
        if part == "managedFields" {
            break;
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fuzz::weights::Class;

    fn case(request: &str, body: &Value) -> GeneratedCase {
        GeneratedCase {
            class: Class::Create,
            seed: 1,
            index: 1,
            given: Vec::new(),
            steps: vec![json!({"request": request, "body": body})],
        }
    }

    fn difference(at: &str, expected: Value, actual: Value) -> Difference {
        Difference {
            step: 1,
            at: at.to_owned(),
            expected: (!expected.is_null()).then_some(expected),
            actual: (!actual.is_null()).then_some(actual),
        }
    }

    #[test]
    fn a_name_leaves_out_what_varies() {
        let of = |name: &str, item: usize| {
            let differ = [difference(
                &format!("/body/items/{item}/message"),
                json!(format!("\"{name}\" is bad")),
                json!(format!("\"{name}\" is wrong")),
            )];
            Signature::of(
                &case("POST /apis/apps/v1/namespaces/${ns}/deployments?dryRun=All", &json!({})),
                &differ,
            )
        };
        assert_eq!(of("a", 1), of("b", 2));
        assert!(
            of("a", 1).text.starts_with("POST deployments /body/items/*/message"),
            "{:?}",
            of("a", 1)
        );
    }
}
