//! What the job controller may write into a job's status. A rule applies when the fields it is about change.

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::pod::internal;
use crate::rules::access::{IMMUTABLE, at, bool_at, int_at, list_at, opt_int_at, opt_str_at, same, str_at};
use crate::rules::printed;

use super::indexes;

/// Whether the job's condition `kind` is true.
pub(super) fn is_true(job: &Value, kind: &str) -> bool {
    has_condition(job, kind, "True")
}

fn has_condition(job: &Value, kind: &str, status: &str) -> bool {
    list_at(job, &["status", "conditions"])
        .iter()
        .any(|condition| str_at(condition, &["type"]) == kind && str_at(condition, &["status"]) == status)
}

fn is_finished(job: &Value) -> bool {
    is_true(job, "Complete") || is_true(job, "Failed")
}

/// Everything wrong with an update of the status.
pub(super) fn validate(job: &Value, old: &Value, errors: &mut Errors) {
    let path = PathRef::root("status");
    validate_counts(job, &path, errors);
    validate_uncounted(job, &path.child("uncountedTerminatedPods"), errors);
    validate_ends(job, old, &path, errors);
    validate_indexes(job, old, &path, errors);
    validate_pods(job, old, &path, errors);
    validate_criteria(job, &path.child("conditions"), errors);
    validate_progress(job, old, &path, errors);
}

fn validate_counts(job: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for field in ["active", "succeeded", "failed", "ready", "terminating"] {
        let count = int_at(job, &["status", field]);
        crate::rules::access::require_non_negative(count, &path.child(field), errors);
    }
}

fn validate_uncounted(job: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for list in ["succeeded", "failed"] {
        let path = path.child(list);
        for (index, uid) in list_at(job, &["status", "uncountedTerminatedPods", list])
            .iter()
            .enumerate()
        {
            let uid = uid.as_str().unwrap_or_default();
            if uid.is_empty() {
                errors.push(FieldError::invalid(&path.index(index), uid, "must not be empty"));
            } else if !seen.insert(uid) {
                errors.push(FieldError::duplicate(&path.index(index), uid));
            }
        }
    }
}

fn changed(job: &Value, old: &Value, field: &str) -> bool {
    !same(at(job, &["status", field]), at(old, &["status", field]))
}

fn condition_changed(job: &Value, old: &Value, kind: &str) -> bool {
    is_true(job, kind) != is_true(old, kind)
}

fn validate_ends(job: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let conditions = path.child("conditions");
    let mut refuse = |applies: bool, broken: bool, words: &str| {
        if applies && broken {
            errors.push(printed::invalid_without_value(&conditions, words));
        }
    };
    let (complete, failed) = (is_true(job, "Complete"), is_true(job, "Failed"));
    let complete_turned = condition_changed(job, old, "Complete");
    let failed_turned = condition_changed(job, old, "Failed");
    let target = is_true(job, "FailureTarget");
    refuse(
        complete_turned || failed_turned,
        complete && failed,
        "cannot set Complete=True and Failed=true conditions",
    );
    refuse(
        complete_turned || condition_changed(job, old, "FailureTarget"),
        complete && target,
        "cannot set Complete=True and FailureTarget=true conditions",
    );
    validate_times(job, old, complete_turned, path, errors);
    let mut refuse = |applies: bool, broken: bool, words: &str| {
        if applies && broken {
            errors.push(printed::invalid_without_value(&conditions, words));
        }
    };
    refuse(
        failed_turned || changed(job, old, "failedIndexes"),
        failed && !target,
        "cannot set Failed=True condition without the FailureTarget=true condition",
    );
    refuse(
        complete_turned || condition_changed(job, old, "SuccessCriteriaMet"),
        complete && !is_true(job, "SuccessCriteriaMet"),
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    );
}

fn validate_times(job: &Value, old: &Value, complete_turned: bool, path: &PathRef<'_>, errors: &mut Errors) {
    let end_path = path.child("completionTime");
    let (start, end) = (
        opt_str_at(job, &["status", "startTime"]),
        opt_str_at(job, &["status", "completionTime"]),
    );
    let complete = is_true(job, "Complete");
    let end_changed = changed(job, old, "completionTime");
    if complete_turned || end_changed {
        match end {
            Some(end) if !complete => {
                let words = "cannot set completionTime when there is no Complete=True condition";
                errors.push(FieldError::invalid(&end_path, end, words));
            }
            None if complete => {
                errors.push(FieldError::required(
                    &end_path,
                    "completionTime is required for Complete jobs",
                ));
            }
            _ => {}
        }
    }
    if let (Some(start), Some(end)) = (start, end)
        && (changed(job, old, "startTime") || end_changed)
        && end < start
    {
        errors.push(FieldError::invalid(
            &end_path,
            end,
            "must be equal to or after `startTime`",
        ));
    }
}

fn validate_indexes(job: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let finished_turned = is_finished(job) != is_finished(old);
    if (finished_turned || changed(job, old, "active")) && is_finished(job) {
        let active = int_at(job, &["status", "active"]);
        if active > 0 {
            errors.push(FieldError::invalid(
                &path.child("active"),
                active,
                "active>0 is invalid for finished job",
            ));
        }
    }
    let idle = bool_at(job, &["spec", "suspend"]) && opt_int_at(job, &["spec", "completions"]) == Some(0);
    let start_matters = (finished_turned || changed(job, old, "startTime")) && !idle;
    if start_matters && is_finished(job) && at(job, &["status", "startTime"]).is_none() {
        errors.push(FieldError::required(
            &path.child("startTime"),
            "startTime is required for finished job",
        ));
    }
    let uncounted = at(job, &["status", "uncountedTerminatedPods"]);
    if (finished_turned || changed(job, old, "uncountedTerminatedPods"))
        && is_finished(job)
        && let Some(pods) = uncounted.filter(|pods| {
            ["succeeded", "failed"]
                .iter()
                .any(|list| !list_at(pods, &[list]).is_empty())
        })
    {
        let shown = internal::print("UncountedTerminatedPods", pods);
        let path = path.child("uncountedTerminatedPods");
        errors.push(internal::invalid(&path, &shown, "must be empty for finished job"));
    }
    validate_index_texts(job, old, path, errors);
}

fn validate_index_texts(job: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let completions = opt_int_at(job, &["spec", "completions"]);
    let per_index = at(job, &["spec", "backoffLimitPerIndex"]).is_some();
    let done = str_at(job, &["status", "completedIndexes"]);
    let failed = opt_str_at(job, &["status", "failedIndexes"]);
    let (done_path, failed_path) = (path.child("completedIndexes"), path.child("failedIndexes"));
    let (done_changed, failed_changed) = (
        changed(job, old, "completedIndexes"),
        changed(job, old, "failedIndexes"),
    );
    if let Some(completions) = completions {
        if let (true, Err(problem)) = (done_changed, indexes::count(done, completions)) {
            errors.push(FieldError::invalid(
                &done_path,
                done,
                format!("error parsing completedIndexes: {problem}"),
            ));
        }
        if let (true, Some(failed)) = (failed_changed && per_index, failed)
            && let Err(problem) = indexes::count(failed, completions)
        {
            errors.push(FieldError::invalid(
                &failed_path,
                failed,
                format!("error parsing failedIndexes: {problem}"),
            ));
        }
    }
    if done_changed && !done.is_empty() && str_at(job, &["spec", "completionMode"]) != "Indexed" {
        let words = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.push(FieldError::invalid(&done_path, done, words));
    }
    let Some(failed) = failed else { return };
    if failed_changed && !per_index {
        let words = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        errors.push(FieldError::invalid(&failed_path, failed, words));
    }
    if let (true, Some(completions)) = (failed_changed || done_changed, completions)
        && let Some(index) = indexes::overlap(done, failed, completions)
    {
        let words = format!("failedIndexes and completedIndexes overlap at index: {index}");
        errors.push(FieldError::invalid(&failed_path, failed, words));
    }
}

fn validate_pods(job: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let finished_turned = is_finished(job) != is_finished(old);
    let terminating = int_at(job, &["status", "terminating"]);
    if (finished_turned || changed(job, old, "terminating")) && is_finished(job) && terminating > 0 {
        let words = "terminating>0 is invalid for finished job";
        errors.push(FieldError::invalid(&path.child("terminating"), terminating, words));
    }
    if let Some(ready) = opt_int_at(job, &["status", "ready"]) {
        let matters = changed(job, old, "ready") || changed(job, old, "active");
        if matters && ready > int_at(job, &["status", "active"]) {
            errors.push(FieldError::invalid(
                &path.child("ready"),
                ready,
                "cannot set more ready pods than active",
            ));
        }
    }
}

fn validate_criteria(job: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let met = is_true(job, "SuccessCriteriaMet");
    let mut refuse = |broken: bool, words: &str| {
        if broken {
            errors.push(printed::invalid_without_value(path, words));
        }
    };
    refuse(
        met && is_true(job, "Failed"),
        "cannot set SuccessCriteriaMet=True and Failed=true conditions",
    );
    refuse(
        met && is_true(job, "FailureTarget"),
        "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    );
    refuse(
        at(job, &["spec", "successPolicy"]).is_some() && !met && is_true(job, "Complete"),
        "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
    );
}

fn validate_progress(job: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let conditions = path.child("conditions");
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if is_true(old, kind) && !is_true(job, kind) {
            let words = format!("cannot disable the terminal {kind}=True condition");
            errors.push(printed::invalid_without_value(&conditions, &words));
        }
    }
    let elastic = str_at(job, &["spec", "completionMode"]) == "Indexed"
        && opt_int_at(job, &["spec", "completions"]) == opt_int_at(job, &["spec", "parallelism"]);
    for (field, applies) in [("failed", true), ("succeeded", !elastic)] {
        let count = int_at(job, &["status", field]);
        if applies && count < int_at(old, &["status", field]) {
            errors.push(FieldError::invalid(
                &path.child(field),
                count,
                format!("cannot decrease the {field} counter"),
            ));
        }
    }
    let time = |job, field: &str| at(job, &["status", field]).cloned();
    if let (Some(end), Some(before)) = (time(job, "completionTime"), time(old, "completionTime"))
        && end != before
    {
        errors.push(FieldError::invalid(&path.child("completionTime"), end, IMMUTABLE));
    }
    let resuming = is_true(old, "Suspended") && has_condition(job, "Suspended", "False");
    let started = at(old, &["status", "startTime"]).is_some();
    if started && changed(job, old, "startTime") && !resuming && !bool_at(job, &["spec", "suspend"]) {
        let shown = time(job, "startTime").unwrap_or_default();
        let words = "field is immutable for unsuspended job once set";
        errors.push(FieldError::invalid(&path.child("startTime"), shown, words));
    }
    let (met, was_met) = (is_true(job, "SuccessCriteriaMet"), is_true(old, "SuccessCriteriaMet"));
    if was_met && !met {
        let words = "cannot disable the SuccessCriteriaMet=True condition";
        errors.push(printed::invalid_without_value(&conditions, words));
    }
    if is_true(old, "Complete") && !was_met && met {
        let words = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        errors.push(printed::invalid_without_value(&conditions, words));
    }
}
