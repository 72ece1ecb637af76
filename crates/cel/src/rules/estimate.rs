//! What the rules of a schema cost at most, one by one and together.
//! The figures are those the check compares with its limits (C17).

use std::sync::Arc;

use crate::decl::Decl;

use super::schema::SchemaIssue;

/// The rules of a schema, what they cost and what is wrong with them.
#[derive(Debug)]
pub struct SchemaEstimate {
    /// The rules, those of a node before those of what is below it.
    pub rules: Vec<RuleEstimate>,
    /// What all rules and messages cost at most for one object.
    pub cost: u64,
    /// Why the schema is refused.
    pub issues: Vec<SchemaIssue>,
}

impl SchemaEstimate {
    pub(super) fn new(rules: Vec<RuleEstimate>, issues: Vec<SchemaIssue>) -> SchemaEstimate {
        let costs = rules.iter().flat_map(|rule| [rule.cost, rule.message_cost]);
        let cost = costs.flatten().fold(0, u64::saturating_add);
        SchemaEstimate { rules, cost, issues }
    }
}

/// A rule of a schema and what it costs.
#[derive(Debug)]
pub struct RuleEstimate {
    /// The path of the rule, such as `openAPIV3Schema.x-kubernetes-validations[0]`.
    pub path: String,
    /// Which part of an object it is about, such as `.spec.ports[*]`.
    pub field: String,
    /// Its expression.
    pub rule: String,
    /// What it sees as `self`.
    pub decl: Arc<Decl>,
    /// What it costs at most for one object; `None` if it does not compile.
    pub cost: Option<u64>,
    /// The same of its `messageExpression`.
    pub message_cost: Option<u64>,
}
