//! Objects in flight and at rest: reading metadata out of a value, and the spliceable form (ARCHITECTURE.md).

use bytes::Bytes;
use kubewright_codec::json;
use kubewright_schema as schema;
use kubewright_store::{Record, RecordDraft, Revision};
use serde_json::{Map, Value};

use crate::custom::conversion::{ConversionCache, Unfinished};
use crate::registry::{BuiltInId, Resource};

/// How every stored body begins; what follows is spliced behind type and revision.
const HEAD: &str = r#"{"metadata":{"#;

/// The object's text with type and revision in place, as get, list and watch serve it.
pub(crate) fn splice(out: &mut Vec<u8>, type_meta: &str, revision: Revision, record: &Record) {
    out.push(b'{');
    out.extend_from_slice(type_meta.as_bytes());
    splice_revision(out, revision, record, 1, record.body.len());
}

/// The part of the body between two places, with the revision at its own.
fn splice_revision(out: &mut Vec<u8>, revision: Revision, record: &Record, from: usize, to: usize) {
    let at = record.revision_at as usize;
    out.extend_from_slice(&record.body[from..at]);
    let is_first = at == HEAD.len();
    out.extend_from_slice(if is_first {
        br#""resourceVersion":""#
    } else {
        br#","resourceVersion":""#
    });
    out.extend_from_slice(itoa::Buffer::new().format(revision.0).as_bytes());
    out.push(b'"');
    if is_first && record.body[at] != b'}' {
        out.push(b',');
    }
    out.extend_from_slice(&record.body[at..to]);
}

/// The text of the object's metadata alone, with type and revision in place. `false` if it has to be made of the object.
pub(crate) fn splice_metadata(
    out: &mut Vec<u8>,
    resource: &Resource,
    version: &str,
    revision: Revision,
    record: &Record,
) -> bool {
    const BEFORE: usize = r#"{"metadata":"#.len();
    let head = record.head as usize;
    if head == 0 {
        return false;
    }
    out.extend_from_slice(br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/"#);
    out.extend_from_slice(version.as_bytes());
    out.extend_from_slice(br#"","metadata":"#);
    if resource.custom().is_some() {
        // Metadata alone has a type in Go, metadata of a custom resource has none.
        let mut metadata = parsed(&record.body[BEFORE..head]);
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("resourceVersion".into(), revision.to_string().into());
        }
        match schema::Types::builtin().named(OBJECT_META) {
            Some(ty) => schema::write_json(ty, &metadata, out),
            None => json::write(&metadata, out),
        }
    } else {
        splice_revision(out, revision, record, BEFORE, head);
    }
    out.push(b'}');
    true
}

/// The object's text for a response of its own.
pub(crate) fn spliced(resource: &Resource, record: &Record) -> Bytes {
    let mut text = Vec::with_capacity(record.body.len() + resource.type_meta.len() + 64);
    splice(&mut text, &resource.type_meta, record.revision, record);
    text.push(b'\n');
    text.into()
}

/// The value of a text that this server wrote. Custom resources may nest deeper than the fast parser goes.
pub(crate) fn parsed(text: &[u8]) -> Value {
    serde_json::from_slice(text)
        .or_else(|_| kubewright_codec::json::decode(text).map(|decoded| decoded.value))
        .unwrap_or_default()
}

/// The object at rest, as a value with its type and revision.
pub(crate) fn to_value(resource: &Resource, record: &Record, revision: Revision) -> Value {
    let mut value = parsed(&record.body);
    if let Some(object) = value.as_object_mut() {
        object.insert("kind".into(), (*resource.kind).into());
        object.insert("apiVersion".into(), resource.api_version.as_str().into());
    }
    set_meta(&mut value, "resourceVersion", revision.to_string());
    value
}

/// What the store keeps of an object.
pub(crate) fn to_draft(
    resource: &Resource,
    object: &Value,
    cache: &ConversionCache,
) -> Result<RecordDraft, Unfinished> {
    let Some(version) = resource.custom() else {
        return Ok(to_built_in_draft(resource, object));
    };
    Ok(match version.for_storage(object, cache)? {
        Some(object) => draft(resource, &object),
        None => draft(resource, object),
    })
}

/// What the store keeps of an object of a built-in resource, in the version that is stored.
pub(crate) fn to_built_in_draft(resource: &Resource, object: &Value) -> RecordDraft {
    let draft = draft(resource, object);
    // Storage does not tell an empty list or map from none; only what looks like one is worth the second look.
    let has = |text: &[u8]| memchr::memmem::find(&draft.body, text).is_some();
    let may_be_empty = has(b":[]") || has(b":{}");
    if !may_be_empty || !has_empties(resource, object) {
        return draft;
    }
    self::draft(resource, &built_in_as_stored(resource, object.clone()))
}

/// Whether an object has empty lists or maps that storage does not keep.
fn has_empties(resource: &Resource, object: &Value) -> bool {
    // The schemas of a definition are free-form where Go has types.
    resource.is(BuiltInId::CustomResourceDefinitions) || resource.ty().is_some_and(|ty| schema::has_empties(ty, object))
}

/// Leaves out of an object on its way the empty lists and maps that nobody sees: an encoded object does not have them.
pub(crate) fn leave_out_empties(resource: &Resource, object: &mut Value) {
    if let Some(ty) = resource.ty() {
        schema::leave_out_empties(ty, object);
    }
}

/// What the store keeps of an object whose metadata alone has changed: it stays in the version it was stored in.
pub(crate) fn redraft(resource: &Resource, record: &Record, object: &Value) -> RecordDraft {
    RecordDraft {
        fields: record.fields.clone(),
        ..draft(resource, object)
    }
}

/// The object as storage would give it back.
pub(crate) fn as_stored(resource: &Resource, object: Value, cache: &ConversionCache) -> Result<Value, Unfinished> {
    match resource.custom() {
        Some(version) => version.stored_and_back(object, cache),
        None => Ok(built_in_as_stored(resource, object)),
    }
}

fn built_in_as_stored(resource: &Resource, object: Value) -> Value {
    match resource.decode(object.clone(), None) {
        Ok(decoded) => decoded.value,
        Err(_) => object,
    }
}

fn draft(resource: &Resource, object: &Value) -> RecordDraft {
    let mut body = Vec::with_capacity(512);
    body.extend_from_slice(HEAD.as_bytes());
    let ty = type_of(resource, object);
    let meta_type = ty.and_then(|ty| Some(ty.field_named("metadata")?.type_ref()));
    let mut first = true;
    let own = || {
        metadata(object)
            .into_iter()
            .flatten()
            .filter(|(key, _)| *key != "resourceVersion")
    };
    let is_before = |key: &str| match meta_type {
        Some(_) => BEFORE_REVISION.contains(&key),
        None => key < "resourceVersion",
    };
    members(
        &mut body,
        meta_type,
        own().filter(|(key, _)| is_before(key)),
        &mut first,
    );
    let revision_at = u32::try_from(body.len()).unwrap_or_default();
    members(
        &mut body,
        meta_type,
        own().filter(|(key, _)| !is_before(key)),
        &mut first,
    );
    body.push(b'}');
    // Keys of a custom resource are sorted. If some stand before its metadata, its text is made anew whenever it is served.
    let mut rest = object
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !is_first_part(key));
    let has_others_before = ty.is_none() && rest.clone().any(|(key, _)| key.as_str() < "metadata");
    let head = if has_others_before {
        0
    } else {
        u32::try_from(body.len()).unwrap_or_default()
    };
    members(&mut body, ty, &mut rest, &mut false);
    body.push(b'}');
    body.shrink_to_fit();
    let labels = metadata(object)
        .and_then(|metadata| metadata.get("labels"))
        .and_then(Value::as_object);
    RecordDraft {
        body: body.into(),
        head,
        revision_at,
        uid: meta_text(object, "uid").into(),
        labels: labels
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.as_str().into(), value.as_str().unwrap_or_default().into()))
            .collect(),
        fields: resource.field_values(object),
    }
}

/// What Go writes of an object's metadata before its version.
const BEFORE_REVISION: [&str; 5] = ["name", "generateName", "namespace", "selfLink", "uid"];

/// The type of an object's metadata.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The type by which a built-in object is written.
fn type_of(resource: &Resource, object: &Value) -> Option<schema::TypeRef<'static>> {
    let own = resource.ty()?;
    if resource.conversion().is_none() {
        return Some(own);
    }
    // What is stored may be of another version than the path.
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    schema::Types::builtin()
        .kind(group, version, text("kind"))
        .or(Some(own))
}

fn is_first_part(key: &str) -> bool {
    matches!(key, "kind" | "apiVersion" | "metadata")
}

/// Members of an object: those of a struct in the order of its type, all others as they are.
fn members<'v>(
    body: &mut Vec<u8>,
    ty: Option<schema::TypeRef<'_>>,
    members: impl Iterator<Item = (&'v String, &'v Value)>,
    first: &mut bool,
) {
    if let Some(ty) = ty {
        return schema::write_members(ty, members, first, body);
    }
    for (key, value) in members {
        if !std::mem::take(first) {
            body.push(b',');
        }
        json::write_string(key, body);
        body.push(b':');
        json::write(value, body);
    }
}

/// The object's metadata.
pub(crate) fn metadata(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata")?.as_object()
}

/// The object's metadata, made if it is not there. `object` must be a JSON object.
pub(crate) fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object
        .as_object_mut()?
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut()
}

/// A text of the metadata; empty when it is not there.
pub(crate) fn meta_text<'a>(object: &'a Value, key: &str) -> &'a str {
    metadata(object)
        .and_then(|metadata| metadata.get(key))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A number of the metadata.
pub(crate) fn meta_number(object: &Value, key: &str) -> Option<i64> {
    metadata(object)?.get(key)?.as_i64()
}

/// Sets an entry of the metadata.
pub(crate) fn set_meta(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(metadata) = metadata_mut(object) {
        metadata.insert(key.into(), value.into());
    }
}

/// Removes an entry of the metadata.
pub(crate) fn remove_meta(object: &mut Value, key: &str) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove(key);
    }
}

/// Whether two objects are the same but for who owns their fields.
pub(crate) fn differ_by_owners_only(one: &Value, other: &Value) -> bool {
    let owners = (metadata(one), metadata(other));
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else {
        return false;
    };
    let without = |fields: &Map<String, Value>, left_out: &str| -> usize {
        fields.len() - usize::from(fields.contains_key(left_out))
    };
    let same = |one: &Map<String, Value>, other: &Map<String, Value>, left_out: &str| {
        without(one, left_out) == without(other, left_out)
            && one
                .iter()
                .filter(|(key, _)| *key != left_out)
                .all(|(key, value)| other.get(key) == Some(value))
    };
    same(one, other, "metadata")
        && match owners {
            (Some(one), Some(other)) => same(one, other, "managedFields"),
            (one, other) => one == other,
        }
}

/// The finalizers of an object.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    let list = metadata(object)
        .and_then(|metadata| metadata.get("finalizers"))
        .and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The store's key of an object: etcd's order of namespaces and names (R3).
pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}
