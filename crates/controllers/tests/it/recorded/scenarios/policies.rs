//! What is wrong with the types of `ValidatingAdmissionPolicies`.

use serde_json::{Value, json};

use super::{Act, Scenario, patch, scenario};

fn policy(name: &str, spec: Value) -> Act {
    Act::Create(json!({ "kind": "ValidatingAdmissionPolicy", "metadata": { "name": name }, "spec": spec }))
}

fn rule(group: &str, version: &str, resources: &[&str]) -> Value {
    json!({ "operations": ["CREATE"], "apiGroups": [group], "apiVersions": [version], "resources": resources })
}

/// A policy about these, with these validations.
fn spec(rules: &[Value], validations: &[&str]) -> Value {
    let validations: Vec<Value> = validations.iter().map(|text| json!({ "expression": text })).collect();
    json!({ "matchConstraints": { "resourceRules": rules }, "validations": validations })
}

fn definition(group: &str) -> Act {
    Act::All(vec![
        Act::Create(json!({
            "kind": "CustomResourceDefinition", "metadata": { "name": format!("foos.{group}") },
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": { "kind": "Foo", "plural": "foos", "singular": "foo" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": true,
                        "properties": {
                            "replicas": { "type": "integer" },
                            "size": { "x-kubernetes-int-or-string": true },
                            "since": { "type": "string", "format": "date-time" },
                            "for": { "type": "string", "format": "duration" },
                            "any": { "x-kubernetes-preserve-unknown-fields": true },
                            "template": { "type": "object", "x-kubernetes-embedded-resource": true,
                                "x-kubernetes-preserve-unknown-fields": true },
                            "names": { "type": "array", "items": { "type": "string" } },
                            "limits": { "type": "object", "additionalProperties": { "type": "number" } },
                        },
                    } } } },
                }],
            },
        })),
        Act::Wait(5),
    ])
}

pub(super) fn all() -> Vec<Scenario> {
    let deployments = || rule("apps", "v1", &["deployments"]);
    vec![
        scenario(
            "types-of-built-in-kinds",
            vec![
                policy(
                    "types-of-built-in-kinds-right",
                    spec(
                        &[deployments()],
                        &["object.spec.replicas > 1 && oldObject == null && object.metadata.name != ''"],
                    ),
                ),
                policy(
                    "types-of-built-in-kinds-wrong",
                    spec(
                        &[deployments()],
                        &[
                            "object.spec.replicas > '1'",
                            "object.foo == 1",
                            "object.spec == 1",
                            "object.spec.template.spec.containers.all(c, c.imag != '' && c.ports.all(p, p.hostPort == 'a'))",
                            "object.spec.strategy.rollingUpdate.maxSurge == 'a' || object.spec.strategy.rollingUpdate.maxSurge == true",
                            "object.metadata.creationTimestamp > timestamp('2026-01-01T00:00:00Z') && object.metadata.labels.a == 1",
                            "object.spec.template.spec.containers[0].resources.limits.cpu == '1'",
                            "request.userInfo.username == '' && namespaceObject.metadata.name == ''",
                            "authorizer.requestResource.check('get').allowed()",
                            "authorizer.group('').resource('pods').check('get').allowed()",
                        ],
                    ),
                ),
                patch(
                    "ValidatingAdmissionPolicy",
                    "types-of-built-in-kinds-wrong",
                    json!({ "spec": { "validations": [{ "expression": "has(object.spec.replicas)" }] } }),
                ),
                patch(
                    "ValidatingAdmissionPolicy",
                    "types-of-built-in-kinds-wrong",
                    json!({ "metadata": { "labels": { "a": "b" } } }),
                ),
            ],
        ),
        scenario(
            "types-of-several-kinds",
            vec![
                policy(
                    "types-of-several-kinds-a",
                    spec(
                        &[
                            rule("", "v1", &["pods", "events", "pods/status"]),
                            deployments(),
                            rule("apps", "v1", &["statefulsets", "absent"]),
                        ],
                        &[
                            "object.spec.replicas == 1",
                            "object.kind == 1",
                            "object.metadata.name == 'a'",
                        ],
                    ),
                ),
                policy(
                    "types-of-several-kinds-b",
                    spec(
                        &[
                            rule("*", "v1", &["pods"]),
                            rule("apps", "*", &["deployments"]),
                            rule("apps", "v1", &["*"]),
                            rule("example.com", "v1", &["absents"]),
                        ],
                        &["object.nope == 1"],
                    ),
                ),
                policy(
                    "types-of-several-kinds-c",
                    spec(
                        &[rule(
                            "",
                            "v1",
                            &[
                                "configmaps",
                                "endpoints",
                                "limitranges",
                                "namespaces",
                                "nodes",
                                "persistentvolumeclaims",
                                "persistentvolumes",
                                "pods",
                                "podtemplates",
                                "replicationcontrollers",
                                "resourcequotas",
                                "secrets",
                            ],
                        )],
                        &["object.data == 1"],
                    ),
                ),
                policy(
                    "types-of-several-kinds-d",
                    spec(&[rule("", "v1", &["pod"])], &["object.nope == 1"]),
                ),
            ],
        ),
        scenario(
            "types-of-variables-messages-and-params",
            vec![
                policy(
                    "types-of-variables-messages-and-params-a",
                    json!({
                        "matchConstraints": { "resourceRules": [deployments()] },
                        "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
                        "variables": [
                            { "name": "replicas", "expression": "object.spec.replicas" },
                            { "name": "wrong", "expression": "object.spec.nope" },
                            { "name": "names", "expression": "object.spec.template.spec.containers.map(c, c.name)" },
                            { "name": "spec", "expression": "object.spec" },
                        ],
                        "matchConditions": [{ "name": "m", "expression": "object.nope == 1" }],
                        "auditAnnotations": [{ "key": "a", "valueExpression": "string(object.nope)" }],
                        "validations": [
                            { "expression": "variables.replicas == 'a'", "messageExpression": "string(object.nope)" },
                            { "expression": "variables.wrong == 1 && variables.spec.nope == 1" },
                            { "expression": "variables.names[0] == 1", "messageExpression": "string(params.data.a)" },
                            { "expression": "params.nope == 1 || params.data.a == 1" },
                        ],
                    }),
                ),
                policy(
                    "types-of-variables-messages-and-params-b",
                    json!({
                        "matchConstraints": { "resourceRules": [deployments()] },
                        "paramKind": { "apiVersion": "example.com/v1", "kind": "Absent" },
                        "validations": [{ "expression": "params.nope == 1" }, { "expression": "params.a == 1 && object.b == 2" }],
                    }),
                ),
            ],
        ),
        scenario(
            "types-of-defined-kinds",
            vec![
                definition("types-of-defined-kinds.example.com"),
                policy(
                    "types-of-defined-kinds-a",
                    spec(
                        &[rule("types-of-defined-kinds.example.com", "v1", &["foos"])],
                        &[
                            "object.spec.replicas == 'a'",
                            "object.spec.size == 'a' || object.spec.size == 1",
                            "object.spec.since == 'a'",
                            "object.spec.__for__ == 'a'",
                            "object.spec.any == 1",
                            "object.spec.template == 1",
                            "object.spec.template.metadata.name == 1",
                            "object.spec.names == 1",
                            "object.spec.limits.a == 'a'",
                            "object.metadata.labels.a == 1",
                            "object.nope == 1",
                        ],
                    ),
                ),
            ],
        ),
    ]
}
