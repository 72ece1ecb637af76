//! What is wrong with the types of a policy's expressions, given the schemas of the kinds that it is about: the warnings of
//! `status.typeChecking` (A13). They change nothing about what the policy decides.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_cel::{Env, Type};
use serde_json::Value;

use super::composition::{field_name, field_type, variables_type};
use super::param_kind;
use crate::attributes::{GroupVersionKind, GroupVersionResource};
use crate::environment::typed_environment;

/// So many kinds of a rule are looked at.
const MOST_KINDS: usize = 10;

/// An expression that does not fit the kinds that its policy is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionWarning {
    /// The path of the expression.
    pub field_ref: String,
    /// What is wrong with it, for each of the kinds.
    pub warning: String,
}

/// The kind of the params of a policy.
pub fn kind_of_params(policy: &Value) -> Option<GroupVersionKind> {
    param_kind(policy.get("spec").unwrap_or(&Value::Null))
}

/// The kinds that a policy is about, in the order of groups, versions and kinds. Rules for every group or every version name none, nor
/// do subresources. `kinds_of` finds the kinds of a resource as a client does that was told a group, a version and a name: without a
/// group, in all groups.
///
/// ```
/// use kubewright_admission::GroupVersionKind;
/// use kubewright_admission::policy::kinds_to_check;
/// use serde_json::json;
///
/// let policy = json!({ "spec": { "matchConstraints": { "resourceRules": [
///     { "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments", "deployments/scale"] },
///     { "apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["pods"] },
/// ] } } });
/// let kinds = kinds_to_check(&policy, |resource| {
///     assert_eq!(resource.resource, "deployments");
///     vec![GroupVersionKind::new(&resource.group, &resource.version, "Deployment")]
/// });
/// assert_eq!(kinds[0].to_string(), "apps/v1, Kind=Deployment");
/// ```
pub fn kinds_to_check(
    policy: &Value,
    mut kinds_of: impl FnMut(&GroupVersionResource) -> Vec<GroupVersionKind>,
) -> Vec<GroupVersionKind> {
    let mut found = BTreeSet::new();
    let rules = policy.pointer("/spec/matchConstraints/resourceRules");
    for rule in rules.and_then(Value::as_array).into_iter().flatten() {
        let mut looked_at = 0;
        for resource in resources_of(rule) {
            for kind in kinds_of(&resource) {
                found.insert((kind.group, kind.version, kind.kind));
                looked_at += 1;
                if looked_at == MOST_KINDS {
                    return sorted(found);
                }
            }
        }
    }
    sorted(found)
}

fn sorted(found: BTreeSet<(String, String, String)>) -> Vec<GroupVersionKind> {
    let kinds = found.into_iter();
    kinds
        .map(|(group, version, kind)| GroupVersionKind { group, version, kind })
        .collect()
}

/// The resources that a rule names one by one.
fn resources_of(rule: &Value) -> Vec<GroupVersionResource> {
    let names = |key: &str| {
        let list = rule.get(key).and_then(Value::as_array).into_iter().flatten();
        let mut names: Vec<&str> = list.filter_map(Value::as_str).collect();
        names.sort_unstable();
        names
    };
    let (groups, versions, mut resources) = (names("apiGroups"), names("apiVersions"), names("resources"));
    resources.retain(|name| !name.contains(['*', '/']));
    if groups.iter().chain(&versions).any(|name| name.contains('*')) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for group in groups {
        for version in &versions {
            all.extend(
                resources
                    .iter()
                    .map(|name| GroupVersionResource::new(group, version, name)),
            );
        }
    }
    all
}

/// Checks the validations of a policy and their messages against the types of the objects that it is about, and of its params.
/// Params without a type are of any.
///
/// ```
/// use kubewright_admission::GroupVersionKind;
/// use kubewright_admission::policy::check_types;
/// use kubewright_cel::Decl;
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": { "data": { "type": "object" } } });
/// let kinds = [(GroupVersionKind::new("", "v1", "ConfigMap"), Decl::from_schema(&schema, true).cel_type("ConfigMap").unwrap())];
/// let policy = json!({ "spec": { "validations": [{ "expression": "object.date == null" }] } });
/// let warnings = check_types(&policy, &kinds, None);
/// assert_eq!(warnings[0].field_ref, "spec.validations[0].expression");
/// assert!(warnings[0].warning.starts_with("/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'date'"));
/// ```
pub fn check_types(
    policy: &Value,
    kinds: &[(GroupVersionKind, Type)],
    params: Option<&Type>,
) -> Vec<ExpressionWarning> {
    let has_params = kind_of_params(policy).is_some();
    let variables = list(policy, "/spec/variables");
    let environments: Vec<(&GroupVersionKind, Env)> = kinds
        .iter()
        .map(|(kind, object)| {
            let params = has_params.then(|| params.cloned().unwrap_or(Type::Dyn));
            let env = typed_environment(object.clone(), params);
            (kind, with_variables(env, variables))
        })
        .collect();
    let mut warnings = Vec::new();
    for (index, validation) in list(policy, "/spec/validations").iter().enumerate() {
        for name in ["expression", "messageExpression"] {
            let text = validation.get(name).and_then(Value::as_str).unwrap_or_default();
            // Only a message may be left out.
            if name == "messageExpression" && text.is_empty() {
                continue;
            }
            let found: Vec<String> = environments
                .iter()
                .filter_map(|(kind, env)| Some(format!("{kind}: {}\n", env.check(text).err()?)))
                .collect();
            if !found.is_empty() {
                warnings.push(ExpressionWarning {
                    field_ref: format!("spec.validations[{index}].{name}"),
                    warning: found.join("\n"),
                });
            }
        }
    }
    warnings
}

/// An expression that does not fit a kind that its policy is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeMistake {
    /// The path of the expression.
    pub field: String,
    /// The kind that it does not fit.
    pub kind: GroupVersionKind,
    /// What is wrong with it.
    pub message: String,
}

/// Checks more than [`check_types`] does, and more than a cluster says: conditions, variables and audit annotations too, of policies that
/// validate and of those that mutate, and what mutations build: that they set fields which the kind has.
///
/// ```
/// use kubewright_admission::GroupVersionKind;
/// use kubewright_admission::policy::type_mistakes;
/// use kubewright_cel::Decl;
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": { "data": { "type": "object" } } });
/// let kinds = [(GroupVersionKind::new("", "v1", "ConfigMap"), Decl::from_schema(&schema, true).cel_type("ConfigMap").unwrap())];
/// let policy = json!({ "spec": { "variables": [{ "name": "data", "expression": "object.date" }] } });
/// let mistakes = type_mistakes(&policy, &kinds, None);
/// assert_eq!(mistakes[0].field, "spec.variables[0].expression");
/// assert!(mistakes[0].message.starts_with("ERROR: <input>:1:7: undefined field 'date'"));
/// ```
pub fn type_mistakes(policy: &Value, kinds: &[(GroupVersionKind, Type)], params: Option<&Type>) -> Vec<TypeMistake> {
    let has_params = kind_of_params(policy).is_some();
    let mut mistakes = Vec::new();
    for (kind, object) in kinds {
        let params = has_params.then(|| params.cloned().unwrap_or(Type::Dyn));
        let plain = typed_environment(object.clone(), params).with_authorizer();
        let typed = with_variables(plain.clone(), list(policy, "/spec/variables"));
        for (list_name, names) in [
            ("matchConditions", &["expression"][..]),
            ("variables", &["expression"]),
            ("validations", &["expression", "messageExpression"]),
            ("auditAnnotations", &["valueExpression"]),
        ] {
            // Conditions come before there are variables. A variable sees all of them here: that those after it are not there yet
            // is for the server to say.
            let env = if list_name == "matchConditions" { &plain } else { &typed };
            for (index, item) in list(policy, &format!("/spec/{list_name}")).iter().enumerate() {
                for name in names {
                    let text = item.get(*name).and_then(Value::as_str).unwrap_or_default();
                    let checked = if text.is_empty() { None } else { env.check(text).err() };
                    mistakes.extend(checked.map(|error| TypeMistake {
                        field: format!("spec.{list_name}[{index}].{name}"),
                        kind: kind.clone(),
                        message: error.to_string(),
                    }));
                }
            }
        }
        mistakes.extend(mutation_mistakes(policy, &typed.with_mutation_of(object), kind));
    }
    mistakes
}

/// Checks what mutations read and build.
fn mutation_mistakes(policy: &Value, env: &Env, kind: &GroupVersionKind) -> Vec<TypeMistake> {
    let mutations = list(policy, "/spec/mutations").iter().enumerate();
    let expressions = mutations.flat_map(|(index, mutation)| {
        ["applyConfiguration", "jsonPatch"].into_iter().filter_map(move |form| {
            let text = mutation.get(form)?.get("expression")?.as_str()?;
            Some((format!("spec.mutations[{index}].{form}.expression"), text))
        })
    });
    expressions
        .filter_map(|(field, text)| {
            let error = env.check(text).err()?;
            Some(TypeMistake {
                field,
                kind: kind.clone(),
                message: error.to_string(),
            })
        })
        .collect()
}

/// Declares variables with the types that they have; one that is mistaken is of any.
fn with_variables(mut env: Env, variables: &[Value]) -> Env {
    let mut types = BTreeMap::new();
    env = env.with_variable("variables", variables_type(&types));
    for variable in variables {
        let text = |key: &str| variable.get(key).and_then(Value::as_str).unwrap_or_default();
        let checked = env.check(text("expression"));
        let ty = checked.map_or(Type::Dyn, |checked| field_type(checked.output_type()));
        types.insert(field_name(text("name")), ty);
        env = env.with_variable("variables", variables_type(&types));
    }
    env
}

fn list<'v>(policy: &'v Value, pointer: &str) -> &'v [Value] {
    policy
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use kubewright_cel::Decl;
    use serde_json::json;

    use super::*;

    fn warnings(spec: &Value) -> Vec<ExpressionWarning> {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        }});
        let ty = Decl::from_schema(&schema, true).cel_type("Foo1").unwrap();
        let kinds = [(GroupVersionKind::new("example.com", "v1", "Foo"), ty)];
        check_types(&json!({ "spec": spec }), &kinds, None)
    }

    #[test]
    fn what_has_the_right_types_is_not_warned_of() {
        let spec = json!({
            "variables": [{"name": "replicas", "expression": "object.spec.replicas"}],
            "validations": [{"expression": "variables.replicas > 1", "messageExpression": "1"}],
        });
        assert_eq!(warnings(&spec), []);
    }

    #[test]
    fn a_variable_has_the_type_of_its_expression() {
        let spec = json!({
            "variables": [{"name": "replicas", "expression": "object.spec.replicas"}],
            "validations": [{"expression": "variables.replicas == 'a'"}],
        });
        let found = warnings(&spec);
        assert!(
            found[0]
                .warning
                .contains("no matching overload for '_==_' applied to '(int, string)'"),
            "{found:?}"
        );
    }

    #[test]
    fn every_expression_is_checked_when_somebody_asks_for_more_than_a_cluster_says() {
        let schema = json!({"type": "object", "properties": {"kind": {"type": "string"}}});
        let kind = |name: &str| {
            let ty = Decl::from_schema(&schema, true).cel_type(name).unwrap();
            (GroupVersionKind::new("example.com", "v1", name), ty)
        };
        let policy = json!({"spec": {
            "matchConditions": [{"name": "a", "expression": "object.kin == 'a'"}],
            "variables": [
                {"name": "one", "expression": "object.kind"},
                {"name": "two", "expression": "variables.one > 1"},
            ],
            "validations": [{
                "expression": "authorizer.requestResource.check('get').allowed() && object.kind == ''",
                "messageExpression": "object.knd",
            }],
            "auditAnnotations": [{"key": "a", "valueExpression": "string(object.kinds)"}],
            "mutations": [{"jsonPatch": {"expression": "[JSONPatch{}]"}}],
        }});
        let mistakes = type_mistakes(&policy, &[kind("Foo"), kind("Bar")], None);
        let fields: Vec<&str> = mistakes.iter().map(|mistake| mistake.field.as_str()).collect();
        let once = [
            "spec.matchConditions[0].expression",
            "spec.variables[1].expression",
            "spec.validations[0].messageExpression",
            "spec.auditAnnotations[0].valueExpression",
        ];
        assert_eq!(fields, [once, once].concat());
        assert_eq!(
            (mistakes[0].kind.kind.as_str(), mistakes[4].kind.kind.as_str()),
            ("Foo", "Bar")
        );
    }

    #[test]
    fn a_mutation_reads_and_sets_only_fields_that_the_kind_has() {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "replicas": {"type": "integer"},
                "ports": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            }},
        }});
        let ty = Decl::from_schema(&schema, true).cel_type("Foo1").unwrap();
        let kinds = [(GroupVersionKind::new("example.com", "v1", "Foo"), ty)];
        let mistake = |form: &str, expression: &str| {
            let policy = json!({"spec": {"mutations": [{form: {"expression": expression}}]}});
            let mistakes = type_mistakes(&policy, &kinds, None);
            mistakes
                .into_iter()
                .next()
                .map(|mistake| (mistake.field, mistake.message))
        };
        let field = "spec.mutations[0].applyConfiguration.expression";
        for (expression, undefined) in [
            ("Object{spec: Object.spec{replicas: object.spec.replicaz}}", "replicaz"),
            ("Object{spec: Object.spec{replicaz: 1}}", "replicaz"),
            ("Object{spek: Object.spec{replicas: 1}}", "spek"),
            ("Object{spec: Object.spec{ports: [Object.spec.ports{nam: 'a'}]}}", "nam"),
        ] {
            let (found, message) = mistake("applyConfiguration", expression).unwrap();
            assert_eq!(found, field);
            assert!(message.contains(&format!("undefined field '{undefined}'")), "{message}");
        }
        let patch = "[JSONPatch{op: 'add', path: '/spec', value: Object.spec{replicaz: 1}}]";
        let (found, message) = mistake("jsonPatch", patch).unwrap();
        assert_eq!(found, "spec.mutations[0].jsonPatch.expression");
        assert!(message.contains("undefined field 'replicaz'"), "{message}");
        for expression in [
            "Object{metadata: Object.metadata{labels: Object.metadata.labels{anything: 'a'}}}",
            "Object{spec: Object.spec{labels: Object.spec.labels{anything: 'a'}, replicas: object.spec.replicas + 1}}",
            "Object{spec: Object.spec{ports: object.spec.ports.map(p, Object.spec.ports{name: p.name})}}",
        ] {
            assert_eq!(mistake("applyConfiguration", expression), None);
        }
    }

    #[test]
    fn a_rule_is_asked_for_ten_kinds_at_most() {
        let resources: Vec<String> = (0..20).map(|number| format!("r{number:02}")).collect();
        let policy = json!({"spec": {"matchConstraints": {"resourceRules": [
            {"apiGroups": ["g"], "apiVersions": ["v1"], "resources": resources},
        ]}}});
        let kinds = kinds_to_check(&policy, |resource| {
            vec![GroupVersionKind::new(
                &resource.group,
                &resource.version,
                &resource.resource,
            )]
        });
        assert_eq!(kinds.len(), 10);
        assert_eq!(kinds[9].kind, "r09");
    }
}
