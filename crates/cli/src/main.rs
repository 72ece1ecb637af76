//! The `kubewright` command. Each subcommand is a module with its arguments and what it does.

mod apiserver;
mod cel;
mod kubeconfig;
mod token_file;

use std::error::Error;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};

/// Build, test and ship Kubernetes custom controllers in Rust.
#[derive(Parser)]
#[command(
    name = "kubewright",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Apiserver(apiserver::Arguments),
    Cel(cel::Arguments),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let done = match arguments.command {
        Command::Apiserver(arguments) => apiserver::run(arguments).map(|()| ExitCode::SUCCESS),
        Command::Cel(arguments) => cel::run(arguments),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", sentence(&*error));
            ExitCode::FAILURE
        }
    }
}

/// Prints help where it was asked for, and else what is wrong with the command line, in one sentence.
fn refuse(error: &clap::Error) -> ExitCode {
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if asked || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return if asked { ExitCode::SUCCESS } else { ExitCode::from(2) };
    }
    let text = error.to_string();
    let hint = suggestion(error).map_or_else(|| "see --help".to_owned(), |known| format!("did you mean '{known}'?"));
    eprintln!("{} ({hint})", text.lines().next().unwrap_or_default());
    ExitCode::from(2)
}

/// The command or flag that was most likely meant.
fn suggestion(error: &clap::Error) -> Option<String> {
    let kinds = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(known) => Some(known.clone()),
        ContextValue::Strings(known) => known.first().cloned(),
        _ => None,
    })
}

/// An error and what caused it.
fn sentence(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
