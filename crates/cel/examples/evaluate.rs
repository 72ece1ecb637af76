//! Evaluates a rule on an object: `evaluate RULE OBJECT.json [SCHEMA.json [TIMES]]`.
//! Shows value, type and cost, or the mistake with a caret under it. With a number of times it only repeats,
//! for tools that count what an evaluation takes.

use std::process::ExitCode;

use kubewright_cel::{Decl, Env, Limits, Type, Value};
use serde_json::Value as Json;

fn read(path: &str) -> Json {
    let text = std::fs::read_to_string(path).expect("the file can be read");
    serde_json::from_str(&text).expect("the file is JSON")
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rule, object, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: evaluate RULE OBJECT.json [SCHEMA.json [TIMES]]");
        return ExitCode::FAILURE;
    };
    let object = read(object);
    let decl = rest.first().map(|path| Decl::from_schema(&read(path), false));
    let ty = decl
        .as_ref()
        .and_then(|decl| decl.cel_type("selfType0"))
        .unwrap_or(Type::Dyn);
    let env = Env::kubernetes().with_variable("self", ty);
    let checked = match env.check(rule) {
        Ok(checked) => checked,
        Err(issues) => {
            println!("{issues}");
            return ExitCode::FAILURE;
        }
    };
    let program = env.program(&checked);
    let value = match &decl {
        Some(decl) => Value::typed(&object, decl).expect("the object fits the schema"),
        None => Value::from_json(&object),
    };
    let variables = [("self", value)];
    let times: usize = rest.get(1).and_then(|times| times.parse().ok()).unwrap_or(0);
    for _ in 0..times {
        std::hint::black_box(program.eval(&variables, Limits::default()).cost);
    }
    if times > 0 {
        return ExitCode::SUCCESS;
    }
    let evaluation = program.eval(&variables, Limits::default());
    match &evaluation.outcome {
        Ok(value) => println!("value: {value:?}"),
        Err(error) => println!("error: {error}"),
    }
    println!("type: {}", program.output_type());
    println!(
        "cost: {} (estimated at most {})",
        evaluation.cost,
        env.estimate(&checked, decl.as_deref()).max
    );
    ExitCode::SUCCESS
}
