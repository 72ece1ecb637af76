//! `ValidatingAdmissionPolicies`: what they think of a request (A13).

use kubewright_cel::{Value as Cel, limits};
use serde_json::Value;

use super::composition::{Composition, PolicyExpressions};
use super::matching::MatchResources;
use super::request::{Reads, Request};
use super::{MAX_COST, param_kind};
use crate::activation::{Activation, Inputs};
use crate::attributes::GroupVersionKind;
use crate::conditions;
use crate::expression::{Expression, Returns};
use crate::webhook::FailurePolicy;

/// A `ValidatingAdmissionPolicy`, compiled.
#[derive(Debug)]
pub struct ValidatingPolicy {
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
    composition: Composition,
    conditions: Vec<Expression>,
    validations: Vec<Validation>,
    annotations: Vec<(String, Expression)>,
}

#[derive(Debug)]
struct Validation {
    expression: Expression,
    message: String,
    message_expression: Option<Expression>,
    reason: FailureReason,
}

/// What a policy thinks of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Validations that failed, in their order. What could not be evaluated is here if the policy's `failurePolicy` is `Fail`.
    pub failures: Vec<Failure>,
    /// Audit annotations, in their order.
    pub annotations: Vec<Annotation>,
}

/// A validation that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The index of the validation.
    pub index: usize,
    /// Why it failed.
    pub message: String,
    /// The reason of the refusal.
    pub reason: FailureReason,
}

/// The reason of a refusal, from which its code follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureReason {
    /// 422
    #[default]
    Invalid,
    /// 403
    Forbidden,
    /// 401
    Unauthorized,
    /// 413
    RequestEntityTooLarge,
}

/// An audit annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Its key, without the name of the policy.
    pub key: String,
    /// Its value, or why it has none. An error refuses the request, whatever the actions of the binding.
    pub value: Result<String, String>,
}

impl FailureReason {
    /// Its name and its code.
    pub fn status(self) -> (&'static str, u16) {
        match self {
            FailureReason::Invalid => ("Invalid", 422),
            FailureReason::Forbidden => ("Forbidden", 403),
            FailureReason::Unauthorized => ("Unauthorized", 401),
            FailureReason::RequestEntityTooLarge => ("RequestEntityTooLarge", 413),
        }
    }

    fn read(name: Option<&str>) -> FailureReason {
        match name {
            Some("Forbidden") => FailureReason::Forbidden,
            Some("Unauthorized") => FailureReason::Unauthorized,
            Some("RequestEntityTooLarge") => FailureReason::RequestEntityTooLarge,
            _ => FailureReason::Invalid,
        }
    }
}

impl ValidatingPolicy {
    /// Compiles a policy. What does not compile fails when it is evaluated.
    pub fn read(policy: &Value) -> ValidatingPolicy {
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
        let validations: Vec<Validation> = list("validations")
            .map(|validation| Validation {
                expression: expressions.rule(text(validation, "expression"), Returns::Bool),
                message: text(validation, "message").trim().to_owned(),
                message_expression: Some(text(validation, "messageExpression"))
                    .filter(|text| !text.is_empty())
                    .map(|text| expressions.message_expression(text)),
                reason: FailureReason::read(validation.get("reason").and_then(Value::as_str)),
            })
            .collect();
        let annotations: Vec<(String, Expression)> = list("auditAnnotations")
            .map(|annotation| {
                let expression = expressions.rule(text(annotation, "valueExpression"), Returns::StringOrNull);
                (text(annotation, "key").to_owned(), expression)
            })
            .collect();
        let composition = expressions.into_composition();
        let mut reads = Reads::default();
        let of_validations = validations
            .iter()
            .flat_map(|validation| [Some(&validation.expression), validation.message_expression.as_ref()]);
        composition
            .expressions()
            .chain(&conditions)
            .chain(of_validations.flatten())
            .chain(annotations.iter().map(|(_, expression)| expression))
            .for_each(|expression| reads.add(expression));
        ValidatingPolicy {
            name: name.unwrap_or_default().to_owned(),
            failure_policy: FailurePolicy::read(spec),
            param_kind,
            matches: MatchResources::read(spec.get("matchConstraints").unwrap_or(&Value::Null)),
            reads,
            composition,
            conditions,
            validations,
            annotations,
        }
    }

    /// What the policy thinks of a request that it is about.
    pub fn evaluate(&self, request: &Request<'_>) -> Verdict {
        match self.verdict(request) {
            Ok(verdict) => verdict,
            // What ends the evaluation of all expressions counts as the failure of the first one.
            Err(message) => Verdict {
                failures: self.failed_evaluation(0, message).into_iter().collect(),
                annotations: Vec::new(),
            },
        }
    }

    fn verdict(&self, request: &Request<'_>) -> Result<Verdict, String> {
        if !self.conditions.is_empty() {
            let inputs = request.for_conditions(self.reads);
            let holds = conditions::hold(&self.conditions, &Activation::new(&inputs, Some(&self.composition)));
            match holds {
                Ok(true) => {}
                Ok(false) => return Ok(Verdict::default()),
                Err(_) if self.failure_policy == FailurePolicy::Ignore => return Ok(Verdict::default()),
                Err(why) => return Err(why),
            }
        }
        let inputs = request.inputs(self.reads);
        let failures = self.failures(&inputs)?;
        let annotations = if self.annotations.is_empty() {
            Vec::new()
        } else {
            self.audit(&inputs)?
        };
        Ok(Verdict { failures, annotations })
    }

    fn failures(&self, inputs: &Inputs<'_>) -> Result<Vec<Failure>, String> {
        let activation = Activation::new(inputs, Some(&self.composition));
        let mut budget = MAX_COST;
        // What is wrong with a validation: an error, or that it does not hold. Most have nothing, and then nothing is allocated.
        let mut found: Vec<(usize, Result<(), String>)> = Vec::new();
        for (index, validation) in self.validations.iter().enumerate() {
            match activation.evaluate(&validation.expression, &mut budget)? {
                Ok(Cel::Bool(true)) => {}
                Ok(_) => found.push((index, Ok(()))),
                Err(error) => found.push((index, Err(error))),
            }
        }
        let messages = match self.messages(inputs, budget, found.is_empty()) {
            Ok(messages) => messages,
            Err(why) => return Ok(self.without_messages(found, &why)),
        };
        let mut failures = Vec::with_capacity(found.len());
        for (index, outcome) in found {
            if let Err(error) = outcome {
                failures.extend(self.failed_evaluation(index, error));
            } else {
                let computed = messages.iter().find(|(of, _)| *of == index);
                failures.push(self.validations[index].failure(index, computed.map(|(_, text)| text.as_str())));
            }
        }
        Ok(failures)
    }

    /// The computed messages by the index of their validation. All are evaluated, since upstream refuses a request whose messages cost too
    /// much even if no validation fails; only where they cannot cost too much are those that nobody will see left out.
    fn messages(&self, inputs: &Inputs<'_>, mut budget: u64, unseen: bool) -> Result<Vec<(usize, String)>, String> {
        let expressions = self
            .validations
            .iter()
            .enumerate()
            .filter_map(|(index, validation)| Some((index, validation.message_expression.as_ref()?)));
        if unseen {
            let most = (expressions.clone().count() + self.composition.len()) as u64;
            if most.saturating_mul(limits::PER_CALL) <= budget {
                return Ok(Vec::new());
            }
        }
        let inputs = Inputs {
            authorizer: None,
            ..*inputs
        };
        let activation = Activation::new(&inputs, Some(&self.composition));
        let mut messages = Vec::new();
        for (index, expression) in expressions {
            if let Ok(Cel::String(text)) = activation.evaluate(expression, &mut budget)? {
                messages.push((index, text.as_str().to_owned()));
            }
        }
        Ok(messages)
    }

    /// If messages could not be evaluated at all, all validations without an error of their own have failed.
    fn without_messages(&self, found: Vec<(usize, Result<(), String>)>, why: &str) -> Vec<Failure> {
        let mut errors: Vec<Option<String>> = vec![None; self.validations.len()];
        for (index, outcome) in found {
            errors[index] = outcome.err();
        }
        let failed = format!("failed messageExpression: {why}");
        errors
            .into_iter()
            .enumerate()
            .filter_map(|(index, error)| self.failed_evaluation(index, error.unwrap_or_else(|| failed.clone())))
            .collect()
    }

    fn failed_evaluation(&self, index: usize, message: String) -> Option<Failure> {
        (self.failure_policy == FailurePolicy::Fail).then_some(Failure {
            index,
            message,
            reason: FailureReason::Invalid,
        })
    }

    /// Audit annotations have the whole budget, and no authorizer.
    fn audit(&self, inputs: &Inputs<'_>) -> Result<Vec<Annotation>, String> {
        let inputs = Inputs {
            authorizer: None,
            ..*inputs
        };
        let activation = Activation::new(&inputs, Some(&self.composition));
        let mut budget = MAX_COST;
        let mut annotations = Vec::new();
        for (key, expression) in &self.annotations {
            let value = match activation.evaluate(expression, &mut budget)? {
                Ok(Cel::String(text)) if text.as_str().trim().is_empty() => continue,
                Ok(Cel::String(text)) => Ok(text.as_str().trim().to_owned()),
                Ok(Cel::Null) => continue,
                Ok(other) => Err(format!(
                    "valueExpression '{}' resulted in unsupported return type: {}. Return type must be either string or null.",
                    expression.text,
                    other.type_of()
                )),
                Err(_) if self.failure_policy == FailurePolicy::Ignore => continue,
                Err(error) => Err(error),
            };
            annotations.push(Annotation {
                key: key.clone(),
                value,
            });
        }
        Ok(annotations)
    }
}

impl Validation {
    /// The failure with the message that was computed, or that the policy has, or that names the expression.
    fn failure(&self, index: usize, computed: Option<&str>) -> Failure {
        let computed = computed
            .map(str::trim)
            .filter(|text| !text.is_empty() && text.len() <= limits::MESSAGE_BYTES && !text.contains('\n'));
        let message = match (computed, self.message.as_str()) {
            (Some(computed), _) => computed.to_owned(),
            (None, "") => format!("failed expression: {}", self.expression.text.trim()),
            (None, message) => message.to_owned(),
        };
        Failure {
            index,
            message,
            reason: self.reason,
        }
    }
}

pub(super) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::attributes::{Attributes, GroupVersionResource, Operation, UserInfo};
    use crate::policy::RequestVariable;

    fn attributes() -> Attributes {
        Attributes {
            operation: Operation::Create,
            kind: GroupVersionKind::new("", "v1", "ConfigMap"),
            resource: GroupVersionResource::new("", "v1", "configmaps"),
            subresource: String::new(),
            name: "a".into(),
            namespace: "shop".into(),
            user: UserInfo::default(),
            dry_run: false,
            options: Value::Null,
        }
    }

    fn verdict(spec: &Value) -> Verdict {
        let policy = ValidatingPolicy::read(&json!({"metadata": {"name": "p"}, "spec": spec}));
        let (attributes, object) = (attributes(), json!({"data": {"k": "v"}}));
        let (kind, resource, variable) = (&attributes.kind, &attributes.resource, RequestVariable::default());
        let request = Request::new(&attributes, kind, resource, &object, &Value::Null, &variable);
        policy.evaluate(&request)
    }

    fn messages(spec: &Value) -> Vec<String> {
        verdict(spec)
            .failures
            .into_iter()
            .map(|failure| failure.message)
            .collect()
    }

    #[test]
    fn a_variable_is_evaluated_once_and_only_if_it_is_read() {
        let spec = json!({
            "variables": [{"name": "bad", "expression": "object.nope"}, {"name": "k", "expression": "object.data.k"}],
            "validations": [{"expression": "variables.k == 'v'"}, {"expression": "variables.k == 'w' || variables.bad == 1"}],
        });
        assert_eq!(
            messages(&spec),
            [concat!(
                r#"expression 'variables.k == 'w' || variables.bad == 1' resulted in error: "#,
                r#"composited variable "bad" fails to evaluate: no such key: nope"#
            )]
        );
    }

    #[test]
    fn a_variable_that_reads_itself_by_its_name_is_an_error() {
        let spec = json!({
            "variables": [{"name": "x", "expression": "1"}, {"name": "x", "expression": "variables.x + 1"}],
            "validations": [{"expression": "variables.x == 2"}],
        });
        assert!(messages(&spec)[0].contains("reads itself"), "{:?}", messages(&spec));
    }

    #[test]
    fn a_long_chain_of_variables_does_not_use_up_the_stack() {
        let nested = |inner: &str| format!("{}{inner}{}", "(1 + ".repeat(60), ")".repeat(60));
        let mut variables = vec![json!({"name": "v0", "expression": "0"})];
        for at in 1..100 {
            let expression = nested(&format!("variables.v{}", at - 1));
            variables.push(json!({"name": format!("v{at}"), "expression": expression}));
        }
        let spec = json!({"variables": variables, "validations": [{"expression": "variables.v99 > 0"}]});
        assert!(messages(&spec)[0].contains("too many variables wait for each other"));
    }

    #[test]
    fn messages_that_cost_too_much_fail_even_what_holds() {
        let cost = "[1,2,3,4,5,6,7,8,9,10]";
        let loops =
            format!("{cost}.all(a, {cost}.all(b, {cost}.all(c, {cost}.all(d, {cost}.all(e, a + b + c + d + e > 0)))))");
        let validation = json!({"expression": "true", "messageExpression": format!("string({loops})")});
        let failures = messages(&json!({"validations": vec![validation; 12]}));
        assert_eq!(failures.len(), 12);
        assert!(
            failures[0].starts_with("failed messageExpression: validation failed due to running out of cost budget")
        );
    }

    #[test]
    fn what_is_not_read_is_not_asked_for() {
        let policy = |expression: &str| {
            ValidatingPolicy::read(&json!({"spec": {"validations": [{"expression": expression}]}})).reads
        };
        assert_eq!(policy("object.data.k == 'v'"), Reads::default());
        assert!(policy("request.name == 'a'").request);
        assert!(policy("namespaceObject == null").namespace);
        assert!(policy("authorizer.requestResource.check('get').allowed()").authorizer);
    }

    #[test]
    fn an_annotation_has_no_authorizer_and_may_be_left_out() {
        let annotations = json!([
            {"key": "a", "valueExpression": "' k is ' + object.data.k"},
            {"key": "b", "valueExpression": "null"},
            {"key": "c", "valueExpression": "string(authorizer.path('/').check('get').allowed())"},
        ]);
        let found = verdict(&json!({"auditAnnotations": annotations})).annotations;
        assert_eq!(found[0].value, Ok("k is v".into()));
        assert_eq!(found.len(), 2);
        assert!(
            found[1]
                .value
                .as_ref()
                .is_err_and(|why| why.contains("no such attribute(s): authorizer"))
        );
    }
}
