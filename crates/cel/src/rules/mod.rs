//! `x-kubernetes-validations`: the rules of a CRD's schema, checked when it is written (C16, C17)
//! and run when an object is.

mod budget;
mod estimate;
mod field_path;
mod ratchet;
mod schema;
mod validator;

use std::cell::OnceCell;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::decl::Decl;
use crate::env::Env;
use crate::eval::Program;
use crate::types::Type;

pub use estimate::{RuleEstimate, SchemaEstimate};
pub use field_path::FieldPath;
pub use schema::{SchemaIssue, check_schema, estimate_schema};
pub use validator::{ValidationResult, Validator};

/// The type rules see for `self`; the number upstream adds to it changes with every write.
const SELF_TYPE: &str = "selfType0";

/// One rule of a schema node.
#[derive(Debug, Clone)]
#[expect(clippy::struct_field_names, reason = "the names of the API")]
pub(crate) struct Rule {
    rule: String,
    message: String,
    message_expression: String,
    reason: Option<String>,
    field_path: String,
    optional_old_self: Option<bool>,
}

impl Rule {
    fn from_json(json: &Json) -> Rule {
        let text = |name: &str| json.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        Rule {
            rule: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: json.get("reason").and_then(Json::as_str).map(str::to_owned),
            field_path: text("fieldPath"),
            optional_old_self: json.get("optionalOldSelf").and_then(Json::as_bool),
        }
    }

    fn of_schema(schema: &Json) -> Vec<Rule> {
        let rules = schema.get("x-kubernetes-validations").and_then(Json::as_array);
        rules
            .map(|rules| rules.iter().map(Rule::from_json).collect())
            .unwrap_or_default()
    }

    /// How the rule is called in errors.
    fn shown(&self) -> &str {
        if self.message.is_empty() {
            self.rule.trim()
        } else {
            self.message.trim()
        }
    }
}

/// A rule after compilation.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    program: Option<Program>,
    /// Why it does not compile.
    error: Option<String>,
    max_cost: u64,
    uses_old_self: bool,
    message: Option<Program>,
    message_error: Option<String>,
    message_cost: u64,
}

/// The environments of the rules of one node, shared by all of them.
struct Environments {
    plain: Env,
    optional: OnceCell<Env>,
}

impl Environments {
    fn new(decl: &Decl) -> Option<Environments> {
        let ty = decl.cel_type(SELF_TYPE)?;
        let with_self = Env::kubernetes().with_variable("self", ty.clone());
        Some(Environments {
            plain: with_self.with_variable("oldSelf", ty),
            optional: OnceCell::new(),
        })
    }

    /// The environment of a rule that may run without an old object; few do.
    fn optional(&self) -> &Env {
        self.optional.get_or_init(|| {
            let ty = self.plain.variable("self").cloned().unwrap_or(Type::Dyn);
            self.plain.clone().with_variable("oldSelf", Type::optional(ty))
        })
    }
}

fn compile(rule: &Rule, decl: &Arc<Decl>, environments: &Environments) -> Compiled {
    let mut compiled = Compiled::default();
    if rule.rule.trim().is_empty() {
        return compiled;
    }
    let env = if rule.optional_old_self == Some(true) {
        environments.optional()
    } else {
        &environments.plain
    };
    let checked = match env.check(&rule.rule) {
        Ok(checked) => checked,
        Err(issues) => {
            compiled.error = Some(format!("compilation failed: {issues}"));
            return compiled;
        }
    };
    if *checked.output_type() != Type::Bool {
        compiled.error = Some("cel expression must evaluate to a bool".to_owned());
        return compiled;
    }
    compiled.uses_old_self = checked.uses("oldSelf");
    let program = env.program(&checked);
    if let Some(defect) = program.defect() {
        compiled.error = Some(format!("program instantiation failed: {defect}"));
        return compiled;
    }
    compiled.max_cost = env.estimate(&checked, Some(decl)).max;
    compiled.program = Some(program);
    if rule.message_expression.is_empty() {
        return compiled;
    }
    match env.check(&rule.message_expression) {
        Err(issues) => compiled.message_error = Some(format!("messageExpression compilation failed: {issues}")),
        Ok(checked) if *checked.output_type() != Type::String => {
            compiled.message_error = Some("messageExpression must evaluate to a string".to_owned());
        }
        Ok(checked) => {
            let program = env.program(&checked);
            if let Some(defect) = program.defect() {
                compiled.message_error = Some(format!("messageExpression instantiation failed: {defect}"));
            } else {
                compiled.message_cost = env.estimate(&checked, Some(decl)).max;
                compiled.message = Some(program);
            }
        }
    }
    compiled
}
