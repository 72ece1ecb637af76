//! Why a text is not YAML, in the words of Go's `yaml`.

use saphyr_parser::ScanError;

use super::lookahead;

/// A text that cannot be read as YAML, or that has no JSON form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct YamlError {
    message: String,
}

impl YamlError {
    /// A failure of Go's `yaml`, which puts its name before it.
    pub(super) fn yaml(problem: impl std::fmt::Display) -> Self {
        Self {
            message: format!("yaml: {problem}"),
        }
    }

    /// A failure of the conversion to JSON.
    pub(super) fn conversion(message: String) -> Self {
        Self { message }
    }

    /// Rewords what the scanner says about `text`; `in_list` tells which kind of collection it was in.
    ///
    /// Go's `yaml` counts lines from zero and adds one only where its scanner (not its parser) complains; the first line
    /// is then not worth mentioning.
    pub(super) fn scan(error: &ScanError, text: &str, in_list: bool) -> Self {
        let mut line = error.marker().line().saturating_sub(1);
        // A JSON text is one flow collection, in which what follows a string must separate or end.
        let in_flow = text.trim_start().starts_with(['{', '[']);
        // The scanner reads ahead of the collections that it has announced.
        let in_list = if in_flow {
            is_in_list(text, error.marker().index())
        } else {
            in_list
        };
        let reworded = match reword(error.info(), in_list, in_flow) {
            (_, Origin::Parser) if in_flow && lookahead::meets_open_quote(text) => (END_OF_STREAM, Origin::Scanner),
            reworded => reworded,
        };
        let (problem, origin) = match reworded {
            (END_OF_STREAM, origin) => {
                line = text.matches('\n').count();
                (END_OF_STREAM, origin)
            }
            reworded => match tab_problem(text, line) {
                Some((problem, tab_line)) => {
                    line = tab_line;
                    (problem, Origin::Scanner)
                }
                None => reworded,
            },
        };
        match (line, origin) {
            (0, _) => Self::yaml(problem),
            (line, Origin::Scanner) => Self::yaml(format_args!("line {}: {problem}", line + 1)),
            (line, Origin::Parser) => Self::yaml(format_args!("line {line}: {problem}")),
        }
    }
}

pub(super) const CANNOT_START: &str = "found character that cannot start any token";
const END_OF_STREAM: &str = "found unexpected end of stream";

/// Which half of Go's `yaml` finds a problem.
enum Origin {
    Scanner,
    Parser,
}

/// A tab in the indentation of the line (counted from zero) at which the scanner gave up, or of the one below.
fn tab_problem(text: &str, line: usize) -> Option<(&'static str, usize)> {
    let lines: Vec<&str> = text.lines().skip(line.saturating_sub(1)).take(3).collect();
    let here = line.min(1);
    let at = (here..lines.len().min(here + 2)).find(|&at| lines[at].trim_start_matches(' ').starts_with('\t'))?;
    let before = at.checked_sub(1).map_or("", |before| lines[before].trim_end());
    // Behind a plain scalar the line might continue it; behind anything else it should start something.
    let continues_scalar = before.ends_with(|c: char| c.is_alphanumeric()) && !before.starts_with('#');
    let problem = if continues_scalar {
        "found a tab character that violates indentation"
    } else {
        CANNOT_START
    };
    Some((problem, line - here + at))
}

/// Whether the innermost flow collection that is open at a character is a list.
fn is_in_list(text: &str, at: usize) -> bool {
    let (mut open, mut in_string, mut escaped) = (Vec::new(), false, false);
    for character in text.chars().take(at) {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '{' | '[' => open.push(character),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
    }
    open.last() == Some(&'[')
}

/// The words of Go's `yaml` for a problem, by those of the scanner used here.
fn reword(info: &str, in_list: bool, in_flow: bool) -> (&str, Origin) {
    use Origin::{Parser, Scanner};
    let parser_problems = [
        "did not find expected ',' or ']'",
        "did not find expected ',' or '}'",
        "did not find expected '-' indicator",
        "did not find expected key",
        "did not find expected node content",
        "did not find expected <document start>",
        "found incompatible YAML document",
    ];
    if let Some(problem) = parser_problems.iter().find(|problem| info.ends_with(**problem)) {
        return (problem, Parser);
    }
    match info {
        "while parsing a flow sequence, expected ',' or ']'" | "misplaced bracket" => (parser_problems[0], Parser),
        "invalid trailing content after double-quoted scalar" if in_flow => {
            (parser_problems[usize::from(!in_list)], Parser)
        }
        "illegal placement of ':' indicator" | "invalid indentation in flow construct" => {
            (parser_problems[usize::from(!in_list)], Parser)
        }
        "did not find expected <document-start>" | "invalid content after document end marker" => {
            ("did not find expected <document start>", Parser)
        }
        "invalid indentation"
        | "unexpected end of plain scalar"
        | "invalid trailing content after double-quoted scalar" => ("did not find expected key", Parser),
        "the handle wasn't declared" => ("found undefined tag handle", Parser),
        "duplicate version directive" => ("found duplicate %YAML directive", Parser),
        "simple key expected" | "simple key expect ':'" => ("could not find expected ':'", Scanner),
        "unexpected eof"
        | "invalid indentation in quoted scalar"
        | "while scanning a quoted scalar, found unexpected end of stream" => (END_OF_STREAM, Scanner),
        "recursion limit exceeded" => ("exceeded max depth of 10000", Scanner),
        info if info.starts_with("unexpected character") || info.contains("tab") => (CANNOT_START, Scanner),
        info => (info.split_once(", ").map_or(info, |(_, problem)| problem), Scanner),
    }
}
