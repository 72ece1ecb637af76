//! Definitions of custom resources: generated schemas, changed at random places. All are dry runs, so that nothing is served.

use serde_json::{Value, json};

use super::Parts;
use crate::fuzz::built_ins::{BuiltIn, built_ins};
use crate::fuzz::generated::Step;
use crate::fuzz::mutate::mutate;
use crate::fuzz::random::Choices;
use crate::fuzz::schemas;

pub(super) fn definition(choices: &mut Choices) -> Parts {
    let count = 4 + choices.below(5);
    let steps = (0..count).map(|_| {
        let mut definition = valid(choices);
        let of = definitions().type_ref();
        for _ in 0..choices.below(4) {
            let schemas: Vec<String> = crate::fuzz::patches::places(&definition)
                .into_iter()
                .filter(|place| place.contains("openAPIV3Schema"))
                .filter(|place| definition.pointer(place).is_some_and(|value| value["type"].is_string()))
                .collect();
            // Half of the mistakes are in a schema, the others anywhere else.
            let properties = of
                .types()
                .iter()
                .find(|known| known.short_name() == Some("JSONSchemaProps"));
            match properties {
                Some(properties) if choices.percent(50) && !schemas.is_empty() => {
                    let place = choices.pick(&schemas);
                    if let Some(schema) = definition.pointer_mut(place) {
                        mutate(choices, properties, schema);
                    }
                }
                _ => mutate(choices, of, &mut definition),
            }
        }
        Step::new("POST", &format!("{}?dryRun=All", definitions().collection()))
            .body("json", definition)
            .into()
    });
    (Vec::new(), steps.collect())
}

fn definitions() -> &'static BuiltIn {
    let mut kinds = built_ins().iter();
    kinds
        .find(|built_in| built_in.resource.plural == "customresourcedefinitions")
        .expect("definitions are a built-in kind")
}

/// A definition that the real server accepts.
pub(super) fn valid(choices: &mut Choices) -> Value {
    let mut version = json!({
        "name": "v1",
        "served": true,
        "storage": true,
        "schema": {"openAPIV3Schema": {
            "type": "object",
            "properties": {"spec": schemas::object(choices, 0), "status": schemas::object(choices, 2)},
        }},
    });
    if choices.percent(60) {
        version["subresources"] = json!({"status": {}});
    }
    if choices.percent(20) {
        version["additionalPrinterColumns"] = json!([{"name": "A", "type": "string", "jsonPath": ".spec.a"}]);
    }
    let mut versions = vec![version.clone()];
    if choices.percent(20) {
        version["name"] = json!("v2");
        version["storage"] = json!(false);
        versions.push(version);
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.${unique}.example.com"},
        "spec": {
            "group": "${unique}.example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": versions,
        },
    })
}
