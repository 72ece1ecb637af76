//! The controllers of a definition as pure steps (C1): which names it gets, whether its group is protected, whether its
//! schemas are structural, and when it is established. Each step is one write of the status, as the real server does it.

use std::collections::HashSet;

use kubewright_apimachinery::errors::aggregate;
use kubewright_apimachinery::go::quote;
use serde_json::{Map, Value};

use super::access::{at, list, object_mut, text, texts};
use super::conditions::{self, Condition};
use super::validate::{approval, ca_bundle, structural};

/// The definition after the next write of its status that the real server would make, or `None` when it has settled.
///
/// A new definition takes two steps: its names are accepted, then it is established. `others` are the other
/// definitions of the same group; when a step changes accepted names, or a definition disappears, the others must be
/// asked again, since a name may have become free. `now` is the RFC 3339 time of new conditions.
pub fn next_step<'a>(object: &'a Value, others: impl IntoIterator<Item = &'a Value>, now: &str) -> Option<Value> {
    accept_names(object, others, now)
        .or_else(|| establish(object, now))
        .or_else(|| find_structure(object, now))
        .or_else(|| approve(object, now))
}

/// Whether the definition has every name it asks for.
pub fn are_accepted(object: &Value) -> bool {
    conditions::is_true(object, conditions::NAMES_ACCEPTED)
}

const NAMES: [&str; 6] = ["plural", "singular", "shortNames", "kind", "listKind", "categories"];

fn accept_names<'a>(object: &'a Value, others: impl IntoIterator<Item = &'a Value>, now: &str) -> Option<Value> {
    let nothing = Value::Null;
    let requested = at(object, &["spec", "names"]).unwrap_or(&nothing);
    let accepted = at(object, &["status", "acceptedNames"]).unwrap_or(&nothing);
    if NAMES.iter().all(|field| same(requested, accepted, field)) {
        return None;
    }
    let used = UsedNames::by(others.into_iter().chain([object]), text(object, &["spec", "group"]));
    let (names, condition) = choose(requested, accepted, &used);
    let settled = NAMES.iter().all(|field| same(&names, accepted, field));
    if settled && condition.is_said_by(object) {
        return None;
    }
    let mut changed = object.clone();
    object_mut(&mut changed, &["status"])?.insert("acceptedNames".to_owned(), names);
    condition.set(&mut changed, now);
    if condition.status == "True" && !conditions::is_true(object, conditions::ESTABLISHED) {
        let message = "the initial names have been accepted";
        Condition::new(conditions::ESTABLISHED, "False", "Installing", message).set(&mut changed, now);
    } else if conditions::find(object, conditions::ESTABLISHED).is_none() {
        let message = "not all names are accepted";
        Condition::new(conditions::ESTABLISHED, "False", "NotAccepted", message).set(&mut changed, now);
    }
    Some(changed)
}

/// The names that definitions of a group have.
#[derive(Default)]
struct UsedNames<'a> {
    resources: HashSet<&'a str>,
    kinds: HashSet<&'a str>,
}

impl<'a> UsedNames<'a> {
    fn by(definitions: impl Iterator<Item = &'a Value>, group: &str) -> UsedNames<'a> {
        let mut used = UsedNames::default();
        for definition in definitions.filter(|definition| text(definition, &["spec", "group"]) == group) {
            let names = ["status", "acceptedNames"];
            let name = |field: &'static str| text(definition, &[names[0], names[1], field]);
            used.resources.extend([name("plural"), name("singular")]);
            used.resources
                .extend(texts(definition, &["status", "acceptedNames", "shortNames"]));
            used.kinds.extend([name("kind"), name("listKind")]);
        }
        used
    }
}

/// The requested names that are free or belong to the definition already. The condition names the last one that is neither.
fn choose(requested: &Value, accepted: &Value, used: &UsedNames<'_>) -> (Value, Condition) {
    let mut names = accepted.as_object().cloned().unwrap_or_default();
    let mut condition = Condition::new(conditions::NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found");
    for (field, reason, used) in [
        ("plural", "PluralConflict", &used.resources),
        ("singular", "SingularConflict", &used.resources),
        ("shortNames", "ShortNamesConflict", &used.resources),
        ("kind", "KindConflict", &used.kinds),
        ("listKind", "ListKindConflict", &used.kinds),
    ] {
        match conflict(requested, accepted, field, used) {
            None => take(&mut names, requested, field),
            Some(message) => condition = Condition::new(conditions::NAMES_ACCEPTED, "False", reason, message),
        }
    }
    take(&mut names, requested, "categories");
    (Value::Object(names), condition)
}

/// Which of the requested names in a field belong to others.
fn conflict(requested: &Value, accepted: &Value, field: &str, used: &HashSet<&str>) -> Option<String> {
    let (wanted, own) = match requested.get(field) {
        Some(Value::Array(_)) => (texts(requested, &[field]), texts(accepted, &[field])),
        _ => (vec![text(requested, &[field])], vec![text(accepted, &[field])]),
    };
    let own: HashSet<&str> = own.into_iter().collect();
    let conflicts = wanted
        .into_iter()
        .filter(|name| !own.contains(name) && used.contains(name))
        .map(|name| format!("{} is already in use", quote(name)));
    aggregate(conflicts)
}

fn take(names: &mut Map<String, Value>, requested: &Value, field: &str) {
    match requested.get(field) {
        Some(value) => names.insert(field.to_owned(), value.clone()),
        None => names.remove(field),
    };
}

/// Whether a name is the same in both; no list is an empty list.
fn same(left: &Value, right: &Value, field: &str) -> bool {
    text(left, &[field]) == text(right, &[field]) && list(left, &[field]) == list(right, &[field])
}

/// Groups of the Kubernetes community say whether an API was approved.
fn approve(object: &Value, now: &str) -> Option<Value> {
    let condition = approval::condition(object)?;
    (!condition.is_said_by(object)).then(|| with(object, &condition, now))
}

/// Definitions older than v1 may have schemas that are not structural; the condition says why.
fn find_structure(object: &Value, now: &str) -> Option<Value> {
    let condition = structural::condition(object);
    match condition {
        None => conditions::find(object, conditions::NON_STRUCTURAL).map(|_| {
            let mut changed = object.clone();
            conditions::remove(&mut changed, conditions::NON_STRUCTURAL);
            changed
        }),
        Some(condition) => (!condition.is_said_by(object)).then(|| with(object, &condition, now)),
    }
}

/// A definition whose names were accepted once is served from then on.
fn establish(object: &Value, now: &str) -> Option<Value> {
    if !conditions::is_true(object, conditions::NAMES_ACCEPTED) || conditions::is_true(object, conditions::ESTABLISHED)
    {
        return None;
    }
    let bundle = text(object, &["spec", "conversion", "webhook", "clientConfig", "caBundle"]);
    let condition = if ca_bundle::is_invalid(bundle) {
        let message = "The conversion webhook CABundle is invalid";
        Condition::new(conditions::ESTABLISHED, "False", "InvalidCABundle", message)
    } else {
        let message = "the initial names have been accepted";
        Condition::new(conditions::ESTABLISHED, "True", "InitialNamesAccepted", message)
    };
    (!condition.is_said_by(object)).then(|| with(object, &condition, now))
}

fn with(object: &Value, condition: &Condition, now: &str) -> Value {
    let mut changed = object.clone();
    condition.set(&mut changed, now);
    changed
}
