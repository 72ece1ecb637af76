//! Writes an object through the rules of its kind, in the order the server asks them.

use kubewright_kinds::service::allocate::{AllocationError, Allocator};
use kubewright_kinds::strategy::strategy;
use kubewright_kinds::{Create, Update, behaviour, timestamps};
use kubewright_schema::{Resource, TypeRef, Types, decode, default, resources};
use serde_json::Value;

use super::case::{Answer, NOW, identify};

/// What the rules make of `sent`: a new object, or one that replaces `stored`.
pub(crate) fn answer(sent: &Value, stored: Option<&Value>, subresource: Option<&str>) -> Answer {
    let resource = resource_of(sent).expect("a recorded object is of a built-in kind");
    let kind = behaviour(resource.group, resource.plural);
    let ty = type_of(sent).expect("a recorded object is of a built-in type");
    let mut object = decoded(ty, sent);
    default(ty, &mut object);
    kind.default(&mut object);
    if resource.plural == "services"
        && subresource.is_none()
        && let Err(refusal) = allocate(&mut object, stored)
    {
        return Answer::Refused(texts_of(refusal));
    }
    prepare(resource, &mut object, stored, subresource);
    let mut errors = Vec::new();
    match stored {
        Some(old) => kind.validate_update(&object, old, subresource, &mut errors),
        None => kind.validate_create(&object, &mut errors),
    }
    if !errors.is_empty() {
        return Answer::Refused(errors.iter().map(ToString::to_string).collect());
    }
    let warnings = match subresource {
        Some("status") => kind.status_warnings(&object),
        _ => kind.warnings(&object, stored),
    };
    Answer::written(&decoded(ty, &object), each_once(warnings))
}

/// What the kind, its strategy and the server's clock do to a write before it is validated.
fn prepare(resource: &Resource, object: &mut Value, stored: Option<&Value>, subresource: Option<&str>) {
    let kind = behaviour(resource.group, resource.plural);
    if let Some(old) = stored {
        kind.prepare_update(Update {
            object,
            old,
            subresource,
        });
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata.filter(|_| subresource == Some("status")) {
            let rules = strategy(resource.group, resource.plural);
            rules.status_metadata.restore(metadata, &old["metadata"]);
        }
        identify(object);
    } else {
        identify(object);
        kind.prepare_create(Create { object });
    }
    timestamps::set_times(resource.group, resource.plural, subresource, object, stored, NOW);
}

/// The resource that holds objects of this kind.
pub(crate) fn resource_of(object: &Value) -> Option<&'static Resource> {
    let (group, _) = group_and_version(object);
    let kind = object["kind"].as_str()?;
    resources()
        .iter()
        .find(|resource| resource.group == group && resource.kind == kind)
}

fn type_of(object: &Value) -> Option<TypeRef<'static>> {
    let (group, version) = group_and_version(object);
    Types::builtin().kind(group, version, object["kind"].as_str()?)
}

fn group_and_version(object: &Value) -> (&str, &str) {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    version.split_once('/').unwrap_or(("", version))
}

/// The object as its type reads and writes it: zero values appear and vanish as its fields say.
fn decoded(ty: TypeRef<'static>, object: &Value) -> Value {
    let decoded = decode(ty, object.clone(), None);
    decoded.expect("a recorded object is well-typed").value
}

fn allocate(object: &mut Value, stored: Option<&Value>) -> Result<(), AllocationError> {
    let mut allocator = Allocator::default();
    let mut lowest = |_| 0;
    match stored {
        None => allocator.begin_create(object, true, &mut lowest).map(drop),
        Some(old) => {
            allocator.observe(old);
            allocator.begin_update(object, old, true, &mut lowest).map(drop)
        }
    }
}

fn texts_of(refusal: AllocationError) -> Vec<String> {
    match refusal {
        AllocationError::Invalid(errors) => errors.iter().map(ToString::to_string).collect(),
        AllocationError::Internal(text) => vec![format!("Internal error occurred: {text}")],
        AllocationError::Unexpected(text) => vec![text],
    }
}

/// The server shows a warning once, however often it was given.
fn each_once(warnings: Vec<String>) -> Vec<String> {
    let mut shown = Vec::new();
    for warning in warnings {
        if !shown.contains(&warning) {
            shown.push(warning);
        }
    }
    shown
}
