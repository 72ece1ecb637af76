//! A webhook's answer as a document: decoded as upstream decodes it, and of the kind that was sent (A4, C12).

use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::go::value::json_kind;
use kubewright_codec::{json, yaml};
use serde_json::Value;

use crate::attributes::GroupVersionKind;

/// The place in upstream's sources that its message for an unknown kind names.
const SCHEME: &str = "pkg/runtime/scheme.go:111";

/// Decodes the answer to a document of this kind; also gives the kind the answer says it has. `versions` are all those of
/// the kind that upstream knows.
pub fn read(sent: &GroupVersionKind, versions: &[&str], body: &[u8]) -> Result<(Value, GroupVersionKind), String> {
    let value = decode(body)?;
    let found = type_meta(&value)?;
    check_type(sent, versions, found.clone())?;
    Ok((value, found))
}

/// An answer that does not begin as JSON is read as YAML, whatever its content type.
fn decode(body: &[u8]) -> Result<Value, String> {
    let begin = body.iter().find(|byte| !byte.is_ascii_whitespace());
    let decoded = if begin == Some(&b'{') {
        json::decode(body).map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))
    } else {
        yaml::decode(body).map_err(|error| error.to_string())
    };
    decoded.map(|decoded| decoded.value)
}

/// The kind that the answer says it has; empty where it says nothing.
fn type_meta(value: &Value) -> Result<GroupVersionKind, String> {
    let failed = |why: String| format!("couldn't get version/kind; json parse error: json: cannot unmarshal {why}");
    let fields = match value {
        Value::Null => return Ok(GroupVersionKind::new("", "", "")),
        Value::Object(fields) => fields,
        other => {
            let ty = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
            return Err(failed(format!("{} into Go value of type {ty}", json_kind(other))));
        }
    };
    let text = |key: &str| match fields.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(other) => Err(failed(format!(
            "{} into Go struct field .{key} of type string",
            json_kind(other)
        ))),
    };
    let (api_version, kind) = (text("apiVersion")?, text("kind")?);
    if api_version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {api_version}"));
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Ok(GroupVersionKind::new(group, version, kind))
}

/// Whether the answer is of the kind that was sent. Where it names no group, version or kind, it is taken to be.
fn check_type(sent: &GroupVersionKind, versions: &[&str], mut found: GroupVersionKind) -> Result<(), String> {
    if found.kind.is_empty() {
        found.kind.clone_from(&sent.kind);
    }
    if found.version.is_empty() && (found.group.is_empty() || found.group == sent.group) {
        found.group.clone_from(&sent.group);
        found.version.clone_from(&sent.version);
    }
    if found == *sent {
        return Ok(());
    }
    let is_other_version =
        found.group == sent.group && found.kind == sent.kind && versions.contains(&found.version.as_str());
    let is_status = found == GroupVersionKind::new("", "v1", "Status");
    if is_other_version || is_status {
        let (other, own) = (&found.version, &sent.version);
        return Err(format!(
            "converting ({other}.{}) to ({own}.{}): unknown conversion",
            found.kind, sent.kind
        ));
    }
    let place = match found.group.as_str() {
        "" => found.version,
        group => format!("{group}/{}", found.version),
    };
    let (kind, place) = (quote(&found.kind), quote(&place));
    Err(format!(
        "no kind {kind} is registered for version {place} in scheme {}",
        quote(SCHEME)
    ))
}
