//! Jobs: pods that run to completion. The server labels and selects their pods by the uid of the Job unless its creator
//! does; most of a Job never changes.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::{Map, Value, json};

use crate::behaviour::{Behaviour, Create, Update};
use crate::pod::options::Options;
use crate::pod::{internal, template};
use crate::rules::access::{
    IMMUTABLE, at, bool_at, complain, int_at, is_unset, keep, map_at, map_mut, opt_bool_at, opt_int_at, opt_str_at,
    part, require_non_negative, same, set_default, str_at,
};
use crate::rules::labels::{self, SelectorOptions};
use crate::workloads::common;

use super::{job_policies, job_status};

const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
const JOB_NAME: &str = "batch.kubernetes.io/job-name";
const LEGACY_CONTROLLER_UID: &str = "controller-uid";
const LEGACY_JOB_NAME: &str = "job-name";
const MANY: i64 = 100_000;
const MANY_FOR_BACKOFF: i64 = 10_000;

/// Jobs.
pub(crate) struct Job;

impl Behaviour for Job {
    fn default(&self, object: &mut Value) {
        let spec = ["spec"];
        if at(object, &["spec", "completions"]).is_none() && at(object, &["spec", "parallelism"]).is_none() {
            set_default(object, &spec, "completions", 1);
        }
        set_default(object, &spec, "parallelism", 1);
        let per_index = at(object, &["spec", "backoffLimitPerIndex"]).is_some();
        set_default(object, &spec, "backoffLimit", if per_index { i32::MAX } else { 6 });
        set_default(object, &spec, "completionMode", "NonIndexed");
        set_default(object, &spec, "suspend", false);
        let with_policy = at(object, &["spec", "podFailurePolicy"]).is_some();
        let replacement = if with_policy { "Failed" } else { "TerminatingOrFailed" };
        set_default(object, &spec, "podReplacementPolicy", replacement);
        set_default(object, &spec, "manualSelector", false);
        if let Some(spec) = object.get_mut("spec") {
            default_policy(spec);
        }
        template::default(common::template_mut(object));
    }

    fn prepare_create(&self, create: Create<'_>) {
        let Create { object } = create;
        common::prepare_create(object);
        let unlabelled = is_unset(object, &["metadata", "labels"]);
        let own: Vec<String> = map_at(object, &["spec", "template", "metadata", "labels"])
            .map(|labels| labels.keys().cloned().collect())
            .unwrap_or_default();
        if !bool_at(object, &["spec", "manualSelector"]) {
            generate_selector(object);
        }
        label_like_template(object);
        if unlabelled {
            own_labels(object, &own);
        }
    }

    fn prepare_update(&self, mut update: Update<'_>) {
        common::prepare_update(&mut update);
        label_like_template(update.object);
    }

    /// The labels are those of the template, which has none before the server makes them.
    fn is_created_without_defaults(&self, object: &Value) -> bool {
        const GENERATED: [&str; 4] = [CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME];
        let labels = map_at(object, &["metadata", "labels"]);
        labels.is_some_and(|labels| labels.keys().all(|label| GENERATED.contains(&label.as_str())))
            && labels == map_at(object, &["spec", "template", "metadata", "labels"])
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate(object, common::options(None), true, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            job_status::validate(object, old, errors);
            return;
        }
        let mut options = common::options(Some(old));
        options.invalid_affinity_values |= labels::has_invalid_values(at(old, &["spec", "selector"]));
        let had = |key| opt_str_at(old, &["spec", "template", "metadata", "labels", key]).is_some();
        validate(object, options, had(JOB_NAME) && had(CONTROLLER_UID), errors);
        validate_change(object, old, options, errors);
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut found = Vec::new();
        if old.is_none() {
            found.extend(common::name_warning(object));
        }
        if common::changes_spec(object, old) {
            found.extend(spec_warnings(part(object, "spec"), &PathRef::root("spec")));
        }
        found
    }
}

/// The status of a pod condition in a failure policy defaults to `True`.
pub(super) fn default_policy(spec: &mut Value) {
    let rules = spec
        .get_mut("podFailurePolicy")
        .and_then(|policy| policy.get_mut("rules"));
    for rule in rules.and_then(Value::as_array_mut).into_iter().flatten() {
        let patterns = rule.get_mut("onPodConditions").and_then(Value::as_array_mut);
        for pattern in patterns.into_iter().flatten() {
            crate::rules::access::set_default_str(pattern, &[], "status", "True");
        }
    }
}

/// The warnings of a job's spec, at `path`.
pub(super) fn spec_warnings(spec: &Value, path: &PathRef<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let indexed = str_at(spec, &["completionMode"]) == "Indexed";
    if indexed && int_at(spec, &["completions"]) > MANY && int_at(spec, &["parallelism"]) > MANY_FOR_BACKOFF {
        found.push(format!(
            "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        ));
    }
    found.extend(template::warn(at(spec, &["template"]), &path.child("template")));
    found
}

/// Pods find their job by its uid; user labels of the same names are left for validation to refuse.
fn generate_selector(job: &mut Value) {
    let name = str_at(job, &["metadata", "name"]).to_owned();
    let uid = str_at(job, &["metadata", "uid"]).to_owned();
    if let Some(labels) = map_mut(job, &["spec", "template", "metadata", "labels"]) {
        for key in [LEGACY_JOB_NAME, JOB_NAME] {
            labels.entry(key).or_insert_with(|| name.clone().into());
        }
        for key in [LEGACY_CONTROLLER_UID, CONTROLLER_UID] {
            labels.entry(key).or_insert_with(|| uid.clone().into());
        }
    }
    if let Some(selected) = map_mut(job, &["spec", "selector", "matchLabels"]) {
        selected.entry(CONTROLLER_UID).or_insert_with(|| uid.into());
    }
}

/// A job without labels has those of its pods. Upstream's default shares one map between the two, so that what
/// [`generate_selector`] adds is added to both.
fn label_like_template(job: &mut Value) {
    if !is_unset(job, &["metadata", "labels"]) {
        return;
    }
    let labels = at(job, &["spec", "template", "metadata", "labels"]).cloned();
    if let (Some(labels), Some(metadata)) = (labels, map_mut(job, &["metadata"])) {
        metadata.insert("labels".to_owned(), labels);
    }
}

/// Gives the labels that a job has from its template to the job's creator in managedFields: upstream sets them as a
/// default before it computes ownership. Here they are set later, so ownership must be added.
fn own_labels(job: &mut Value, labels: &[String]) {
    let managers = job
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("managedFields"));
    let Some([creator]) = managers.and_then(Value::as_array_mut).map(Vec::as_mut_slice) else {
        return;
    };
    if labels.is_empty() || str_at(creator, &["operation"]) != "Update" {
        return;
    }
    if let Some(noted) = map_mut(creator, &["fieldsV1", "f:metadata", "f:labels"]) {
        noted.insert(".".to_owned(), json!({}));
        for label in labels {
            noted.insert(format!("f:{label}"), json!({}));
        }
    }
}

fn validate(job: &Value, options: Options, prefixed_labels: bool, errors: &mut Errors) {
    validate_generated_selector(job, prefixed_labels, errors);
    let spec = part(job, "spec");
    validate_spec_with_selector(spec, options, errors);
    let name = str_at(job, &["metadata", "name"]);
    let completions = int_at(spec, &["completions"]);
    if str_at(spec, &["completionMode"]) == "Indexed" && completions > 0 {
        let hostname = format!("{name}-{}", completions - 1);
        if !names::dns1123_label(&hostname).is_empty() {
            let path = PathRef::root("metadata");
            let words = format!("will not able to create pod with invalid DNS label: {hostname}");
            errors.push(FieldError::invalid(&path.child("name"), name, words));
        }
    }
}

fn validate_generated_selector(job: &Value, prefixed_labels: bool, errors: &mut Errors) {
    let selector = at(job, &["spec", "selector"]);
    if bool_at(job, &["spec", "manualSelector"]) || selector.is_none() {
        return;
    }
    let (name, uid) = (str_at(job, &["metadata", "name"]), str_at(job, &["metadata", "uid"]));
    if uid.is_empty() {
        errors.push(FieldError::required(&PathRef::root("metadata").child("uid"), ""));
    }
    let mut expected = vec![(LEGACY_CONTROLLER_UID, uid), (LEGACY_JOB_NAME, name)];
    if prefixed_labels {
        expected.extend([(CONTROLLER_UID, uid), (JOB_NAME, name)]);
    }
    let labels = at(job, &["spec", "template", "metadata", "labels"]);
    let path = PathRef::root("spec");
    let template_path = path.child("template");
    let metadata_path = template_path.child("metadata");
    let labels_path = metadata_path.child("labels");
    for (key, value) in &expected {
        let words = format!("must be '{value}'");
        match labels.and_then(|labels| opt_str_at(labels, &[key])) {
            None => errors.push(FieldError::required(&labels_path.key(key), words)),
            Some(found) if found != *value => {
                let shown = labels.cloned().unwrap_or_default();
                errors.push(FieldError::invalid(&labels_path.key(key), shown, words));
            }
            Some(_) => {}
        }
    }
    let expected: Map<String, Value> = expected
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.into()))
        .collect();
    let mut unusable = Errors::new();
    labels::validate_selector(selector, SelectorOptions::default(), &path, &mut unusable);
    if unusable.is_empty() && !labels::selector_matches(selector, Some(&expected)) {
        let shown = internal::print_selector(selector.unwrap_or(&Value::Null));
        errors.push(internal::invalid(
            &path.child("selector"),
            &shown,
            "`selector` not auto-generated",
        ));
    }
}

fn validate_spec_with_selector(spec: &Value, options: Options, errors: &mut Errors) {
    let path = PathRef::root("spec");
    validate_spec(spec, options, &path, errors);
    let selector = at(spec, &["selector"]);
    let before = errors.len();
    if selector.is_none() {
        errors.push(FieldError::required(&path.child("selector"), ""));
    } else {
        let tolerance = SelectorOptions {
            allow_invalid_values: options.invalid_affinity_values,
        };
        labels::validate_selector(selector, tolerance, &path.child("selector"), errors);
    }
    let usable = selector.is_none() || errors.len() == before;
    let template = part(spec, "template");
    if usable && !labels::selector_matches(selector, map_at(template, &["metadata", "labels"])) {
        let path = path.child("template");
        common::push_mismatch(template, &path.child("metadata").child("labels"), errors);
    }
}

/// Everything wrong with a job's spec, its selector excepted; `CronJobs` have such specs too.
pub(super) fn validate_spec(spec: &Value, options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        require_non_negative(int_at(spec, &[field]), &path.child(field), errors);
    }
    let per_index = opt_int_at(spec, &["backoffLimitPerIndex"]);
    let max_failed = opt_int_at(spec, &["maxFailedIndexes"]);
    if max_failed.is_some() && per_index.is_none() {
        errors.push(FieldError::required(
            &path.child("backoffLimitPerIndex"),
            "when maxFailedIndexes is specified",
        ));
    }
    validate_managed_by(spec, &path.child("managedBy"), errors);
    let mode = opt_str_at(spec, &["completionMode"]);
    match mode {
        None | Some("NonIndexed") => {}
        Some("Indexed") => validate_indexed(spec, path, errors),
        Some(other) => {
            let supported = ["NonIndexed", "Indexed"];
            errors.push(FieldError::not_supported(
                &path.child("completionMode"),
                other,
                supported,
            ));
        }
    }
    if matches!(mode, None | Some("NonIndexed")) {
        for (field, value) in [("backoffLimitPerIndex", per_index), ("maxFailedIndexes", max_failed)] {
            if let Some(value) = value {
                errors.push(FieldError::invalid(
                    &path.child(field),
                    value,
                    "requires indexed completion mode",
                ));
            }
        }
    }
    job_policies::validate(spec, path, errors);
    let template_path = path.child("template");
    template::validate(part(spec, "template"), options, &template_path, errors);
    validate_restart_policy(spec, &template_path.child("spec"), errors);
}

fn validate_restart_policy(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child("restartPolicy");
    match str_at(spec, &["template", "spec", "restartPolicy"]) {
        "Always" | "" => errors.push(FieldError::required(&path, r#"valid values: "OnFailure", "Never""#)),
        "Never" => {}
        "OnFailure" => {
            if at(spec, &["podFailurePolicy"]).is_some() {
                let words = r#"only "Never" is supported when podFailurePolicy is specified"#;
                errors.push(FieldError::invalid(&path, "OnFailure", words));
            }
        }
        other => errors.push(FieldError::not_supported(&path, other, ["OnFailure", "Never"])),
    }
}

fn validate_managed_by(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    const MAX: usize = 63;
    let Some(manager) = opt_str_at(spec, &["managedBy"]) else {
        return;
    };
    match manager.split_once('/') {
        _ if manager.is_empty() => errors.push(FieldError::required(path, "")),
        Some((host, rest)) if !host.is_empty() && !rest.is_empty() => {
            complain(path, host, names::dns1123_subdomain(host), errors);
            if !names::is_http_path(rest) {
                let words = names::regex_message("Invalid path", names::HTTP_PATH, &[]);
                errors.push(FieldError::invalid(path, rest, words));
            }
        }
        _ => {
            let words = r#"must be a domain-prefixed path (such as "acme.io/foo")"#;
            errors.push(FieldError::invalid(path, manager, words));
        }
    }
    if manager.len() > MAX {
        errors.push(FieldError::too_long(path, MAX));
    }
}

fn validate_indexed(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let completions = opt_int_at(spec, &["completions"]);
    let parallelism = opt_int_at(spec, &["parallelism"]);
    let max_failed = opt_int_at(spec, &["maxFailedIndexes"]);
    let (parallelism_path, failed_path) = (path.child("parallelism"), path.child("maxFailedIndexes"));
    if completions.is_none() {
        errors.push(FieldError::required(
            &path.child("completions"),
            "when completion mode is Indexed",
        ));
    }
    if let Some(parallelism) = parallelism.filter(|parallelism| *parallelism > MANY) {
        let words = format!("must be less than or equal to {MANY} when completion mode is Indexed");
        errors.push(FieldError::invalid(&parallelism_path, parallelism, words));
    }
    if let Some(failed) = max_failed {
        if completions.is_some_and(|completions| failed > completions) {
            errors.push(FieldError::invalid(
                &failed_path,
                failed,
                "must be less than or equal to completions",
            ));
        }
        if failed > MANY {
            errors.push(FieldError::invalid(
                &failed_path,
                failed,
                format!("must be less than or equal to {MANY}"),
            ));
        }
    }
    let per_index = at(spec, &["backoffLimitPerIndex"]).is_some();
    if !per_index || completions.is_none_or(|completions| completions <= MANY) {
        return;
    }
    if max_failed.is_none() {
        errors.push(FieldError::required(
            &failed_path,
            format!("must be specified when completions is above {MANY}"),
        ));
    }
    let words = format!(
        "must be less than or equal to {MANY_FOR_BACKOFF} when completions are above {MANY} and used with backoff limit per index"
    );
    if let Some(parallelism) = parallelism.filter(|parallelism| *parallelism > MANY_FOR_BACKOFF) {
        errors.push(FieldError::invalid(&parallelism_path, parallelism, words.as_str()));
    }
    if let Some(failed) = max_failed.filter(|failed| *failed > MANY_FOR_BACKOFF) {
        errors.push(FieldError::invalid(&failed_path, failed, words));
    }
}

/// Everything wrong with a change of a job; the new spec is validated a second time, as upstream does.
fn validate_change(job: &Value, old: &Value, options: Options, errors: &mut Errors) {
    let spec = part(job, "spec");
    let old_spec = part(old, "spec");
    validate_spec_with_selector(spec, options, errors);
    let path = PathRef::root("spec");
    validate_completions(spec, old_spec, &path.child("completions"), errors);
    common::validate_selector_unchanged(job, old, errors);
    validate_template_change(spec, old, &path, errors);
    let mut immutable = |field: &str, print: &dyn Fn(&Value) -> internal::Printed| {
        let (new, before) = (at(spec, &[field]), at(old_spec, &[field]));
        // A policy that says nothing is not the same as none.
        if !same(new, before) || new.is_some() != before.is_some() {
            let shown = new.map_or_else(|| print(&Value::Null), print);
            errors.push(internal::invalid(&path.child(field), &shown, IMMUTABLE));
        }
    };
    let scalar = |value: &Value| internal::print_scalar(value);
    let of_type = |name: &'static str| move |value: &Value| internal::print_optional(name, value);
    immutable("completionMode", &scalar);
    immutable("podFailurePolicy", &of_type("PodFailurePolicy"));
    immutable("backoffLimitPerIndex", &scalar);
    immutable("managedBy", &scalar);
    immutable("successPolicy", &of_type("SuccessPolicy"));
}

fn validate_completions(spec: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let field = ["completions"];
    let (completions, before) = (opt_int_at(spec, &field), opt_int_at(old, &field));
    if completions == before {
        return;
    }
    if str_at(spec, &["completionMode"]) != "Indexed" {
        errors.push(FieldError::invalid(
            path,
            completions.map_or(Value::Null, Value::from),
            IMMUTABLE,
        ));
    } else if let Some(completions) = completions
        && Some(completions) != opt_int_at(spec, &["parallelism"])
    {
        let words = "can only be modified in tandem with spec.parallelism";
        errors.push(FieldError::invalid(path, completions, words));
    }
}

/// A suspended job whose pods are gone may still be rescheduled and resized.
fn validate_template_change(spec: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let template = part(spec, "template");
    let mut before = at(old, &["spec", "template"]).cloned().unwrap_or_default();
    let suspended = opt_bool_at(old, &["spec", "suspend"]) == Some(true);
    let idle = at(old, &["status", "startTime"]).is_none() || job_status::is_true(old, "Suspended");
    let mutable = suspended && idle && int_at(old, &["status", "active"]) == 0;
    if mutable {
        take_scheduling(&mut before, template);
        take_resources(&mut before, template);
        let of = |template: &Value| template.get("spec").cloned().unwrap_or_default();
        let (new, old) = (of(template), of(&before));
        if !internal::same("PodSpec", &new, &old) {
            let shown = internal::print("PodSpec", &new);
            errors.push(internal::invalid(&path.child("template.spec"), &shown, IMMUTABLE));
        }
    } else if !internal::same("PodTemplateSpec", template, &before) {
        let shown = internal::print("PodTemplateSpec", template);
        errors.push(internal::invalid(&path.child("template"), &shown, IMMUTABLE));
    }
}

fn take_scheduling(before: &mut Value, template: &Value) {
    let was = at(before, &["spec", "affinity"]).is_some();
    keep(before, template, &["spec", "affinity", "nodeAffinity"]);
    if was && is_unset(before, &["spec", "affinity"]) && at(template, &["spec", "affinity"]).is_none() {
        crate::rules::access::remove(before, &["spec", "affinity"]);
    } else if !was && at(template, &["spec", "affinity"]).is_some() {
        set_default(before, &["spec"], "affinity", json!({}));
    }
    for field in ["nodeSelector", "tolerations", "schedulingGates"] {
        keep(before, template, &["spec", field]);
    }
    for field in ["annotations", "labels"] {
        keep(before, template, &["metadata", field]);
    }
}

fn take_resources(before: &mut Value, template: &Value) {
    for list in ["containers", "initContainers"] {
        let new = crate::rules::access::list_at(template, &["spec", list]);
        let old = before
            .get_mut("spec")
            .and_then(|spec| spec.get_mut(list))
            .and_then(Value::as_array_mut);
        let Some(old) = old.filter(|old| old.len() == new.len()) else {
            continue;
        };
        for (old, new) in old.iter_mut().zip(new) {
            if str_at(old, &["name"]) == str_at(new, &["name"]) {
                keep(old, new, &["resources"]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_from_the_template_belong_to_the_creator_and_the_servers_own_to_nobody() {
        let mut job = json!({
            "metadata": {
                "name": "j",
                "uid": "u",
                "managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {}}}],
            },
            "spec": {"template": {"metadata": {"labels": {"app": "a"}}, "spec": {}}},
        });
        Job.prepare_create(Create { object: &mut job });
        assert_eq!(
            job["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"],
            json!({"f:labels": {".": {}, "f:app": {}}})
        );
        assert_eq!(job["metadata"]["labels"]["job-name"], "j");
        assert_eq!(
            job["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"],
            "u"
        );
    }
}
