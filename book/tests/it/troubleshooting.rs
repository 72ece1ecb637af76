//! The messages that the chapter "Troubleshooting" quotes exist in the sources.

use std::fs;
use std::path::Path;

const CHAPTER: &str = include_str!("../../src/troubleshooting.md");

/// The folders whose messages users see.
const SOURCES: [&str; 11] = [
    "admission",
    "apiserver",
    "apply",
    "cli",
    "cluster",
    "controllers",
    "manifests",
    "merge",
    "runtime",
    "scaffold",
    "testing",
];

#[test]
fn every_message_that_is_quoted_is_in_the_sources() {
    let files = files();
    let unknown: Vec<&str> = messages()
        .into_iter()
        .filter(|message| !files.iter().any(|text| says(text, message)))
        .collect();
    assert!(unknown.is_empty(), "nobody says\n{}", unknown.join("\n"));
}

#[test]
fn no_message_is_quoted_twice_and_there_are_many() {
    let mut messages = messages();
    assert!(messages.len() >= 60, "{}", messages.len());
    messages.sort_unstable();
    let twice = messages.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(twice, None);
}

#[test]
fn a_message_is_said_if_its_parts_are_in_order() {
    let text = plain("#[error(\"the cache of {kind} has no \\\n     index {index:?}\")]");
    assert!(says(&text, "the cache of … has no index …"));
    assert!(!says(&text, "the cache of … has no door …"));
    assert!(!says(&text, "has no index … the cache of"));
    assert!(!says(&"x".repeat(2000), "…"));
}

/// The headings that quote a message.
fn messages() -> Vec<&'static str> {
    let headings = CHAPTER.lines().filter_map(|line| line.strip_prefix("### "));
    headings
        .map(|heading| {
            let quoted = heading.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
            quoted.unwrap_or_else(|| panic!("{heading} is no message"))
        })
        .collect()
}

/// Whether a text contains the fixed parts of a message, in order and close to each other.
fn says(text: &str, message: &str) -> bool {
    /// How many characters may lie between two parts: a message and its hint are separate strings in the sources.
    const NEAR: usize = 700;
    let parts: Vec<&str> = message
        .split('…')
        .map(str::trim)
        .filter(|part| part.chars().any(char::is_alphanumeric))
        .collect();
    let Some((first, others)) = parts.split_first() else {
        return false;
    };
    text.match_indices(first).any(|(at, _)| {
        let end = text.floor_char_boundary((at + NEAR).min(text.len()));
        let mut rest = &text[at + first.len()..end.max(at + first.len())];
        others.iter().all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    })
}

/// The sources with the lines of a string joined, and with quotes and braces as they are printed.
fn files() -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut texts = Vec::new();
    for name in SOURCES {
        collect(&crates.join(name).join("src"), &mut texts);
    }
    assert!(texts.len() > 300, "{}", texts.len());
    texts
}

fn collect(path: &Path, texts: &mut Vec<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), texts);
        }
    } else if path.extension().is_some_and(|end| end == "rs") {
        texts.push(plain(&fs::read_to_string(path).unwrap()));
    }
}

fn plain(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut continued = false;
    for line in source.lines() {
        let line = if continued { line.trim_start() } else { line };
        continued = line.ends_with('\\');
        text.push_str(line.strip_suffix('\\').unwrap_or(line));
        if !continued {
            text.push('\n');
        }
    }
    text.replace("\\\"", "\"").replace("{{", "{").replace("}}", "}")
}
