//! Runs the language's own conformance files: `cargo run -p kubewright-cel --example conformance -- DIRECTORY [-v]`.
//! The directory is `tests/simple/testdata` of the Go module `cel.dev/expr`; `CEL_CONFORMANCE` may name it too.

mod textproto;
mod values;

use std::process::ExitCode;

use kubewright_cel::{Env, Limits, Signature, Type, Value};
use textproto::Message;

/// What became of a test.
enum Outcome {
    Passed,
    SetAside(Need),
    Failed(String),
}

/// What a test needs that Kubernetes has not.
#[derive(Clone, Copy)]
enum Need {
    /// Message types of the test's own protobuf files.
    Messages,
    /// Their enumerations.
    Enums,
    /// Their extensions.
    Extensions,
    /// A server that answers as the specification says; Kubernetes' own answer is another one.
    AnotherServer,
}

/// What kube-apiserver 1.36 answers otherwise, and this crate therefore too: doubles are keys of maps, the
/// milliseconds of a duration are all of them, and an optional beside `null` in a list is `null`.
const OTHERWISE: [&str; 3] = [
    "fields/qualified_identifier_resolution/map_key_float",
    "timestamps/duration_converters/get_milliseconds",
    "type_deduction/legacy_nullable_types/null_assignable_to_abstract_parameter_candidate",
];

const COLUMNS: [&str; 6] = ["passed", "failed", "messages", "enums", "extensions", "otherwise"];

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let verbose = arguments
        .iter()
        .position(|argument| argument == "-v")
        .map(|at| arguments.remove(at))
        .is_some();
    let Some(directory) = arguments
        .into_iter()
        .next()
        .or_else(|| std::env::var("CEL_CONFORMANCE").ok())
    else {
        eprintln!("usage: conformance DIRECTORY [-v]");
        return ExitCode::FAILURE;
    };
    let Ok(entries) = std::fs::read_dir(&directory) else {
        eprintln!("cannot read {directory}");
        return ExitCode::FAILURE;
    };
    let mut files: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "textproto"))
        .collect();
    files.sort();
    let mut totals = [0; COLUMNS.len()];
    row("file", &COLUMNS);
    for path in files {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let Some(file) = textproto::parse(&text) else {
            println!("{}: not understood", path.display());
            continue;
        };
        let file_name = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        let mut counts = [0; COLUMNS.len()];
        for section in file.all("section") {
            for test in section.all("test") {
                let name = format!("{}/{}", section.text("name"), test.text("name"));
                let slot = match run(test) {
                    Outcome::Passed => 0,
                    Outcome::Failed(_) if OTHERWISE.contains(&format!("{file_name}/{name}").as_str()) => {
                        2 + Need::AnotherServer as usize
                    }
                    Outcome::Failed(why) => {
                        if verbose {
                            println!("  {name}: {}\n    {why}", test.text("expr"));
                        }
                        1
                    }
                    Outcome::SetAside(need) => 2 + need as usize,
                };
                counts[slot] += 1;
                totals[slot] += 1;
            }
        }
        row(&file_name, &counts);
    }
    row("total", &totals);
    if totals[1] == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn row(name: &str, cells: &[impl std::fmt::Display]) {
    let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>11}")).collect();
    println!("{name:20}{}", cells.concat());
}

/// What sets a test aside.
fn needs(test: &Message) -> Option<Need> {
    let expr = test.text("expr");
    let mentions = |names: &[&str]| names.iter().any(|name| expr.contains(name));
    if mentions(&["proto.getExt", "proto.hasExt"]) {
        Some(Need::Extensions)
    } else if mentions(&["TestAllTypes", "TestRequired"]) || test.any_text(&|text| text.contains("TestAllTypes")) {
        Some(Need::Messages)
    } else if mentions(&["GlobalEnum", "NestedEnum"]) || test.mentions("enum_value") {
        Some(Need::Enums)
    } else {
        None
    }
}

fn run(test: &Message) -> Outcome {
    if let Some(need) = needs(test) {
        return Outcome::SetAside(need);
    }
    let mut env = Env::standard().with_container(&test.text("container"));
    for declared in test.all("type_env") {
        for overload in declared
            .one("function")
            .iter()
            .flat_map(|function| function.all("overloads"))
        {
            let params = overload.all("params").map(values::type_of).collect::<Option<Vec<_>>>();
            let result = overload.one("result_type").and_then(values::type_of);
            let (Some(params), Some(result)) = (params, result) else {
                return Outcome::Failed("cannot read the function".to_owned());
            };
            let member = overload.text("is_instance_function") == "true";
            let signature = Signature { member, params, result };
            env = env.with_function(&declared.text("name"), signature, None);
        }
        if let Some(ident) = declared.one("ident") {
            let ty = ident.one("type").and_then(values::type_of).unwrap_or(Type::Dyn);
            env = env.with_variable(&declared.text("name"), ty);
        }
    }
    let mut bindings = Vec::new();
    for binding in test.all("bindings") {
        let name = binding.text("key");
        let value = binding
            .one("value")
            .and_then(|value| value.one("value"))
            .and_then(values::value);
        let Some(value) = value else {
            return Outcome::Failed(format!("cannot read the binding {name}"));
        };
        if !env.has_variable(&name) {
            env = env.with_variable(&name, Type::Dyn);
        }
        bindings.push((name, value));
    }
    let expr = test.text("expr");
    let wants_error = test.one("eval_error").is_some() || test.one("any_eval_errors").is_some();
    let unchecked = test.text("disable_check") == "true";
    let checked = match if unchecked {
        env.parse_only(&expr)
    } else {
        env.check(&expr)
    } {
        Ok(checked) => checked,
        Err(_) if wants_error => return Outcome::Passed,
        Err(issues) => return Outcome::Failed(issues.to_string()),
    };
    if let Some(wanted) = test.one("typed_result").and_then(|typed| typed.one("deduced_type")) {
        let wanted = values::type_of(wanted);
        if wanted.as_ref() != Some(checked.output_type()) {
            let wanted = wanted.map(|ty| ty.to_string()).unwrap_or_default();
            return Outcome::Failed(format!("type {} instead of {wanted}", checked.output_type()));
        }
    }
    if test.text("check_only") == "true" {
        return Outcome::Passed;
    }
    let program = env.program(&checked);
    if program.defect().is_some() && wants_error {
        return Outcome::Passed;
    }
    let variables: Vec<(&str, Value<'_>)> = bindings
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    let evaluation = program.eval(&variables, Limits::default());
    let wanted = test
        .one("value")
        .or_else(|| test.one("typed_result").and_then(|typed| typed.one("result")));
    match (evaluation.outcome, wanted) {
        (Err(_), _) if wants_error => Outcome::Passed,
        (Err(error), _) => Outcome::Failed(error.to_string()),
        (Ok(value), _) if wants_error => Outcome::Failed(format!("{value:?} instead of an error")),
        (Ok(Value::Bool(true)), None) => Outcome::Passed,
        (Ok(value), None) => Outcome::Failed(format!("{value:?} instead of true")),
        (Ok(value), Some(wanted)) => match values::value(wanted) {
            Some(wanted) if values::same(&value, &wanted) => Outcome::Passed,
            wanted => Outcome::Failed(format!("{value:?} instead of {wanted:?}")),
        },
    }
}
