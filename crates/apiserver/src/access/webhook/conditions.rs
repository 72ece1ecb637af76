//! Conditions under which a webhook is asked: expressions about the `spec` of the review.

use std::sync::{Arc, OnceLock};

use kubewright_apimachinery::errors::aggregate;
use kubewright_cel::{Env, Limits, Program, Type, Value as Cel};
use serde_json::{Value, json};

/// Expressions that must all be true.
#[derive(Clone, Debug, Default)]
pub(super) struct MatchConditions(Arc<[(String, Program)]>);

impl MatchConditions {
    pub(super) fn compile<S: AsRef<str>>(expressions: &[S]) -> Result<Self, (usize, String)> {
        static ENVIRONMENT: OnceLock<Env> = OnceLock::new();
        let env = ENVIRONMENT.get_or_init(|| Env::kubernetes().with_variable("request", Type::Dyn));
        let compiled = expressions.iter().enumerate().map(|(index, expression)| {
            let text = expression.as_ref();
            let program = env
                .compile(text)
                .map_err(|issues| (index, format!("compilation failed: {issues}")))?;
            if ![Type::Bool, Type::Dyn].contains(program.output_type()) {
                return Err((index, "must evaluate to bool".to_owned()));
            }
            Ok((text.to_owned(), program))
        });
        compiled
            .collect::<Result<Vec<_>, _>>()
            .map(|all| MatchConditions(all.into()))
    }

    /// Whether all are true. One that is false decides, whatever others come to.
    pub(super) fn hold(&self, spec: &Value) -> Result<bool, String> {
        if self.0.is_empty() {
            return Ok(true);
        }
        let request = complete(spec);
        let mut errors = Vec::new();
        for (text, program) in self.0.iter() {
            let evaluated = program.eval(&[("request", Cel::from_json(&request))], Limits::default());
            match evaluated.outcome {
                Ok(Cel::Bool(false)) => return Ok(false),
                Ok(Cel::Bool(true)) => {}
                Ok(_) => errors.push(format!(
                    "cel evaluation error: expression '{text}' eval result type should be bool"
                )),
                Err(error) => errors.push(format!(
                    "cel evaluation error: expression '{text}' resulted in error: {}",
                    error.message()
                )),
            }
        }
        aggregate(errors).map_or(Ok(true), Err)
    }
}

/// The `spec` of a review with every field about the user and every text of what is asked, also those that are empty.
fn complete(spec: &Value) -> Value {
    let mut request = json!({ "user": "", "groups": [], "uid": "", "extra": {} });
    for (key, value) in spec.as_object().into_iter().flatten() {
        request[key] = value.clone();
    }
    if let Some(asked) = request.get_mut("resourceAttributes").and_then(Value::as_object_mut) {
        for key in [
            "namespace",
            "verb",
            "group",
            "version",
            "resource",
            "subresource",
            "name",
        ] {
            asked.entry(key).or_insert_with(|| "".into());
        }
    }
    request
}
