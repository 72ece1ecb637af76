//! Measures this toolkit. The allocator counts allocations during all measurements, so our times include the cost of counting.

use std::hint::black_box;

use kubewright_cel::rules::check_schema;
use kubewright_cel::{Decl, Env, Limits, Value};
use serde_json::json;

use crate::cases::{Cases, Figures, RuleFigures};
use crate::measure::{Effort, allocations};

/// Compiles and evaluates every rule. Fails if a rule does not evaluate to true or false.
pub(crate) fn run(cases: &Cases, effort: Effort) -> Result<Figures, String> {
    let decl = Decl::from_schema(&cases.schema, true);
    let ty = decl.cel_type("selfType0").ok_or("rules cannot see the schema")?;
    let env = Env::kubernetes()
        .with_variable("self", ty.clone())
        .with_variable("oldSelf", ty);
    let mut rules = Vec::new();
    for case in &cases.rules {
        let checked = env.check(&case.rule).map_err(|issues| issues.to_string())?;
        let program = env.program(&checked);
        let evaluate = || {
            let read = || Value::typed(&cases.object, &decl).unwrap_or(Value::Null);
            program.eval(&[("self", read()), ("oldSelf", read())], Limits::default())
        };
        let evaluation = evaluate();
        let Ok(Value::Bool(verdict)) = evaluation.outcome else {
            return Err(format!("{} is no verdict: {:?}", case.name, evaluation.outcome));
        };
        rules.push(RuleFigures {
            name: case.name.clone(),
            compile: effort.measure(|| drop(black_box(env.compile(black_box(&case.rule))))),
            eval: effort.measure(|| drop(black_box(evaluate()))),
            plain: None,
            allocations: allocations(|| drop(black_box(evaluate()))),
            verdict,
            cost: evaluation.cost,
            estimate: env.estimate(&checked, Some(&decl)).max,
        });
    }
    let mut schema = cases.schema.clone();
    schema["x-kubernetes-validations"] = cases.rules.iter().map(|case| json!({"rule": case.rule})).collect();
    Ok(Figures {
        version: format!("kubewright-cel {}", env!("CARGO_PKG_VERSION")),
        rules,
        schema: effort.measure(|| drop(black_box(check_schema(black_box(&schema), "schema")))),
    })
}
