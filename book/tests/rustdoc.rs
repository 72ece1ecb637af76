//! Whoever opens the documentation of a crate finds what it is for, with an example; and every public function of the crates that
//! users call is in an example: its own, one of its module, or one of the front page.

use std::fs;
use std::path::{Path, PathBuf};

/// Crates that users call, and whose every function is shown.
const SHOWN: [&str; 7] = [
    "apiserver",
    "cel",
    "controllers",
    "manifests",
    "runtime",
    "scaffold",
    "testing",
];

/// What only the derives call, and what the documentation hides.
const HIDDEN: [&str; 4] = ["located", "option", "list", "map"];

#[test]
fn every_library_says_what_it_is_for_with_an_example() {
    let crates = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let libraries: Vec<PathBuf> = crates.filter(|folder| folder.join("src/lib.rs").exists()).collect();
    assert!(libraries.len() > 18, "{libraries:?}");
    let bare: Vec<_> = libraries
        .iter()
        .filter(|folder| front_page(folder).is_empty())
        .collect();
    assert!(bare.is_empty(), "no example on the front page of {bare:?}");
}

#[test]
fn every_public_function_is_in_an_example() {
    let mut missing = Vec::new();
    for name in SHOWN {
        let folder = root().join(name);
        let front = front_page(&folder);
        for module in fs::read_dir(folder.join("src")).unwrap() {
            let files = files(&module.unwrap().path());
            let texts: Vec<(PathBuf, String)> = files
                .into_iter()
                .map(|file| (file.clone(), fs::read_to_string(file).unwrap_or_default()))
                .collect();
            let shown: Vec<String> = texts
                .iter()
                .flat_map(|(file, text)| examples(text, is_rust(file)))
                .collect();
            for (file, text) in texts.iter().filter(|(file, _)| is_rust(file)) {
                for function in functions(text) {
                    let is_hidden = file.ends_with("conversion/field.rs") && HIDDEN.contains(&function);
                    if !is_hidden && !shown.iter().chain(&front).any(|line| calls(line, function)) {
                        missing.push(format!("{}: {function}", file.strip_prefix(root()).unwrap().display()));
                    }
                }
            }
        }
    }
    assert!(missing.is_empty(), "no example shows\n{}", missing.join("\n"));
}

#[test]
fn an_example_shows_a_function_if_it_names_it_whole() {
    assert!(calls("let a = store.is_empty();", "is_empty") && calls("Kind::of::<Pod>()", "of"));
    assert!(!calls("let a = store.is_empty_too();", "is_empty") && !calls("is_empty", "is_empty"));
    let text = "/// ```\n/// a.b();\n/// ```\n    pub fn b() {}\n    pub const fn c() {}\n    pub(crate) fn d() {}\n#[cfg(test)]\npub fn e() {}";
    assert_eq!(functions(text), ["b", "c"]);
    assert_eq!(examples(text, true), ["a.b();"]);
    assert_eq!(examples("Words.\n```\nlet a;\n```\n", false), ["let a;"]);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

fn is_rust(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "rs")
}

fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap();
    entries.flat_map(|entry| files(&entry.unwrap().path())).collect()
}

/// The examples of a crate's own documentation, also where that is a file of Markdown.
fn front_page(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    let above: Vec<&str> = text.lines().filter(|line| line.starts_with("//!")).collect();
    let mut lines = examples(&above.join("\n"), true);
    let included = text
        .lines()
        .filter_map(|line| line.strip_prefix("#![doc = include_str!(\"")?.strip_suffix("\")]"));
    for file in included {
        lines.extend(examples(
            &fs::read_to_string(folder.join("src").join(file)).unwrap(),
            false,
        ));
    }
    lines
}

/// The lines of code in the documentation of a file that are compiled; Markdown is documentation as a whole.
fn examples(text: &str, is_rust: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut block = None;
    for line in text.lines().map(str::trim_start) {
        let said = match line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
            Some(said) => said.trim(),
            None if is_rust => continue,
            None => line.trim(),
        };
        match (said.strip_prefix("```"), block) {
            (Some(language), None) => block = Some(["", "rust", "no_run", "should_panic"].contains(&language)),
            (Some(_), Some(_)) => block = None,
            (None, Some(true)) => lines.push(said.to_owned()),
            (None, _) => {}
        }
    }
    lines
}

/// The public functions of a file, up to its tests.
fn functions(text: &str) -> Vec<&str> {
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    let names = lines.filter_map(|line| {
        let line = line.trim_start().strip_prefix("pub ")?;
        let line = line.strip_prefix("const ").unwrap_or(line);
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ")?.split(['(', '<']).next()
    });
    names.collect()
}

/// Whether a line calls a function or names its path.
fn calls(line: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        !before.ends_with(is_word)
            && !after.starts_with(is_word)
            && (before.ends_with(['.', ':']) || after.starts_with('(') || after.starts_with("::<"))
    })
}
