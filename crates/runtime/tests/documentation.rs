//! Whoever reads the documentation finds every public function in an example that runs: its own, or one of its module.

use std::fs;
use std::path::{Path, PathBuf};

/// What only the derives call, and what the documentation hides.
const HIDDEN: [&str; 4] = ["located", "option", "list", "map"];

#[test]
fn every_public_function_is_in_an_example() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut missing = Vec::new();
    for module in fs::read_dir(&sources).unwrap() {
        let files = files(&module.unwrap().path());
        let texts: Vec<(PathBuf, String)> = files
            .into_iter()
            .map(|file| (file.clone(), fs::read_to_string(file).unwrap()))
            .collect();
        let examples: Vec<String> = texts.iter().flat_map(|(_, text)| examples(text)).collect();
        for (file, text) in texts
            .iter()
            .filter(|(file, _)| file.extension().is_some_and(|end| end == "rs"))
        {
            for name in functions(text) {
                let is_hidden = file.ends_with("conversion/field.rs") && HIDDEN.contains(&name);
                if !is_hidden && !examples.iter().any(|line| calls(line, name)) {
                    missing.push(format!("{}: {name}", file.strip_prefix(&sources).unwrap().display()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "no example shows\n{}", missing.join("\n"));
}

#[test]
fn an_example_shows_a_function_if_it_names_it_whole() {
    assert!(calls("let a = store.is_empty();", "is_empty") && calls("Kind::of::<Pod>()", "of"));
    assert!(calls("located(error)", "located"));
    assert!(!calls("let a = store.is_empty_too();", "is_empty") && !calls("is_empty", "is_empty"));
    let text = "/// ```\n/// a.b();\n/// ```\n    pub fn b() {}\n    pub const fn c() {}\n#[cfg(test)]\npub fn d() {}";
    assert_eq!(functions(text), ["b", "c"]);
    assert_eq!(examples(text), ["a.b();"]);
}

fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap();
    entries.flat_map(|entry| files(&entry.unwrap().path())).collect()
}

/// The lines of code in the documentation of a file; Markdown is documentation as a whole.
fn examples(text: &str) -> Vec<String> {
    let is_rust = text.lines().any(|line| line.trim_start().starts_with("pub "));
    let mut lines = Vec::new();
    let mut inside = false;
    for line in text.lines().map(str::trim_start) {
        let said = match line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
            Some(said) => said.trim(),
            None if is_rust => continue,
            None => line.trim(),
        };
        if said.starts_with("```") {
            inside = !inside;
        } else if inside {
            lines.push(said.to_owned());
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
