//! What is known about policies and webhooks, for people.

use std::fmt::Write as _;

use kubewright_cel::Range;
use kubewright_cel::limits::PER_CALL;

use super::admission::{AdmissionReport, ExpressionReport, Issue};
use super::location::{self, Location};
use super::schema_report::{budget, cost};
use crate::colours::Colours;
use crate::documents::Document;

/// Writes a report.
pub(super) fn write(out: &mut String, report: &AdmissionReport<'_>, colours: Colours) {
    let AdmissionReport {
        document, kind, name, ..
    } = report;
    let _ = writeln!(out, "{}: {kind} {name}", document.name);
    for expression in &report.expressions {
        write_expression(out, document, expression, colours);
    }
    for issue in &report.issues {
        write_issue(out, document, None, issue, colours);
    }
    for note in &report.notes {
        let _ = writeln!(out, "  note: {note}");
    }
    let expressions = match report.expressions.len() {
        1 => "1 expression".to_owned(),
        count => format!("{count} expressions"),
    };
    let bad = report
        .expressions
        .iter()
        .filter(|expression| !expression.is_good())
        .count();
    let verdict = match (bad, report.issues.is_empty()) {
        (0, true) => "accepted".to_owned(),
        (0, false) => colours.bad("refused"),
        (count, _) => colours.bad(&format!("{count} with mistakes")),
    };
    let _ = writeln!(out, "  {expressions}, {verdict}");
}

fn write_expression(out: &mut String, document: &Document, expression: &ExpressionReport, colours: Colours) {
    let verdict = match (expression.is_good(), expression.warnings.is_empty()) {
        (true, true) => colours.good("ok"),
        (true, false) => colours.bad("warning"),
        (false, _) => colours.bad("refused"),
    };
    let text = expression.text.trim();
    let first = text.lines().next().unwrap_or_default();
    let more = if text.contains('\n') { " …" } else { "" };
    let _ = writeln!(out, "  {verdict} {}: {first}{more}", expression.field);
    if let Some(range) = expression.cost {
        let _ = writeln!(out, "     {}", colours.faint(&cost_text(range)));
    }
    for issue in expression.issues.iter().chain(&expression.warnings) {
        write_issue(out, document, Some(&expression.text), issue, colours);
    }
    if let Some(hint) = &expression.hint {
        let _ = writeln!(out, "     ({hint})");
    }
}

fn cost_text(range: Range) -> String {
    if range.max <= PER_CALL || range.min == range.max {
        return format!("cost {}", budget(range.max, PER_CALL));
    }
    format!(
        "cost depends on the object: from {} to what is allowed, {}",
        cost(range.min),
        cost(PER_CALL)
    )
}

/// What is wrong and where. The caret is under the mistake in the YAML where that can be found, and else below the lines of the
/// expression as CEL prints them.
fn write_issue(out: &mut String, document: &Document, expression: Option<&str>, issue: &Issue, colours: Colours) {
    let at = if issue.field.is_empty() || expression.is_some() {
        String::new()
    } else {
        format!("{}: ", issue.field)
    };
    let mut lines = issue.detail.lines().peekable();
    let mut is_first = true;
    while let Some(line) = lines.next() {
        let lead = if is_first { at.as_str() } else { "" };
        is_first = false;
        let _ = writeln!(out, "     {lead}{}", colours.issues(line));
        let found = expression.and_then(|expression| {
            let (line, column) = position(line)?;
            location::find(document.own_text(), expression, line, column)
        });
        if let Some(found) = found {
            while lines.next_if(|line| line.starts_with(" | ")).is_some() {}
            write_location(out, document, &found, colours);
        }
    }
}

fn write_location(out: &mut String, document: &Document, found: &Location<'_>, colours: Colours) {
    let line = document.lines_before + found.line;
    let margin = line.to_string().len();
    let blank = " ".repeat(margin);
    let dots = " ".repeat(found.column - 1);
    let _ = writeln!(out, "     {blank}--> {}:{line}:{}", document.file, found.column);
    let _ = writeln!(out, "     {line} | {}", found.text);
    let _ = writeln!(out, "     {blank} | {dots}{}", colours.bad("^"));
}

/// Line and column of a mistake, as in `ERROR: <input>:1:5: undefined field`.
fn position(line: &str) -> Option<(usize, usize)> {
    let (_, rest) = line.split_once("ERROR: <input>:")?;
    let mut numbers = rest.split(':');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
