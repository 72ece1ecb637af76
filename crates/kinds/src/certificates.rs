//! Certificate signing requests: a request that cannot change, and approval through a subresource of its own.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::behaviour::{Behaviour, Create, Update};
use crate::certificate_request;
use crate::core_group::pem;
use crate::rules::access::{at, keep, list_at, map_mut, opt_int_at, remove, same, str_at, strings_at};

const APPROVED: &str = "Approved";
const DENIED: &str = "Denied";
const FAILED: &str = "Failed";

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// Certificate signing requests.
pub(crate) struct CertificateSigningRequest;

impl Behaviour for CertificateSigningRequest {
    fn prepare_create(&self, create: Create<'_>) {
        // The server sets the requestor, see `set_requestor`.
        for field in ["username", "uid", "groups", "extra"] {
            remove(create.object, &["spec", field]);
        }
        remove(create.object, &["status"]);
    }

    fn prepare_update(&self, update: Update<'_>) {
        let Update {
            object,
            old,
            subresource,
        } = update;
        keep(object, old, &["spec"]);
        match subresource {
            Some("status") => {
                for kind in [APPROVED, DENIED] {
                    keep_conditions(object, old, kind);
                }
            }
            Some("approval") => {
                let conditions = at(object, &["status", "conditions"]).cloned();
                keep(object, old, &["status"]);
                if let Some(status) = map_mut(object, &["status"]) {
                    match conditions {
                        Some(conditions) => status.insert("conditions".to_owned(), conditions),
                        None => status.remove("conditions"),
                    };
                }
            }
            _ => keep(object, old, &["status"]),
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate(object, None, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        validate(object, Some(old), errors);
        validate_change(object, old, subresource, errors);
    }
}

/// Writes the user who creates a request into its spec.
pub fn set_requestor(
    object: &mut Value,
    username: &str,
    uid: &str,
    groups: &[String],
    extra: &[(String, Vec<String>)],
) {
    let Some(spec) = map_mut(object, &["spec"]) else { return };
    for (field, value) in [("username", username), ("uid", uid)] {
        if !value.is_empty() {
            spec.insert(field.to_owned(), value.into());
        }
    }
    if !groups.is_empty() {
        spec.insert("groups".to_owned(), groups.into());
    }
    if !extra.is_empty() {
        let extra = extra
            .iter()
            .map(|(key, values)| (key.clone(), Value::from(values.clone())))
            .collect();
        spec.insert("extra".to_owned(), Value::Object(extra));
    }
}

/// Fills in the times of conditions that came without, after an update through `status` or `approval`. `now` is the
/// time as JSON writes it.
pub(crate) fn set_condition_times(object: &mut Value, old: &Value, now: &str) {
    let old_conditions = list_at(old, &["status", "conditions"]).to_vec();
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        let state = |condition: &Value| {
            (
                str_at(condition, &["type"]).to_owned(),
                str_at(condition, &["status"]).to_owned(),
            )
        };
        let since = old_conditions
            .iter()
            .filter(|old| state(old) == state(condition))
            .map(|old| str_at(old, &["lastTransitionTime"]))
            .find(|time| !time.is_empty())
            .unwrap_or(now)
            .to_owned();
        let Some(fields) = condition.as_object_mut() else {
            continue;
        };
        for (field, time) in [("lastUpdateTime", now), ("lastTransitionTime", since.as_str())] {
            if fields.get(field).is_none_or(Value::is_null) {
                fields.insert(field.to_owned(), time.into());
            }
        }
    }
}

fn conditions_of<'a>(object: &'a Value, kind: &str) -> Vec<&'a Value> {
    list_at(object, &["status", "conditions"])
        .iter()
        .filter(|condition| str_at(condition, &["type"]) == kind)
        .collect()
}

/// Restores the conditions of `kind`, if their number did not change.
fn keep_conditions(object: &mut Value, old: &Value, kind: &str) {
    let stored: Vec<Value> = conditions_of(old, kind).into_iter().cloned().collect();
    if conditions_of(object, kind).len() != stored.len() {
        return;
    }
    let mut stored = stored.into_iter();
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions
        .into_iter()
        .flatten()
        .filter(|condition| str_at(condition, &["type"]) == kind)
    {
        if let Some(stored) = stored.next() {
            *condition = stored;
        }
    }
}

fn validate(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let path = PathRef::root("spec");
    let request = str_at(object, &["spec", "request"]);
    if let Err(why) = certificate_request::check(&STANDARD.decode(request).unwrap_or_default()) {
        let shown = at(object, &["spec", "request"]).cloned().unwrap_or(Value::Null);
        errors.push(FieldError::invalid(&path.child("request"), shown, why));
    }
    validate_usages(object, old, &path.child("usages"), errors);
    validate_signer(object, old, &path.child("signerName"), errors);
    if let Some(seconds) = opt_int_at(object, &["spec", "expirationSeconds"]).filter(|seconds| *seconds < 600) {
        let words = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(FieldError::invalid(&path.child("expirationSeconds"), seconds, words));
    }
    validate_conditions(object, old, errors);
    validate_certificate(object, old, errors);
}

fn has_duplicates(texts: &[&str]) -> bool {
    let mut seen = HashSet::new();
    !texts.iter().all(|text| seen.insert(*text))
}

fn validate_usages(object: &Value, old: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    let usages = strings_at(object, &["spec", "usages"]);
    let before = old.map(|old| strings_at(old, &["spec", "usages"])).unwrap_or_default();
    if usages.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    if before.iter().all(|usage| USAGES.contains(usage)) {
        for (index, usage) in usages.iter().enumerate().filter(|(_, usage)| !USAGES.contains(usage)) {
            errors.push(FieldError::not_supported(&path.index(index), *usage, USAGES));
        }
    }
    if !has_duplicates(&before) {
        let mut seen = HashSet::new();
        for (index, usage) in usages.iter().enumerate() {
            if !seen.insert(usage) {
                errors.push(FieldError::duplicate(&path.index(index), *usage));
            }
        }
    }
}

fn validate_signer(object: &Value, old: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    const LEGACY: &str = "kubernetes.io/legacy-unknown";
    let signer = str_at(object, &["spec", "signerName"]);
    let was_legacy = old.is_some_and(|old| str_at(old, &["spec", "signerName"]) == LEGACY);
    if signer == LEGACY && !was_legacy {
        let words = "the legacy signerName is not allowed via this API version";
        errors.push(FieldError::invalid(path, signer, words));
        return;
    }
    validate_signer_name(signer, path, errors);
}

/// A signer's name: a domain, a slash and a path.
pub(crate) fn validate_signer_name(signer: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if signer.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let parts = signer.split_once('/').filter(|(_, name)| !name.contains('/'));
    let Some((domain, name)) = parts else {
        let words = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.push(FieldError::invalid(path, signer, words));
        return;
    };
    if domain.len() > names::SUBDOMAIN_MAX {
        errors.push(FieldError::too_long(path, names::SUBDOMAIN_MAX));
    }
    validate_parts(domain, names::dns1123_label, path, errors);
    if !domain.contains('.') {
        let words = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, domain, words));
    }
    validate_parts(name, names::dns1123_subdomain, path, errors);
    let longest = names::SUBDOMAIN_MAX * 2 + names::LABEL_MAX + 2;
    if signer.len() > longest {
        errors.push(FieldError::too_long(path, longest));
    }
}

/// The errors of the first part that has any.
fn validate_parts(text: &str, rule: fn(&str) -> Vec<String>, path: &PathRef<'_>, errors: &mut Errors) {
    let first_bad = text
        .split('.')
        .map(|part| (part, rule(part)))
        .find(|(_, complaints)| !complaints.is_empty());
    if let Some((part, complaints)) = first_bad {
        for complaint in complaints {
            errors.push(FieldError::invalid(
                path,
                text,
                format!("validating label {}: {complaint}", quote(part)),
            ));
        }
    }
}

fn condition_types(object: &Value) -> Vec<&str> {
    list_at(object, &["status", "conditions"])
        .iter()
        .map(|condition| str_at(condition, &["type"]))
        .collect()
}

fn validate_conditions(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let status = PathRef::root("status");
    let path = status.child("conditions");
    let before = old.map(condition_types).unwrap_or_default();
    let was_both = before.contains(&APPROVED) && before.contains(&DENIED);
    let mut seen: HashSet<&str> = HashSet::new();
    for (index, condition) in list_at(object, &["status", "conditions"]).iter().enumerate() {
        let path_of_one = path.index(index);
        let (kind, state) = (str_at(condition, &["type"]), str_at(condition, &["status"]));
        if kind.is_empty() && !before.contains(&"") {
            errors.push(FieldError::required(&path_of_one.child("type"), ""));
        }
        let allowed: &[&str] = if [APPROVED, DENIED, FAILED].contains(&kind) {
            &["True"]
        } else {
            &["False", "True", "Unknown"]
        };
        if state.is_empty() {
            errors.push(FieldError::required(&path_of_one.child("status"), ""));
        } else if !allowed.contains(&state) {
            errors.push(FieldError::not_supported(&path_of_one.child("status"), state, allowed));
        }
        let opposite = match kind {
            APPROVED => DENIED,
            DENIED => APPROVED,
            _ => "",
        };
        if !opposite.is_empty() && !was_both && seen.contains(opposite) {
            let words = "Approved and Denied conditions are mutually exclusive";
            errors.push(FieldError::invalid(&path, kind, words));
        }
        if !seen.insert(kind) && !has_duplicates(&before) {
            errors.push(FieldError::duplicate(&path_of_one.child("type"), kind));
        }
    }
}

fn certificate_problem(certificate: &str) -> Option<String> {
    if certificate.is_empty() {
        return None;
    }
    let kinds = pem::block_kinds(&STANDARD.decode(certificate).unwrap_or_default());
    match kinds.iter().find(|kind| *kind != "CERTIFICATE") {
        Some(other) => Some(format!(
            "only CERTIFICATE PEM blocks are allowed, found {}",
            quote(other)
        )),
        None if kinds.is_empty() => Some("must contain at least one CERTIFICATE PEM block".to_owned()),
        None => None,
    }
}

fn validate_certificate(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let certificate = str_at(object, &["status", "certificate"]);
    let before = old.map(|old| str_at(old, &["status", "certificate"]));
    if before.is_some_and(|before| before == certificate || certificate_problem(before).is_some()) {
        return;
    }
    if let Some(words) = certificate_problem(certificate) {
        let status = PathRef::root("status");
        errors.push(FieldError::invalid(
            &status.child("certificate"),
            "<certificate data>",
            words,
        ));
    }
}

fn validate_change(object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
    let status = PathRef::root("status");
    let path = status.child("conditions");
    for kind in [APPROVED, DENIED, FAILED] {
        if conditions_of(object, kind).len() < conditions_of(old, kind).len() {
            let words = format!("updates may not remove a condition of type {}", quote(kind));
            errors.push(FieldError::forbidden(&path, words));
        }
    }
    if subresource != Some("approval") {
        for kind in [APPROVED, DENIED] {
            let (new, before) = (conditions_of(object, kind), conditions_of(old, kind));
            let verb = match new.len().cmp(&before.len()) {
                std::cmp::Ordering::Less => continue,
                std::cmp::Ordering::Greater => "add",
                std::cmp::Ordering::Equal if new.iter().zip(&before).all(|(new, old)| same(Some(new), Some(old))) => {
                    continue;
                }
                std::cmp::Ordering::Equal => "modify",
            };
            let words = format!("updates may not {verb} a condition of type {}", quote(kind));
            errors.push(FieldError::forbidden(&path, words));
        }
    }
    let certificate = |object| str_at(object, &["status", "certificate"]);
    if certificate(object) != certificate(old) {
        let words = if subresource != Some("status") {
            "updates may not set certificate content"
        } else if !certificate(old).is_empty() {
            "updates may not modify existing certificate content"
        } else {
            return;
        };
        errors.push(FieldError::forbidden(&status.child("certificate"), words));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_keeps_the_time_it_has_had_its_status_since() {
        let old = json!({"status": {"conditions": [
            {"type": "Failed", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"},
        ]}});
        let mut object = json!({"status": {"conditions": [
            {"type": "Failed", "status": "True"},
            {"type": "Approved", "status": "True", "lastUpdateTime": "2021-01-01T00:00:00Z"},
        ]}});
        set_condition_times(&mut object, &old, "2022-01-01T00:00:00Z");
        assert_eq!(
            object["status"]["conditions"],
            json!([
                {
                    "type": "Failed", "status": "True",
                    "lastTransitionTime": "2020-01-01T00:00:00Z", "lastUpdateTime": "2022-01-01T00:00:00Z",
                },
                {
                    "type": "Approved", "status": "True",
                    "lastTransitionTime": "2022-01-01T00:00:00Z", "lastUpdateTime": "2021-01-01T00:00:00Z",
                },
            ])
        );
    }

    #[test]
    fn the_server_sets_the_requestor() {
        let mut object = json!({"spec": {"username": "me"}, "status": {"certificate": "x"}});
        CertificateSigningRequest.prepare_create(Create { object: &mut object });
        set_requestor(&mut object, "admin", "", &["system:masters".to_owned()], &[]);
        assert_eq!(
            object,
            json!({"spec": {"username": "admin", "groups": ["system:masters"]}})
        );
    }

    fn refusals(old: &Value, conditions: Value, subresource: &str) -> Vec<String> {
        let mut object = old.clone();
        object["status"]["conditions"] = conditions;
        CertificateSigningRequest.prepare_update(Update {
            object: &mut object,
            old,
            subresource: Some(subresource),
        });
        let mut errors = Errors::new();
        CertificateSigningRequest.validate_update(&object, old, Some(subresource), &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn approved_and_denied_conditions_cannot_change() {
        let pem = concat!(
            "-----BEGIN CERTIFICATE REQUEST-----\n",
            "MIGlMFkCAQAwJjEVMBMGA1UECgwMc3lzdGVtOm5vZGVzMQ0wCwYDVQQDDARqYW5l\n",
            "MCowBQYDK2VwAyEAxLfbSAcXSb6q5ukbMREuHVFa1gwx3fZxo7ocOZeqkUegADAF\n",
            "BgMrZXADQQB+KczJBnOoohVMgoevtGfnuvim+qgWEQi4LZ8IUk99aKaWbHrjvEWo\n",
            "MnoQEGm2zKo0gx1AC6UvxhSDfMyBc3UN\n",
            "-----END CERTIFICATE REQUEST-----\n",
        );
        let approved = json!({"type": "Approved", "status": "True", "reason": "r"});
        let failed = json!({"type": "Failed", "status": "True"});
        let old = json!({
            "spec": {"request": STANDARD.encode(pem), "usages": ["any"], "signerName": "example.com/x"},
            "status": {"conditions": [approved, failed]},
        });
        assert_eq!(
            refusals(&old, json!([]), "approval"),
            [
                "status.conditions: Forbidden: updates may not remove a condition of type \"Approved\"",
                "status.conditions: Forbidden: updates may not remove a condition of type \"Failed\"",
            ]
        );
        let changed = json!({"type": "Approved", "status": "True", "reason": "CHANGED"});
        assert_eq!(
            refusals(&old, json!([changed]), "status"),
            ["status.conditions: Forbidden: updates may not remove a condition of type \"Failed\""]
        );
        let denied = json!({"type": "Denied", "status": "True"});
        assert_eq!(
            refusals(&old, json!([approved, failed, denied]), "status"),
            [
                "status.conditions: Invalid value: \"Denied\": Approved and Denied conditions are mutually exclusive",
                "status.conditions: Forbidden: updates may not add a condition of type \"Denied\"",
            ]
        );
    }
}
