//! The chapters of the book and their code blocks, for the tests of the book and of the command that it describes.

mod printed;

use std::fs;
use std::path::{Path, PathBuf};

pub use self::printed::difference;

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

/// What a reader of a chapter does.
pub enum Step<'a> {
    /// Runs a command.
    Run {
        /// The line that has it, counted from 1.
        line: usize,
        /// What is typed.
        command: &'a str,
        /// What is shown of what it prints; see [`difference`].
        shown: Vec<&'a str>,
    },
    /// Writes a file.
    Write {
        /// Its path in the project.
        file: String,
        /// All of it.
        text: String,
    },
    /// Changes something in a file: "Change `maximum = 5` to `maximum = 9` in `src/lib.rs`".
    Change {
        /// Its path in the project.
        file: &'a str,
        /// What it says.
        from: &'a str,
        /// What it is to say.
        to: &'a str,
    },
    /// Looks at what a command that is still running prints next: a console that begins with no prompt.
    Look {
        /// The line where it begins, counted from 1.
        line: usize,
        /// What is shown of it.
        shown: Vec<&'a str>,
    },
}

impl Step<'_> {
    /// What a shell does of it, as a script has it. Nothing where there is nothing to do, and for a change, which is made by hand.
    pub fn script(&self) -> Option<String> {
        match self {
            Step::Run { command, .. } => Some(format!("{command}\n")),
            Step::Write { file, text } => Some(format!("cat > {file} <<'END'\n{text}END\n")),
            Step::Change { .. } | Step::Look { .. } => None,
        }
    }
}

impl<'a> Block<'a> {
    /// The first word of what stands behind the fence.
    pub fn language(&self) -> &str {
        self.info.split([',', ' ']).next().unwrap_or_default()
    }

    /// Its lines as one text.
    pub fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    /// As readers see it: mdBook and rustdoc hide lines of Rust that begin with `# `.
    fn visible_text(&self) -> String {
        let is_rust = self.language() == "rust";
        let is_visible = |line: &&&str| !(is_rust && (line.starts_with("# ") || **line == "#"));
        self.lines
            .iter()
            .filter(is_visible)
            .flat_map(|line| [*line, "\n"])
            .collect()
    }

    /// The commands of a console, each with the lines below it; first what stands above them.
    fn commands(&self) -> Vec<Step<'a>> {
        let mut commands: Vec<Step<'a>> = Vec::new();
        for (index, text) in self.lines.iter().enumerate() {
            if let Some(command) = text.strip_prefix("$ ") {
                let (line, shown) = (self.line + 1 + index, Vec::new());
                commands.push(Step::Run { line, command, shown });
            } else if let Some(Step::Run { shown, .. } | Step::Look { shown, .. }) = commands.last_mut() {
                shown.push(*text);
            } else {
                let (line, shown) = (self.line + 1 + index, vec![*text]);
                commands.push(Step::Look { line, shown });
            }
        }
        commands
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

    /// The commands that a reader runs and the files that a reader writes, in order, each with the heading of its section.
    pub fn steps(&self) -> Vec<(&str, Step<'_>)> {
        let (mut section, mut before) = ("", String::new());
        let mut steps = Vec::new();
        for part in self.parts() {
            match part {
                Part::Prose { text, .. } if text.starts_with("## ") => {
                    section = text.trim_start_matches("## ");
                    before.clear();
                }
                Part::Prose { text: "", .. } => {}
                Part::Prose { text, .. } => {
                    steps.extend(change(text).map(|step| (section, step)));
                    before.push_str(text);
                    before.push('\n');
                }
                Part::Code(block) => {
                    if block.language() == "console" {
                        steps.extend(block.commands().into_iter().map(|step| (section, step)));
                    } else if let Some(file) = file_of(&before) {
                        let (file, text) = (file.to_owned(), block.visible_text());
                        steps.push((section, Step::Write { file, text }));
                    }
                    before.clear();
                }
            }
        }
        steps
    }

    /// The lines outside of code blocks, with what is quoted within them blanked out.
    pub fn prose(&self) -> impl Iterator<Item = (usize, String)> {
        self.parts().into_iter().filter_map(|part| match part {
            Part::Prose { line, text } => Some((line, without_quotes(text))),
            Part::Code(_) => None,
        })
    }
}

/// The file that a block is the text of, if the sentence before the block names one: "Replace `src/lib.rs` by this:".
fn file_of(words: &str) -> Option<&str> {
    let sentence = ["Replace", "Give the sample", "Write"]
        .iter()
        .filter_map(|verb| words.rfind(verb))
        .max()?;
    words[sentence..].split('`').nth(1)
}

/// The change that a line asks for, if it does.
fn change(text: &str) -> Option<Step<'_>> {
    let parts: Vec<&str> = text.strip_prefix("Change `")?.split('`').collect();
    match *parts {
        [from, " to ", to, " in ", file, ..] => Some(Step::Change { file, from, to }),
        _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_runs_what_stands_behind_prompts_and_writes_what_is_named() {
        let chapter = Chapter {
            name: "a.md".to_owned(),
            text: "# A\n\n## One\n\n```console\n$ first\nsaid\n…\n$ second\n```\n\nReplace `src/lib.rs` by this:\n\n\
                   ```rust\n# hidden\nshown();\n```\n\n## Two\n\n```rust\nno_file();\n```\n\n\
                   Change `a` to `b` in `src/lib.rs` and save:\n\n```console\nbuilding\n…\n```\n"
                .to_owned(),
        };
        let steps = chapter.steps();
        let [(_, first), (_, second), (section, file), (_, change), (_, look)] = steps.as_slice() else {
            panic!("{} steps", steps.len());
        };
        assert!(matches!(first, Step::Run { line: 6, command: "first", shown } if *shown == ["said", "…"]));
        assert!(matches!(second, Step::Run { line: 9, command: "second", shown } if shown.is_empty()));
        assert!(matches!(file, Step::Write { file, text } if file == "src/lib.rs" && text == "shown();\n"));
        assert_eq!(*section, "One");
        assert_eq!(file.script().unwrap(), "cat > src/lib.rs <<'END'\nshown();\nEND\n");
        assert!(matches!(
            change,
            Step::Change {
                file: "src/lib.rs",
                from: "a",
                to: "b"
            }
        ));
        assert!(matches!(look, Step::Look { shown, .. } if *shown == ["building", "…"]));
    }
}
