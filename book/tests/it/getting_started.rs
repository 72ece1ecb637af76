//! `walkthroughs/getting-started` is the chapter "Getting started" as one script, up to where the operator runs.

use std::fmt::Write as _;
use std::fs;

use kubewright_test_support::book::{Block, Chapter, Part, chapters, root};

const HEAD: &str = r#"#!/usr/bin/env bash
# The chapter "Getting started" of the book as one script: from an empty folder to an operator with its tests and manifests. It needs Rust
# and the command `kubewright`. Made from book/src/getting-started.md: `UPDATE_GOLDEN=1 cargo test -p kubewright-book` writes it anew.
set -euo pipefail
"#;

const END: &str = r#"
cat <<'END'

Next, in the folder website:
  make run ARGS="--embedded --samples"    # a cluster, the operator, and its sample; Ctrl-C stops it
END
"#;

/// The commands that a reader runs and the files that a reader writes, in order.
fn script(chapter: &Chapter) -> String {
    let mut script = HEAD.to_owned();
    let mut section = "";
    let mut before = String::new();
    for part in chapter.parts() {
        match part {
            Part::Prose { text, .. } if text.starts_with("## ") => {
                section = text.trim_start_matches("## ");
                before.clear();
            }
            Part::Prose { text: "", .. } => {}
            Part::Prose { text, .. } => {
                before.push_str(text);
                before.push('\n');
            }
            Part::Code(block) => {
                match (section, block.language()) {
                    // The tests have the command already, and they do not run commands that only Ctrl-C ends.
                    ("Install the command", _) => {}
                    ("Run it", _) => break,
                    (_, "console") => {
                        for command in block.lines.iter().filter_map(|line| line.strip_prefix("$ ")) {
                            writeln!(script, "\n{command}").unwrap();
                        }
                    }
                    _ => {
                        if let Some(file) = file_of(&before) {
                            write!(script, "\ncat > {file} <<'END'\n{}END\n", shown(&block)).unwrap();
                        }
                    }
                }
                before.clear();
            }
        }
    }
    script + END
}

/// The file that a block is the text of, if the sentence before the block names one: "Replace `src/lib.rs` by this:".
fn file_of(words: &str) -> Option<&str> {
    let sentence = ["Replace", "Give the sample"]
        .iter()
        .filter_map(|verb| words.rfind(verb))
        .max()?;
    words[sentence..].split('`').nth(1)
}

/// A block as readers see it: mdBook and rustdoc hide lines of Rust that begin with `# `.
fn shown(block: &Block<'_>) -> String {
    let is_rust = block.language() == "rust";
    let is_hidden = |line: &&&str| is_rust && (line.starts_with("# ") || **line == "#");
    let mut text = String::new();
    for line in block.lines.iter().filter(|line| !is_hidden(line)) {
        writeln!(text, "{line}").unwrap();
    }
    text
}

#[test]
fn the_script_does_what_the_chapter_says() {
    let chapters = chapters();
    let chapter = chapters
        .iter()
        .find(|chapter| chapter.name == "getting-started.md")
        .unwrap();
    let path = root().join("../walkthroughs/getting-started");
    let script = script(chapter);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &script).unwrap();
    }
    assert_eq!(
        script,
        fs::read_to_string(&path).unwrap_or_default(),
        "walkthroughs/getting-started is not what the chapter says: UPDATE_GOLDEN=1 writes it anew"
    );
}
