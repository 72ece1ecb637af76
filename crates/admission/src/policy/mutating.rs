//! `MutatingAdmissionPolicies`: what they change (A14).

use kubewright_cel::Value as Cel;
use serde_json::{Map, Value};

use super::composition::{Composition, PolicyExpressions};
use super::matching::MatchResources;
use super::request::{Reads, Request};
use super::validating::text;
use super::{MAX_COST, param_kind};
use crate::activation::Activation;
use crate::attributes::GroupVersionKind;
use crate::conditions;
use crate::expression::{Expression, Returns};
use crate::webhook::FailurePolicy;

/// A `MutatingAdmissionPolicy`, compiled.
#[derive(Debug)]
pub struct MutatingPolicy {
    /// Its name.
    pub name: String,
    /// What a failed evaluation means.
    pub failure_policy: FailurePolicy,
    /// The kind of its params.
    pub param_kind: Option<GroupVersionKind>,
    /// Which requests it is about.
    pub matches: MatchResources,
    /// Which variables its expressions read.
    pub reads: Reads,
    /// Whether it is evaluated again when the object changed after it (A8).
    pub reinvoke: bool,
    composition: Composition,
    conditions: Vec<Expression>,
    mutations: Vec<Mutation>,
}

#[derive(Debug)]
enum Mutation {
    ApplyConfiguration(Expression),
    JsonPatch(Expression),
}

/// A change that a policy wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A configuration to be merged into the object; without apiVersion and kind.
    Apply(Map<String, Value>),
    /// The operations of a JSON patch.
    Patch(Vec<Value>),
}

impl MutatingPolicy {
    /// Compiles a policy. What does not compile fails when it is evaluated.
    pub fn read(policy: &Value) -> MutatingPolicy {
        let name = policy.pointer("/metadata/name").and_then(Value::as_str);
        let spec = policy.get("spec").unwrap_or(&Value::Null);
        let list = |key: &str| spec.get(key).and_then(Value::as_array).into_iter().flatten();
        let param_kind = param_kind(spec);
        let mut expressions = PolicyExpressions::composed(param_kind.is_some());
        for variable in list("variables") {
            // A variable that does not compile fails those that read it.
            let _ = expressions.variable(text(variable, "name"), text(variable, "expression"));
        }
        let conditions: Vec<Expression> = list("matchConditions")
            .map(|condition| expressions.rule(text(condition, "expression"), Returns::Bool))
            .collect();
        let mutations: Vec<Mutation> = list("mutations")
            .map(|mutation| Mutation::read(mutation, &expressions))
            .collect();
        let composition = expressions.into_composition();
        let mut reads = Reads::default();
        composition
            .expressions()
            .chain(&conditions)
            .chain(mutations.iter().map(Mutation::expression))
            .for_each(|expression| reads.add(expression));
        MutatingPolicy {
            name: name.unwrap_or_default().to_owned(),
            failure_policy: FailurePolicy::read(spec),
            param_kind,
            matches: MatchResources::read(spec.get("matchConstraints").unwrap_or(&Value::Null)),
            reads,
            reinvoke: text(spec, "reinvocationPolicy") == "IfNeeded",
            composition,
            conditions,
            mutations,
        }
    }

    /// How many mutations it has.
    pub fn mutations(&self) -> usize {
        self.mutations.len()
    }

    /// Whether its match conditions hold for a request.
    pub fn holds(&self, request: &Request<'_>) -> Result<bool, String> {
        if self.conditions.is_empty() {
            return Ok(true);
        }
        let inputs = request.for_conditions(self.reads);
        match conditions::hold(&self.conditions, &Activation::new(&inputs, Some(&self.composition))) {
            Err(_) if self.failure_policy == FailurePolicy::Ignore => Ok(false),
            decided => decided,
        }
    }

    /// What one of its mutations changes; the error is upstream's message.
    pub fn change(&self, mutation: usize, request: &Request<'_>) -> Result<Change, String> {
        let Some(mutation) = self.mutations.get(mutation) else {
            return Err("policy evaluator is nil".to_owned());
        };
        let expression = mutation.expression();
        if let Err(why) = &expression.program {
            return Err(why.to_string());
        }
        let inputs = request.inputs(self.reads);
        let activation = Activation::new(&inputs, Some(&self.composition));
        let value = activation.evaluate(expression, &mut { MAX_COST })??;
        match mutation {
            Mutation::ApplyConfiguration(_) => configuration(&value).map(Change::Apply),
            Mutation::JsonPatch(_) => operations(&value).map(Change::Patch),
        }
    }
}

impl Mutation {
    fn read(mutation: &Value, expressions: &PolicyExpressions) -> Mutation {
        if let Some(patch) = mutation.get("jsonPatch").filter(|patch| !patch.is_null()) {
            return Mutation::JsonPatch(expressions.mutation(text(patch, "expression"), Returns::Patches));
        }
        let configuration = mutation.get("applyConfiguration").unwrap_or(&Value::Null);
        Mutation::ApplyConfiguration(expressions.mutation(text(configuration, "expression"), Returns::Object))
    }

    fn expression(&self) -> &Expression {
        match self {
            Mutation::ApplyConfiguration(expression) | Mutation::JsonPatch(expression) => expression,
        }
    }
}

fn configuration(value: &Cel<'_>) -> Result<Map<String, Value>, String> {
    let unsupported = || {
        let ty = value.type_of();
        format!("unsupported return type from ApplyConfiguration expression: {ty}")
    };
    let Cel::Object(object) = value else {
        return Err(unsupported());
    };
    check_names(object)?;
    match value.to_json().map_err(|error| error.message().to_owned())? {
        Value::Object(fields) => Ok(fields),
        _ => Err(unsupported()),
    }
}

fn operations(value: &Cel<'_>) -> Result<Vec<Value>, String> {
    let Cel::List(list) = value else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    let mut operations = Vec::with_capacity(list.len());
    for item in list.iter() {
        let item = item.map_err(|error| error.message().to_owned())?;
        let Cel::Object(patch) = &item else {
            return Err("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch".to_owned());
        };
        let field = |name: &str| patch.fields.get(name).and_then(Cel::as_str).unwrap_or_default();
        let mut operation = Map::new();
        operation.insert("op".into(), field("op").into());
        operation.insert("path".into(), field("path").into());
        if !field("from").is_empty() {
            operation.insert("from".into(), field("from").into());
        }
        if let Some(value) = patch.fields.get("value") {
            if let Cel::Object(object) = value {
                check_names(object)?;
            }
            let value = value.to_json().map_err(|error| {
                format!("JSONPath valueExpression evaluated to a type that could not marshal to JSON: {error}")
            })?;
            operation.insert("value".into(), value);
        }
        operations.push(Value::Object(operation));
    }
    Ok(operations)
}

/// The types of objects have to be named after the fields that lead to them.
fn check_names(object: &kubewright_cel::Object<'_>) -> Result<(), String> {
    let misnamed = object.misnamed();
    if misnamed.is_empty() {
        return Ok(());
    }
    Err(format!("type mismatch: {}", misnamed.join("\n")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::attributes::{Attributes, GroupVersionResource, Operation, UserInfo};
    use crate::policy::RequestVariable;

    fn change(mutation: &Value) -> Result<Change, String> {
        let policy = MutatingPolicy::read(&json!({"metadata": {"name": "p"}, "spec": {"mutations": [mutation]}}));
        let attributes = Attributes {
            operation: Operation::Create,
            kind: GroupVersionKind::new("", "v1", "ConfigMap"),
            resource: GroupVersionResource::new("", "v1", "configmaps"),
            subresource: String::new(),
            name: "a".into(),
            namespace: "shop".into(),
            user: UserInfo::default(),
            dry_run: false,
            options: Value::Null,
        };
        let object = json!({"data": {"k": "v"}});
        let (kind, resource, variable) = (&attributes.kind, &attributes.resource, RequestVariable::default());
        let request = Request::new(&attributes, kind, resource, &object, &Value::Null, &variable);
        policy.change(0, &request)
    }

    #[test]
    fn an_apply_configuration_is_a_part_of_an_object() {
        let mutation = json!({"patchType": "ApplyConfiguration", "applyConfiguration": {
            "expression": "Object{metadata: Object.metadata{labels: {'k': object.data.k}}}",
        }});
        let Ok(Change::Apply(configuration)) = change(&mutation) else {
            panic!("no configuration");
        };
        assert_eq!(
            Value::Object(configuration),
            json!({"metadata": {"labels": {"k": "v"}}})
        );
    }

    #[test]
    fn a_patch_is_a_list_of_operations() {
        let mutation = json!({"patchType": "JSONPatch", "jsonPatch": {
            "expression": "[JSONPatch{op: 'copy', from: '/data/k', path: '/data/l'}, JSONPatch{op: 'add', path: '/x', value: [1]}]",
        }});
        let wanted = [
            json!({"op": "copy", "path": "/data/l", "from": "/data/k"}),
            json!({"op": "add", "path": "/x", "value": [1]}),
        ];
        assert_eq!(change(&mutation), Ok(Change::Patch(wanted.to_vec())));
    }
}
