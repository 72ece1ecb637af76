//! Compiles expressions against a schema, for comparison with another engine:
//! `judge SCHEMA.json [OBJECT.json] < EXPRESSIONS` reads JSON strings, one per line, and answers each with its
//! mistake or its estimated cost, or with an object with what evaluating it gave and cost.

use std::io::BufRead as _;

use kubewright_cel::{Decl, Env, Limits, Type};
use serde_json::{Value, json};

fn main() {
    let path = std::env::args().nth(1).expect("usage: judge SCHEMA.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("the schema")).expect("JSON");
    let object: Option<Value> = std::env::args()
        .nth(2)
        .map(|path| serde_json::from_str(&std::fs::read_to_string(path).expect("the object")).expect("JSON"));
    let decl = Decl::from_schema(&schema, false);
    let ty = decl.cel_type("selfType0").expect("a schema rules can see");
    let env = Env::kubernetes()
        .with_variable("self", ty.clone())
        .with_variable("oldSelf", ty);
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(text) = serde_json::from_str::<String>(&line) else {
            continue;
        };
        let answer = match env.check(&text) {
            _ if text.trim().is_empty() => json!({"cost": 0}),
            Err(issues) => json!({"error": format!("compilation failed: {issues}")}),
            Ok(checked) if *checked.output_type() != Type::Bool => {
                json!({"error": "cel expression must evaluate to a bool"})
            }
            Ok(checked) if env.program(&checked).defect().is_some() => {
                let program = env.program(&checked);
                json!({"error": format!("program instantiation failed: {}", program.defect().expect("checked above"))})
            }
            Ok(checked) if object.is_some() => {
                let program = env.program(&checked);
                let value = object
                    .as_ref()
                    .and_then(|object| kubewright_cel::Value::typed(object, &decl).ok());
                let value = value.expect("the object fits the schema");
                let evaluation = program.eval(&[("self", value)], Limits::default());
                let result = match evaluation.outcome {
                    Ok(value) => format!("{value:?}"),
                    Err(error) => error.to_string(),
                };
                json!({"cost": evaluation.cost, "result": result})
            }
            Ok(checked) => json!({"cost": env.estimate(&checked, Some(&decl)).max}),
        };
        println!("{answer}");
    }
}
