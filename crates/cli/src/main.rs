//! The `kubewright` command. Each subcommand is a module with its arguments and what it does.

mod admission_arguments;
mod apiserver;
mod cel;
mod cluster_arguments;
mod colours;
mod completion;
mod create;
mod delete;
mod deploy;
mod dev_run;
mod doctor;
mod documents;
mod edit;
mod envtest;
mod explore;
mod files;
mod history_arguments;
mod image;
mod init;
mod install;
mod installer;
mod man;
mod manifests;
mod next;
mod output;
mod policy;
mod project;
mod prompt;
mod rbac;
mod scaffold;
mod shown;
mod token_file;
mod trial_server;
mod undeploy;
mod uninstall;
mod unused_memory;
mod version;
mod watch;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

/// Gives back to the system what is no longer needed: of what a burst of requests takes, glibc's keeps nearly all.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Build, test and ship Kubernetes custom controllers in Rust.
#[derive(Parser)]
#[command(
    name = "kubewright",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Start here:
  kubewright demo                        an operator at work, in a cluster in this process
  kubewright doctor                      what this machine has, and what a project needs
  kubewright init --domain example.com   a project in this folder; then `kubewright create api`"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Init(init::Arguments),
    Create(create::Arguments),
    Delete(delete::Arguments),
    Edit(edit::Arguments),
    Manifests(manifests::Arguments),
    Rbac(rbac::Arguments),
    Explore(explore::Arguments),
    Dev(dev_run::dev::Arguments),
    Watch(watch::Arguments),
    Run(dev_run::Arguments),
    Demo(kubewright_demo::Arguments),
    Doctor(doctor::Arguments),
    Install(install::Arguments),
    Uninstall(uninstall::Arguments),
    Deploy(deploy::Arguments),
    Undeploy(undeploy::Arguments),
    BuildInstaller(installer::Arguments),
    Apiserver(apiserver::Arguments),
    Envtest(envtest::Arguments),
    Image(image::Arguments),
    Cel(cel::Arguments),
    Policy(policy::Arguments),
    Completion(completion::Arguments),
    #[command(hide = true)]
    Man(man::Arguments),
    Version(version::Arguments),
}

fn main() -> ExitCode {
    if let Some(program) = envtest::Program::of_this_process() {
        return program.run();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let done = match arguments.command {
        Command::Init(arguments) => init::run(&arguments),
        Command::Create(arguments) => create::run(&arguments),
        Command::Delete(arguments) => delete::run(&arguments),
        Command::Edit(arguments) => edit::run(&arguments),
        Command::Manifests(arguments) => manifests::run(&arguments),
        Command::Rbac(arguments) => rbac::run(&arguments),
        Command::Explore(arguments) => Ok(explore::run(&arguments)),
        Command::Dev(arguments) => dev_run::dev::run(&arguments),
        Command::Watch(arguments) => watch::run(&arguments),
        Command::Run(arguments) => dev_run::run(&arguments),
        Command::Demo(arguments) => kubewright_demo::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Install(arguments) => install::run(&arguments),
        Command::Uninstall(arguments) => uninstall::run(&arguments),
        Command::Deploy(arguments) => deploy::run(&arguments),
        Command::Undeploy(arguments) => undeploy::run(&arguments),
        Command::BuildInstaller(arguments) => installer::run(&arguments),
        Command::Completion(arguments) => completion::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        Command::Version(arguments) => version::run(&arguments),
        Command::Image(arguments) => image::run(&arguments),
        Command::Envtest(arguments) => envtest::run(&arguments),
        Command::Apiserver(arguments) => apiserver::run(arguments).map(|()| ExitCode::SUCCESS),
        Command::Cel(arguments) => cel::run(arguments),
        Command::Policy(arguments) => Ok(policy::run(&arguments)),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            output::complain(&format!("error: {}", kubewright_cluster::with_sources(&*error)));
            ExitCode::FAILURE
        }
    }
}

/// Prints help where it was asked for, and else what is wrong with the command line, in one sentence.
fn refuse(error: &clap::Error) -> ExitCode {
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if asked || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        if !asked
            && std::env::args_os().len() == 1
            && let Some(next) = next::in_project()
        {
            output::complain(&format!("\n{next}"));
        }
        return if asked { ExitCode::SUCCESS } else { ExitCode::from(2) };
    }
    let text = error.to_string();
    let missing = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) if error.kind() == ErrorKind::MissingRequiredArgument => {
            format!(" {}", missing.join(" "))
        }
        _ => String::new(),
    };
    let hint = suggestion(error).map_or_else(|| "see --help".to_owned(), |known| format!("did you mean '{known}'?"));
    let choices = choices(error).map_or_else(String::new, |choices| format!("; choose {choices}"));
    let first = text.lines().next().unwrap_or_default();
    output::complain(&format!("{first}{missing}{choices} ({hint})"));
    ExitCode::from(2)
}

/// The values that a flag takes, if it is one of a few.
fn choices(error: &clap::Error) -> Option<String> {
    let ContextValue::Strings(values) = error.get(ContextKind::ValidValue)? else {
        return None;
    };
    match values.split_last()? {
        (last, []) => Some(last.clone()),
        (last, others) => Some(format!("{} or {last}", others.join(", "))),
    }
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
