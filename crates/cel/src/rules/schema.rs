//! The check of a CRD's rules when it is written: texts, types and estimated costs.

use std::sync::Arc;

use kubewright_apimachinery::field::ErrorType;
use kubewright_apimachinery::go::quote;
use serde_json::Value as Json;

use crate::decl::Decl;

use super::budget::{Cardinality, TotalCost, max_elements, too_expensive, total_cost};
use super::estimate::{RuleEstimate, SchemaEstimate};
use super::{Compiled, Environments, Rule, compile, field_path};

/// What is wrong with a rule of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaIssue {
    /// The path of the field.
    pub path: String,
    /// The type of the field error.
    pub kind: ErrorType,
    /// What is wrong.
    pub detail: String,
}

/// Checks all rules of the structural schema at `path`.
///
/// ```
/// use kubewright_cel::rules::check_schema;
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"spec": {
///     "type": "integer",
///     "x-kubernetes-validations": [{"rule": "self.size() > 0"}],
/// }}});
/// let issues = check_schema(&schema, "openAPIV3Schema");
/// assert_eq!(issues[0].path, "openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule");
/// assert!(issues[0].detail.contains("found no matching overload for 'size' applied to 'int.()'"));
/// ```
pub fn check_schema(schema: &Json, path: &str) -> Vec<SchemaIssue> {
    estimate_schema(schema, path).issues
}

/// Checks all rules of the structural schema at `path`, and returns what each of them costs.
///
/// ```
/// use kubewright_cel::rules::estimate_schema;
/// use serde_json::json;
///
/// let schema = json!({"type": "array", "maxItems": 10, "items": {
///     "type": "integer",
///     "x-kubernetes-validations": [{"rule": "self > 0"}],
/// }});
/// let estimate = estimate_schema(&schema, "openAPIV3Schema");
/// assert_eq!(estimate.rules[0].field, "[*]");
/// assert_eq!(estimate.rules[0].cost, Some(20), "two for each item");
/// assert_eq!(estimate.cost, 20);
/// assert!(estimate.issues.is_empty());
/// ```
pub fn estimate_schema(schema: &Json, path: &str) -> SchemaEstimate {
    let mut walk = Walk {
        rules: Vec::new(),
        issues: Vec::new(),
        faulty_texts: 0,
        total: TotalCost::default(),
    };
    let decl = Decl::from_schema(schema, true);
    let root = SchemaPosition {
        path,
        field: "",
        cardinality: Some(1),
        uncorrelated: None,
    };
    walk.node(schema, &decl, root);
    walk.issues.extend(walk.total.issues(path));
    SchemaEstimate::new(walk.rules, walk.issues)
}

/// The reasons a rule may give.
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

struct Walk {
    rules: Vec<RuleEstimate>,
    issues: Vec<SchemaIssue>,
    /// How many of the issues are about the texts of rules, not about what they compile to.
    faulty_texts: usize,
    total: TotalCost,
}

/// The position of a node.
#[derive(Clone, Copy)]
struct SchemaPosition<'p> {
    path: &'p str,
    /// Which part of an object it describes.
    field: &'p str,
    /// How often it may occur in one.
    cardinality: Cardinality,
    /// The nearest list above it whose elements have no identity.
    uncorrelated: Option<&'p str>,
}

impl Walk {
    fn report(&mut self, path: String, kind: ErrorType, detail: impl Into<String>) {
        self.issues.push(SchemaIssue {
            path,
            kind,
            detail: detail.into(),
        });
    }

    /// Checks a node and what is below it.
    fn node(&mut self, schema: &Json, decl: &Arc<Decl>, place: SchemaPosition<'_>) {
        let path = place.path;
        let times = |times: u64| max_elements(schema).map(|elements| times.saturating_mul(elements));
        let below = SchemaPosition {
            cardinality: place.cardinality.and_then(times),
            ..place
        };
        let element = format!("{}[*]", place.field);
        let (texts_before, rules_before) = (self.faulty_texts, self.rules.len());
        for (name, property) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            let child = child_decl(decl.property(name), property);
            let below = SchemaPosition {
                path: &format!("{path}.properties[{name}]"),
                field: &format!("{}.{name}", place.field),
                ..below
            };
            self.node(property, &child, below);
        }
        if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
            let child = child_decl(decl.element(), values);
            let below = SchemaPosition {
                path: &format!("{path}.additionalProperties"),
                field: &element,
                ..below
            };
            self.node(values, &child, below);
        }
        if let Some(items) = schema.get("items") {
            let child = child_decl(decl.element(), items);
            let is_map = schema.get("x-kubernetes-list-type").and_then(Json::as_str) == Some("map");
            let below = SchemaPosition {
                path: &format!("{path}.items"),
                field: &element,
                uncorrelated: place.uncorrelated.or(Some(path).filter(|_| !is_map)),
                ..below
            };
            self.node(items, &child, below);
        }
        let rules = Rule::of_schema(schema);
        if rules.is_empty() {
            return;
        }
        let before = self.issues.len();
        for (index, rule) in rules.iter().enumerate() {
            self.texts(rule, schema, &format!("{path}.x-kubernetes-validations[{index}]"));
        }
        self.faulty_texts += self.issues.len() - before;
        // If the text of a rule is wrong, upstream does not compile the rules of its node and of the nodes around it. They
        // are compiled here, since their costs may be asked for, but their errors are not reported.
        let is_judged = self.faulty_texts == texts_before;
        let environments = Environments::new(decl);
        if environments.is_none() && is_judged {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                          unable to convert structural schema to CEL declarations";
            self.report(format!("{path}.x-kubernetes-validations"), ErrorType::Internal, detail);
        }
        let mut estimates = Vec::with_capacity(rules.len());
        for (index, rule) in rules.iter().enumerate() {
            let compiled = environments
                .as_ref()
                .map(|environments| compile(rule, decl, environments))
                .unwrap_or_default();
            let cost = total_cost(compiled.max_cost, place.cardinality, decl);
            let estimate = RuleEstimate {
                path: format!("{path}.x-kubernetes-validations[{index}]"),
                field: if place.field.is_empty() { "." } else { place.field }.to_owned(),
                rule: rule.rule.trim().to_owned(),
                decl: Arc::clone(decl),
                cost: compiled.program.as_ref().map(|_| cost),
                message_cost: compiled.message.as_ref().map(|_| compiled.message_cost),
            };
            if is_judged && environments.is_some() {
                self.compiled(rule, &compiled, &estimate, place.uncorrelated);
            }
            estimates.push(estimate);
        }
        // The rules of a node go before those below it.
        self.rules.splice(rules_before..rules_before, estimates);
    }

    fn texts(&mut self, rule: &Rule, schema: &Json, path: &str) {
        use ErrorType::{Invalid, NotSupported, Required};
        let has_line_break = |text: &str| text.contains(['\n', '\r']);
        let at = |field: &str| format!("{path}.{field}");
        let message = rule.message.trim();
        if rule.rule.trim().is_empty() {
            self.report(at("rule"), Required, "rule is not specified");
        } else if !rule.message.is_empty() && message.is_empty() {
            self.report(at("message"), Invalid, "must be non-empty if specified");
        } else if has_line_break(message) {
            self.report(at("message"), Invalid, "must not contain line breaks");
        } else if has_line_break(rule.rule.trim()) && message.is_empty() {
            self.report(
                at("message"),
                Required,
                "message must be specified if rule contains line breaks",
            );
        }
        if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
            self.report(
                at("messageExpression"),
                Required,
                "messageExpression must be non-empty if specified",
            );
        }
        if let Some(reason) = &rule.reason
            && !REASONS.contains(&reason.as_str())
        {
            let supported: Vec<String> = REASONS.iter().map(|reason| quote(reason)).collect();
            self.report(
                at("reason"),
                NotSupported,
                format!("supported values: {}", supported.join(", ")),
            );
        }
        if rule.field_path.is_empty() {
            return;
        }
        if rule.field_path.trim().is_empty() {
            self.report(at("fieldPath"), Invalid, "must be non-empty if specified");
        }
        if has_line_break(&rule.field_path) {
            self.report(at("fieldPath"), Invalid, "must not contain line breaks");
        }
        if field_path::normalize(&rule.field_path, schema).is_err() {
            self.report(at("fieldPath"), Invalid, "must be a valid path");
        }
    }

    fn compiled(&mut self, rule: &Rule, compiled: &Compiled, estimate: &RuleEstimate, uncorrelated: Option<&str>) {
        use ErrorType::{Forbidden, Invalid};
        let path = &estimate.path;
        let rule_path = format!("{path}.rule");
        // What does not compile costs nothing.
        let cost = estimate.cost.unwrap_or(0);
        if let Some(detail) = too_expensive("estimated rule cost", cost) {
            self.report(rule_path.clone(), Forbidden, detail);
        }
        self.total.observe(&rule_path, cost);
        if let Some(error) = &compiled.error {
            self.report(rule_path.clone(), Invalid, error.clone());
        }
        let message_path = format!("{path}.messageExpression");
        if let Some(error) = &compiled.message_error {
            self.report(message_path, Invalid, error.clone());
        } else if let Some(cost) = estimate.message_cost {
            if let Some(detail) = too_expensive("estimated messageExpression cost", cost) {
                self.report(message_path.clone(), Forbidden, detail);
            }
            self.total.observe(&message_path, cost);
        }
        if compiled.uses_old_self {
            if let Some(within) = uncorrelated {
                let detail =
                    format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
                self.report(rule_path, Invalid, detail);
            }
        } else if rule.optional_old_self.is_some() {
            let path = format!("{path}.optionalOldSelf");
            self.report(path, Invalid, "may not be set if oldSelf is not used in rule");
        }
    }
}

/// The declaration of a child; one that its parent does not show is read on its own.
fn child_decl(declared: Option<&Arc<Decl>>, schema: &Json) -> Arc<Decl> {
    declared.cloned().unwrap_or_else(|| Decl::from_schema(schema, false))
}
