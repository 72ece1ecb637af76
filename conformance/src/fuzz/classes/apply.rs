//! Server-side apply by several managers, with updates between.

use serde_json::{Value, json};

use super::Parts;
use super::manifests::existing;
use crate::fuzz::generated::Step;
use crate::fuzz::patches;
use crate::fuzz::random::Choices;

const MANAGERS: [&str; 4] = ["one", "two", "three", "kubectl"];

pub(super) fn apply(choices: &mut Choices) -> Parts {
    let (built_in, created, manifest) = existing(choices);
    let path = built_in.path();
    // Half of the objects begin with an apply.
    let mut steps = if choices.percent(50) {
        vec![created]
    } else {
        let path = format!("{path}?fieldManager={}", choices.word(&MANAGERS));
        vec![Step::new("PATCH", &path).body("apply", manifest.clone())]
    };
    for _ in 0..3 + choices.below(5) {
        let next = built_in.changed(choices, &manifest);
        let manager = choices.word(&MANAGERS);
        steps.push(match choices.below(10) {
            0..=6 => {
                let mut applied = if choices.percent(40) {
                    next
                } else {
                    patches::fragment(choices, &next)
                };
                if let Some(fields) = applied.as_object_mut() {
                    fields.insert("apiVersion".to_owned(), manifest["apiVersion"].clone());
                    fields.insert("kind".to_owned(), manifest["kind"].clone());
                    if choices.percent(70) && !fields.get("metadata").is_some_and(Value::is_object) {
                        fields.insert("metadata".to_owned(), json!({"name": manifest["metadata"]["name"]}));
                    }
                }
                let force = if choices.percent(50) { "&force=true" } else { "" };
                Step::new("PATCH", &format!("{path}?fieldManager={manager}{force}")).body("apply", applied)
            }
            7 => Step::new("PUT", &format!("{path}?fieldManager={manager}")).body("json", next),
            8 => Step::new("PATCH", &format!("{path}?fieldManager={manager}"))
                .body("merge-patch", patches::merge_patch(choices, &next)),
            _ => Step::new("PATCH", &format!("{path}?fieldManager={manager}"))
                .body("merge-patch", json!({"metadata": {"managedFields": [{}]}})),
        });
    }
    steps.push(Step::new("GET", &path));
    (Vec::new(), steps.into_iter().map(Value::from).collect())
}
