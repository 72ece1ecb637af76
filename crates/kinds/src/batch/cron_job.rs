//! `CronJobs`: a schedule, a time zone, and the Job that is made from a template each time. The rules of Jobs
//! validate that Job.

use kubewright_apimachinery::cron::Schedule;
use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::behaviour::{Behaviour, Create, Update};
use crate::pod::options::Options;
use crate::pod::{internal, template};
use crate::rules::access::{
    at, bool_at, int_at, opt_str_at, part, require_non_negative, set_default, set_default_str, str_at,
};
use crate::workloads::common;

use super::{job, time_zone};

/// The name of a job is the `CronJob`'s with eleven characters added, and it becomes a label.
const NAME_MAX: usize = 52;

/// `CronJobs`.
pub(crate) struct CronJob;

impl Behaviour for CronJob {
    fn default(&self, object: &mut Value) {
        set_default_str(object, &["spec"], "concurrencyPolicy", "Allow");
        set_default(object, &["spec"], "suspend", false);
        set_default(object, &["spec"], "successfulJobsHistoryLimit", 3);
        set_default(object, &["spec"], "failedJobsHistoryLimit", 1);
        if let Some(spec) = job_spec_mut(object) {
            job::default_policy(spec);
            template::default(spec.get_mut("template"));
        }
    }

    fn prepare_create(&self, create: Create<'_>) {
        if let Some(object) = create.object.as_object_mut() {
            object.remove("status");
        }
        template::drop_disabled(job_spec_mut(create.object).and_then(|spec| spec.get_mut("template")));
    }

    fn prepare_update(&self, mut update: Update<'_>) {
        update.keep_unwritten();
        if update.subresource.is_none() {
            template::drop_disabled(job_spec_mut(update.object).and_then(|spec| spec.get_mut("template")));
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_spec(object, None, errors);
        let name = str_at(object, &["metadata", "name"]);
        if name.len() > NAME_MAX {
            let path = PathRef::root("metadata");
            let words = format!("must be no more than {NAME_MAX} characters");
            errors.push(FieldError::invalid(&path.child("name"), name, words));
        }
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource.is_none() {
            validate_spec(object, Some(old), errors);
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut found = Vec::new();
        if old.is_none() {
            found.extend(common::name_warning(object));
        }
        if common::changes_spec(object, old) {
            let path = PathRef::root("spec");
            let path = path.child("jobTemplate");
            let spec = at(object, &["spec", "jobTemplate", "spec"]).unwrap_or(&Value::Null);
            found.extend(job::spec_warnings(spec, &path.child("spec")));
        }
        if old.is_some() && str_at(object, &["spec", "schedule"]).contains("TZ") {
            found.push("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details".to_owned());
        }
        found
    }
}

fn job_spec_mut(object: &mut Value) -> Option<&mut Value> {
    object.get_mut("spec")?.get_mut("jobTemplate")?.get_mut("spec")
}

fn validate_spec(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let spec = part(object, "spec");
    let old = old.and_then(|old| old.get("spec"));
    let path = PathRef::root("spec");
    validate_schedule(spec, old, &path.child("schedule"), errors);
    require_non_negative(
        int_at(spec, &["startingDeadlineSeconds"]),
        &path.child("startingDeadlineSeconds"),
        errors,
    );
    let zone = opt_str_at(spec, &["timeZone"]);
    if old.is_none_or(|old| opt_str_at(old, &["timeZone"]) != zone) {
        validate_time_zone(zone, &path.child("timeZone"), errors);
    }
    match str_at(spec, &["concurrencyPolicy"]) {
        "Allow" | "Forbid" | "Replace" => {}
        "" => errors.push(FieldError::required(&path.child("concurrencyPolicy"), "")),
        other => {
            let supported = ["Allow", "Forbid", "Replace"];
            errors.push(FieldError::not_supported(
                &path.child("concurrencyPolicy"),
                other,
                supported,
            ));
        }
    }
    let field = ["jobTemplate", "spec"];
    let old_template = old.and_then(|old| at(old, &["jobTemplate", "spec", "template"]));
    let job_path = path.child("jobTemplate");
    validate_job(
        at(spec, &field),
        Options::from_old(old_template),
        &job_path.child("spec"),
        errors,
    );
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        require_non_negative(int_at(spec, &[field]), &path.child(field), errors);
    }
}

fn validate_job(spec: Option<&Value>, options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    let spec = spec.unwrap_or(&Value::Null);
    job::validate_spec(spec, options, path, errors);
    if let Some(selector) = at(spec, &["selector"]) {
        let shown = internal::print_selector(selector);
        errors.push(internal::invalid(
            &path.child("selector"),
            &shown,
            "`selector` will be auto-generated",
        ));
    }
    if bool_at(spec, &["manualSelector"]) {
        errors.push(FieldError::not_supported(
            &path.child("manualSelector"),
            true,
            ["nil", "false"],
        ));
    }
}

fn validate_schedule(spec: &Value, old: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    let schedule = str_at(spec, &["schedule"]);
    if schedule.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    if let Err(error) = Schedule::parse(schedule, time_zone::check) {
        errors.push(FieldError::invalid(path, schedule, error));
    }
    if !schedule.contains("TZ") {
        return;
    }
    let had_zone = old.is_some_and(|old| str_at(old, &["schedule"]).contains("TZ"));
    if !had_zone {
        let words = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(FieldError::invalid(path, schedule, words));
    } else if at(spec, &["timeZone"]).is_some() {
        let words = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        errors.push(FieldError::invalid(path, schedule, words));
    }
}

fn validate_time_zone(zone: Option<&str>, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(zone) = zone else { return };
    if zone.is_empty() {
        errors.push(FieldError::invalid(
            path,
            zone,
            "timeZone must be nil or non-empty string",
        ));
        return;
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+');
    let is_part = |part: &str| {
        !matches!(part, "." | "..")
            && !part.starts_with('-')
            && (1..=14).contains(&part.len())
            && part.bytes().all(allowed)
    };
    if !zone.split('/').all(is_part) {
        errors.push(FieldError::invalid(path, zone, format!("unknown time zone {zone}")));
        return;
    }
    if zone.eq_ignore_ascii_case("Local") {
        let words = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.push(FieldError::invalid(path, zone, words));
    }
    if let Err(error) = time_zone::check(zone) {
        errors.push(FieldError::invalid(path, zone, error));
    }
}
