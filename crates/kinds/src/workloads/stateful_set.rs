//! `StatefulSets`: numbered pods, each with claims of its own. Few fields may change; the template is validated as the
//! pods will be.

use std::collections::BTreeSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::{Value, json};

use crate::behaviour::{Behaviour, Create, Update};
use crate::pod::options::Options;
use crate::pod::{claims, internal, template, warnings};
use crate::rules::access::{
    at, complain, int_at, is_unset, keep, list_at, opt_int_at, part, remove, require_non_negative, same, set_default,
    set_default_str, str_at,
};
use crate::rules::printed;
use crate::rules::{annotations, labels};

use super::common;

/// Rolling several pods at a time is off in 1.36.
const MAX_UNAVAILABLE: [&str; 4] = ["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"];

const MUTABLE: [&str; 7] = [
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
];

/// `StatefulSets`.
pub(crate) struct StatefulSet;

impl Behaviour for StatefulSet {
    fn default(&self, object: &mut Value) {
        set_default_str(object, &["spec"], "podManagementPolicy", "OrderedReady");
        default_strategy(object);
        let retention = ["spec", "persistentVolumeClaimRetentionPolicy"];
        set_default_str(object, &retention, "whenDeleted", "Retain");
        set_default_str(object, &retention, "whenScaled", "Retain");
        set_default(object, &["spec"], "replicas", 1);
        set_default(object, &["spec"], "revisionHistoryLimit", 10);
        let claims = object
            .get_mut("spec")
            .and_then(|spec| spec.get_mut("volumeClaimTemplates"));
        for claim in claims
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            claim.insert("apiVersion".to_owned(), "v1".into());
            claim.insert("kind".to_owned(), "PersistentVolumeClaim".into());
        }
        template::default(common::template_mut(object));
    }

    fn prepare_create(&self, create: Create<'_>) {
        common::prepare_create(create.object);
        remove(create.object, &MAX_UNAVAILABLE);
    }

    fn prepare_update(&self, mut update: Update<'_>) {
        common::prepare_update(&mut update);
        let used = at(update.old, &MAX_UNAVAILABLE).is_some();
        if update.subresource.is_none() && !used {
            remove(update.object, &MAX_UNAVAILABLE);
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let tolerance = Tolerance {
            any_service_name: false,
            any_claims: false,
            any_template: false,
        };
        validate_spec(object, common::options(None), tolerance, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            validate_status(object, errors);
            common::validate_collisions(object, old, errors);
            return;
        }
        let options = common::options(Some(old));
        let mut tolerance = Tolerance {
            any_service_name: true,
            any_claims: true,
            any_template: false,
        };
        let mut stored = Errors::new();
        validate_spec(old, options, tolerance, &mut stored);
        tolerance.any_template = !stored.is_empty();
        validate_spec(object, options, tolerance, errors);
        let mut munged = object.clone();
        for field in MUTABLE {
            keep(&mut munged, old, &["spec", field]);
        }
        if !same(at(&munged, &["spec"]), at(old, &["spec"])) {
            let words = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
            errors.push(FieldError::forbidden(&PathRef::root("spec"), words));
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut found = common::warnings(object, old, false);
        let path = PathRef::root("spec");
        let path = path.child("volumeClaimTemplates");
        for (index, claim) in list_at(object, &["spec", "volumeClaimTemplates"]).iter().enumerate() {
            // Upstream leaves the claim's spec out of the path on create and capitalises it on update.
            let path = path.index(index);
            let of_spec = path.child("Spec");
            let claim = part(claim, "spec");
            warnings::claim_bytes(claim, if old.is_some() { &of_spec } else { &path }, &mut found);
        }
        if int_at(object, &["spec", "revisionHistoryLimit"]) < 0 {
            found.push(
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
                    .to_owned(),
            );
        }
        found
    }
}

fn default_strategy(object: &mut Value) {
    let strategy = ["spec", "updateStrategy"];
    let rolling = ["spec", "updateStrategy", "rollingUpdate"];
    let is_unnamed = is_unset(object, &["spec", "updateStrategy", "type"]);
    set_default_str(object, &strategy, "type", "RollingUpdate");
    let is_rolling = str_at(object, &["spec", "updateStrategy", "type"]) == "RollingUpdate";
    // A strategy that was named, but without parameters, goes without.
    if is_rolling && (is_unnamed || at(object, &rolling).is_some()) {
        set_default(object, &rolling, "partition", 0);
    }
}

/// What an update leaves alone because it cannot change it, or because the stored object already breaks it.
#[derive(Clone, Copy)]
struct Tolerance {
    any_service_name: bool,
    any_claims: bool,
    any_template: bool,
}

fn validate_spec(object: &Value, options: Options, tolerance: Tolerance, errors: &mut Errors) {
    let spec = part(object, "spec");
    let path = PathRef::root("spec");
    match str_at(spec, &["podManagementPolicy"]) {
        "OrderedReady" | "Parallel" => {}
        "" => errors.push(FieldError::required(&path.child("podManagementPolicy"), "")),
        other => {
            let words = "must be 'OrderedReady' or 'Parallel'";
            errors.push(FieldError::invalid(&path.child("podManagementPolicy"), other, words));
        }
    }
    validate_strategy(spec, &path.child("updateStrategy"), errors);
    validate_retention(spec, &path.child("persistentVolumeClaimRetentionPolicy"), errors);
    if !tolerance.any_claims {
        let path = path.child("volumeClaimTemplates");
        for (index, claim) in list_at(spec, &["volumeClaimTemplates"]).iter().enumerate() {
            claims::validate(part(claim, "spec"), &path.index(index).child("spec"), errors);
        }
    }
    common::validate_counts(spec, &["replicas", "minReadySeconds"], &path, errors);
    if at(spec, &["ordinals"]).is_some() {
        require_non_negative(
            int_at(spec, &["ordinals", "start"]),
            &path.child("ordinals.start"),
            errors,
        );
    }
    let service = str_at(spec, &["serviceName"]);
    if !tolerance.any_service_name && !service.is_empty() {
        complain(
            &path.child("serviceName"),
            service,
            names::dns1123_label(service),
            errors,
        );
    }
    let template_path = path.child("template");
    if common::validate_selector(spec, "statefulset", &path, errors) {
        validate_template(spec, options, tolerance, &template_path, errors);
    } else {
        let shown = internal::print_selector(part(spec, "selector")).compact();
        errors.push(printed::invalid_without_value(&path.child("selector"), &shown));
    }
    common::validate_runs_forever(spec, "StatefulSet", &template_path, errors);
}

fn validate_strategy(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let strategy = part(spec, "updateStrategy");
    let rolling = at(strategy, &["rollingUpdate"]);
    let rolling_path = path.child("rollingUpdate");
    match (str_at(strategy, &["type"]), rolling) {
        ("", _) => errors.push(FieldError::required(path, "")),
        ("OnDelete", Some(rolling)) => {
            let shown = internal::print("RollingUpdateStatefulSetStrategy", rolling);
            let words = "only allowed for updateStrategy 'RollingUpdate'";
            errors.push(internal::invalid(&rolling_path, &shown, words));
        }
        ("RollingUpdate", Some(rolling)) => {
            common::validate_counts(rolling, &["partition"], &rolling_path, errors);
            let path = rolling_path.child("maxUnavailable");
            if let Some(unavailable) = at(rolling, &["maxUnavailable"]) {
                common::validate_int_or_percent(Some(unavailable), &path, errors);
                if common::int_or_percent(Some(unavailable)) == 0 {
                    errors.push(FieldError::invalid(&path, unavailable.clone(), "cannot be 0"));
                }
                common::validate_at_most_all(Some(unavailable), &path, errors);
            }
        }
        ("OnDelete" | "RollingUpdate", None) => {}
        _ => {
            let shown = internal::print("StatefulSetUpdateStrategy", strategy);
            errors.push(internal::invalid(path, &shown, "must be 'RollingUpdate' or 'OnDelete'"));
        }
    }
}

fn validate_retention(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(policy) = at(spec, &["persistentVolumeClaimRetentionPolicy"]) else {
        return;
    };
    for field in ["whenDeleted", "whenScaled"] {
        let value = str_at(policy, &[field]);
        if !matches!(value, "Retain" | "Delete") {
            errors.push(FieldError::not_supported(
                &path.child(field),
                value,
                ["Retain", "Delete"],
            ));
        }
    }
}

/// The template is validated as the pods will be: named by the set, with a claim for each template as a volume.
fn validate_template(spec: &Value, options: Options, tolerance: Tolerance, path: &PathRef<'_>, errors: &mut Errors) {
    common::validate_selected(spec, path, errors);
    let stamped = stamped_template(spec);
    let stamped = stamped.as_ref().unwrap_or_else(|| part(spec, "template"));
    if !tolerance.any_template {
        template::validate(stamped, options, path, errors);
    }
    let annotations_path = path.child("annotations");
    labels::validate_labels(at(stamped, &["metadata", "labels"]), &path.child("labels"), errors);
    annotations::validate(at(stamped, &["metadata", "annotations"]), &annotations_path, errors);
    template::validate_annotations(stamped, options, &annotations_path, errors);
}

fn stamped_template(spec: &Value) -> Option<Value> {
    let claims = list_at(spec, &["volumeClaimTemplates"]);
    let mut template = spec.get("template")?.clone();
    let of_pod = template.get_mut("spec")?;
    let named = ["hostname", "subdomain"]
        .iter()
        .any(|field| !is_unset(of_pod, &[field]));
    if claims.is_empty() && !named {
        return None;
    }
    remove(of_pod, &["hostname"]);
    remove(of_pod, &["subdomain"]);
    if !claims.is_empty() {
        let claimed: BTreeSet<&str> = claims
            .iter()
            .map(|claim| str_at(claim, &["metadata", "name"]))
            .collect();
        let mut volumes: Vec<Value> = claimed
            .iter()
            .map(|name| json!({ "name": name, "persistentVolumeClaim": { "claimName": name } }))
            .collect();
        let own = list_at(of_pod, &["volumes"])
            .iter()
            .filter(|volume| !claimed.contains(str_at(volume, &["name"])));
        volumes.extend(own.cloned());
        of_pod
            .as_object_mut()?
            .insert("volumes".to_owned(), Value::Array(volumes));
    }
    Some(template)
}

fn validate_status(object: &Value, errors: &mut Errors) {
    let status = part(object, "status");
    let path = PathRef::root("status");
    let counts = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ];
    common::validate_counts(status, &counts, &path, errors);
    for field in ["observedGeneration", "collisionCount"] {
        if let Some(count) = opt_int_at(status, &[field]) {
            require_non_negative(count, &path.child(field), errors);
        }
    }
    common::validate_parts(status, &counts[1..], "status.readyReplicas", &path, errors);
}
