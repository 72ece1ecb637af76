//! The check of a CRD's rules when it is written: texts, types and estimated costs.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::decl::Decl;

use super::budget::{Cardinality, TotalCost, max_elements, too_expensive, total_cost};
use super::{Compiled, Environments, Rule, compile, field_path};

/// What kind of field error an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaIssueKind {
    /// `Invalid value`
    Invalid,
    /// `Forbidden`
    Forbidden,
    /// `Required value`
    Required,
    /// `Unsupported value`
    NotSupported,
    /// `Internal error`
    Internal,
}

/// What is wrong with a rule of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaIssue {
    /// The path of the field.
    pub path: String,
    /// What kind of error it is.
    pub kind: SchemaIssueKind,
    /// What is wrong.
    pub detail: String,
}

/// Checks all rules of a structural schema; `path` is where the schema stands.
pub fn check_schema(schema: &Json, path: &str) -> Vec<SchemaIssue> {
    let mut walk = Walk {
        issues: Vec::new(),
        total: TotalCost::default(),
    };
    let decl = Decl::from_schema(schema, true);
    walk.node(schema, &decl, path, Some(1), None);
    let Walk { mut issues, total } = walk;
    issues.extend(total.issues(path));
    issues
}

/// The reasons a rule may give.
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

struct Walk {
    issues: Vec<SchemaIssue>,
    total: TotalCost,
}

impl Walk {
    fn report(&mut self, path: String, kind: SchemaIssueKind, detail: impl Into<String>) {
        self.issues.push(SchemaIssue {
            path,
            kind,
            detail: detail.into(),
        });
    }

    /// Checks a node and what is below it; `uncorrelated` is the nearest list whose elements have no identity.
    fn node(
        &mut self,
        schema: &Json,
        decl: &Arc<Decl>,
        path: &str,
        cardinality: Cardinality,
        uncorrelated: Option<&str>,
    ) {
        let child_cardinality =
            cardinality.and_then(|times| max_elements(schema).map(|elements| times.saturating_mul(elements)));
        let before = self.issues.len();
        for (name, property) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            let child = child_decl(decl.property(name), property);
            let path = format!("{path}.properties[{name}]");
            self.node(property, &child, &path, child_cardinality, uncorrelated);
        }
        if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
            let child = child_decl(decl.element(), values);
            self.node(
                values,
                &child,
                &format!("{path}.additionalProperties"),
                child_cardinality,
                uncorrelated,
            );
        }
        if let Some(items) = schema.get("items") {
            let child = child_decl(decl.element(), items);
            let is_map = schema.get("x-kubernetes-list-type").and_then(Json::as_str) == Some("map");
            let uncorrelated = if is_map {
                uncorrelated
            } else {
                uncorrelated.or(Some(path))
            };
            self.node(items, &child, &format!("{path}.items"), child_cardinality, uncorrelated);
        }
        let rules = Rule::of_schema(schema);
        if rules.is_empty() {
            return;
        }
        let texts_are_good = self.issues[before..].iter().all(|issue| issue.path.ends_with("rule"));
        let before = self.issues.len();
        for (index, rule) in rules.iter().enumerate() {
            self.texts(rule, schema, &format!("{path}.x-kubernetes-validations[{index}]"));
        }
        if before != self.issues.len() || !texts_are_good {
            return;
        }
        let Some(environments) = Environments::new(decl) else {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                          unable to convert structural schema to CEL declarations";
            self.report(
                format!("{path}.x-kubernetes-validations"),
                SchemaIssueKind::Internal,
                detail,
            );
            return;
        };
        for (index, rule) in rules.iter().enumerate() {
            let compiled = compile(rule, decl, &environments);
            let path = format!("{path}.x-kubernetes-validations[{index}]");
            self.compiled(rule, &compiled, decl, &path, cardinality, uncorrelated);
        }
    }

    fn texts(&mut self, rule: &Rule, schema: &Json, path: &str) {
        use SchemaIssueKind::{Invalid, NotSupported, Required};
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
            let supported: Vec<String> = REASONS.iter().map(|reason| format!("{reason:?}")).collect();
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

    fn compiled(
        &mut self,
        rule: &Rule,
        compiled: &Compiled,
        decl: &Decl,
        path: &str,
        cardinality: Cardinality,
        uncorrelated: Option<&str>,
    ) {
        use SchemaIssueKind::{Forbidden, Invalid};
        let rule_path = format!("{path}.rule");
        let cost = total_cost(compiled.max_cost, cardinality, decl);
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
        } else if compiled.message.is_some() {
            if let Some(detail) = too_expensive("estimated messageExpression cost", compiled.message_cost) {
                self.report(message_path.clone(), Forbidden, detail);
            }
            self.total.observe(&message_path, compiled.message_cost);
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
