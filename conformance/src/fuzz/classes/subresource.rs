//! Subresources of built-in kinds: status, scale, and those that only one kind has.

use serde_json::{Value, json};

use super::{Parts, now_and_then};
use crate::fuzz::built_ins::{BuiltIn, built_ins};
use crate::fuzz::generated::Step;
use crate::fuzz::mutate::mutate;
use crate::fuzz::patches;
use crate::fuzz::random::Choices;
use crate::fuzz::values::of_type;

pub(super) fn subresource(choices: &mut Choices) -> Parts {
    let with: Vec<(&BuiltIn, &str)> = built_ins()
        .iter()
        .filter(|built_in| built_in.stored)
        .flat_map(|built_in| {
            built_in
                .resource
                .subresources
                .iter()
                .map(move |part| (built_in, part.name))
        })
        .filter(|(_, name)| !["proxy", "exec", "attach", "portforward", "log"].contains(name))
        .collect();
    let (built_in, name) = *choices.pick(&with);
    let path = format!("{}/{name}", built_in.path());
    let create_only = ["binding", "eviction", "token"].contains(&name);
    let mut steps = vec![Step::new("POST", &built_in.collection()).body("json", built_in.manifest.clone())];
    for _ in 0..3 + choices.below(4) {
        let object = sent(choices, built_in, name);
        let query = now_and_then(choices);
        steps.push(match choices.below(if create_only { 1 } else { 6 }) {
            _ if create_only => Step::new("POST", &format!("{path}{query}")).body("json", object),
            0..=1 => Step::new("PUT", &format!("{path}{query}")).body("json", object),
            2 => Step::new("PATCH", &format!("{path}{query}"))
                .body("merge-patch", patches::merge_patch(choices, &object)),
            3 => Step::new("PATCH", &format!("{path}{query}"))
                .body("strategic-patch", patches::strategic_patch(choices, &object)),
            4 => Step::new("PATCH", &format!("{path}?fieldManager=somebody&force=true")).body("apply", object),
            _ => Step::new("GET", &path),
        });
    }
    steps.push(Step::new("GET", &built_in.path()));
    (Vec::new(), steps.into_iter().map(Value::from).collect())
}

/// What is sent to the subresource, mostly of its own form.
fn sent(choices: &mut Choices, built_in: &BuiltIn, name: &str) -> Value {
    let metadata = built_in.manifest["metadata"].clone();
    match name {
        "scale" => {
            let replicas = choices
                .pick(&[json!(3), json!(0), json!(-1), json!("x"), Value::Null])
                .clone();
            json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": {"replicas": replicas}})
        }
        "eviction" => {
            let options = choices
                .pick(&[
                    json!({}),
                    json!({"gracePeriodSeconds": 0}),
                    json!({"dryRun": ["All"]}),
                    Value::Null,
                ])
                .clone();
            json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options})
        }
        "binding" => {
            let target = choices
                .pick(&[
                    json!({"kind": "Node", "name": "n"}),
                    json!({"name": "n"}),
                    json!({"kind": "Pod", "name": "n"}),
                    json!({}),
                ])
                .clone();
            json!({"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target})
        }
        "token" => {
            let spec = choices
                .pick(&[
                    json!({}),
                    json!({"expirationSeconds": 5}),
                    json!({"audiences": ["x"]}),
                    json!({"expirationSeconds": 4_294_967_297_i64}),
                    json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}),
                ])
                .clone();
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
        }
        _ => {
            let mut object = built_in.manifest.clone();
            if let Some(status) = built_in.type_ref().field_named("status") {
                object["status"] = of_type(choices, status.type_ref(), "status");
                if choices.percent(30) {
                    mutate(choices, status.type_ref(), &mut object["status"]);
                }
            }
            if name != "status" || choices.percent(30) {
                mutate(choices, built_in.type_ref(), &mut object);
            }
            if name == "ephemeralcontainers" {
                object["spec"]["ephemeralContainers"] = json!([{"name": "e", "image": "i"}]);
            }
            object
        }
    }
}
