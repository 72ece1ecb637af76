//! Creates, updates, patches and deletes objects of built-in kinds.

use serde_json::{Value, json};

use super::{Parts, now_and_then};
use crate::fuzz::built_ins::{self, BuiltIn};
use crate::fuzz::generated::Step;
use crate::fuzz::patches;
use crate::fuzz::random::Choices;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

/// An object from its creation to its deletion.
pub(super) fn lifecycle(choices: &mut Choices) -> Parts {
    let built_in = built_ins::any(choices, true);
    let manifest = if choices.percent(50) {
        built_in.manifest.clone()
    } else {
        built_in.changed(choices, &built_in.manifest)
    };
    let path = built_in.path();
    let mut steps = vec![
        Step::new("POST", &built_in.collection()).body("json", manifest.clone()),
        Step::new("GET", &path),
    ];
    for _ in 0..2 + choices.below(4) {
        let next = built_in.changed(choices, &manifest);
        steps.push(match choices.below(7) {
            0..=1 => Step::new("PUT", &path).body("json", next),
            2 => Step::new("PATCH", &path).body("merge-patch", patches::merge_patch(choices, &next)),
            3 => Step::new("PATCH", &path).body("strategic-patch", patches::strategic_patch(choices, &next)),
            4 => Step::new("PATCH", &format!("{path}?fieldManager=somebody")).body("apply", next),
            5 => Step::new("GET", &path).header("Accept", choices.word(&[TABLE, METADATA, "application/yaml"])),
            _ => Step::new("GET", &format!("{}?{}", built_in.collection(), built_in.selector())),
        });
    }
    steps.push(Step::new("DELETE", &path));
    steps.push(Step::new("GET", &path));
    (Vec::new(), steps.into_iter().map(Value::from).collect())
}

/// Creations of changed manifests. Each is of another name, so that none depends on those before.
pub(super) fn create(choices: &mut Choices) -> Parts {
    let built_in = built_ins::any(choices, false);
    let dry = !built_in.stored && built_in.resource.verbs.contains(&"delete");
    let count = 3 + choices.below(4);
    let steps = (0..count).map(|index| {
        let manifest = renamed(&built_in.manifest, index);
        let body = built_in.changed(choices, &manifest);
        let query = if dry { "?dryRun=All" } else { now_and_then(choices) };
        Step::new("POST", &format!("{}{query}", built_in.collection()))
            .body("json", body)
            .into()
    });
    (Vec::new(), steps.collect())
}

/// The manifest under another name, if its name is free to choose.
fn renamed(manifest: &Value, index: usize) -> Value {
    let mut renamed = manifest.clone();
    match manifest["metadata"]["name"].as_str() {
        Some("a") if index > 0 => renamed["metadata"]["name"] = json!(format!("a{index}")),
        Some("${unique}") if index > 0 => renamed["metadata"]["name"] = json!(format!("${{unique}}-{index}")),
        _ => {}
    }
    renamed
}

/// Updates of an object, with and without its resourceVersion.
pub(super) fn update(choices: &mut Choices) -> Parts {
    let (built_in, created, manifest) = existing(choices);
    let path = built_in.path();
    let mut steps = vec![created];
    for _ in 0..2 + choices.below(5) {
        let mut body = built_in.changed(choices, &manifest);
        if choices.percent(20) && body["metadata"].is_object() {
            body["metadata"]["resourceVersion"] = json!("${rv}");
        }
        let query = now_and_then(choices);
        steps.push(Step::new("PUT", &format!("{path}{query}")).body("json", body));
    }
    (Vec::new(), steps.into_iter().map(Value::from).collect())
}

/// Patches of an object.
pub(super) fn patch(choices: &mut Choices) -> Parts {
    let (built_in, created, manifest) = existing(choices);
    let path = built_in.path();
    let mut steps = vec![created];
    for _ in 0..3 + choices.below(4) {
        let next = built_in.changed(choices, &manifest);
        let (content, body) = match choices.below(3) {
            0 => ("json-patch", patches::json_patch(choices, &manifest, &next)),
            1 => ("merge-patch", patches::merge_patch(choices, &next)),
            _ => ("strategic-patch", patches::strategic_patch(choices, &next)),
        };
        let query = now_and_then(choices);
        steps.push(Step::new("PATCH", &format!("{path}{query}")).body(content, body));
    }
    (Vec::new(), steps.into_iter().map(Value::from).collect())
}

/// A kind, the step that creates an object of it, and the manifest that this sends.
pub(super) fn existing(choices: &mut Choices) -> (&'static BuiltIn, Step, Value) {
    let built_in = built_ins::any(choices, true);
    let manifest = if choices.percent(60) {
        built_in.manifest.clone()
    } else {
        built_in.changed(choices, &built_in.manifest)
    };
    let created = Step::new("POST", &built_in.collection())
        .body("json", manifest.clone())
        .with("capture", json!({"rv": "/metadata/resourceVersion"}));
    (built_in, created, manifest)
}
