//! The attributes of a device: qualified names, each with one value.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::{Map, Value};

use super::shown_key;
use crate::device_claims::{IDENTIFIER_MAX, validate_qualified_name};
use crate::pod::internal;
use crate::rules::access::{at, opt_str_at};

/// The longest key that is shown as it is: a domain, a slash and an identifier.
pub(super) const KEY_MAX: usize = 63 + 1 + IDENTIFIER_MAX;
const VALUE_MAX: usize = 64;
const VALUES: [&str; 4] = ["int", "bool", "string", "version"];

pub(super) fn validate(attributes: Option<&Map<String, Value>>, path: &PathRef<'_>, errors: &mut Errors) {
    for (name, attribute) in attributes.into_iter().flatten() {
        validate_qualified_name(name, path, errors);
        validate_attribute(attribute, &path.key(&shown_key(name, KEY_MAX)), errors);
    }
}

fn validate_attribute(attribute: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    if opt_str_at(attribute, &["string"]).is_some_and(|text| text.len() > VALUE_MAX) {
        errors.push(FieldError::too_long(&path.child("string"), VALUE_MAX));
    }
    if let Some(version) = opt_str_at(attribute, &["version"]) {
        let path = path.child("version");
        if !is_semantic_version(version) {
            let words = "must be a string compatible with semver.org spec 2.0.0";
            errors.push(FieldError::invalid(&path, version, words));
        }
        if version.len() > VALUE_MAX {
            errors.push(FieldError::too_long(&path, VALUE_MAX));
        }
    }
    let words = "exactly one value must be specified";
    match VALUES.iter().filter(|field| at(attribute, &[field]).is_some()).count() {
        0 => errors.push(FieldError::invalid(path, "", words)),
        1 => {}
        _ => {
            let shown = internal::print("DeviceAttribute", attribute);
            errors.push(internal::invalid(path, &shown, words));
        }
    }
}

/// Whether a text is a version as semver.org has it.
fn is_semantic_version(text: &str) -> bool {
    let is_identifier =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = |text: &str| is_digits(text) && (text == "0" || !text.starts_with('0'));
    let (version, build) = match text.split_once('+') {
        Some((version, build)) => (version, Some(build)),
        None => (text, None),
    };
    let (core, early) = match version.split_once('-') {
        Some((core, early)) => (core, Some(early)),
        None => (version, None),
    };
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && early.is_none_or(|early| {
            let mut parts = early.split('.');
            parts.all(|part| is_identifier(part) && (!is_digits(part) || is_number(part)))
        })
        && build.is_none_or(|build| build.split('.').all(is_identifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_semver() {
        for fine in [
            "0.0.0",
            "1.20.3",
            "1.2.3-a.0.1a-b",
            "1.2.3-0a",
            "1.2.3+01.a",
            "1.2.3-a+b-c",
            "1.2.3--",
        ] {
            assert!(is_semantic_version(fine), "{fine}");
        }
        for wrong in [
            "",
            "1.2",
            "1.2.3.4",
            "01.2.3",
            "1.2.3-",
            "1.2.3-01",
            "1.2.3-a..b",
            "1.2.3+",
            "1.2.3+a+b",
            "v1.2.3",
            "1.2.3 ",
            "1.2.3-ä",
        ] {
            assert!(!is_semantic_version(wrong), "{wrong}");
        }
    }
}
