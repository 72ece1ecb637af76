//! The variables expressions are evaluated with, and what an expression gave.

use std::fmt::Write as _;
use std::sync::Arc;

use kubewright_cel::limits::PER_EXPRESSION_ESTIMATE;
use kubewright_cel::{Decl, Env, Issues, Limits, Range, Type, Value};
use serde_json::{Value as Json, json};

use super::{hint, schema_report};
use crate::colours::Colours;

/// Everything an expression may refer to.
pub(super) struct Session {
    env: Env,
    /// The schema of `self` and `oldSelf`.
    decl: Option<Arc<Decl>>,
    object: Option<Json>,
    old: Option<Json>,
    variables: Vec<(String, Json)>,
}

/// What an expression gave.
pub(super) struct Evaluation {
    expression: String,
    outcome: Result<EvaluatedValue, Failure>,
}

struct EvaluatedValue {
    /// The value as CEL shows it.
    shown: String,
    json: Json,
    ty: String,
    cost: u64,
    estimate: Option<Range>,
}

enum Failure {
    /// The expression is wrong.
    Issues(Issues, Option<String>),
    /// It has no value for these variables.
    Evaluation {
        message: String,
        cost: u64,
        hint: Option<String>,
    },
}

impl Session {
    /// A session; a schema gives `self` and `oldSelf` their type.
    pub(super) fn new(
        schema: Option<(Arc<Decl>, Type)>,
        object: Option<Json>,
        old: Option<Json>,
        variables: Vec<(String, Json)>,
    ) -> Session {
        let mut env = Env::kubernetes();
        let (decl, ty) = schema.map_or((None, Type::Dyn), |(decl, ty)| (Some(decl), ty));
        if object.is_some() || decl.is_some() {
            env = env.with_variable("self", ty.clone());
        }
        if old.is_some() || decl.is_some() {
            env = env.with_variable("oldSelf", ty);
        }
        for (name, _) in &variables {
            env = env.with_variable(name, Type::Dyn);
        }
        Session {
            env,
            decl,
            object,
            old,
            variables,
        }
    }

    /// What expressions may refer to, in words.
    pub(super) fn variables(&self) -> String {
        let fixed = ["self", "oldSelf"]
            .into_iter()
            .filter(|name| self.env.has_variable(name));
        let names: Vec<&str> = fixed
            .chain(self.variables.iter().map(|(name, _)| name.as_str()))
            .collect();
        if names.is_empty() {
            "no variables".to_owned()
        } else {
            names.join(", ")
        }
    }

    /// Checks and evaluates an expression.
    pub(super) fn answer(&self, expression: &str) -> Evaluation {
        let expression = expression.to_owned();
        let outcome = self.evaluate(&expression);
        Evaluation { expression, outcome }
    }

    fn evaluate(&self, expression: &str) -> Result<EvaluatedValue, Failure> {
        let checked = self.env.check(expression).map_err(|issues| {
            let hint = issues.iter().find_map(|issue| self.hint(&issue.message));
            Failure::Issues(issues, hint)
        })?;
        let failed = |message: &str, cost: u64| Failure::Evaluation {
            message: message.to_owned(),
            cost,
            hint: self.hint(message),
        };
        let program = self.env.program(&checked);
        if let Some(defect) = program.defect() {
            return Err(failed(defect.message(), 0));
        }
        let read = |json| match self.decl.as_deref() {
            Some(decl) => Value::typed(json, decl).map_err(|error| failed(error.message(), 0)),
            None => Ok(Value::from_json(json)),
        };
        let mut variables: Vec<(&str, Value<'_>)> = Vec::new();
        for (name, json) in [("self", &self.object), ("oldSelf", &self.old)] {
            if let Some(json) = json {
                variables.push((name, read(json)?));
            }
        }
        for (name, json) in &self.variables {
            variables.push((name, Value::from_json(json)));
        }
        let evaluation = program.eval(&variables, Limits::default());
        let value = evaluation
            .outcome
            .map_err(|error| failed(error.message(), evaluation.cost))?;
        let ty = match program.output_type() {
            Type::Dyn => value.type_of().to_string(),
            ty => ty.to_string(),
        };
        Ok(EvaluatedValue {
            shown: shown(&value),
            json: json_of(&value),
            ty,
            cost: evaluation.cost,
            estimate: self.decl.as_deref().map(|decl| self.env.estimate(&checked, Some(decl))),
        })
    }

    /// What to do about a message, if it is about a name.
    fn hint(&self, message: &str) -> Option<String> {
        if let Some(name) = message.strip_prefix("no such attribute(s): ") {
            return Some(match name {
                "self" => "--object FILE gives self a value".to_owned(),
                "oldSelf" => "--old FILE gives oldSelf a value".to_owned(),
                name => format!("--var {name}=JSON gives {name} a value"),
            });
        }
        let name = hint::unknown_name(message)?;
        let mut names: Vec<String> = Vec::new();
        if message.starts_with("undeclared reference") {
            match name {
                "self" => return Some("--object FILE declares self, --crd FILE gives it a type".to_owned()),
                "oldSelf" => return Some("--old FILE declares oldSelf".to_owned()),
                _ => names.extend(["self", "oldSelf"].map(str::to_owned)),
            }
            names.retain(|name| self.env.has_variable(name));
            names.extend(self.variables.iter().map(|(name, _)| name.clone()));
        } else {
            let objects = [&self.object, &self.old].into_iter().flatten();
            match &self.decl {
                Some(decl) => hint::names_of_schema(decl, &mut names),
                None => objects.for_each(|object| hint::names_of_object(object, &mut names)),
            }
        }
        let meant = hint::nearest(name, names.iter().map(String::as_str))?;
        Some(format!("did you mean '{meant}'?"))
    }
}

/// The value as JSON; what has none, as CEL shows it.
fn json_of(value: &Value<'_>) -> Json {
    value.to_json().unwrap_or_else(|_| Json::String(value.to_string()))
}

/// A value as a reader of the expression expects it: strings in quotes, lists and maps as JSON.
fn shown(value: &Value<'_>) -> String {
    match value {
        Value::String(_) | Value::List(_) | Value::Map(_) => value
            .to_json()
            .map_or_else(|_| value.to_string(), |json| json.to_string()),
        other => other.to_string(),
    }
}

impl Evaluation {
    pub(super) fn is_value(&self) -> bool {
        self.outcome.is_ok()
    }

    /// All of it, one line each, for people.
    pub(super) fn lines(&self, colours: Colours) -> Result<String, String> {
        let found = self.outcome.as_ref().map_err(|failure| failure.text(colours))?;
        let mut text = format!("value: {}\ntype: {}\ncost: {}\n", found.shown, found.ty, found.cost);
        if let Some(estimate) = found.estimate {
            let budget = schema_report::budget(estimate.max, PER_EXPRESSION_ESTIMATE);
            let _ = writeln!(text, "estimated cost: {budget}");
        }
        Ok(text)
    }

    /// The same in one line.
    pub(super) fn line(&self, colours: Colours) -> Result<String, String> {
        let found = self.outcome.as_ref().map_err(|failure| failure.text(colours))?;
        let estimate = found
            .estimate
            .map(|estimate| format!(", estimated {}", schema_report::cost(estimate.max)))
            .unwrap_or_default();
        let rest = format!("{}, cost {}{estimate}", found.ty, found.cost);
        Ok(format!("{}  {}\n", found.shown, colours.faint(&rest)))
    }

    /// The same for programs.
    pub(super) fn json(&self) -> Json {
        let mut out = json!({"expression": self.expression});
        match &self.outcome {
            Ok(found) => {
                out["value"] = found.json.clone();
                out["type"] = json!(found.ty);
                out["cost"] = json!(found.cost);
                if let Some(estimate) = found.estimate {
                    out["estimatedCost"] = json!({"min": estimate.min, "max": estimate.max});
                }
            }
            Err(Failure::Issues(issues, hint)) => {
                out["error"] = json!(issues.to_string());
                out["issues"] = issues
                    .iter()
                    .map(|issue| {
                        let (line, column) = issue.position.map_or((0, 0), |at| (at.line, at.column + 1));
                        json!({"line": line, "column": column, "message": issue.message})
                    })
                    .collect();
                if let Some(hint) = hint {
                    out["hint"] = json!(hint);
                }
            }
            Err(Failure::Evaluation { message, cost, hint }) => {
                out["error"] = json!(message);
                out["cost"] = json!(cost);
                if let Some(hint) = hint {
                    out["hint"] = json!(hint);
                }
            }
        }
        out
    }
}

impl Failure {
    fn text(&self, colours: Colours) -> String {
        let (text, hint) = match self {
            Failure::Issues(issues, hint) => (colours.issues(&issues.to_string()), hint),
            Failure::Evaluation { message, hint, .. } => (format!("{} {message}", colours.bad("error:")), hint),
        };
        match hint {
            Some(hint) => format!("{text}\n({hint})\n"),
            None => format!("{text}\n"),
        }
    }
}
