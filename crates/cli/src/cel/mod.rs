//! `kubewright cel`: tries expressions and checks those of CRDs, policies and webhooks, without a cluster.

mod admission;
mod admission_text;
mod check;
mod crd;
mod eval;
mod hint;
mod location;
mod policy_types;
mod schema_report;
mod session;

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;

use serde_json::Value as Json;

/// Try CEL expressions, and check those of CRDs, admission policies and webhooks, as Kubernetes 1.36 reads them.
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Eval(eval::Arguments),
    Check(check::Arguments),
}

/// How answers are written.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// Runs the command; how it ends says whether everything was accepted.
pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Box<dyn Error>> {
    match arguments.command {
        Command::Eval(arguments) => eval::run(arguments),
        Command::Check(arguments) => check::run(&arguments),
    }
}

/// Prints a result. A closed pipe is not an error.
pub(super) fn print(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

/// JSON as people and programs read it.
pub(super) fn indented(value: &Json) -> String {
    let (mut compact, mut text) = (Vec::new(), Vec::new());
    kubewright_codec::json::write(value, &mut compact);
    kubewright_codec::json::indent(&compact, &mut text);
    let mut text = String::from_utf8_lossy(&text).trim_end().to_owned();
    text.push('\n');
    text
}
