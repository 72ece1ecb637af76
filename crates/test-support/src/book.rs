//! The chapters of the book and their code blocks, for the tests of the book and of the command that it describes.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the book.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book")
}

/// One chapter.
pub struct Chapter {
    /// Its file, relative to `src/`, with slashes.
    pub name: String,
    /// All of it, as it is written.
    pub text: String,
}

/// A line of a chapter that belongs to no code block, or a code block.
pub enum Part<'a> {
    /// A line of text.
    Prose {
        /// Its number, counted from 1.
        line: usize,
        /// What it says.
        text: &'a str,
    },
    /// A code block.
    Code(Block<'a>),
}

/// A fenced code block.
pub struct Block<'a> {
    /// The line of its opening fence, counted from 1.
    pub line: usize,
    /// What stands behind the fence: `rust`, `yaml`.
    pub info: &'a str,
    /// The lines between the fences.
    pub lines: Vec<&'a str>,
    /// Whether it has a closing fence.
    pub is_closed: bool,
}

impl Block<'_> {
    /// The first word of what stands behind the fence.
    pub fn language(&self) -> &str {
        self.info.split([',', ' ']).next().unwrap_or_default()
    }

    /// Its lines as one text.
    pub fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }
}

impl Chapter {
    /// Where a line is, for people.
    pub fn place(&self, line: usize) -> String {
        format!("book/src/{}:{line}", self.name)
    }

    /// Its lines and code blocks, in order.
    pub fn parts(&self) -> Vec<Part<'_>> {
        let mut parts = Vec::new();
        let mut lines = self.text.lines().enumerate();
        while let Some((index, text)) = lines.next() {
            let Some(info) = text.trim_start().strip_prefix("```") else {
                parts.push(Part::Prose { line: index + 1, text });
                continue;
            };
            let mut block = Block {
                line: index + 1,
                info: info.trim(),
                lines: Vec::new(),
                is_closed: false,
            };
            for (_, inner) in lines.by_ref() {
                if inner.trim() == "```" {
                    block.is_closed = true;
                    break;
                }
                block.lines.push(inner);
            }
            parts.push(Part::Code(block));
        }
        parts
    }

    /// Its code blocks.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        self.parts().into_iter().filter_map(|part| match part {
            Part::Code(block) => Some(block),
            Part::Prose { .. } => None,
        })
    }

    /// The lines outside of code blocks, with what is quoted within them blanked out.
    pub fn prose(&self) -> impl Iterator<Item = (usize, String)> {
        self.parts().into_iter().filter_map(|part| match part {
            Part::Prose { line, text } => Some((line, without_quotes(text))),
            Part::Code(_) => None,
        })
    }
}

/// A line in which everything between backticks is gone.
fn without_quotes(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// All files of the book but its table of contents, by name.
pub fn chapters() -> Vec<Chapter> {
    let source = root().join("src");
    let mut chapters = Vec::new();
    read_folder(&source, &source, &mut chapters);
    chapters.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!chapters.is_empty(), "a book has chapters");
    chapters
}

fn read_folder(source: &Path, folder: &Path, chapters: &mut Vec<Chapter>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_folder(source, &path, chapters);
        } else if path.extension().is_some_and(|extension| extension == "md") && !path.ends_with("SUMMARY.md") {
            let name = path.strip_prefix(source).unwrap();
            chapters.push(Chapter {
                name: name.to_str().unwrap().replace('\\', "/"),
                text: fs::read_to_string(&path).unwrap(),
            });
        }
    }
}

/// The targets of the links in a line: what is in the parentheses of `[text](target)`.
pub fn links(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some((_, after)) = rest.split_once("](") {
        let Some((target, behind)) = after.split_once(')') else {
            break;
        };
        found.push(target);
        rest = behind;
    }
    found
}
