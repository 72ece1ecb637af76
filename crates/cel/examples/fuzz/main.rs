//! Looks for texts and objects that break a promise of the crate:
//! `cargo run -p kubewright-cel --example fuzz -- SECONDS [SEED]`; the same seed gives the same cases.
//! With `texts COUNT [SEED]` it prints the cases instead, for a comparison with another engine.
//!
//! No text makes anything panic, nothing costs more than its limit, the same question has the same answer, and an
//! expression that was printed parses to one that prints the same and means the same.

mod generate;
mod mutate;
mod random;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use kubewright_cel::rules::{Validator, check_schema};
use kubewright_cel::{Decl, Env, ErrorKind, Evaluation, Limits, ParseOptions, Type, Value, parse, print};
use random::Random;
use serde_json::{Value as Json, json};

/// A case that takes longer than this never ends.
const PATIENCE: Duration = Duration::from_mins(5);
/// A case that works longer than this is reported.
const SLOW: Duration = Duration::from_secs(2);
/// As much as a thread of a server has.
const STACK: usize = 2 << 20;

#[derive(Default)]
struct Tally {
    cases: u64,
    parsed: u64,
    checked: u64,
    values: u64,
    findings: u64,
}

enum Report {
    Case(String),
    Done(Tally),
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("texts") {
        return texts();
    }
    let number = |at: usize| std::env::args().nth(at).and_then(|text| text.parse::<u64>().ok());
    let Some(seconds) = number(1) else {
        eprintln!("usage: fuzz SECONDS [SEED]");
        return ExitCode::FAILURE;
    };
    let seed = number(2).unwrap_or(1);
    let (reporter, receive) = channel();
    let deadline = Instant::now() + Duration::from_secs(seconds);
    std::panic::set_hook(Box::new(|_| {}));
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        let tally = Driver::new(seed).run(deadline, &|case| drop(reporter.send(Report::Case(case))));
        drop(reporter.send(Report::Done(tally)));
    });
    let Ok(_worker) = worker else { return ExitCode::FAILURE };
    let mut current = String::new();
    loop {
        match receive.recv_timeout(PATIENCE) {
            Ok(Report::Case(case)) => current = case,
            Ok(Report::Done(tally)) => {
                let Tally {
                    cases,
                    parsed,
                    checked,
                    values,
                    findings,
                } = tally;
                println!(
                    "seed {seed}: {cases} cases in {seconds} s, {parsed} parsed, {checked} checked, {values} values"
                );
                println!("{findings} findings");
                return if findings == 0 {
                    ExitCode::SUCCESS
                } else {
                    ExitCode::FAILURE
                };
            }
            Err(RecvTimeoutError::Timeout) => {
                println!("NEVER ENDS {current:?}");
                return ExitCode::FAILURE;
            }
            Err(RecvTimeoutError::Disconnected) => {
                println!("DIED AFTER {current:?}");
                return ExitCode::FAILURE;
            }
        }
    }
}

/// `fuzz texts COUNT [SEED]`: the schema, an object and then texts, one JSON a line, to ask another engine about.
fn texts() -> ExitCode {
    let number = |at: usize| std::env::args().nth(at).and_then(|text| text.parse::<u64>().ok());
    let mut driver = Driver::new(number(3).unwrap_or(1));
    println!("{}", generate::schema());
    println!("{}", generate::object(&mut driver.random));
    for _ in 0..number(2).unwrap_or(100) {
        println!("{}", Json::from(driver.text()));
    }
    ExitCode::SUCCESS
}

/// How long this thread has worked, whatever else the machine does.
fn worked() -> Duration {
    let read = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = read.and_then(|read| read.split(' ').next()?.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

struct Driver {
    random: Random,
    corpus: Vec<String>,
    decl: Arc<Decl>,
    typed: Env,
    open: Env,
}

impl Driver {
    fn new(seed: u64) -> Self {
        let decl = Decl::from_schema(&generate::schema(), false);
        let ty = decl.cel_type("self").unwrap_or(Type::Dyn);
        let typed = Env::kubernetes()
            .with_variable("self", ty.clone())
            .with_variable("oldSelf", ty);
        let open = Env::standard()
            .with_variable("self", Type::Dyn)
            .with_variable("oldSelf", Type::Dyn)
            .with_mutation();
        Self {
            random: Random::new(seed),
            corpus: corpus(),
            decl,
            typed,
            open,
        }
    }

    fn text(&mut self) -> String {
        match self.random.below(10) {
            0..=3 => mutate::mutate(&mut self.random, &self.corpus),
            4 => {
                let generated = generate::Generator::new(&mut self.random).expression();
                mutate::mutate(&mut self.random, &[generated])
            }
            _ => generate::Generator::new(&mut self.random).expression(),
        }
    }

    fn run(mut self, deadline: Instant, current: &dyn Fn(String)) -> Tally {
        let mut tally = Tally::default();
        while Instant::now() < deadline {
            let text = self.text();
            let object = generate::object(&mut self.random);
            let old = self.random.once_in(3).then(|| generate::object(&mut self.random));
            let limit = [0, 10, 1_000, 1_000_000][self.random.below(4)];
            current(format!("{text}\n  on {object}"));
            let started = worked();
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                self.case(&text, &object, old.as_ref(), limit, &mut tally)
            }));
            tally.cases += 1;
            let found = match outcome {
                Ok(Ok(())) if worked().saturating_sub(started) > SLOW => Some("slow".to_owned()),
                Ok(Ok(())) => None,
                Ok(Err(broken)) => Some(broken),
                Err(panic) => Some(format!(
                    "panic: {}",
                    panic.downcast_ref::<String>().map_or("?", String::as_str)
                )),
            };
            if let Some(found) = found {
                tally.findings += 1;
                println!("FINDING {found}\n  {text:?}\n  on {object}");
            }
        }
        tally
    }

    fn case(&self, text: &str, object: &Json, old: Option<&Json>, limit: u64, tally: &mut Tally) -> Result<(), String> {
        self.printing(text, tally)?;
        for (env, value) in [
            (&self.typed, Value::typed(object, &self.decl)),
            (&self.open, Ok(Value::from_json(object))),
        ] {
            let checked = match env.check(text) {
                Ok(checked) => checked,
                Err(issues) if issues.to_string().starts_with("ERROR: <input>:") => continue,
                Err(issues) => return Err(format!("unreadable: {issues}")),
            };
            tally.checked += 1;
            env.estimate(&checked, Some(&self.decl));
            let program = env.program(&checked);
            let Ok(value) = value else { continue };
            let variables = [("self", value.clone()), ("oldSelf", value)];
            let limits = Limits {
                cost: limit,
                interrupted: None,
            };
            let first = program.eval(&variables, limits);
            let again = program.eval(&variables, limits);
            if shown(&first) != shown(&again) {
                return Err(format!("{} and then {}", shown(&first), shown(&again)));
            }
            if first.cost > limit && !matches!(&first.outcome, Err(error) if error.kind() == ErrorKind::CostLimit) {
                return Err(format!("cost {} of {limit}: {}", first.cost, shown(&first)));
            }
            if let Ok(value) = &first.outcome {
                tally.values += 1;
                let _ = value.to_json();
            }
        }
        rules(text, object, old);
        Ok(())
    }

    /// What is printed parses, prints the same again and has the same type.
    fn printing(&self, text: &str, tally: &mut Tally) -> Result<(), String> {
        let options = ParseOptions {
            keep_macro_calls: true,
            ..ParseOptions::ALL
        };
        let Ok(ast) = parse(text, options) else { return Ok(()) };
        tally.parsed += 1;
        let printed = print(&ast).map_err(|error| error.to_string())?;
        let again = parse(&printed, options).map_err(|issues| format!("printed {printed:?}: {issues}"))?;
        let twice = print(&again).map_err(|error| error.to_string())?;
        if printed != twice {
            return Err(format!("printed {printed:?} and then {twice:?}"));
        }
        match (self.open.check(text), self.open.check(&printed)) {
            (Ok(first), Ok(second)) if first.output_type() == second.output_type() => Ok(()),
            (Err(_), Err(_)) => Ok(()),
            _ => Err(format!("printed {printed:?} has another type")),
        }
    }
}

/// The text as a rule of a CRD and as its message.
fn rules(text: &str, object: &Json, old: Option<&Json>) {
    let mut schema = generate::schema();
    schema["x-kubernetes-validations"] = json!([
        {"rule": text, "messageExpression": text},
        {"rule": text, "optionalOldSelf": true},
    ]);
    schema["properties"]["l"]["items"]["x-kubernetes-validations"] = json!([{"rule": text}]);
    let schema = json!({"type": "object", "properties": {"spec": schema}});
    check_schema(&schema, "schema");
    if let Some(validator) = Validator::new(&schema) {
        let wrap = |object: &Json| json!({"spec": object});
        validator.validate(&wrap(object), old.map(wrap).as_ref(), Limits::default());
    }
}

fn shown(evaluation: &Evaluation<'_>) -> String {
    format!("{:?} for {}", evaluation.outcome, evaluation.cost)
}

/// The rules that were recorded from a server.
fn corpus() -> Vec<String> {
    let mut texts = Vec::new();
    for recording in [
        include_str!("../../tests/recorded/rules.json"),
        include_str!("../../tests/recorded/evaluations.json"),
    ] {
        let Ok(recording) = serde_json::from_str::<Json>(recording) else {
            continue;
        };
        for name in ["rules", "evaluations"] {
            for entry in recording[name].as_array().into_iter().flatten() {
                let rule = entry["rule"].as_str().or_else(|| entry["rule"]["rule"].as_str());
                texts.extend(rule.map(str::to_owned));
            }
        }
    }
    texts.sort();
    texts.dedup();
    texts
}
