//! The text of an expression and what was found wrong with it.
//! Positions are counted in code points, as cel-go prints them.

use std::fmt;

/// The text of an expression, split into code points so that positions are cheap.
#[derive(Debug, Clone)]
pub struct Source {
    pub(crate) chars: Vec<char>,
    line_starts: Vec<usize>,
}

impl Source {
    /// Reads the text of an expression.
    pub fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let line_starts = std::iter::once(0)
            .chain(
                chars
                    .iter()
                    .enumerate()
                    .filter(|(_, c)| **c == '\n')
                    .map(|(i, _)| i + 1),
            )
            .collect();
        Self { chars, line_starts }
    }

    /// The position of a code point: its line from one and its column from zero.
    pub fn position(&self, offset: usize) -> Position {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        Position {
            line,
            column: offset.saturating_sub(start),
        }
    }

    fn line(&self, number: usize) -> Option<String> {
        let start = *self.line_starts.get(number.checked_sub(1)?)?;
        let end = self.line_starts.get(number).map_or(self.chars.len(), |next| next - 1);
        Some(self.chars.get(start..end)?.iter().collect())
    }

    pub(crate) fn slice(&self, start: usize, end: usize) -> String {
        let end = end.min(self.chars.len());
        self.chars.get(start.min(end)..end).unwrap_or_default().iter().collect()
    }
}

/// A place in the text: line from one, column from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, counted from one; zero when the mistake has no place.
    pub line: usize,
    /// The column in code points, counted from zero.
    pub column: usize,
}

/// One mistake in an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Where it is; `None` for mistakes of the expression as a whole.
    pub position: Option<Position>,
    /// What is wrong, as cel-go words it.
    pub message: String,
}

/// The mistakes found in one expression, in the order of their positions.
///
/// ```
/// use kubewright_cel::{Env, Source};
///
/// let text = "1 +\n  true";
/// let issues = Env::kubernetes().check(text).unwrap_err();
/// let first = issues.iter().next().unwrap();
/// assert!(first.message.contains("no matching overload for '_+_'"), "{issues}");
/// let place = Source::new(text).position(6); // a code point
/// assert_eq!((place.line, place.column), (2, 2));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issues {
    issues: Vec<Issue>,
    rendered: String,
}

/// More issues than this are counted, not shown.
const MAX_SHOWN: usize = 100;
/// Lines longer than this are not repeated below an issue.
const MAX_SNIPPET: usize = 16_384;

impl Issues {
    pub(crate) fn new(source: &Source, mut issues: Vec<Issue>) -> Self {
        let total = issues.len();
        issues.truncate(MAX_SHOWN);
        issues.sort_by_key(|issue| issue.position.map_or((-1, 0), |p| (p.line as i64, p.column)));
        let mut lines: Vec<String> = issues.iter().map(|issue| render(source, issue)).collect();
        if total > MAX_SHOWN {
            lines.push(format!("{} more errors were truncated", total - MAX_SHOWN));
        }
        Self {
            issues,
            rendered: lines.join("\n"),
        }
    }

    /// The issues one by one.
    pub fn iter(&self) -> impl Iterator<Item = &Issue> {
        self.issues.iter()
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rendered)
    }
}

impl std::error::Error for Issues {}

fn render(source: &Source, issue: &Issue) -> String {
    let Some(position) = issue.position else {
        return format!("ERROR: <input>:-1:0: {}", issue.message);
    };
    // An empty text has no line to show, and no column.
    if source.chars.is_empty() {
        return format!("ERROR: <input>:{}:0: {}", position.line, issue.message);
    }
    let mut out = format!(
        "ERROR: <input>:{}:{}: {}",
        position.line,
        position.column + 1,
        issue.message
    );
    let Some(line) = source.line(position.line).filter(|line| line.len() <= MAX_SNIPPET) else {
        return out;
    };
    let line = line.replace('\t', " ");
    out.push_str("\n | ");
    out.push_str(&line);
    out.push_str("\n | ");
    let mut rest = line.chars();
    for c in rest.by_ref().take(position.column) {
        out.push(if c.len_utf8() > 1 { '\u{ff0e}' } else { '.' });
    }
    out.push(if rest.next().is_some_and(|c| c.len_utf8() > 1) {
        '\u{ff3e}'
    } else {
        '^'
    });
    out
}
