//! The results of cases, for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::case::{Case, Verdict};
use super::folder::text as field;
use super::trial::CaseResult;
use crate::colours::Colours;

const HEADINGS: [&str; 6] = ["FILE", "CASE", "REQUEST", "EXPECTED", "VERDICT", "RESULT"];

/// A table, the failures and a line that counts.
pub(super) fn text(results: &[CaseResult<'_>], colours: Colours) -> String {
    let rows: Vec<[String; 6]> = results.iter().map(row).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default().max(HEADINGS[column].len())
    };
    let widths: Vec<usize> = (0..HEADINGS.len() - 1).map(width).collect();
    let mut out = String::new();
    let line = |out: &mut String, cells: &[&str; 6], last: String| {
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(out, "{cell:width$}   ");
        }
        out.push_str(&last);
        out.push('\n');
    };
    line(&mut out, &HEADINGS, HEADINGS[5].to_owned());
    for (row, result) in rows.iter().zip(results) {
        let verdict = if result.is_passed() {
            colours.good(&row[5])
        } else {
            colours.bad(&row[5])
        };
        line(&mut out, &row.each_ref().map(String::as_str), verdict);
    }
    let failed: Vec<&CaseResult<'_>> = results.iter().filter(|result| !result.is_passed()).collect();
    for result in &failed {
        let _ = writeln!(out, "\n{}: {}", result.case.file, result.case.name);
        for failure in &result.failures {
            for line in failure.lines() {
                let _ = writeln!(out, "  {line}");
            }
        }
    }
    let verdict = if failed.is_empty() {
        colours.good("ok")
    } else {
        colours.bad("FAILED")
    };
    let passed = results.len() - failed.len();
    let _ = writeln!(
        out,
        "\ntest result: {verdict}. {passed} passed; {} failed",
        failed.len()
    );
    out
}

fn row(result: &CaseResult<'_>) -> [String; 6] {
    let case = result.case;
    [
        case.file.clone(),
        case.name.clone(),
        request(case),
        case.expected.verdict.name().to_owned(),
        verdict(result).to_owned(),
        if result.is_passed() { "ok" } else { "FAILED" }.to_owned(),
    ]
}

fn verdict(result: &CaseResult<'_>) -> &'static str {
    result
        .verdict
        .as_ref()
        .map_or("error", |verdict| Verdict::name(*verdict))
}

/// A request in short, as in `UPDATE Deployment web`.
fn request(case: &Case) -> String {
    let part = case.subresource_path();
    let (kind, name) = (field(&case.object, "/kind"), field(&case.object, "/metadata/name"));
    let user = match &case.user {
        Some(user) => format!(" by {}", user.name),
        None => String::new(),
    };
    format!("{} {kind}{part} {name}{user}", case.operation.name())
}

/// Everything, as JSON.
pub(super) fn json(results: &[CaseResult<'_>]) -> String {
    let one = |result: &CaseResult<'_>| {
        json!({
            "file": result.case.file,
            "name": result.case.name,
            "request": request(result.case),
            "expected": result.case.expected.verdict.name(),
            "verdict": verdict(result),
            "message": result.message,
            "warnings": result.warnings,
            "passed": result.is_passed(),
            "failures": result.failures,
        })
    };
    let failed = results.iter().filter(|result| !result.is_passed()).count();
    let all = json!({
        "passed": results.len() - failed,
        "failed": failed,
        "cases": results.iter().map(one).collect::<Vec<Value>>(),
    });
    let mut text = serde_json::to_string_pretty(&all).unwrap_or_default();
    text.push('\n');
    text
}
