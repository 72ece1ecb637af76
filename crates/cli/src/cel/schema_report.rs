//! The rules of a schema one by one: what they cost, what was said about them, and what was probably meant.
//! Whether a rule is accepted and what it costs is for [`estimate_schema`] to say.

use kubewright_cel::Decl;
use kubewright_cel::limits::{PER_CRD_ESTIMATE, PER_EXPRESSION_ESTIMATE};
use kubewright_cel::rules::{RuleEstimate, SchemaEstimate, SchemaIssue, estimate_schema};
use serde_json::{Value as Json, json};

use super::hint;

/// What is known about the rules of a schema.
pub(super) struct SchemaReport {
    pub(super) rules: Vec<RuleReport>,
    /// What is wrong with the schema as a whole.
    pub(super) issues: Vec<SchemaIssue>,
    /// What all rules and messages cost at most for one object.
    pub(super) cost: u64,
}

/// One rule.
pub(super) struct RuleReport {
    pub(super) estimate: RuleEstimate,
    /// Why it is refused.
    pub(super) issues: Vec<SchemaIssue>,
    /// What was probably meant.
    pub(super) hint: Option<String>,
}

/// Surveys a structural schema that stands at `path`.
pub(super) fn of_schema(schema: &Json, path: &str) -> SchemaReport {
    let SchemaEstimate {
        rules,
        cost,
        mut issues,
    } = estimate_schema(schema, path);
    let report = |estimate: RuleEstimate| {
        let own = format!("{}.", estimate.path);
        let issues: Vec<SchemaIssue> = issues.extract_if(.., |issue| issue.path.starts_with(&own)).collect();
        RuleReport {
            hint: hint(&issues, &estimate.decl),
            estimate,
            issues,
        }
    };
    let rules = rules.into_iter().map(report).collect();
    SchemaReport { rules, issues, cost }
}

impl SchemaReport {
    pub(super) fn refused(&self) -> usize {
        self.rules.iter().filter(|rule| !rule.issues.is_empty()).count()
    }

    pub(super) fn is_accepted(&self) -> bool {
        self.issues.is_empty() && self.refused() == 0
    }

    pub(super) fn json(&self, version: &str) -> Json {
        json!({
            "version": version,
            "accepted": self.is_accepted(),
            "estimatedCost": self.cost,
            "costLimit": PER_CRD_ESTIMATE,
            "rules": self.rules.iter().map(RuleReport::json).collect::<Vec<_>>(),
            "issues": self.issues.iter().map(issue_json).collect::<Vec<_>>(),
        })
    }
}

impl RuleReport {
    fn json(&self) -> Json {
        json!({
            "path": self.estimate.path,
            "field": self.estimate.field,
            "rule": self.estimate.rule,
            "accepted": self.issues.is_empty(),
            "estimatedCost": self.estimate.cost,
            "estimatedMessageCost": self.estimate.message_cost,
            "costLimit": PER_EXPRESSION_ESTIMATE,
            "issues": self.issues.iter().map(issue_json).collect::<Vec<_>>(),
            "hint": self.hint,
        })
    }
}

fn issue_json(issue: &SchemaIssue) -> Json {
    json!({"path": issue.path, "error": issue.kind.to_string(), "detail": issue.detail})
}

/// A cost for people: in groups of three digits, or the word for a cost without a bound.
pub(super) fn cost(cost: u64) -> String {
    if cost == u64::MAX {
        return "unbounded".to_owned();
    }
    let digits = cost.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A cost and how much of its limit it is.
pub(super) fn budget(total: u64, limit: u64) -> String {
    let percent = total as f64 / limit as f64 * 100.0;
    let share = match percent {
        huge if huge > 10_000.0 => "> 10 000 %".to_owned(),
        tiny if tiny < 0.01 => "< 0.01 %".to_owned(),
        large if large >= 10.0 => format!("{large:.0} %"),
        percent => format!("{percent:.2} %"),
    };
    format!("{} ({share} of {})", cost(total), cost(limit))
}

fn hint(issues: &[SchemaIssue], decl: &Decl) -> Option<String> {
    let lines = issues.iter().flat_map(|issue| issue.detail.lines());
    let mut unknown = lines.filter_map(hint::unknown_name).peekable();
    unknown.peek()?;
    let mut names = Vec::new();
    hint::names_of_schema(decl, &mut names);
    let names = || names.iter().map(String::as_str).chain(["self", "oldSelf"]);
    unknown
        .find_map(|name| hint::nearest(name, names()))
        .map(|meant| format!("did you mean '{meant}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(rule: &str, max_items: Option<u64>) -> Json {
        let mut list = json!({"type": "array", "items": {
            "type": "string", "maxLength": 100,
            "x-kubernetes-validations": [{"rule": rule}],
        }});
        if let Some(max_items) = max_items {
            list["maxItems"] = json!(max_items);
        }
        json!({"type": "object", "properties": {"names": list}})
    }

    /// The figure in `exceeds budget by factor of 1.5x`.
    fn factor(detail: &str) -> f64 {
        let (_, rest) = detail.split_once("factor of ").unwrap();
        rest.split_once('x').unwrap().0.parse().unwrap()
    }

    #[test]
    fn the_cost_is_the_one_the_server_compares_with_its_limit() {
        for (rule, max_items) in [
            ("self.contains('abcdefghijk')", Some(200_000)),
            ("self.matches('^[a-z]{1,40}$')", Some(90_000)),
            ("self.contains('abcdefghijk')", None),
            ("self.startsWith('abc') ? self.matches('a') : self.matches('b')", None),
        ] {
            let report = of_schema(&schema(rule, max_items), "schema");
            let [only] = report.rules.as_slice() else {
                panic!("one rule")
            };
            let cost = only.estimate.cost.unwrap() as f64 / PER_EXPRESSION_ESTIMATE as f64;
            let told = only
                .issues
                .iter()
                .find(|issue| issue.detail.starts_with("estimated rule cost"));
            let told = factor(&told.unwrap_or_else(|| panic!("{rule} costs {cost}")).detail);
            assert!((cost - told).abs() <= 0.05, "{rule}: {cost} and {told}");
        }
    }

    #[test]
    fn the_total_is_the_one_the_server_compares_with_its_limit() {
        let mut schema = schema("self.matches('^[a-z]{1,40}$')", Some(50_000));
        let rules = &mut schema["properties"]["names"]["items"]["x-kubernetes-validations"];
        *rules = (0..20)
            .map(|_| json!({"rule": "self.matches('^[a-z]{1,40}$')", "messageExpression": "'no ' + self"}))
            .collect();
        let report = of_schema(&schema, "schema");
        let told = report.issues.iter().find(|issue| issue.path == "schema").unwrap();
        let cost = report.cost as f64 / PER_CRD_ESTIMATE as f64;
        assert!((cost - factor(&told.detail)).abs() <= 0.05, "{cost}: {}", told.detail);
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(cost(0), "0");
        assert_eq!(cost(1_234_567), "1 234 567");
        assert_eq!(cost(u64::MAX), "unbounded");
        assert_eq!(budget(5, 10_000_000), "5 (< 0.01 % of 10 000 000)");
        assert_eq!(budget(123_456, 10_000_000), "123 456 (1.23 % of 10 000 000)");
        assert_eq!(budget(u64::MAX, 10_000_000), "unbounded (> 10 000 % of 10 000 000)");
    }
}
