//! The definitions, one for each feature that large operators use heavily.

use serde_json::{Map, Value, json};

/// The group of all definitions.
pub const GROUP: &str = "operators.example.com";

/// The depth of the deepest definition.
const NESTING: usize = 40;

/// The minimal size of the largest definition, in bytes of JSON.
const LARGE: usize = 500_000;

/// All definitions. `pod_template` is the complete schema of a pod template.
pub fn definitions(pod_template: &Value) -> Vec<Value> {
    vec![
        database(pod_template),
        pipeline(),
        gateway(),
        nested(),
        large(pod_template),
    ]
}

fn definition(plural: &str, kind: &str, versions: Value) -> Value {
    let names =
        json!({"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")});
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names},
    });
    definition["spec"]["versions"] = versions;
    definition
}

fn version(name: &str, storage: bool, spec: Value, status: Value) -> Value {
    let mut schema = json!({"type": "object", "properties": {
        "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
    }});
    schema["properties"]["spec"] = spec;
    schema["properties"]["status"] = status;
    let mut version = json!({"name": name, "served": true, "storage": storage, "subresources": {"status": {}}});
    version["schema"]["openAPIV3Schema"] = schema;
    version
}

/// A status as most operators have it: conditions keyed by their type.
fn conditions() -> Value {
    json!({"type": "object", "properties": {
        "observedGeneration": {"type": "integer", "format": "int64"},
        "replicas": {"type": "integer", "format": "int32"},
        "selector": {"type": "string"},
        "conditions": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "items": {"type": "object", "required": ["type", "status", "lastTransitionTime", "reason", "message"], "properties": {
                "type": {"type": "string", "maxLength": 316, "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "reason": {"type": "string", "minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
                "message": {"type": "string", "maxLength": 32768},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            }},
        },
    }})
}

/// A database: a whole pod template, embedded claims, scale, quantities, free-form parameters.
fn database(pod_template: &Value) -> Value {
    let spec = json!({"type": "object", "required": ["engine"], "properties": {
        "engine": {"type": "string", "enum": ["postgres", "mysql"]},
        "replicas": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 99, "default": 1},
        "storage": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^[0-9]+[KMGT]i$", "default": "1Gi"},
        "parameters": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "podTemplate": pod_template,
        "claims": {"type": "array", "maxItems": 8, "items": {
            "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}},
        "backup": {"type": "object", "properties": {
            "schedule": {"type": "string", "default": "0 0 * * *"},
            "retention": {"type": "string", "format": "duration", "default": "168h"},
            "until": {"type": "string", "format": "date-time"},
        }},
    }});
    let mut version = version("v1", true, spec, conditions());
    version["subresources"]["scale"] = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"});
    version["additionalPrinterColumns"] = json!([
        {"name": "Engine", "type": "string", "jsonPath": ".spec.engine"},
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    definition("databases", "Database", json!([version]))
}

/// A pipeline: lists keyed by two fields, alternatives, rules between items.
fn pipeline() -> Value {
    let parameter = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "maxLength": 63, "pattern": "^[a-zA-Z_][a-zA-Z0-9_.-]*$"},
        "value": {"x-kubernetes-preserve-unknown-fields": true},
    }});
    let task = json!({
        "type": "object", "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 63},
            "stage": {"type": "integer", "default": 0},
            "params": {"type": "array", "maxItems": 64, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": parameter},
            "runAfter": {"type": "array", "maxItems": 64, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 63}},
            "timeout": {"type": "string", "format": "duration"},
            "ref": {"type": "object", "properties": {"name": {"type": "string"}, "resolver": {"type": "string"}}},
            "embedded": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
        "oneOf": [{"required": ["ref"]}, {"required": ["embedded"]}],
        "x-kubernetes-validations": [{"rule": "!has(self.runAfter) || !(self.name in self.runAfter)", "message": "a task may not run after itself", "fieldPath": ".runAfter"}],
    });
    let spec = json!({
        "type": "object", "required": ["tasks"],
        "properties": {
            "tasks": {"type": "array", "maxItems": 64, "minItems": 1, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "stage"], "items": task},
            "workspaces": {"type": "array", "maxItems": 16, "items": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "readOnly": {"type": "boolean", "default": false},
                "from": {"type": "object", "minProperties": 1, "maxProperties": 1, "properties": {
                    "claim": {"type": "object", "properties": {"name": {"type": "string"}}},
                    "configMap": {"type": "object", "properties": {"name": {"type": "string"}}},
                    "emptyDir": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
            }}},
            "retries": {"type": "integer", "minimum": 0, "maximum": 10, "not": {"enum": [3]}},
            "mode": {"type": "string", "enum": ["Serial", "Parallel"], "default": "Serial"},
        },
        "x-kubernetes-validations": [
            {"rule": "self.tasks.all(t, !has(t.runAfter) || t.runAfter.all(n, self.tasks.exists(o, o.name == n)))", "message": "a task runs after one that is not there"},
            {"rule": "self.mode == oldSelf.mode", "message": "mode is immutable", "reason": "FieldValueForbidden", "fieldPath": ".mode"},
        ],
    });
    definition(
        "pipelines",
        "Pipeline",
        json!([version("v1", true, spec, conditions())]),
    )
}

/// A gateway: three versions of one kind, each a little different.
fn gateway() -> Value {
    let spec = |host_limit: u32, extra: Option<(&str, Value)>| {
        let mut spec = json!({"type": "object", "required": ["hosts"], "properties": {
            "hosts": {"type": "array", "maxItems": host_limit, "x-kubernetes-list-type": "set", "items": {
                "type": "string", "minLength": 1, "maxLength": 253, "pattern": "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"}},
            "listeners": {"type": "array", "maxItems": 16, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items": {
                "type": "object", "required": ["port"], "properties": {
                    "port": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535},
                    "protocol": {"type": "string", "enum": ["HTTP", "HTTPS", "TCP"], "default": "HTTP"},
                    "address": {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
                    "tls": {"type": "object", "properties": {"mode": {"type": "string", "default": "Terminate"}, "minimum": {"type": "number", "minimum": 1.0, "maximum": 1.3, "multipleOf": 0.1}}}},
                "x-kubernetes-validations": [{"rule": "self.protocol == 'HTTPS' || !has(self.tls)", "messageExpression": "self.protocol + ' listeners have no tls'"}]}},
            "weights": {"type": "object", "maxProperties": 32, "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 100}},
        }});
        if let Some((name, schema)) = extra {
            spec["properties"][name] = schema;
        }
        spec
    };
    let mut alpha = version("v1alpha1", false, spec(4, None), conditions());
    alpha["deprecated"] = json!(true);
    alpha["deprecationWarning"] = json!("gateways v1alpha1 are old; use v1");
    let beta = version(
        "v1beta1",
        false,
        spec(16, Some(("class", json!({"type": "string", "default": "standard"})))),
        conditions(),
    );
    let stable = version(
        "v1",
        true,
        spec(16, Some(("class", json!({"type": "string", "default": "standard"})))),
        conditions(),
    );
    definition("gateways", "Gateway", json!([alpha, beta, stable]))
}

/// A schema of objects in lists in maps in objects, nested to the depth of [`NESTING`].
fn nested() -> Value {
    let mut schema =
        json!({"type": "object", "properties": {"leaf": {"type": "string", "maxLength": 5, "default": "x"}}});
    for level in 0..NESTING {
        schema = match level % 3 {
            0 => json!({"type": "object", "properties": {"down": schema, "note": {"type": "string"}}}),
            1 => json!({"type": "object", "properties": {"down": {"type": "array", "items": schema}}}),
            _ => json!({"type": "object", "properties": {"down": {"type": "object", "additionalProperties": schema}}}),
        };
    }
    let spec = json!({"type": "object", "properties": {"down": schema}});
    definition("nests", "Nest", json!([version("v1", true, spec, conditions())]))
}

/// A schema of half a megabyte: a pod template, and as many sections as that takes.
fn large(pod_template: &Value) -> Value {
    let mut properties = Map::new();
    properties.insert("template".to_owned(), pod_template.clone());
    let mut size = pod_template.to_string().len();
    for number in 0.. {
        if size > LARGE {
            break;
        }
        let section = section(number);
        size += section.to_string().len();
        properties.insert(format!("section{number}"), section);
    }
    let spec = json!({"type": "object", "properties": properties});
    definition("larges", "Large", json!([version("v1", true, spec, conditions())]))
}

fn section(number: usize) -> Value {
    let field = |name: &str| -> (String, Value) {
        let text =
            format!("The {name} of section {number}. It is used when the section is, and left alone when it is not.");
        (
            name.to_owned(),
            json!({"type": "string", "maxLength": 64, "description": text}),
        )
    };
    let mut fields: Map<String, Value> = ["name", "address", "owner", "zone", "tier", "policy", "secret", "note"]
        .into_iter()
        .map(field)
        .collect();
    fields.insert(
        "enabled".to_owned(),
        json!({"type": "boolean", "default": number.is_multiple_of(2)}),
    );
    fields.insert(
        "port".to_owned(),
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
    );
    fields.insert(
        "labels".to_owned(),
        json!({"type": "object", "maxProperties": 8, "additionalProperties": {"type": "string", "maxLength": 63}}),
    );
    json!({"type": "object", "properties": fields, "required": ["name"],
        "description": format!("Section {number} of a large object."),
        "x-kubernetes-validations": [{"rule": "!has(self.owner) || self.owner != self.name", "message": format!("section {number} owns itself")}]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_half_a_megabyte_and_no_two_have_one_name() {
        let definitions = definitions(&json!({"type": "object"}));
        let largest = definitions.iter().map(|one| one.to_string().len()).max();
        assert!(largest > Some(LARGE), "{largest:?}");
        let mut names: Vec<_> = definitions
            .iter()
            .map(|one| one["metadata"]["name"].to_string())
            .collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), definitions.len());
    }
}
