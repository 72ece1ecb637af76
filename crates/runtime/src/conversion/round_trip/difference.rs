//! Which fields changed, in words.

use std::fmt::Write as _;

use serde_json::Value;

/// The most lines that a message shows.
const LINES: usize = 24;

/// A line for each field that is not the same.
pub(super) fn differences(went: &Value, came: &Value) -> String {
    let mut lines = Vec::new();
    compare(&mut String::new(), Some(went), Some(came), &mut lines);
    let left_out = lines.len().saturating_sub(LINES);
    let mut text = String::new();
    for line in lines.iter().take(LINES) {
        let _ = writeln!(text, "  {line}");
    }
    if left_out > 0 {
        let _ = writeln!(text, "  and {left_out} more");
    }
    text
}

fn compare(path: &mut String, went: Option<&Value>, came: Option<&Value>, lines: &mut Vec<String>) {
    if went == came {
        return;
    }
    let length = path.len();
    match (went, came) {
        (Some(Value::Object(went)), Some(Value::Object(came))) => {
            let keys = went.keys().chain(came.keys().filter(|key| !went.contains_key(*key)));
            for key in keys {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
                compare(path, went.get(key), came.get(key), lines);
                path.truncate(length);
            }
        }
        (Some(Value::Array(went)), Some(Value::Array(came))) => {
            for at in 0..went.len().max(came.len()) {
                let _ = write!(path, "[{at}]");
                compare(path, went.get(at), came.get(at), lines);
                path.truncate(length);
            }
        }
        (Some(went), Some(came)) => lines.push(format!("{path}: {went} came back as {came}")),
        (Some(went), None) => lines.push(format!("{path}: {went} did not come back")),
        (None, Some(came)) => lines.push(format!("{path}: was absent and came back as {came}")),
        (None, None) => {}
    }
}
