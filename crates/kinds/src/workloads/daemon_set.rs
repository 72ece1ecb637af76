//! `DaemonSets`: a pod on each node. An annotation counts the changes of the template, and there are warnings only about those.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::behaviour::{Behaviour, Create, Update};
use crate::pod::options::Options;
use crate::pod::{internal, template};
use crate::rules::access::{at, map_at, map_mut, opt_str_at, part, set_default, set_default_str, str_at};
use crate::rules::labels::{self, SelectorOptions};

use super::common;

/// Where v1 keeps the count of template changes that older versions had as a field.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// `DaemonSets`.
pub(crate) struct DaemonSet;

impl Behaviour for DaemonSet {
    fn default(&self, object: &mut Value) {
        set_default_str(object, &["spec", "updateStrategy"], "type", "RollingUpdate");
        let rolling = ["spec", "updateStrategy", "rollingUpdate"];
        if str_at(object, &["spec", "updateStrategy", "type"]) == "RollingUpdate" {
            set_default(object, &rolling, "maxUnavailable", 1);
            set_default(object, &rolling, "maxSurge", 0);
        } else if at(object, &rolling).is_some() {
            // Numbers that the object does not set, but that the internal type always has.
            set_default(object, &rolling, "maxUnavailable", 0);
            set_default(object, &rolling, "maxSurge", 0);
        }
        set_default(object, &["spec"], "revisionHistoryLimit", 10);
        set_default(object, &["metadata", "annotations"], TEMPLATE_GENERATION, "0");
        template::default(common::template_mut(object));
    }

    fn prepare_create(&self, create: Create<'_>) {
        let Create { object } = create;
        common::prepare_create(object);
        let generation = template_generation(object).max(1);
        set_template_generation(object, generation);
    }

    fn prepare_update(&self, mut update: Update<'_>) {
        common::prepare_update(&mut update);
        let template = |object| common::template_of(object).unwrap_or(&Value::Null);
        let changed = update.subresource.is_none()
            && !internal::same("PodTemplateSpec", template(update.object), template(update.old));
        let generation = template_generation(update.old).saturating_add(i64::from(changed));
        set_template_generation(update.object, generation);
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_spec(object, common::options(None), false, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            validate_status(object, errors);
            common::validate_collisions(object, old, errors);
            return;
        }
        common::validate_selector_unchanged(object, old, errors);
        let options = common::options(Some(old));
        let tolerant = options.invalid_affinity_values || labels::has_invalid_values(at(old, &["spec", "selector"]));
        validate_spec(object, options, tolerant, errors);
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        match old {
            Some(old) if template_generation(object) == template_generation(old) => Vec::new(),
            _ => common::warnings(object, None, false),
        }
    }
}

fn template_generation(object: &Value) -> i64 {
    let text = opt_str_at(object, &["metadata", "annotations", TEMPLATE_GENERATION]).unwrap_or_default();
    text.parse().unwrap_or_default()
}

fn set_template_generation(object: &mut Value, generation: i64) {
    if let Some(annotations) = map_mut(object, &["metadata", "annotations"]) {
        annotations.insert(TEMPLATE_GENERATION.to_owned(), generation.to_string().into());
    }
}

fn validate_spec(object: &Value, options: Options, tolerant: bool, errors: &mut Errors) {
    let spec = part(object, "spec");
    let path = PathRef::root("spec");
    let (selector_path, template_path) = (path.child("selector"), path.child("template"));
    let selector = at(spec, &["selector"]);
    let before = errors.len();
    let tolerance = SelectorOptions {
        allow_invalid_values: tolerant,
    };
    labels::validate_selector(selector, tolerance, &selector_path, errors);
    let template = part(spec, "template");
    let template_labels = map_at(template, &["metadata", "labels"]);
    if errors.len() == before && !labels::selector_matches(selector, template_labels) {
        common::push_mismatch(template, &template_path.child("metadata").child("labels"), errors);
    }
    if let Some(selector) = selector.filter(|selector| labels::is_empty_selector(selector)) {
        let shown = internal::print_selector(selector);
        errors.push(internal::invalid(
            &selector_path,
            &shown,
            "empty selector is invalid for daemonset",
        ));
    }
    template::validate(template, options, &template_path, errors);
    common::validate_runs_forever(spec, "DaemonSet", &template_path, errors);
    common::validate_counts(spec, &["minReadySeconds"], &path, errors);
    validate_strategy(spec, &path.child("updateStrategy"), errors);
    common::validate_counts(spec, &["revisionHistoryLimit"], &path, errors);
}

fn validate_strategy(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let strategy = part(spec, "updateStrategy");
    match str_at(strategy, &["type"]) {
        "OnDelete" => {}
        "RollingUpdate" => {
            let path = path.child("rollingUpdate");
            match at(strategy, &["rollingUpdate"]) {
                None => errors.push(FieldError::required(&path, "")),
                Some(rolling) => validate_rolling_update(rolling, &path, errors),
            }
        }
        _ => {
            let shown = internal::print("DaemonSetUpdateStrategy", strategy);
            errors.push(internal::not_supported(path, &shown, &["RollingUpdate", "OnDelete"]));
        }
    }
}

fn validate_rolling_update(rolling: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let (unavailable, surge) = (rolling.get("maxUnavailable"), rolling.get("maxSurge"));
    let (unavailable_path, surge_path) = (path.child("maxUnavailable"), path.child("maxSurge"));
    common::validate_int_or_percent(unavailable, &unavailable_path, errors);
    common::validate_int_or_percent(surge, &surge_path, errors);
    common::validate_at_most_all(unavailable, &unavailable_path, errors);
    common::validate_at_most_all(surge, &surge_path, errors);
    match (
        common::int_or_percent(unavailable) != 0,
        common::int_or_percent(surge) != 0,
    ) {
        (true, true) => {
            let shown = surge.cloned().unwrap_or_default();
            errors.push(FieldError::invalid(
                &surge_path,
                shown,
                "may not be set when maxUnavailable is non-zero",
            ));
        }
        (false, false) => errors.push(FieldError::required(
            &unavailable_path,
            "cannot be 0 when maxSurge is 0",
        )),
        _ => {}
    }
}

fn validate_status(object: &Value, errors: &mut Errors) {
    let status = part(object, "status");
    let counts = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    common::validate_counts(status, &counts, &PathRef::root("status"), errors);
}
