//! Runs the rules of a schema over an object.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_apimachinery::field::{BadValue, ErrorType, Errors, FieldError};
use kubewright_apimachinery::go::quote;
use serde_json::Value as Json;

use crate::decl::{Decl, DeclKind, ListKind};
use crate::error::ErrorKind;
use crate::eval::{Limits, Program};
use crate::limits::{MESSAGE_BYTES, PER_CALL, PER_OBJECT};
use crate::value::Value;

use super::budget::{Cardinality, max_elements, total_cost};
use super::ratchet::{Pair, Ratchet, Shape, counterpart};
use super::{Compiled, Environments, Rule, compile, field_path};

/// What the rules of a schema say about an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValidationResult {
    /// The rules it does not meet, in the order upstream finds them: a node, its `allOf`, then what is below it.
    pub violations: Errors,
    /// The rules it does not meet in parts that did not change; clients are warned of these.
    pub warnings: Errors,
}

/// The compiled rules of a schema. Immutable: objects are validated through `&self`, from any thread.
///
/// ```
/// use kubewright_cel::Limits;
/// use kubewright_cel::rules::Validator;
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"spec": {
///     "type": "object",
///     "properties": {"min": {"type": "integer"}, "max": {"type": "integer"}},
///     "x-kubernetes-validations": [{"rule": "self.min <= self.max", "message": "min is larger than max"}],
/// }}});
/// let validator = Validator::new(&schema).unwrap();
/// let violations = validator.validate(&json!({"spec": {"min": 2, "max": 1}}), None, Limits::default());
/// assert_eq!(violations[0].to_string(), "spec: Invalid value: min is larger than max");
/// ```
///
/// ```
/// use kubewright_cel::Limits;
/// use kubewright_cel::rules::Validator;
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": { "spec": {
///         "type": "object",
///         "properties": { "replicas": { "type": "integer" } },
///         "x-kubernetes-validations": [{ "rule": "self.replicas <= 5", "message": "at most five" }],
///     } },
/// });
/// let rules = Validator::new(&schema).unwrap();
/// let (few, many) = (json!({ "spec": { "replicas": 3 } }), json!({ "spec": { "replicas": 9 } }));
/// assert!(rules.validate(&few, None, Limits::default()).is_empty());
/// let violation = &rules.validate(&many, None, Limits::default())[0];
/// assert!(violation.body().ends_with("at most five"), "{}", violation.body());
///
/// // A violation in a part that did not change is a warning.
/// let result = rules.validate_with_warnings(&many, Some(&many), Limits::default());
/// assert!(result.violations.is_empty());
/// ```
#[derive(Debug)]
pub struct Validator {
    root: Node,
    shape: Shape,
    most_cost: u64,
}

#[derive(Debug)]
struct Node {
    decl: Arc<Decl>,
    type_name: String,
    rules: Vec<(Rule, Compiled, Option<String>)>,
    /// Whether any of the rules reads `oldSelf`; if none does, no message can.
    uses_old_self: bool,
    properties: BTreeMap<String, Node>,
    element: Option<Box<Node>>,
    all_of: Vec<Node>,
}

impl Node {
    fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.properties.is_empty() && self.element.is_none() && self.all_of.is_empty()
    }
}

impl Validator {
    /// Compiles the rules of a structural schema; `None` if it has none.
    pub fn new(schema: &Json) -> Option<Validator> {
        if !has_rules(schema) {
            return None;
        }
        let decl = Decl::from_schema(schema, true);
        let mut estimate = 0;
        let root = build(schema, schema, &decl, Some(1), &mut estimate);
        let shape = Shape::new(schema);
        let most_cost = estimate.min(PER_OBJECT);
        (!root.is_empty()).then_some(Validator { root, shape, most_cost })
    }

    /// The most that the rules cost for one object, however it is made: what is estimated, or the limit of all.
    ///
    /// ```
    /// use kubewright_cel::rules::Validator;
    /// use serde_json::json;
    ///
    /// let validator = Validator::new(&json!({"type": "array", "maxItems": 10, "items": {
    ///     "type": "integer",
    ///     "x-kubernetes-validations": [{"rule": "self > 0"}],
    /// }})).unwrap();
    /// assert_eq!(validator.most_cost(), 20, "two for each item");
    /// ```
    pub fn most_cost(&self) -> u64 {
        self.most_cost
    }

    /// The rules that an object does not meet. With an old object, transition rules run, and violations in parts that
    /// did not change are ignored (ratcheting).
    pub fn validate(&self, object: &Json, old: Option<&Json>, limits: Limits<'_>) -> Errors {
        self.validate_with_warnings(object, old, limits).violations
    }

    /// The same, with the ignored violations as warnings.
    pub fn validate_with_warnings(&self, object: &Json, old: Option<&Json>, limits: Limits<'_>) -> ValidationResult {
        let mut run = Run {
            result: ValidationResult::default(),
            budget: Some(PER_OBJECT),
            limits,
        };
        let pair = old.map(|old| Pair::new(object, old, &self.shape));
        run.node(&self.root, object, old, "", Ratchet::root(pair));
        run.result
    }
}

/// Whether there is any rule; those of `allOf` alone do not count, as upstream has it.
fn has_rules(schema: &Json) -> bool {
    let own = schema.get("x-kubernetes-validations").and_then(Json::as_array);
    let nested = |name: &str| schema.get(name).is_some_and(has_rules);
    own.is_some_and(|rules| !rules.is_empty())
        || nested("items")
        || nested("additionalProperties")
        || schema
            .get("properties")
            .and_then(Json::as_object)
            .is_some_and(|all| all.values().any(has_rules))
}

/// Compiles the rules of a node that may occur so often in an object, and adds what they cost at most to the estimate.
fn build(rules_schema: &Json, schema: &Json, decl: &Arc<Decl>, cardinality: Cardinality, estimate: &mut u64) -> Node {
    let rules = Rule::of_schema(rules_schema);
    let compiled = match (rules.is_empty(), Environments::new(decl)) {
        (false, Some(environments)) => rules
            .into_iter()
            .map(|rule| {
                let compiled = compile(&rule, decl, &environments);
                let path = Some(rule.field_path.as_str()).filter(|path| !path.is_empty());
                let path = path.and_then(|path| field_path::normalize(path, schema).ok());
                (rule, compiled, path)
            })
            .collect(),
        _ => Vec::new(),
    };
    for (_, compiled, _) in &compiled {
        // A message is made only for a rule that is not met.
        let cost = compiled.max_cost.saturating_add(compiled.message_cost);
        *estimate = estimate.saturating_add(total_cost(cost, cardinality, decl));
    }
    let below = cardinality.and_then(|times| Some(times.saturating_mul(max_elements(schema)?)));
    let mut node = Node {
        uses_old_self: compiled.iter().any(|(_, compiled, _)| compiled.uses_old_self),
        decl: decl.clone(),
        type_name: schema.get("type").and_then(Json::as_str).unwrap_or_default().to_owned(),
        rules: compiled,
        properties: BTreeMap::new(),
        element: None,
        all_of: Vec::new(),
    };
    for (name, rules) in rules_schema
        .get("properties")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        if let (Some(property), Some(decl)) = (
            schema.get("properties").and_then(|all| all.get(name)),
            decl.property(name).filter(|decl| decl.visible),
        ) {
            let child = build(rules, property, decl, below, estimate);
            if !child.is_empty() {
                node.properties.insert(name.clone(), child);
            }
        }
    }
    for key in ["items", "additionalProperties"] {
        if let (Some(rules), Some(element), Some(decl)) = (rules_schema.get(key), schema.get(key), decl.element())
            && rules.is_object()
        {
            let child = build(rules, element, decl, below, estimate);
            if !child.is_empty() {
                node.element = Some(Box::new(child));
            }
        }
    }
    for nested in rules_schema.get("allOf").and_then(Json::as_array).into_iter().flatten() {
        let child = build(nested, schema, decl, cardinality, estimate);
        if !child.is_empty() {
            node.all_of.push(child);
        }
    }
    node
}

struct Run<'l> {
    result: ValidationResult,
    /// The cost budget that is left; `None` once no further rule may run.
    budget: Option<u64>,
    limits: Limits<'l>,
}

impl Run<'_> {
    fn node(&mut self, node: &Node, object: &Json, old: Option<&Json>, path: &str, ratchet: Ratchet<'_>) {
        if object.is_null() {
            return;
        }
        self.rules(node, object, old, path, ratchet);
        for nested in &node.all_of {
            if self.budget.is_none() {
                return;
            }
            self.node(nested, object, old, path, ratchet.all_of());
        }
        match object {
            Json::Array(items) => {
                let Some(element) = &node.element else { return };
                let keys = match &node.decl.kind {
                    DeclKind::List {
                        kind: ListKind::Map(keys),
                        ..
                    } => keys.as_slice(),
                    _ => &[],
                };
                let old_items = old.and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
                for (index, item) in items.iter().enumerate() {
                    if self.budget.is_none() {
                        return;
                    }
                    let old_item = counterpart(keys, item, old_items);
                    self.node(
                        element,
                        item,
                        old_item,
                        &format!("{path}[{index}]"),
                        ratchet.item(index),
                    );
                }
            }
            Json::Object(fields) => {
                for (name, value) in fields {
                    let is_map = matches!(node.decl.kind, DeclKind::Map(_));
                    let child = if is_map {
                        node.element.as_deref()
                    } else {
                        node.properties.get(name)
                    };
                    let (Some(child), Some(_)) = (child, self.budget) else {
                        continue;
                    };
                    let old_value = old.and_then(|old| old.get(name)).filter(|old| !old.is_null());
                    let path = match (is_map, path) {
                        (true, _) => format!("{path}[{name}]"),
                        (false, "") => name.clone(),
                        (false, _) => format!("{path}.{name}"),
                    };
                    self.node(child, value, old_value, &path, ratchet.field(name));
                }
            }
            _ => {}
        }
    }

    fn report(&mut self, path: &str, value: BadValue, detail: impl Into<String>) {
        self.add(FieldError::invalid(field(path), value, detail), false);
    }

    fn add(&mut self, violation: FieldError, let_pass: bool) {
        if let_pass {
            self.result.warnings.push(violation);
        } else {
            self.result.violations.push(violation);
        }
    }

    /// Spends from the budget; `false` if there is not enough.
    fn spend(&mut self, cost: u64) -> bool {
        self.budget = self.budget.and_then(|left| left.checked_sub(cost));
        self.budget.is_some()
    }

    fn rules(&mut self, node: &Node, object: &Json, old: Option<&Json>, path: &str, ratchet: Ratchet<'_>) {
        const OUT_OF_BUDGET: &str =
            "validation failed due to running out of cost budget, no further validation rules will be run";
        let type_name = || BadValue::from(&node.type_name);
        if node.rules.is_empty() {
            return;
        }
        if self.budget == Some(0) {
            self.budget = None;
            self.report(path, type_name(), OUT_OF_BUDGET);
            return;
        }
        for (rule, compiled, field_path) in &node.rules {
            if let Some(error) = &compiled.error {
                self.report(path, type_name(), format!("rule compile error: {error}"));
                continue;
            }
            let Some(program) = &compiled.program else { continue };
            let optional = rule.optional_old_self == Some(true);
            if compiled.uses_old_self && old.is_none() && !optional {
                continue;
            }
            let (outcome, cost) = evaluate(program, node, object, old, optional, self.limits);
            if !self.spend(cost) {
                self.report(path, type_name(), OUT_OF_BUDGET);
                return;
            }
            let passed = match outcome {
                Ok(passed) => passed,
                Err((kind, message)) => {
                    let shown = rule.shown();
                    if message.starts_with("no such overload") {
                        let detail = format!(
                            "'{message}': call arguments did not match a supported operator, function or macro \
                             signature for rule: {shown}"
                        );
                        self.report(path, type_name(), detail);
                    } else if kind == ErrorKind::CostLimit {
                        let detail = format!(
                            "'{message}': no further validation rules will be run due to call cost exceeds limit for \
                             rule: {shown}"
                        );
                        self.report(path, type_name(), detail);
                        self.budget = None;
                        return;
                    } else {
                        self.report(path, type_name(), format!("{message} evaluating rule: {shown}"));
                    }
                    continue;
                }
            };
            if passed {
                continue;
            }
            let let_pass = !compiled.uses_old_self && ratchet.lets_pass();
            let path = match (field_path, path) {
                (Some(below), "") => below.clone(),
                (Some(below), path) => format!("{path}.{below}"),
                (None, path) => path.to_owned(),
            };
            let detail = match self.message(compiled, rule, node, object, old) {
                Ok(message) => message,
                Err(stop) => {
                    self.add(FieldError::invalid(field(&path), type_name(), stop), let_pass);
                    self.budget = None;
                    return;
                }
            };
            self.add(violation(rule, node, object, &path, detail), let_pass);
        }
    }

    /// The message of a failed rule, or why no further rule may run.
    fn message(
        &mut self,
        compiled: &Compiled,
        rule: &Rule,
        node: &Node,
        object: &Json,
        old: Option<&Json>,
    ) -> Result<String, String> {
        let default = || {
            if rule.message.is_empty() {
                format!("failed rule: {}", rule.rule.trim())
            } else {
                rule.message.trim().to_owned()
            }
        };
        let Some(program) = &compiled.message else {
            return Ok(default());
        };
        // A message never sees an optional `oldSelf`, and none at all if no rule reads it.
        let variables = variables(node, object, old.filter(|_| node.uses_old_self), false);
        let evaluation = program.eval(
            &variables,
            Limits {
                cost: PER_CALL,
                ..self.limits
            },
        );
        if !self.spend(evaluation.cost) {
            return Err(
                "messageExpression evaluation failed due to running out of cost budget, no further validation \
                        rules will be run"
                    .to_owned(),
            );
        }
        match &evaluation.outcome {
            Err(error) if error.kind() == ErrorKind::CostLimit => Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                quote(&rule.message_expression)
            )),
            Ok(Value::String(text)) => {
                let text = text.as_str().trim();
                let usable = !text.is_empty() && text.len() <= MESSAGE_BYTES && !text.contains('\n');
                Ok(if usable { text.to_owned() } else { default() })
            }
            _ => Ok(default()),
        }
    }
}

fn variables<'a>(
    node: &'a Node,
    object: &'a Json,
    old: Option<&'a Json>,
    optional: bool,
) -> Vec<(&'static str, Value<'a>)> {
    let read = |json| Value::typed(json, &node.decl).unwrap_or(Value::Null);
    let mut variables = vec![("self", read(object))];
    match (old, optional) {
        (Some(old), false) => variables.push(("oldSelf", read(old))),
        (Some(old), true) => variables.push(("oldSelf", Value::some(read(old)))),
        (None, true) => variables.push(("oldSelf", Value::Optional(None))),
        (None, false) => {}
    }
    variables
}

type Evaluated = (Result<bool, (ErrorKind, String)>, u64);

fn evaluate(
    program: &Program,
    node: &Node,
    object: &Json,
    old: Option<&Json>,
    optional: bool,
    limits: Limits<'_>,
) -> Evaluated {
    if let Err(error) = Value::typed(object, &node.decl) {
        return (Err((error.kind(), error.message().to_owned())), 0);
    }
    let variables = variables(node, object, old, optional);
    let evaluation = program.eval(
        &variables,
        Limits {
            cost: limits.cost.min(PER_CALL),
            ..limits
        },
    );
    let outcome = match evaluation.outcome {
        Ok(Value::Bool(passed)) => Ok(passed),
        Ok(_) => Ok(false),
        Err(error) => Err((error.kind(), error.message().to_owned())),
    };
    (outcome, evaluation.cost)
}

/// A path as errors name it.
fn field(path: &str) -> &str {
    if path.is_empty() { "<nil>" } else { path }
}

fn violation(rule: &Rule, node: &Node, object: &Json, path: &str, detail: String) -> FieldError {
    let is_scalar = !matches!(node.type_name.as_str(), "object" | "array");
    let value = is_scalar.then(|| BadValue::from(object));
    match rule.reason.as_deref() {
        Some("FieldValueForbidden") => FieldError::forbidden(field(path), detail),
        Some("FieldValueRequired") => FieldError::required(field(path), detail),
        Some("FieldValueDuplicate") => FieldError::new(ErrorType::Duplicate, field(path), value, ""),
        _ => FieldError::new(ErrorType::Invalid, field(path), value, detail),
    }
}
