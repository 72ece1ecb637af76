//! Makes a case small while its difference stays: fewer steps, fewer given objects, smaller bodies.

use std::future::Future;

use serde_json::Value;

use super::generated::GeneratedCase;
use super::patches::places;

/// The smallest case found within so many tries for which `keeps` still holds. It holds for the given one.
pub async fn shrink<K, F>(mut case: GeneratedCase, mut tries: usize, mut keeps: K) -> GeneratedCase
where
    K: FnMut(GeneratedCase) -> F,
    F: Future<Output = bool>,
{
    loop {
        let mut smaller = false;
        let mut at = 0;
        // A cut that held is made, and the next one is looked for at the same place of what is left.
        while let Some(candidate) = cut(&case, at) {
            if tries == 0 {
                return case;
            }
            tries -= 1;
            if keeps(candidate.clone()).await {
                case = candidate;
                smaller = true;
            } else {
                at += 1;
            }
        }
        if !smaller {
            return case;
        }
    }
}

/// The case without one of its parts: first the steps, from the last one, then given objects, then members of steps, then parts of
/// their bodies and of given objects, larger ones first.
fn cut(case: &GeneratedCase, at: usize) -> Option<GeneratedCase> {
    let mut cut = case.clone();
    let (steps, given) = (case.steps.len(), case.given.len());
    if at < steps {
        cut.steps.remove(steps - 1 - at);
        return Some(cut);
    }
    if at < steps + given {
        cut.given.remove(given - 1 - (at - steps));
        return Some(cut);
    }
    let mut parts: Vec<(bool, usize, String)> = Vec::new();
    for (index, step) in case.steps.iter().enumerate() {
        parts.extend(
            ["/headers", "/capture"]
                .iter()
                .filter(|part| step.pointer(part).is_some())
                .map(|part| (true, index, (*part).to_owned())),
        );
        parts.extend(inner(step.get("body")).map(|place| (true, index, format!("/body{place}"))));
    }
    for (index, object) in case.given.iter().enumerate() {
        parts.extend(inner(Some(object)).map(|place| (false, index, place)));
    }
    parts.sort_by_key(|(_, _, place)| place.matches('/').count());
    let (step, index, place) = parts.into_iter().nth(at - steps - given)?;
    remove(
        if step {
            &mut cut.steps[index]
        } else {
            &mut cut.given[index]
        },
        &place,
    );
    Some(cut)
}

fn inner(value: Option<&Value>) -> impl Iterator<Item = String> + use<> {
    let found = value.map(places).unwrap_or_default();
    found.into_iter().filter(|place| !place.is_empty())
}

fn remove(value: &mut Value, place: &str) {
    let Some((parent, last)) = place.rsplit_once('/') else {
        return;
    };
    match value.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.remove(&last.replace("~1", "/").replace("~0", "~"))),
        Some(Value::Array(items)) => {
            if let Some(index) = last.parse().ok().filter(|index: &usize| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fuzz::weights::Class;

    fn case() -> GeneratedCase {
        let step = |body: Value| json!({"request": "POST /x", "headers": {"Accept": "a"}, "body": body});
        GeneratedCase {
            class: Class::Create,
            seed: 1,
            index: 1,
            given: vec![json!({"kind": "A"}), json!({"kind": "B", "data": {"k": 1}})],
            steps: vec![
                step(json!({"a": 1})),
                step(json!({"spec": {"items": [{"bad": true, "fine": 1}, 2], "other": {}}, "x": [1, 2]})),
                step(json!({})),
            ],
        }
    }

    fn shrunk(tries: usize) -> GeneratedCase {
        let keeps = |case: GeneratedCase| async move {
            case.steps
                .iter()
                .any(|step| step["body"]["spec"]["items"][0]["bad"] == true)
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(shrink(case(), tries, keeps))
    }

    #[test]
    fn what_is_left_is_what_the_difference_needs() {
        let small = shrunk(1000);
        assert_eq!(
            small.steps,
            [json!({"request": "POST /x", "body": {"spec": {"items": [{"bad": true}]}}})]
        );
        assert_eq!(small.given, Vec::<Value>::new());
    }

    #[test]
    fn a_shrunken_case_keeps_its_difference_however_few_the_tries() {
        for tries in 0..20 {
            let small = shrunk(tries);
            assert!(
                small
                    .steps
                    .iter()
                    .any(|step| step["body"]["spec"]["items"][0]["bad"] == true)
            );
        }
    }
}
