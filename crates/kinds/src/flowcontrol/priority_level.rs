//! `PriorityLevelConfigurations`: how many requests of a level run at once, and whether the others are queued or rejected.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use super::{mandatory, validate_conditions, validate_update};
use crate::behaviour::Behaviour;
use crate::rules::access::{at, int_at, opt_int_at, str_at};

const QUEUES_MAX: i64 = 10_000_000;
const HASH_BITS_MAX: u32 = 60;
const ROUND_TRIP_ANNOTATION: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

/// The rules of `PriorityLevelConfigurations`.
pub(crate) struct PriorityLevelConfiguration;

impl Behaviour for PriorityLevelConfiguration {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        if at(object, &["metadata", "annotations", ROUND_TRIP_ANNOTATION]).is_some() {
            let detail = format!("annotation '{ROUND_TRIP_ANNOTATION}' is forbidden");
            errors.push(FieldError::forbidden(
                &PathRef::root("metadata").child("annotations"),
                detail,
            ));
        }
        validate_spec(object, errors);
        mandatory::validate_level(object, errors);
        validate_conditions(object, errors);
    }

    fn validate_update(&self, object: &Value, _old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        validate_update(self, object, subresource, errors);
    }
}

fn validate_spec(object: &Value, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let kind = str_at(object, &["spec", "type"]);
    let path = spec.child("type");
    if (str_at(object, &["metadata", "name"]) == "exempt") != (kind == "Exempt") {
        errors.push(FieldError::invalid(
            &path,
            kind,
            "must be 'Exempt' if and only if `name` is 'exempt'",
        ));
    }
    let (limited, exempt) = (at(object, &["spec", "limited"]), at(object, &["spec", "exempt"]));
    match kind {
        "Exempt" => {
            if limited.is_some() {
                errors.push(FieldError::forbidden(
                    &spec.child("limited"),
                    "must be nil if the type is not Limited",
                ));
            }
            if let Some(exempt) = exempt {
                validate_shares(exempt, &spec.child("exempt"), errors);
                validate_lendable(exempt, &spec.child("exempt"), errors);
            }
        }
        "Limited" => {
            if exempt.is_some() {
                errors.push(FieldError::forbidden(
                    &spec.child("exempt"),
                    "must be nil if the type is Limited",
                ));
            }
            match limited {
                Some(limited) => validate_limited(limited, &spec.child("limited"), errors),
                None => {
                    errors.push(FieldError::required(
                        &spec.child("limited"),
                        "must not be empty when type is Limited",
                    ));
                }
            }
        }
        "" => errors.push(FieldError::required(&path, "")),
        other => errors.push(FieldError::not_supported(&path, other, ["Exempt", "Limited"])),
    }
}

fn validate_shares(level: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let shares = int_at(level, &["nominalConcurrencyShares"]);
    if shares < 0 {
        errors.push(FieldError::invalid(
            &path.child("nominalConcurrencyShares"),
            shares,
            "must be a non-negative integer",
        ));
    }
}

fn validate_lendable(level: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(percent) = opt_int_at(level, &["lendablePercent"])
        && !(0..=100).contains(&percent)
    {
        errors.push(FieldError::invalid(
            &path.child("lendablePercent"),
            percent,
            "must be between 0 and 100, inclusive",
        ));
    }
}

fn validate_limited(limited: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    validate_shares(limited, path, errors);
    let response = path.child("limitResponse");
    let queuing = at(limited, &["limitResponse", "queuing"]);
    let queuing_path = response.child("queuing");
    match (str_at(limited, &["limitResponse", "type"]), queuing) {
        ("Reject", Some(_)) => {
            let detail = "must be nil if limited.limitResponse.type is not Limited";
            errors.push(FieldError::forbidden(&queuing_path, detail));
        }
        ("Reject", None) => {}
        ("Queue", None) => {
            let detail = "must not be empty if limited.limitResponse.type is Limited";
            errors.push(FieldError::required(&queuing_path, detail));
        }
        ("Queue", Some(queuing)) => validate_queuing(queuing, &queuing_path, errors),
        ("", _) => errors.push(FieldError::required(&response.child("type"), "")),
        (other, _) => errors.push(FieldError::not_supported(
            &response.child("type"),
            other,
            ["Queue", "Reject"],
        )),
    }
    validate_lendable(limited, path, errors);
    if let Some(percent) = opt_int_at(limited, &["borrowingLimitPercent"])
        && percent < 0
    {
        let detail = "if specified, must be a non-negative integer";
        errors.push(FieldError::invalid(
            &path.child("borrowingLimitPercent"),
            percent,
            detail,
        ));
    }
}

fn validate_queuing(queuing: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let (limit, queues, hand) = (
        int_at(queuing, &["queueLengthLimit"]),
        int_at(queuing, &["queues"]),
        int_at(queuing, &["handSize"]),
    );
    if limit <= 0 {
        errors.push(FieldError::invalid(
            &path.child("queueLengthLimit"),
            limit,
            "must be positive",
        ));
    }
    if queues <= 0 {
        errors.push(FieldError::invalid(&path.child("queues"), queues, "must be positive"));
    } else if queues > QUEUES_MAX {
        let detail = format!("must not be greater than {QUEUES_MAX}");
        errors.push(FieldError::invalid(&path.child("queues"), queues, detail));
    }
    let path = path.child("handSize");
    if hand <= 0 {
        errors.push(FieldError::invalid(&path, hand, "must be positive"));
    } else if hand > queues {
        errors.push(FieldError::invalid(
            &path,
            hand,
            format!("should not be greater than queues ({queues})"),
        ));
    } else if entropy_bits(queues, hand) > HASH_BITS_MAX {
        let detail = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS_MAX}"
        );
        errors.push(FieldError::invalid(&path, hand, detail));
    }
}

/// How many bits of a hash shuffle sharding uses to deal a hand of queues.
fn entropy_bits(deck: i64, hand: i64) -> u32 {
    ((deck as f64).log2() * hand as f64).ceil() as u32
}
