//! How often a rule may run for one object, and what all rules together may cost.

use kubewright_apimachinery::field::ErrorType;
use serde_json::Value as Json;

use crate::decl::{Decl, MAX_REQUEST_BYTES};
use crate::limits::{PER_CRD_ESTIMATE, PER_EXPRESSION_ESTIMATE};

use super::schema::SchemaIssue;

/// How often data of this schema may occur; `None` without a limit.
pub(super) type Cardinality = Option<u64>;

/// The most elements a node has of each of its children.
pub(super) fn max_elements(schema: &Json) -> Cardinality {
    let limit = |name: &str| schema.get(name).and_then(Json::as_i64).map(|limit| limit.max(0) as u64);
    match schema.get("type").and_then(Json::as_str) {
        Some("object") if schema.get("additionalProperties").is_some() => limit("maxProperties"),
        Some("array") => limit("maxItems"),
        _ => Some(1),
    }
}

/// The cost of an expression for a whole object.
pub(super) fn total_cost(cost: u64, cardinality: Cardinality, decl: &Decl) -> u64 {
    let times = cardinality.unwrap_or((MAX_REQUEST_BYTES / (decl.min_size + 1)) as u64);
    cost.saturating_mul(times)
}

/// The costs of all expressions of a schema.
#[derive(Default)]
pub(super) struct TotalCost {
    total: u64,
    expensive: Vec<(String, u64)>,
}

/// How many of the most expensive rules are named.
const NAMED: usize = 4;

impl TotalCost {
    pub(super) fn observe(&mut self, path: &str, cost: u64) {
        self.total = self.total.saturating_add(cost);
        // Rules below one per cent of the limit are not worth naming.
        if cost < PER_CRD_ESTIMATE / 100 {
            return;
        }
        self.expensive.push((path.to_owned(), cost));
        self.expensive.sort_by(|(_, left), (_, right)| right.cmp(left));
        self.expensive.truncate(NAMED);
    }

    pub(super) fn issues(self, path: &str) -> Vec<SchemaIssue> {
        if self.total <= PER_CRD_ESTIMATE {
            return Vec::new();
        }
        let forbidden = |path: &str, detail: String| SchemaIssue {
            path: path.to_owned(),
            kind: ErrorType::Forbidden,
            detail,
        };
        let named = self.expensive.iter().map(|(path, _)| {
            let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            forbidden(path, detail.to_owned())
        });
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        named
            .chain([forbidden(path, exceeded(name, self.total, PER_CRD_ESTIMATE))])
            .collect()
    }
}

/// The message about one expression that is too expensive.
pub(super) fn too_expensive(name: &str, cost: u64) -> Option<String> {
    (cost > PER_EXPRESSION_ESTIMATE).then(|| exceeded(name, cost, PER_EXPRESSION_ESTIMATE))
}

fn exceeded(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        // One digit would read as if nothing were exceeded.
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}
