//! `kubewright cel eval`: evaluates one expression, or line by line.

use std::error::Error;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use kubewright_cel::{Decl, Type};
use kubewright_codec::yaml;
use serde_json::Value as Json;

use super::crd::{Crd, CrdError};
use super::session::{Evaluation, Session};
use super::{Format, indented, print};
use crate::colours::Colours;
use crate::documents::{self as input, Document};

/// Evaluate a CEL expression.
///
/// Shows its value, its type and what it cost; with --crd also what Kubernetes estimates it to cost at most. A mistake
/// is shown with a caret under it, as the API server shows it. The object is taken as it is: no defaults are filled in.
///
/// Without an expression, expressions are read line by line: from the terminal with a prompt until Ctrl-D, or from
/// standard input.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  kubewright cel eval '[1, 2, 3].sum()'
  kubewright cel eval 'self.spec.replicas <= 5' --object object.yaml
  kubewright cel eval 'self.spec.class == oldSelf.spec.class' --object new.yaml --old old.yaml --crd crd.yaml
  kubectl get cronjob nightly -o json | kubewright cel eval 'self.spec.schedule' --object - -o json
  kubewright cel eval 'request.user == \"jane\"' --var 'request={\"user\": \"jane\"}'
  kubewright cel eval --object object.yaml < expressions.txt")]
pub(crate) struct Arguments {
    /// The expression; without it, one per line is read.
    expression: Option<String>,

    /// YAML or JSON file with the object that is `self`; - is standard input.
    #[arg(long, value_name = "FILE")]
    object: Option<PathBuf>,

    /// YAML or JSON file with the object that is `oldSelf`; - is standard input.
    #[arg(long, value_name = "FILE")]
    old: Option<PathBuf>,

    /// CRD that gives `self` and `oldSelf` their type: the schema of the object's version, or else of the stored one.
    #[arg(long, value_name = "FILE")]
    crd: Option<PathBuf>,

    /// A further variable and its value; may be repeated.
    #[arg(long, value_name = "NAME=JSON", value_parser = variable)]
    var: Vec<(String, Json)>,

    /// The output format.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

/// Why there is nothing to evaluate with.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0} is read from standard input, so the expression must be an argument")]
    StdinTaken(&'static str),
    #[error("--var {0} is given twice")]
    VariableTwice(String),
    #[error("cannot read the next expression")]
    Line(#[source] io::Error),
}

/// Reads `name=json`.
fn variable(text: &str) -> Result<(String, Json), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=JSON is wanted")?;
    let mut characters = name.chars();
    let begins = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !begins || !characters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("{name:?} is no name of a variable"));
    }
    match name {
        "self" => return Err("--object FILE gives self its value".to_owned()),
        "oldSelf" => return Err("--old FILE gives oldSelf its value".to_owned()),
        _ => {}
    }
    match serde_json::from_str(value) {
        Ok(value) => Ok((name.to_owned(), value)),
        Err(error) => Err(format!("{error}; a string needs quotes: '{name}=\"text\"'")),
    }
}

/// Runs the command.
pub(super) fn run(arguments: Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let files = [
        ("--object", &arguments.object),
        ("--old", &arguments.old),
        ("--crd", &arguments.crd),
    ];
    input::one_stdin(files.iter().filter_map(|(_, path)| path.as_ref()))?;
    if arguments.expression.is_none() {
        let is_stdin = |(_, path): &&(&str, &Option<PathBuf>)| path.as_deref().is_some_and(input::is_stdin);
        if let Some((flag, _)) = files.iter().find(is_stdin) {
            return Err(Failure::StdinTaken(flag).into());
        }
    }
    let session = session(&arguments)?;
    let format = arguments.output;
    match arguments.expression {
        Some(expression) => {
            let answer = session.answer(&expression);
            show(&answer, format, Evaluation::lines, indented);
            Ok(verdict(answer.is_value()))
        }
        None => read_lines(&session, format),
    }
}

fn verdict(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn session(arguments: &Arguments) -> Result<Session, Box<dyn Error>> {
    let read = |path: &Option<PathBuf>| path.as_deref().map(input::read_one).transpose();
    let (object, old) = (read(&arguments.object)?, read(&arguments.old)?);
    let definition = read(&arguments.crd)?;
    let schema = match &definition {
        None => None,
        Some(definition) => Some(schema(definition, object.as_ref(), old.as_ref())?),
    };
    let variables = &arguments.var;
    let twice = |at: usize| variables[..at].iter().any(|(name, _)| *name == variables[at].0);
    if let Some(at) = (0..variables.len()).find(|at| twice(*at)) {
        return Err(Failure::VariableTwice(variables[at].0.clone()).into());
    }
    let value = |document: Option<Document>| document.map(|document| document.value);
    Ok(Session::new(schema, value(object), value(old), variables.clone()))
}

fn schema(
    definition: &Document,
    object: Option<&Document>,
    old: Option<&Document>,
) -> Result<(std::sync::Arc<Decl>, Type), CrdError> {
    let crd = Crd::read(definition)?;
    let version = crd.version_of(object.or(old))?;
    if object.is_some() {
        // Both objects are read by one schema.
        crd.version_of(old)?;
    }
    let (file, name) = (|| crd.file.to_owned(), || version.name.to_owned());
    let (schema, _) = version.schema.as_ref().ok_or_else(|| CrdError::NoSchema {
        file: file(),
        version: name(),
    })?;
    let decl = Decl::from_schema(schema, true);
    let ty = decl.cel_type(crd.kind).ok_or_else(|| CrdError::Invisible {
        file: file(),
        version: name(),
    })?;
    Ok((decl, ty))
}

/// Prints an answer: values on standard output, mistakes on standard error, both as data on standard output.
fn show(
    answer: &Evaluation,
    format: Format,
    text: fn(&Evaluation, Colours) -> Result<String, String>,
    json: fn(&Json) -> String,
) {
    match format {
        Format::Json => print(&json(&answer.json())),
        Format::Yaml => print(&yaml::encode(&answer.json())),
        Format::Text => {
            let colours = if answer.is_value() {
                Colours::of(&io::stdout())
            } else {
                Colours::of(&io::stderr())
            };
            match text(answer, colours) {
                Ok(text) => print(&text),
                Err(text) => drop(io::stderr().write_all(text.as_bytes())),
            }
        }
    }
}

/// Evaluates line by line. A person at a terminal may err; a script that did has failed.
fn read_lines(session: &Session, format: Format) -> Result<ExitCode, Box<dyn Error>> {
    let stdin = io::stdin();
    let interactive = stdin.is_terminal();
    let prompt = || {
        if interactive {
            print("> ");
            let _ = io::stdout().flush();
        }
    };
    if interactive {
        let variables = session.variables();
        eprintln!("CEL as Kubernetes 1.36 has it, with {variables}; one expression per line, Ctrl-D ends.");
    }
    let (mut good, mut first) = (true, true);
    prompt();
    for line in stdin.lock().lines() {
        let line = line.map_err(Failure::Line)?;
        let expression = line.trim();
        if !expression.is_empty() {
            let answer = session.answer(expression);
            good &= answer.is_value();
            if format == Format::Yaml && !first {
                print("---\n");
            }
            first = false;
            show(&answer, format, Evaluation::line, |json| format!("{json}\n"));
        }
        prompt();
    }
    if interactive {
        print("\n");
    }
    Ok(verdict(good || interactive))
}
