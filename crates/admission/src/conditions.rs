//! Match conditions: expressions that narrow down what a webhook is called for or a policy is evaluated for (A6).

use std::sync::Arc;

use kubewright_apimachinery::errors::aggregate;
use kubewright_cel::Value as Cel;
use kubewright_cel::authorizer::Authorize;
use serde_json::Value;

use crate::activation::{Activation, Inputs};
use crate::attributes::{Attributes, GroupVersionKind};
use crate::environment::{Declarations, environment};
use crate::expression::{CompileError, Expression, Returns, compile};
use crate::webhook::FailurePolicy;

/// What all conditions of a webhook or of a policy may cost together, for one request.
pub const MAX_COST: u64 = 2_500_000;

const DECLARATIONS: Declarations = Declarations {
    params: false,
    authorizer: true,
    mutation: false,
};

/// The conditions of a webhook, compiled.
#[derive(Debug, Default)]
pub struct Conditions {
    conditions: Vec<Expression>,
    ignore_errors: bool,
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
                Expression::new(environment(DECLARATIONS), expression, Returns::Bool)
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
        let attributes = variables.attributes;
        let request = attributes.to_variable(variables.kind, &attributes.resource);
        let inputs = Inputs {
            object: variables.object,
            old: variables.old,
            request: &request,
            namespace: &Value::Null,
            params: &Value::Null,
            authorizer: Some((&variables.authorizer, attributes)),
        };
        match hold(&self.conditions, &Activation::new(&inputs, None)) {
            Err(_) if self.ignore_errors => Ok(false),
            decided => decided,
        }
    }
}

/// Whether all of these hold, or why that is not known.
pub(crate) fn hold<'a>(conditions: &'a [Expression], activation: &Activation<'a>) -> Result<bool, String> {
    let (mut budget, mut one_fails, mut errors) = (MAX_COST, false, Vec::new());
    for condition in conditions {
        match activation.evaluate(condition, &mut budget)? {
            Ok(Cel::Bool(holds)) => one_fails |= !holds,
            // Upstream compares with `false`, so that a value of another type counts as true.
            Ok(_) => {}
            Err(error) => errors.push(error),
        }
    }
    if one_fails {
        return Ok(false);
    }
    aggregate(errors).map_or(Ok(true), Err)
}

/// What is wrong with the expression of a condition, in upstream's words.
pub fn check_expression(expression: &str) -> Result<(), CompileError> {
    compile(environment(DECLARATIONS), expression, Returns::Bool).map(|_| ())
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
            Err(crate::activation::OUT_OF_BUDGET.into())
        );
    }

    #[test]
    fn mistakes_are_told_when_the_configuration_is_written() {
        assert_eq!(check_expression("request.operation == 'CREATE'"), Ok(()));
        assert_eq!(
            check_expression("1 + 1"),
            Err(CompileError::Invalid("must evaluate to bool but got int".into()))
        );
        let error = check_expression("request.nope").unwrap_err().to_string();
        assert!(
            error.starts_with("compilation failed: ERROR: <input>:1:8: undefined field 'nope'"),
            "{error}"
        );
    }
}
