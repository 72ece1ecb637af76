//! Custom resources of a definition: created, updated, patched, applied, listed and deleted.

use serde_json::{Value, json};

use super::{Parts, definition, now_and_then};
use crate::fuzz::generated::Step;
use crate::fuzz::patches;
use crate::fuzz::random::Choices;
use crate::fuzz::schemas;

pub(super) fn value(choices: &mut Choices) -> Parts {
    let definition = definition::valid(choices);
    let count = 14 + choices.below(14);
    let steps = of_definition(choices, &definition, &[], count);
    (vec![definition], steps)
}

/// Requests for custom resources of a definition, which begin with these samples, or with made-up ones.
pub(in crate::fuzz) fn of_definition(
    choices: &mut Choices,
    definition: &Value,
    samples: &[Value],
    count: usize,
) -> Vec<Value> {
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, plural, kind) = (
        text(&spec["group"]),
        text(&spec["names"]["plural"]),
        text(&spec["names"]["kind"]),
    );
    let versions: Vec<&Value> = spec["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|version| version["served"] != false)
        .collect();
    if versions.is_empty() {
        return Vec::new();
    }
    let namespaced = spec["scope"] != "Cluster";
    let collection = |version: &str| {
        if namespaced {
            format!("/apis/{group}/{version}/namespaces/${{ns}}/{plural}")
        } else {
            format!("/apis/{group}/{version}/{plural}")
        }
    };
    let name = |index: usize| {
        if namespaced {
            format!("o{index}")
        } else {
            format!("${{unique}}-{index}")
        }
    };
    let mut steps = Vec::new();
    // What was sent last under each name.
    let mut sent: Vec<(String, Value)> = Vec::new();
    while steps.len() < count {
        let version = *choices.pick(&versions);
        let served = text(&version["name"]);
        let schema = &version["schema"]["openAPIV3Schema"];
        let path = collection(&served);
        if sent.len() < 2 || choices.percent(18) {
            let mut object = match samples.get(sent.len()) {
                Some(sample) => sample.clone(),
                None => whole(choices, schema, &group, &served, &kind),
            };
            if samples.get(sent.len()).is_none() && choices.percent(25) {
                object = altered(choices, schema, &object);
            }
            object["metadata"]["name"] = json!(name(sent.len()));
            let version = text(&object["apiVersion"]);
            let path = version
                .rsplit_once('/')
                .map_or(path, |(_, version)| collection(version));
            let query = now_and_then(choices);
            steps.push(Step::new("POST", &format!("{path}{query}")).body("json", object.clone()));
            sent.push((name(sent.len()), object));
            continue;
        }
        let at = choices.below(sent.len());
        let (name, object) = sent[at].clone();
        let mut next = altered(choices, schema, &object);
        next["apiVersion"] = json!(format!("{group}/{served}"));
        next["metadata"] = json!({"name": name});
        let one = format!("{path}/{name}");
        let query = now_and_then(choices);
        steps.push(match choices.below(14) {
            0..=1 => {
                Step::new("PATCH", &format!("{one}{query}")).body("merge-patch", patches::merge_patch(choices, &next))
            }
            2 => Step::new("PATCH", &format!("{one}{query}"))
                .body("json-patch", patches::json_patch(choices, &object, &next)),
            3..=6 => {
                let manager = choices.word(&["one", "two", "three"]);
                let force = if choices.percent(60) { "&force=true" } else { "" };
                if choices.percent(50) {
                    next = patches::fragment(choices, &next);
                    if !next.is_object() {
                        next = json!({});
                    }
                    next["apiVersion"] = json!(format!("{group}/{served}"));
                    next["kind"] = json!(kind);
                    next["metadata"] = json!({"name": name});
                }
                Step::new("PATCH", &format!("{one}?fieldManager={manager}{force}")).body("apply", next)
            }
            7 => Step::new("PUT", &format!("{one}{query}")).body("json", next),
            8 => Step::new("GET", &one),
            9 => {
                let status = schemas::value(choices, &schema["properties"]["status"], "status", 0);
                Step::new("PATCH", &format!("{one}/status{query}")).body("merge-patch", json!({"status": status}))
            }
            10 => Step::new("GET", &path).header("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),
            11 if namespaced => Step::new("GET", &path),
            12 => Step::new("DELETE", &format!("{one}{query}")),
            _ => Step::new("GET", &format!("{one}/scale")),
        });
    }
    // Cluster-scoped objects are listed by nobody, since others are there.
    let mine = steps.into_iter().map(Value::from);
    mine.filter(|step: &Value| {
        namespaced || !step["request"].as_str().is_some_and(|line| line.ends_with(&plural)) || !step["body"].is_null()
    })
    .collect()
}

fn whole(choices: &mut Choices, schema: &Value, group: &str, version: &str, kind: &str) -> Value {
    let mut object = json!({"apiVersion": format!("{group}/{version}"), "kind": kind, "metadata": {"name": "x"}});
    for (part, of) in schema["properties"].as_object().into_iter().flatten() {
        if !["apiVersion", "kind", "metadata"].contains(&part.as_str()) && (part != "status" || choices.percent(20)) {
            object[part] = schemas::value(choices, of, part, 0);
        }
    }
    object
}

/// A copy of an object whose parts below the root differ.
fn altered(choices: &mut Choices, schema: &Value, object: &Value) -> Value {
    let parts: Vec<&String> = object
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key)
        .filter(|key| !["apiVersion", "kind", "metadata"].contains(&key.as_str()))
        .collect();
    let mut altered = object.clone();
    if !parts.is_empty() {
        let part = (*choices.pick(&parts)).clone();
        altered[&part] = schemas::changed(choices, &schema["properties"][&part], &object[&part]);
    }
    altered
}
