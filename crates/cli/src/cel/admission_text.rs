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
    let verdict = if !expression.issues.is_empty() {
        colours.bad("refused")
    } else if !expression.type_issues.is_empty() {
        colours.bad("mistyped")
    } else {
        colours.good("ok")
    };
    let text = expression.text.trim();
    let first = text.lines().next().unwrap_or_default();
    let more = if text.contains('\n') { " …" } else { "" };
    let _ = writeln!(out, "  {verdict} {}: {first}{more}", expression.field);
    if let Some(range) = expression.cost {
        let _ = writeln!(out, "     {}", colours.faint(&cost_text(range)));
    }
    for issue in expression.issues.iter().chain(&expression.type_issues) {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// What the server finds when it checks a policy against the types of the kinds that it is about.
    #[test]
    fn a_mistake_of_types_is_shown_at_its_place() {
        let yaml = "spec:\n  validations:\n  - expression: object.spec.replcas < 5\n";
        let document = Document {
            name: "p.yaml (document 2)".to_owned(),
            value: serde_json::Value::Null,
            file: "p.yaml".to_owned(),
            text: Arc::from(format!("a: 1\n---\n{yaml}")),
            lines_before: 2,
            lines: 3,
        };
        let field = "spec.validations[0].expression";
        let detail = "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replcas'\n | object.spec.replcas < 5\n | ...........^";
        let report = AdmissionReport {
            document: &document,
            kind: "ValidatingAdmissionPolicy",
            name: "few",
            expressions: vec![ExpressionReport {
                field: field.to_owned(),
                text: "object.spec.replcas < 5".to_owned(),
                cost: None,
                issues: Vec::new(),
                type_issues: vec![Issue {
                    field: field.to_owned(),
                    detail: detail.to_owned(),
                }],
                hint: None,
            }],
            issues: Vec::new(),
            notes: Vec::new(),
        };
        let mut out = String::new();
        write(&mut out, &report, Colours::of(&tempfile::tempfile().unwrap()));
        assert_eq!(
            out,
            "\
p.yaml (document 2): ValidatingAdmissionPolicy few
  mistyped spec.validations[0].expression: object.spec.replcas < 5
     apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replcas'
      --> p.yaml:5:28
     5 |   - expression: object.spec.replcas < 5
       |                            ^
  1 expression, 1 with mistakes
"
        );
    }
}
