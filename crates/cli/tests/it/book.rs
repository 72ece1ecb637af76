//! The book's commands exist: every `kubewright …` and `make …` line in it names subcommands, flags and targets that there are. What the
//! tutorials show of them is what they print.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use kubewright_test_support::book;

use crate::support::kubewright;

/// A command line of a chapter.
struct Line {
    place: String,
    words: Vec<String>,
}

/// The command lines of the book: those of shell blocks, and what is quoted in prose.
fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    for chapter in book::chapters() {
        for part in chapter.parts() {
            match part {
                book::Part::Code(block) if matches!(block.language(), "console" | "sh") => {
                    for (index, text) in joined(&block.lines) {
                        // What a command printed is no command: in consoles those begin with a prompt.
                        let command = match block.language() {
                            "console" => text.strip_prefix("$ "),
                            _ => Some(text.as_str()),
                        };
                        let place = chapter.place(block.line + 1 + index);
                        lines.extend(command.into_iter().flat_map(commands).map(|words| Line {
                            place: place.clone(),
                            words,
                        }));
                    }
                }
                book::Part::Code(_) => {}
                book::Part::Prose { line, text } => {
                    let quoted = text.split('`').skip(1).step_by(2).filter(|quoted| is_command(quoted));
                    lines.extend(quoted.flat_map(commands).map(|words| Line {
                        place: chapter.place(line),
                        words,
                    }));
                }
            }
        }
    }
    lines
}

/// Whether a quotation is a command line and not just the command's name.
fn is_command(quoted: &str) -> bool {
    quoted.starts_with("kubewright ") || quoted.starts_with("cargo run -- ") || quoted.starts_with("make ")
}

/// Lines, of which those that end in a backslash go on in the next one.
fn joined(lines: &[&str]) -> Vec<(usize, String)> {
    let mut joined: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (index, line) in lines.iter().enumerate() {
        let text = line.trim_end_matches('\\');
        match joined.last_mut() {
            Some((_, last)) if goes_on => {
                last.push(' ');
                last.push_str(text.trim());
            }
            _ => joined.push((index, text.to_owned())),
        }
        goes_on = line.ends_with('\\');
    }
    joined
}

/// The commands of one line, each as its words: what is before a comment, between `&&`, `|` and `;`.
fn commands(line: &str) -> Vec<Vec<String>> {
    let line = line.split_once(" #").map_or(line, |(command, _)| command);
    let commands = line.split([';', '|']).flat_map(|part| part.split("&&"));
    commands
        .map(|command| {
            let words = command
                .split_whitespace()
                .map(|word| word.trim_matches(['\'', '"']).to_owned());
            words.skip_while(|word| is_variable(word)).collect::<Vec<_>>()
        })
        .filter(|words| !words.is_empty())
        .collect()
}

/// `IMG=website:dev` before a command.
fn is_variable(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
}

/// What the command says of itself: `kubewright create api --help`.
#[derive(Default)]
struct Help(BTreeMap<Vec<String>, Option<String>>);

impl Help {
    /// Nothing, if there is no such subcommand.
    fn of(&mut self, path: &[String]) -> Option<&str> {
        let ask = || {
            let output = kubewright().args(path).arg("--help").output().unwrap();
            output
                .status
                .success()
                .then(|| String::from_utf8(output.stdout).unwrap())
        };
        self.0.entry(path.to_vec()).or_insert_with(ask).as_deref()
    }

    fn subcommands(&mut self, path: &[String]) -> BTreeSet<String> {
        let text = self.of(path).unwrap_or_default();
        let list = text.split("\nCommands:\n").nth(1).unwrap_or_default();
        let lines = list.lines().take_while(|line| line.starts_with("  "));
        lines
            .filter_map(|line| line.split_whitespace().next())
            .map(str::to_owned)
            .collect()
    }

    fn flags(&mut self, path: &[String]) -> BTreeSet<String> {
        let text = self.of(path).unwrap_or_default();
        let words = text.split(|c: char| c.is_whitespace() || "[]=,;:.'`\"()".contains(c));
        words.filter(|word| word.starts_with('-')).map(str::to_owned).collect()
    }

    /// What is wrong with the words after `kubewright`, if anything is.
    fn problem(&mut self, words: &[String]) -> Option<String> {
        let mut path = Vec::new();
        let mut rest = words;
        while let Some((word, others)) = rest.split_first() {
            let subcommands = self.subcommands(&path);
            if subcommands.is_empty() {
                break;
            }
            if word == "…" || word == "--help" || word == "--version" {
                return None;
            }
            if !subcommands.contains(word) {
                return Some(format!(
                    "there is no `kubewright {} {word}`; there are {subcommands:?}",
                    path.join(" ")
                ));
            }
            path.push(word.clone());
            rest = others;
        }
        let flags = self.flags(&path);
        // What follows two dashes is for somebody else.
        let own = rest
            .iter()
            .take_while(|word| *word != "--")
            .filter(|word| word.starts_with('-') && *word != "-");
        for word in own {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            if !flags.contains(name) {
                return Some(format!("`kubewright {}` has no {name}", path.join(" ")));
            }
        }
        None
    }
}

/// The targets of the Makefile of a project.
fn targets() -> BTreeSet<String> {
    let makefile = book::root().join("../examples/markdown-view/Makefile");
    let text = fs::read_to_string(makefile).unwrap();
    let targets = text.lines().filter_map(|line| line.strip_prefix(".PHONY: "));
    targets.flat_map(str::split_whitespace).map(str::to_owned).collect()
}

#[test]
fn every_command_of_the_book_is_one_that_there_is() {
    let (mut help, targets) = (Help::default(), targets());
    let (mut problems, mut checked) = (Vec::new(), 0);
    for Line { place, words } in lines() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let problem = match words.as_slice() {
            ["kubewright", rest @ ..]
            | ["cargo", "run", "--", rest @ ..]
            | ["cargo", "run", "--release", "--", rest @ ..] => {
                let rest: Vec<String> = rest.iter().map(|word| (*word).to_owned()).collect();
                help.problem(&rest)
            }
            ["make", rest @ ..] => {
                let named = rest
                    .iter()
                    .filter(|word| !word.contains('=') && !word.starts_with(['-', '$', '…']));
                // Values of variables may have spaces: `ARGS="--embedded --watch"`.
                let unknown = named
                    .copied()
                    .find(|word| !targets.contains(*word) && word.chars().all(|c| c.is_alphanumeric() || c == '-'));
                unknown.map(|word| format!("the Makefile has no target {word}; it has {targets:?}"))
            }
            _ => continue,
        };
        checked += 1;
        problems.extend(problem.map(|problem| format!("{place}: {}: {problem}", words.join(" "))));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(checked > 30, "only {checked} commands were found in the book");
}

#[test]
fn a_command_that_is_none_would_be_found() {
    let mut help = Help::default();
    let mut problem = |line: &str| {
        let words = commands(line).remove(0);
        help.problem(&words[1..])
    };
    assert_eq!(
        problem("kubewright create api --group web --version v1 --kind Website # a kind"),
        None
    );
    assert_eq!(problem("kubewright run --embedded -- --log-level=debug"), None);
    assert_eq!(problem("kubewright apiserver '--controllers=*,-job'"), None);
    assert!(
        problem("kubewright create apu")
            .unwrap()
            .contains("there is no `kubewright create apu`")
    );
    assert!(
        problem("kubewright run --embeded")
            .unwrap()
            .contains("has no --embeded")
    );
    assert!(problem("kubewright rn").is_some());
    assert_eq!(commands("IMG=a:b make docker-build && make deploy").len(), 2);
}

/// Follows chapters in an empty folder, without what takes a compiler: the commands of kubewright print what is shown.
fn follow(names: &[&str]) -> usize {
    let (folder, chapters) = (tempfile::tempdir().unwrap(), book::chapters());
    let mut project = folder.path().to_owned();
    let mut compared = 0;
    for name in names {
        let chapter = chapters.iter().find(|chapter| chapter.name == *name).unwrap();
        for (_, step) in chapter.steps() {
            match step {
                book::Step::Write { file, text } => fs::write(project.join(file), text).unwrap(),
                // Nothing runs here.
                book::Step::Change { .. } | book::Step::Look { .. } => {}
                book::Step::Run { line, command, shown } => {
                    if let Some((_, into)) = command.split_once("&& cd ") {
                        run(&project, command);
                        project.push(into);
                    } else if command.starts_with("mkdir ") {
                        run(&project, command);
                    } else if is_quick(command) {
                        let printed = run(&project, command);
                        let difference = book::difference(&shown, &printed);
                        assert_eq!(difference, None, "{}: {command}", chapter.place(line));
                        compared += 1;
                    }
                }
            }
        }
    }
    compared
}

/// Whether it is a command of kubewright that compiles nothing and ends by itself.
fn is_quick(command: &str) -> bool {
    ["init ", "create ", "edit "].iter().any(|word| {
        command
            .strip_prefix("kubewright ")
            .is_some_and(|rest| rest.starts_with(word))
    })
}

/// Runs a command line as a reader does, and returns what a terminal would show. The checkout is called as the book calls it.
fn run(folder: &Path, command: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_kubewright"));
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::env::join_paths(
        [program.parent().unwrap().to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&paths)),
    );
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}; }} 2>&1")])
        .current_dir(folder)
        .env("PATH", paths.unwrap())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command}: {printed}");
    let checkout = fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
    printed.replace(checkout.to_str().unwrap(), "/home/me/kubewright")
}

#[test]
fn the_first_chapter_and_the_tutorial_show_what_their_commands_print() {
    assert_eq!(follow(&["getting-started.md"]), 2);
    assert_eq!(follow(&["cronjob.md", "cronjob-versions.md"]), 6);
}
