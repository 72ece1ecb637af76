//! Match conditions: expressions that narrow down what a webhook is called for (A6).

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use kubewright_apimachinery::errors::aggregate;
use kubewright_cel::authorizer::{Authorize, ResourceCheck};
use kubewright_cel::{Env, ErrorKind, Limits, ObjectType, Program, Type, Value as Cel, limits};
use serde_json::Value;

use crate::attributes::{Attributes, GroupVersionKind};
use crate::webhook::FailurePolicy;

/// What all conditions of a webhook may cost together, for one request.
pub const MAX_COST: u64 = 2_500_000;

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The conditions of a webhook, compiled.
#[derive(Debug, Default)]
pub struct Conditions {
    conditions: Vec<Condition>,
    ignore_errors: bool,
}

#[derive(Debug)]
struct Condition {
    expression: String,
    /// The compiled expression, or why it cannot be compiled.
    program: Result<Program, String>,
}

/// The variables that conditions are evaluated with.
pub struct Variables<'a> {
    /// The request.
    pub attributes: &'a Attributes,
    /// The kind in which the objects are shown.
    pub kind: &'a GroupVersionKind,
    /// The object; null when there is none.
    pub object: &'a Value,
    /// The object before; null when there is none.
    pub old: &'a Value,
    /// Answers the checks that conditions make through `authorizer`.
    pub authorizer: Arc<dyn Authorize>,
}

impl Conditions {
    pub(crate) fn read<'a>(conditions: impl Iterator<Item = &'a Value>, failure: FailurePolicy) -> Conditions {
        let conditions = conditions
            .map(|condition| {
                let expression = condition.get("expression").and_then(Value::as_str).unwrap_or_default();
                Condition {
                    program: compile(expression),
                    expression: expression.to_owned(),
                }
            })
            .collect();
        Conditions {
            conditions,
            ignore_errors: failure == FailurePolicy::Ignore,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Whether all hold. If one does not hold, errors of the others do not matter; otherwise errors are returned, or
    /// the webhook is not called if its policy is to ignore failures.
    pub fn hold(&self, variables: &Variables<'_>) -> Result<bool, String> {
        if self.conditions.is_empty() {
            return Ok(true);
        }
        match self.evaluate(variables) {
            Err(_) if self.ignore_errors => Ok(false),
            decided => decided,
        }
    }

    fn evaluate(&self, variables: &Variables<'_>) -> Result<bool, String> {
        let request = variables.attributes.to_variable(variables.kind);
        let attributes = variables.attributes;
        let check = ResourceCheck {
            group: attributes.resource.group.clone(),
            resource: attributes.resource.resource.clone(),
            subresource: attributes.subresource.clone(),
            namespace: attributes.namespace.clone(),
            name: attributes.name.clone(),
            ..ResourceCheck::default()
        };
        let bound = [
            ("object", Cel::from_json(variables.object)),
            ("oldObject", Cel::from_json(variables.old)),
            ("namespaceObject", Cel::Null),
            ("request", Cel::from_json(&request)),
            ("authorizer", Cel::authorizer(Arc::clone(&variables.authorizer))),
            (
                "authorizer.requestResource",
                Cel::resource_check(Arc::clone(&variables.authorizer), check),
            ),
        ];
        let (mut budget, mut one_fails, mut errors) = (MAX_COST, false, Vec::new());
        for condition in &self.conditions {
            match condition.evaluate(&bound, &mut budget)? {
                Ok(holds) => one_fails |= !holds,
                Err(error) => errors.push(error),
            }
        }
        if one_fails {
            return Ok(false);
        }
        aggregate(errors).map_or(Ok(true), Err)
    }
}

impl Condition {
    /// The outer error ends the evaluation of all conditions, the inner one is that of this condition.
    fn evaluate<'a>(&'a self, bound: &[(&str, Cel<'a>)], budget: &mut u64) -> Result<Result<bool, String>, String> {
        let program = match &self.program {
            Ok(program) => program,
            Err(why) => return Ok(Err(format!("compilation error: {why}"))),
        };
        let limits = Limits {
            cost: limits::PER_CALL,
            interrupted: None,
        };
        let evaluation = program.eval(bound, limits);
        *budget = budget
            .checked_sub(evaluation.cost)
            .ok_or_else(|| OUT_OF_BUDGET.to_owned())?;
        Ok(match evaluation.outcome {
            Ok(Cel::Bool(holds)) => Ok(holds),
            // Upstream compares with `false`, so that a value of another type counts as true.
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::Internal => return Err(error.message().to_owned()),
            Err(error) => Err(format!(
                "expression '{}' resulted in error: {}",
                self.expression,
                error.message()
            )),
        })
    }
}

/// What is wrong with the expression of a condition, in upstream's words.
pub fn check_expression(expression: &str) -> Result<(), String> {
    compile(expression).map(|_| ())
}

fn compile(expression: &str) -> Result<Program, String> {
    let program = environment()
        .compile(expression)
        .map_err(|issues| format!("compilation failed: {issues}"))?;
    match program.output_type() {
        Type::Bool => {}
        other => return Err(format!("must evaluate to bool but got {other}")),
    }
    match program.defect() {
        Some(defect) => Err(format!("program instantiation failed: {defect}")),
        None => Ok(program),
    }
}

/// The variables that conditions have, with their types.
fn environment() -> &'static Env {
    static ENV: OnceLock<Env> = OnceLock::new();
    ENV.get_or_init(|| {
        Env::kubernetes()
            .with_variable("object", Type::Dyn)
            .with_variable("oldObject", Type::Dyn)
            .with_variable("namespaceObject", namespace())
            .with_variable("request", request())
            .with_authorizer()
    })
}

fn object(name: &str, fields: &[(&str, Type)]) -> Type {
    let fields: BTreeMap<String, Type> = fields
        .iter()
        .map(|(name, ty)| {
            (
                kubewright_cel::escape(name).map_or_else(|| (*name).to_owned(), Into::into),
                ty.clone(),
            )
        })
        .collect();
    Type::Object(Arc::new(ObjectType {
        name: format!("kubernetes.{name}"),
        fields: Some(fields),
    }))
}

fn request() -> Type {
    let text = || Type::String;
    let kind = object(
        "GroupVersionKind",
        &[("group", text()), ("version", text()), ("kind", text())],
    );
    let resource = object(
        "GroupVersionResource",
        &[("group", text()), ("version", text()), ("resource", text())],
    );
    let user = object(
        "UserInfo",
        &[
            ("username", text()),
            ("uid", text()),
            ("groups", Type::list(text())),
            ("extra", Type::map(text(), Type::list(text()))),
        ],
    );
    object(
        "AdmissionRequest",
        &[
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("subResource", text()),
            ("requestKind", kind),
            ("requestResource", resource),
            ("requestSubResource", text()),
            ("name", text()),
            ("namespace", text()),
            ("operation", text()),
            ("userInfo", user),
            ("dryRun", Type::Bool),
            ("options", Type::Dyn),
        ],
    )
}

fn namespace() -> Type {
    let texts = || Type::list(Type::String);
    let map = || Type::map(Type::String, Type::String);
    let condition = object(
        "NamespaceCondition",
        &[
            ("status", Type::String),
            ("type", Type::String),
            ("lastTransitionTime", Type::Timestamp),
            ("message", Type::String),
            ("reason", Type::String),
        ],
    );
    let metadata = object(
        "NamespaceMetadata",
        &[
            ("name", Type::String),
            ("generateName", Type::String),
            ("namespace", Type::String),
            ("labels", map()),
            ("annotations", map()),
            ("UID", Type::String),
            ("creationTimestamp", Type::Timestamp),
            ("deletionGracePeriodSeconds", Type::Int),
            ("deletionTimestamp", Type::Timestamp),
            ("generation", Type::Int),
            ("resourceVersion", Type::String),
            ("finalizers", texts()),
        ],
    );
    object(
        "Namespace",
        &[
            ("metadata", metadata),
            ("spec", object("NamespaceSpec", &[("finalizers", texts())])),
            (
                "status",
                object(
                    "NamespaceStatus",
                    &[("conditions", Type::list(condition)), ("phase", Type::String)],
                ),
            ),
        ],
    )
}

#[cfg(test)]
mod tests {
    use kubewright_cel::authorizer::{AuthorizationCheck, Decision};
    use serde_json::json;

    use super::*;
    use crate::attributes::{GroupVersionResource, Operation, UserInfo};

    #[derive(Debug)]
    struct OnlyGet;

    impl Authorize for OnlyGet {
        fn authorize(&self, check: &AuthorizationCheck) -> Decision {
            Decision {
                allowed: check.verb == "get",
                ..Decision::default()
            }
        }
    }

    fn hold(expressions: &[&str], failure: FailurePolicy) -> Result<bool, String> {
        let listed: Vec<Value> = expressions
            .iter()
            .map(|expression| json!({"name": "n", "expression": expression}))
            .collect();
        let attributes = Attributes {
            operation: Operation::Update,
            kind: GroupVersionKind::new("", "v1", "ConfigMap"),
            resource: GroupVersionResource::new("", "v1", "configmaps"),
            subresource: String::new(),
            name: "x".into(),
            namespace: "ns".into(),
            user: UserInfo {
                username: "ann".into(),
                groups: vec!["g".into()],
                ..UserInfo::default()
            },
            dry_run: false,
            options: json!({"kind": "UpdateOptions"}),
        };
        let (object, old) = (json!({"data": {"a": "1"}}), json!({"data": {"a": "0"}}));
        Conditions::read(listed.iter(), failure).hold(&Variables {
            attributes: &attributes,
            kind: &attributes.kind,
            object: &object,
            old: &old,
            authorizer: Arc::new(OnlyGet),
        })
    }

    #[test]
    fn conditions_see_the_objects_the_request_and_the_rights_of_its_user() {
        for expression in [
            "object.data.a == '1' && oldObject.data.a == '0'",
            "request.operation == 'UPDATE' && request.namespace == 'ns' && request.kind.kind == 'ConfigMap'",
            "request.userInfo.username == 'ann' && 'g' in request.userInfo.groups",
            "authorizer.group('').resource('pods').check('get').allowed()",
            "authorizer.requestResource.check('get').allowed()",
            "!has(request.subResource) && request.options.kind == 'UpdateOptions'",
        ] {
            assert_eq!(hold(&[expression], FailurePolicy::Fail), Ok(true), "{expression}");
        }
    }

    #[test]
    fn a_condition_that_does_not_hold_outweighs_errors() {
        let error = "object.nope == 1";
        assert_eq!(hold(&[error, "false"], FailurePolicy::Fail), Ok(false));
        assert_eq!(
            hold(&[error, "true"], FailurePolicy::Fail),
            Err("expression 'object.nope == 1' resulted in error: no such key: nope".into())
        );
        assert_eq!(hold(&[error, "true"], FailurePolicy::Ignore), Ok(false));
    }

    #[test]
    fn conditions_that_cost_too_much_together_fail() {
        let check = "authorizer.group('').resource('pods').check('get').allowed()";
        let two = format!("{check} && {check}");
        assert_eq!(
            hold(&[&two, &two, &two, &two], FailurePolicy::Fail),
            Err(OUT_OF_BUDGET.into())
        );
    }

    #[test]
    fn mistakes_are_told_when_the_configuration_is_written() {
        assert_eq!(check_expression("request.operation == 'CREATE'"), Ok(()));
        assert_eq!(
            check_expression("1 + 1"),
            Err("must evaluate to bool but got int".into())
        );
        let error = check_expression("request.nope").unwrap_err();
        assert!(
            error.starts_with("compilation failed: ERROR: <input>:1:8: undefined field 'nope'"),
            "{error}"
        );
    }
}
