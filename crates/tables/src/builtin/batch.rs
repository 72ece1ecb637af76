//! Jobs and what makes them by the clock.

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, containers, name};
use crate::age;
use crate::read::{count, given_or, int, is_true, text};
use crate::row::Cell;
use crate::selector::format_selector;

pub(super) fn job(object: &Value, now: Timestamp) -> Vec<Cell> {
    let spec = &object["spec"];
    let (names, images) = containers(&spec["template"]["spec"]);
    cells![
        name(object),
        job_status(object),
        completions(object),
        job_duration(&object["status"], now),
        age::of(object, now),
        names,
        images,
        format_selector(&spec["selector"]),
    ]
}

fn job_status(object: &Value) -> &'static str {
    let has = |kind| is_true(&object["status"]["conditions"], kind);
    if has("Complete") {
        "Complete"
    } else if has("Failed") {
        "Failed"
    } else if !object["metadata"]["deletionTimestamp"].is_null() {
        "Terminating"
    } else if has("Suspended") {
        "Suspended"
    } else if has("FailureTarget") {
        "FailureTarget"
    } else if has("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}

fn completions(object: &Value) -> String {
    let (spec, succeeded) = (&object["spec"], int(&object["status"]["succeeded"]));
    match (spec["completions"].as_i64(), int(&spec["parallelism"])) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

/// Empty before the start; the time a field holds is never the zero time behind upstream's validation.
fn job_duration(status: &Value, now: Timestamp) -> String {
    let Some(start) = age::time(&status["startTime"]) else {
        return String::new();
    };
    let end = age::time(&status["completionTime"]).unwrap_or_else(|| now.as_nanosecond());
    age::human_duration(age::between(start, end))
}

pub(super) fn cron_job(object: &Value, now: Timestamp) -> Vec<Cell> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let template = &spec["jobTemplate"]["spec"];
    let (names, images) = containers(&template["template"]["spec"]);
    let suspended = match spec["suspend"].as_bool() {
        None => "<unset>",
        Some(true) => "True",
        Some(false) => "False",
    };
    let last = match &status["lastScheduleTime"] {
        Value::Null => "<none>".into(),
        time => age::since(time, now),
    };
    cells![
        name(object),
        text(&spec["schedule"]),
        given_or(&spec["timeZone"], "<none>"),
        suspended,
        count(&status["active"]),
        last,
        age::of(object, now),
        names,
        images,
        format_selector(&template["selector"]),
    ]
}
