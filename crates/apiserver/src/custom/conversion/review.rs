//! One exchange with a conversion webhook: the review that is sent, and what its answer must be like (C12).

use std::time::Duration;

use kubewright_admission::{ClientConfig, GroupVersionKind as ReviewKind, document};
use kubewright_apimachinery::field::{Errors, PathRef, aggregate};
use kubewright_apimachinery::go::value::{Numbers, json_kind, type_name};
use kubewright_kinds::meta;
use serde_json::{Map, Value};

use super::super::kind::CustomKind;
use crate::server::Server;
use crate::webhook;

const GROUP: &str = "apiextensions.k8s.io";
const KIND: &str = "ConversionReview";
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];
/// Upstream gives a conversion this long.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The objects in the version `wanted`, converted by the webhook of their kind; or why not, in upstream's words.
pub(super) async fn call(
    server: &Server,
    kind: &CustomKind,
    wanted: &str,
    objects: &[Value],
) -> Result<Vec<Value>, String> {
    let Some(stanza) = kind.webhook() else {
        return Err(format!("{} has no conversion webhook", kind.definition.name));
    };
    let Some(version) = review_version(stanza) else {
        return Err(format!(
            "conversion webhook for {} speaks no known version",
            kind.definition.name
        ));
    };
    let uid = server.random.uuid();
    let review = serde_json::json!({
        "kind": KIND,
        "apiVersion": format!("{GROUP}/{version}"),
        "request": { "uid": uid, "desiredAPIVersion": wanted, "objects": objects },
        // Upstream sends the empty form to be filled in.
        "response": { "uid": "", "convertedObjects": null, "result": { "metadata": {} } },
    });
    let subject = objects.first().map(gvk).unwrap_or_default();
    let failed = |why: String| format!("conversion webhook for {subject} failed: {why}");
    let config = stanza.get("clientConfig").and_then(ClientConfig::read);
    let config = config.ok_or_else(|| failed("webhook configuration must have either service or URL".into()))?;
    let sent_kind = ReviewKind::new(GROUP, version, KIND);
    let sent = serde_json::to_vec(&review).map_err(|error| failed(error.to_string()))?;
    let answer = webhook::post(server, &config, sent, TIMEOUT).await;
    let answer = answer.map_err(|error| failed(error.to_string()))?;
    let (answer, found) = document::read(&sent_kind, &VERSIONS, &answer).map_err(failed)?;
    let converted = converted_objects(&answer, &sent_kind, &found, &uid).map_err(failed)?;
    if converted.len() != objects.len() {
        let (got, expected) = (converted.len(), objects.len());
        return Err(format!(
            "conversion webhook for {subject} returned {got} objects, expected {expected}"
        ));
    }
    let single = objects.len() == 1;
    let checked = objects
        .iter()
        .zip(converted)
        .enumerate()
        .map(|(at, (original, converted))| {
            checked(original, converted, wanted).map_err(|refusal| refusal.in_words(&gvk(original), at, single))
        });
    checked.collect()
}

/// The first of the versions a webhook speaks that we speak too.
fn review_version(stanza: &Value) -> Option<&'static str> {
    let spoken = stanza.get("conversionReviewVersions")?.as_array()?;
    let mut known = spoken.iter().filter_map(Value::as_str);
    known.find_map(|version| VERSIONS.into_iter().find(|known| *known == version))
}

/// What the webhook made of the objects, if it says that all went well.
fn converted_objects(answer: &Value, sent: &ReviewKind, found: &ReviewKind, uid: &str) -> Result<Vec<Value>, String> {
    // The older version checked neither kind nor uid.
    let strictly = sent.version == "v1";
    if strictly && found != sent {
        return Err(format!("expected webhook response of {sent}, got {found}"));
    }
    let Some(response) = answer.get("response").filter(|response| response.is_object()) else {
        return Err("no response provided".to_owned());
    };
    let given = text(response, "uid");
    if strictly && given != uid {
        let (uid, given) = (
            kubewright_apimachinery::go::quote(uid),
            kubewright_apimachinery::go::quote(given),
        );
        return Err(format!("expected response.uid={uid}, got {given}"));
    }
    let result = response.get("result").unwrap_or(&Value::Null);
    match (text(result, "status"), text(result, "message")) {
        ("Success", _) => {}
        (status, "") => return Err(format!("response.result.status was '{status}', not 'Success'")),
        (_, message) => return Err(message.to_owned()),
    }
    let converted = response.get("convertedObjects").and_then(Value::as_array);
    Ok(converted.cloned().unwrap_or_default())
}

/// The reason why a converted object is refused.
enum InvalidConversion {
    /// It is not an object of any kind.
    Undecodable(String),
    /// It is not the object that was asked for.
    Other(String),
    /// Its metadata is malformed.
    Metadata(String),
}

impl InvalidConversion {
    /// As upstream says it of one object, or of one among several.
    fn in_words(self, subject: &str, at: usize, single: bool) -> String {
        let webhook = format!("conversion webhook for {subject} returned");
        match (self, single) {
            (InvalidConversion::Undecodable(why), true) => why,
            (InvalidConversion::Other(why), true) if why.starts_with("invalid ") => {
                format!("{webhook} invalid object at index 0: {why}")
            }
            (InvalidConversion::Other(why), true) => format!("{webhook} invalid object: {why}"),
            (InvalidConversion::Metadata(why), true) => format!("{webhook} invalid metadata: {why}"),
            (InvalidConversion::Undecodable(why) | InvalidConversion::Other(why), false) => {
                format!("{webhook} invalid converted object at index {at}: {why}")
            }
            (InvalidConversion::Metadata(why), false) => {
                format!("{webhook} invalid metadata in object at index {at}: {why}")
            }
        }
    }
}

/// A converted object with the metadata of the original, of which only labels and annotations may be the webhook's.
fn checked(original: &Value, mut converted: Value, wanted: &str) -> Result<Value, InvalidConversion> {
    if !converted.is_object() {
        let kind = json_kind(&converted);
        let why = format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}");
        return Err(InvalidConversion::Undecodable(why));
    }
    if text(&converted, "kind").is_empty() {
        return Err(InvalidConversion::Undecodable(format!(
            "Object 'Kind' is missing in '{converted}'"
        )));
    }
    let got = text(&converted, "apiVersion");
    if got != wanted {
        return Err(InvalidConversion::Other(format!(
            "invalid groupVersion (expected {wanted}, received {got})"
        )));
    }
    let (expected, got) = (text(original, "kind"), text(&converted, "kind"));
    if expected != got {
        return Err(InvalidConversion::Other(format!(
            "invalid kind (expected {expected}, received {got})"
        )));
    }
    for (field, shown) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let of = |object: &Value| object.get("metadata").map(|metadata| text(metadata, field).to_owned());
        let (expected, got) = (of(original).unwrap_or_default(), of(&converted).unwrap_or_default());
        if expected != got {
            return Err(InvalidConversion::Other(format!(
                "must have the same {shown}: {expected} != {got}"
            )));
        }
    }
    let given = match converted.get_mut("metadata").map(Value::take) {
        None => {
            return Err(InvalidConversion::Metadata(
                "missing metadata in converted object".into(),
            ));
        }
        Some(Value::Object(given)) => given,
        Some(other) => {
            let kind = type_name(&other, Numbers::Int64);
            return Err(InvalidConversion::Metadata(format!(
                "invalid metadata of type {kind} in converted object"
            )));
        }
    };
    let before = original
        .get("metadata")
        .cloned()
        .unwrap_or_else(|| Value::Object(Map::new()));
    converted["metadata"] = restored(before, &given).map_err(InvalidConversion::Metadata)?;
    Ok(converted)
}

/// The original metadata with the labels and annotations that the webhook gave.
fn restored(original: Value, given: &Map<String, Value>) -> Result<Value, String> {
    let mut metadata = match original {
        Value::Object(metadata) => metadata,
        other => {
            return Err(format!(
                "invalid metadata of type {} in input object",
                type_name(&other, Numbers::Int64)
            ));
        }
    };
    for field in ["labels", "annotations"] {
        let given = match given.get(field) {
            None | Some(Value::Null) => {
                metadata.remove(field);
                continue;
            }
            Some(Value::Object(given)) => given,
            Some(other) => {
                let kind = type_name(other, Numbers::Int64);
                return Err(format!("invalid metadata.{field} of type {kind} in converted object"));
            }
        };
        if let Some((key, value)) = given.iter().find(|(_, value)| !value.is_string()) {
            let kind = type_name(value, Numbers::Int64);
            return Err(format!(
                "metadata.{field}[{key}] must be a string, but is {kind} in converted object"
            ));
        }
        let given = Value::Object(given.clone());
        if metadata.get(field) != Some(&given) {
            let mut errors = Errors::new();
            let path = PathRef::root("metadata");
            match field {
                "labels" => meta::validate_labels(&given, &path.child("labels"), &mut errors),
                _ => meta::validate_annotations(&given, &path.child("annotation"), &mut errors),
            }
            if let Some(message) = aggregate(&errors) {
                return Err(message);
            }
        }
        metadata.insert(field.to_owned(), given);
    }
    Ok(Value::Object(metadata))
}

fn text<'v>(object: &'v Value, key: &str) -> &'v str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// `group/version, Kind=kind`
fn gvk(object: &Value) -> String {
    format!("{}, Kind={}", text(object, "apiVersion"), text(object, "kind"))
}
