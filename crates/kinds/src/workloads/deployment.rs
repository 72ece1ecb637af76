//! Deployments: replicas of a template, replaced all at once or a few at a time.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::pod::internal;
use crate::pod::options::Options;
use crate::rules::access::{at, int_at, opt_int_at, part, require_non_negative, set_default, set_default_str, str_at};

use super::common;
use super::replicas::Replicas;

/// Deployments.
pub(crate) struct Deployment;

impl Replicas for Deployment {
    fn default_spec(&self, object: &mut Value) {
        set_default_str(object, &["spec", "strategy"], "type", "RollingUpdate");
        if str_at(object, &["spec", "strategy", "type"]) == "RollingUpdate" {
            let rolling = ["spec", "strategy", "rollingUpdate"];
            set_default(object, &rolling, "maxUnavailable", "25%");
            set_default(object, &rolling, "maxSurge", "25%");
        }
        set_default(object, &["spec"], "revisionHistoryLimit", 10);
        set_default(object, &["spec"], "progressDeadlineSeconds", 600);
    }

    fn validate_spec(&self, object: &Value, options: Options, errors: &mut Errors) {
        let spec = part(object, "spec");
        let path = PathRef::root("spec");
        common::validate_counts(spec, &["replicas"], &path, errors);
        common::validate_selector_and_template(spec, options, &path, errors);
        validate_strategy(spec, &path.child("strategy"), errors);
        common::validate_counts(spec, &["minReadySeconds", "revisionHistoryLimit"], &path, errors);
        if let Some(deadline) = opt_int_at(spec, &["progressDeadlineSeconds"]) {
            let path = path.child("progressDeadlineSeconds");
            require_non_negative(deadline, &path, errors);
            if deadline <= int_at(spec, &["minReadySeconds"]) {
                errors.push(FieldError::invalid(
                    &path,
                    deadline,
                    "must be greater than minReadySeconds",
                ));
            }
        }
    }

    fn validate_status(&self, object: &Value, old: &Value, errors: &mut Errors) {
        let status = part(object, "status");
        let path = PathRef::root("status");
        let counts = [
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        ];
        common::validate_counts(status, &counts, &path, errors);
        let parts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
        common::validate_parts(status, &parts, "readyReplicas", &path, errors);
        common::validate_collisions(object, old, errors);
    }
}

fn validate_strategy(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let strategy = part(spec, "strategy");
    let rolling = at(strategy, &["rollingUpdate"]);
    let rolling_path = path.child("rollingUpdate");
    match str_at(strategy, &["type"]) {
        "Recreate" => {
            if rolling.is_some() {
                let words = "may not be specified when strategy `type` is 'Recreate'";
                errors.push(FieldError::forbidden(&rolling_path, words));
            }
        }
        "RollingUpdate" => match rolling {
            None => errors.push(FieldError::required(
                &rolling_path,
                "this should be defaulted and never be nil",
            )),
            Some(rolling) => validate_rolling_update(rolling, &rolling_path, errors),
        },
        _ => {
            let shown = internal::print("DeploymentStrategy", strategy);
            errors.push(internal::not_supported(path, &shown, &["Recreate", "RollingUpdate"]));
        }
    }
}

fn validate_rolling_update(rolling: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let (unavailable, surge) = (rolling.get("maxUnavailable"), rolling.get("maxSurge"));
    let unavailable_path = path.child("maxUnavailable");
    common::validate_int_or_percent(unavailable, &unavailable_path, errors);
    common::validate_int_or_percent(surge, &path.child("maxSurge"), errors);
    if common::int_or_percent(unavailable) == 0 && common::int_or_percent(surge) == 0 {
        let shown = unavailable.cloned().unwrap_or_default();
        errors.push(FieldError::invalid(
            &unavailable_path,
            shown,
            "may not be 0 when `maxSurge` is 0",
        ));
    }
    common::validate_at_most_all(unavailable, &unavailable_path, errors);
}
