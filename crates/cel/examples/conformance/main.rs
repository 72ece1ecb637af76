//! Runs the language's own conformance files: `cargo run -p kubewright-cel --example conformance -- DIRECTORY [-v]`.
//! The directory is `tests/simple/testdata` of the Go module `cel.dev/expr`; `CEL_CONFORMANCE` may name it too.

mod textproto;
mod values;

use std::process::ExitCode;

use kubewright_cel::{Env, Limits, Type, Value};
use textproto::Message;

/// What became of a test.
enum Outcome {
    Passed,
    /// It needs protobuf messages, which Kubernetes has none of.
    NeedsProtobuf,
    Failed(String),
}

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
    let mut totals = [0; 3];
    println!("{:28} {:>6} {:>6} {:>8}", "file", "passed", "failed", "protobuf");
    for path in files {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let Some(file) = textproto::parse(&text) else {
            println!("{}: not understood", path.display());
            continue;
        };
        let mut counts = [0; 3];
        for section in file.all("section") {
            for test in section.all("test") {
                let name = format!("{}/{}", section.text("name"), test.text("name"));
                let slot = match run(test) {
                    Outcome::Passed => 0,
                    Outcome::Failed(why) => {
                        if verbose {
                            println!("  {name}: {}\n    {why}", test.text("expr"));
                        }
                        1
                    }
                    Outcome::NeedsProtobuf => 2,
                };
                counts[slot] += 1;
                totals[slot] += 1;
            }
        }
        let name = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        println!("{name:28} {:>6} {:>6} {:>8}", counts[0], counts[1], counts[2]);
    }
    println!("{:28} {:>6} {:>6} {:>8}", "total", totals[0], totals[1], totals[2]);
    ExitCode::SUCCESS
}

/// Whether a test is about protobuf messages, enums or containers.
fn needs_protobuf(test: &Message) -> bool {
    let expr = test.text("expr");
    let names = [
        "TestAllTypes",
        "NestedTestAllTypes",
        "google.protobuf.",
        "GlobalEnum",
        "NestedEnum",
        "proto.",
        "Any{",
    ];
    let types = ["google.protobuf.Timestamp", "google.protobuf.Duration"];
    let bare = types.iter().fold(expr, |expr, name| expr.replace(name, ""));
    !test.text("container").is_empty()
        || names.iter().any(|name| bare.contains(name))
        || test.mentions("message_type")
        || test.mentions("wrapper")
        || test.mentions("enum_value")
        || test.any_object(&|name| !types.iter().any(|known| name.ends_with(known)))
}

fn run(test: &Message) -> Outcome {
    if needs_protobuf(test) {
        return Outcome::NeedsProtobuf;
    }
    let mut env = Env::standard();
    for declared in test.all("type_env") {
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
