//! Where a position in an expression is in the YAML that the expression stands in.

/// A position in a file, and the line it is in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Location<'t> {
    /// Counted from 1.
    pub(super) line: usize,
    /// Counted from 1, in characters.
    pub(super) column: usize,
    /// The text of the line.
    pub(super) text: &'t str,
}

/// The forms in which YAML writes a character: as it is, in single quotes and in double quotes.
const FORMS: [fn(&str) -> String; 3] = [
    str::to_owned,
    |text| text.replace('\'', "''"),
    |text| text.replace('\\', "\\\\").replace('"', "\\\""),
];

/// Finds a position of an expression, by its line and column counted from 1, in the text of a document. There is none if the line of
/// the expression is broken or escaped otherwise there, or stands there more than once.
pub(super) fn find<'t>(document: &'t str, expression: &str, line: usize, column: usize) -> Option<Location<'t>> {
    let wanted = expression.lines().nth(line.checked_sub(1)?)?;
    let trimmed = wanted.trim();
    if trimmed.is_empty() {
        return None;
    }
    let indentation = wanted.chars().count() - wanted.trim_start().chars().count();
    let before: String = trimmed
        .chars()
        .take(column.checked_sub(1)?.checked_sub(indentation)?)
        .collect();
    FORMS.iter().find_map(|form| {
        let written = form(trimmed);
        let mut found = document
            .lines()
            .enumerate()
            .filter_map(|(at, text)| Some((at, text, text.find(&written)?)));
        let (at, text, start) = found.next()?;
        if found.next().is_some() || text[start + written.len()..].contains(&written) {
            return None;
        }
        Some(Location {
            line: at + 1,
            column: text[..start].chars().count() + form(&before).chars().count() + 1,
            text,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(document: &str, expression: &str, line: usize, column: usize) -> Option<(usize, usize)> {
        find(document, expression, line, column).map(|found| (found.line, found.column))
    }

    #[test]
    fn plain_quoted_and_literal_expressions_are_found() {
        assert_eq!(at("a: 1\nb: x.y\n", "x.y", 1, 3), Some((2, 6)));
        assert_eq!(at("b: 'x == ''a'' && y'\n", "x == 'a' && y", 1, 13), Some((1, 19)));
        assert_eq!(
            at("b: \"x == \\\"a\\\" && y\"\n", "x == \"a\" && y", 1, 13),
            Some((1, 19))
        );
        assert_eq!(at("b: |\n  x &&\n    y\n", "x &&\n  y\n", 2, 3), Some((3, 5)));
    }

    #[test]
    fn what_is_not_there_or_there_twice_is_not_found() {
        assert_eq!(at("b: >\n  x\n  + y\n", "x + y", 1, 1), None);
        assert_eq!(at("a: x.y\nb: x.y\n", "x.y", 1, 1), None);
        assert_eq!(at("a: [x.y, x.y]\n", "x.y", 1, 1), None);
        assert_eq!(at("a: x", "x", 2, 1), None);
    }
}
