//! The conversion of a definition: strategy `None`, which only changes `apiVersion`, or a webhook (C11, C12).

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names::dns1035_label;
use kubewright_kinds::webhook;
use serde_json::Value;

use super::options::{Options, preserves_unknown_fields};
use super::{ca_bundle, printed};
use crate::crd::access::{at, list, text, texts};

/// Whether this server speaks a version of `ConversionReview`.
pub(super) fn is_known(version: &str) -> bool {
    matches!(version, "v1" | "v1beta1")
}

/// What is wrong with the conversion of a spec.
pub(super) fn validate(spec: &Value, path: &PathRef<'_>, options: &Options, errors: &mut Errors) {
    let Some(conversion) = at(spec, &["conversion"]) else {
        return;
    };
    let strategy = text(conversion, &["strategy"]);
    let strategy_path = path.child("strategy");
    if strategy != "None" && preserves_unknown_fields(spec) {
        let words = "must be None if spec.preserveUnknownFields is true";
        errors.push(printed::invalid(&strategy_path, &printed::json_text(strategy), words));
    }
    match strategy {
        "" => errors.push(FieldError::required(&strategy_path, "")),
        "None" | "Webhook" => {}
        other => errors.push(FieldError::not_supported(&strategy_path, other, ["None", "Webhook"])),
    }
    let client = at(conversion, &["webhook", "clientConfig"]);
    let reviews = list(conversion, &["webhook", "conversionReviewVersions"]);
    let (client_path, reviews_path) = (
        path.child("webhookClientConfig"),
        path.child("conversionReviewVersions"),
    );
    if strategy == "Webhook" {
        match client {
            Some(client) => validate_client(client, &client_path, options, errors),
            None => errors.push(FieldError::required(
                &client_path,
                "required when strategy is set to Webhook",
            )),
        }
        validate_reviews(conversion, &reviews_path, options, errors);
        return;
    }
    let words = "should not be set when strategy is not set to Webhook";
    if client.is_some() {
        errors.push(FieldError::forbidden(&client_path, words));
    }
    if !reviews.is_empty() {
        errors.push(FieldError::forbidden(&reviews_path, words));
    }
}

fn validate_client(client: &Value, path: &PathRef<'_>, options: &Options, errors: &mut Errors) {
    match (at(client, &["url"]), at(client, &["service"])) {
        (Some(url), None) => webhook::validate_url(url.as_str().unwrap_or_default(), &path.child("url"), errors),
        (None, Some(service)) => webhook::validate_service(service, &path.child("service"), errors),
        _ => errors.push(FieldError::required(path, "exactly one of url or service is required")),
    }
    if options.valid_ca_bundle {
        ca_bundle::validate(text(client, &["caBundle"]), &path.child("caBundle"), errors);
    }
}

fn validate_reviews(conversion: &Value, path: &PathRef<'_>, options: &Options, errors: &mut Errors) {
    let versions = texts(conversion, &["webhook", "conversionReviewVersions"]);
    if versions.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        let path = path.index(index);
        if versions[..index].contains(version) {
            errors.push(FieldError::invalid(&path, *version, "duplicate version"));
            continue;
        }
        for problem in dns1035_label(version) {
            errors.push(FieldError::invalid(&path, *version, problem));
        }
    }
    if options.recognized_review_version && !versions.iter().any(|version| is_known(version)) {
        let shown = printed::json(&versions.into());
        errors.push(printed::invalid(
            path,
            &shown,
            "must include at least one of v1, v1beta1",
        ));
    }
}
