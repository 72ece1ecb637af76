//! `kubewright man`: the help of every command as a page for man.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, Command, CommandFactory as _};

/// Write man pages of all commands into a folder
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  kubewright man ~/.local/share/man/man1 && man kubewright-init")]
pub(crate) struct Arguments {
    /// The folder, which is made if it is not there
    folder: PathBuf,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    fs::create_dir_all(&arguments.folder)?;
    let mut command = crate::Arguments::command();
    command.build();
    for page in pages(&command, "kubewright") {
        fs::write(arguments.folder.join(format!("{}.1", page.name)), page.text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One page.
struct Page {
    name: String,
    text: String,
}

/// The page of a command and those of its subcommands.
fn pages(command: &Command, name: &str) -> Vec<Page> {
    let mut found = vec![Page {
        name: name.to_owned(),
        text: page(command, name),
    }];
    for subcommand in visible(command) {
        found.extend(pages(subcommand, &format!("{name}-{}", subcommand.get_name())));
    }
    found
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

/// A page in the language of man.
fn page(command: &Command, name: &str) -> String {
    let words = name.replace('-', " ");
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let long = command
        .get_long_about()
        .map_or_else(|| about.clone(), ToString::to_string);
    let version = env!("CARGO_PKG_VERSION");
    // Writing to a `String` cannot fail.
    let mut out = format!(".TH {} 1 \"\" \"kubewright {version}\"\n", name.to_uppercase());
    let _ = writeln!(
        out,
        ".SH NAME\n{} \\- {}",
        escaped(name),
        escaped(about.trim_end_matches('.'))
    );
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let _ = writeln!(out, ".SH SYNOPSIS\n.nf\n{}\n.fi", escaped(usage));
    let _ = writeln!(out, ".SH DESCRIPTION\n{}", paragraphs(&long));
    let arguments: Vec<&Arg> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
        .collect();
    if !arguments.is_empty() {
        out.push_str(".SH OPTIONS\n");
        for argument in arguments {
            let help = argument.get_long_help().or_else(|| argument.get_help());
            let help = help.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(out, ".TP\n.B {}\n{}", escaped(&title(argument)), paragraphs(&help));
        }
    }
    let subcommands: Vec<&Command> = visible(command).collect();
    if !subcommands.is_empty() {
        out.push_str(".SH COMMANDS\n");
        for subcommand in subcommands {
            let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
            let page = escaped(&format!("{words} {}", subcommand.get_name()).replace(' ', "-"));
            let _ = writeln!(out, ".TP\n.BR {page} (1)\n{}", escaped(&about));
        }
    }
    if let Some(after) = command.get_after_help() {
        let after = after.to_string();
        let examples = after.trim_start_matches("Examples:").trim_matches('\n');
        let _ = writeln!(out, ".SH EXAMPLES\n.nf\n{}\n.fi", escaped(examples));
    }
    out
}

/// How an option is written: `-o, --output FORM`.
fn title(argument: &Arg) -> String {
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let takes_value = argument.get_action().takes_values();
    let values = argument.get_value_names().unwrap_or_default().iter();
    let values: Vec<String> = values.filter(|_| takes_value).map(ToString::to_string).collect();
    match (names.is_empty(), values.is_empty()) {
        (true, _) => values.join(" "),
        (false, true) => names.join(", "),
        (false, false) => format!("{} {}", names.join(", "), values.join(" ")),
    }
}

/// Text whose paragraphs are apart.
fn paragraphs(text: &str) -> String {
    escaped(text.trim()).replace("\n\n", "\n.PP\n")
}

/// Text that man prints as it is: backslashes and hyphens mean something else, and so does a dot or a quote that begins a line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if line.starts_with(['.', '\'']) {
            out.push_str("\\&");
        }
        out.push_str(&line.replace('\\', "\\e").replace('-', "\\-"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_options_and_examples() {
        let mut command = crate::Arguments::command();
        command.build();
        let pages = pages(&command, "kubewright");
        let find = |name: &str| &pages.iter().find(|page| page.name == name).unwrap().text;
        assert!(
            find("kubewright").contains(".BR kubewright\\-init (1)"),
            "{}",
            find("kubewright")
        );
        let api = find("kubewright-create-api");
        for line in [
            ".TH KUBEWRIGHT-CREATE-API 1",
            ".SH SYNOPSIS\n.nf\nkubewright create api",
            ".B \\-\\-group ",
            ".SH EXAMPLES\n",
        ] {
            assert!(api.contains(line), "{line}: {api}");
        }
        assert!(
            pages.iter().all(|page| page.name != "kubewright-man"),
            "a hidden command has no page"
        );
    }

    #[test]
    fn text_that_would_be_a_request_is_escaped() {
        assert_eq!(escaped(".a\n'b\nc\\d-e"), "\\&.a\n\\&'b\nc\\ed\\-e");
    }
}
