//! `AdmissionReview` on the wire: read as Go's machinery reads it, written byte for byte as controller-runtime writes it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::core::Status;
use kube::core::response::StatusSummary;
use kubewright_apimachinery::go::value::json_kind;
use kubewright_codec::json;
use serde_json::{Map, Value};

use super::patch;
use super::request::{AdmissionRequest, GroupVersionKind, GroupVersionResource, Operation, UserInfo};
use super::response::AdmissionResponse;

/// What a review calls itself; the answer is called the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypeMeta {
    kind: String,
    api_version: String,
}

/// A review that was read.
#[derive(Debug)]
pub(super) struct Review {
    pub(super) meta: TypeMeta,
    pub(super) request: AdmissionRequest,
}

impl Review {
    /// Reads a review. The error is the message of the response, which has the status 400.
    ///
    /// Like upstream this asks little: whatever has a `request` that fits is a review, of v1 and v1beta1 alike.
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        let decoded = json::decode(body).map_err(|error| unknown_kind(&error.to_string()))?;
        let mut fields = match decoded.value {
            Value::Object(fields) => fields,
            Value::Null => Map::new(),
            other => return Err(not_an_object(&other)),
        };
        let mut meta = |name: &str| match fields.remove(name) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(unknown_kind(&format!(
                "json: cannot unmarshal {} into Go struct field .{name} of type string",
                json_kind(&other)
            ))),
        };
        let (api_version, kind) = (meta("apiVersion")?, meta("kind")?);
        let meta = TypeMeta::of(&api_version, kind)?;
        let request = match fields.remove("request") {
            None | Some(Value::Null) => AdmissionRequest::default(),
            Some(Value::Object(fields)) => read_request(fields)?,
            Some(other) => {
                return Err(mismatch(
                    &other,
                    "unversionedAdmissionReview",
                    "",
                    "v1.AdmissionRequest",
                ));
            }
        };
        Ok(Review { meta, request })
    }
}

impl TypeMeta {
    fn of(api_version: &str, kind: String) -> Result<Self, String> {
        // As Go parses and prints a group and version.
        let api_version = match api_version.split_once('/') {
            _ if api_version == "/" => "",
            Some((_, version)) if version.contains('/') => {
                return Err(format!("unexpected GroupVersion string: {api_version}"));
            }
            Some(("", version)) => version,
            _ => api_version,
        };
        if api_version.is_empty() && kind.is_empty() {
            return Ok(Self::v1());
        }
        Ok(TypeMeta {
            kind,
            api_version: api_version.to_owned(),
        })
    }

    fn v1() -> Self {
        TypeMeta {
            kind: "AdmissionReview".to_owned(),
            api_version: "admission.k8s.io/v1".to_owned(),
        }
    }
}

fn unknown_kind(error: &str) -> String {
    format!("couldn't get version/kind; json parse error: {error}")
}

/// Go's message for a value that cannot have apiVersion and kind, because it is not an object.
pub(super) fn not_an_object(found: &Value) -> String {
    let wanted =
        r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    unknown_kind(&format!(
        "json: cannot unmarshal {} into Go value of type {wanted}",
        json_kind(found)
    ))
}

/// What Go says about a value that does not fit a field.
fn mismatch(found: &Value, owner: &str, field: &str, wanted: &str) -> String {
    let dot = if field.is_empty() { "" } else { "." };
    format!(
        "json: cannot unmarshal {} into Go struct field {owner}.AdmissionReview.request{dot}{field} of type {wanted}",
        json_kind(found)
    )
}

/// The fields of one object, to be taken out one by one.
struct Fields<'a> {
    owner: &'a str,
    /// Where the object is below `request`, with a dot at its end.
    path: &'a str,
    values: Map<String, Value>,
}

impl Fields<'_> {
    fn mismatch(&self, found: &Value, name: &str, wanted: &str) -> String {
        mismatch(found, self.owner, &format!("{}{name}", self.path), wanted)
    }

    fn text(&mut self, name: &str, wanted: &str) -> Result<String, String> {
        match self.values.remove(name) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(self.mismatch(&other, name, wanted)),
        }
    }

    fn truth(&mut self, name: &str) -> Result<bool, String> {
        match self.values.remove(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(truth)) => Ok(truth),
            Some(other) => Err(self.mismatch(&other, name, "bool")),
        }
    }

    fn object(&mut self, name: &str, wanted: &str) -> Result<Option<Map<String, Value>>, String> {
        match self.values.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(fields)),
            Some(other) => Err(self.mismatch(&other, name, wanted)),
        }
    }

    fn any(&mut self, name: &str) -> Value {
        self.values.remove(name).unwrap_or_default()
    }

    fn three(&mut self, name: &str, last: &str, wanted: &str) -> Result<Option<[String; 3]>, String> {
        let Some(values) = self.object(name, &format!("v1.{wanted}"))? else {
            return Ok(None);
        };
        let path = format!("{}{name}.", self.path);
        let mut fields = Fields {
            owner: wanted,
            path: &path,
            values,
        };
        Ok(Some([
            fields.text("group", "string")?,
            fields.text("version", "string")?,
            fields.text(last, "string")?,
        ]))
    }

    fn kind(&mut self, name: &str) -> Result<Option<GroupVersionKind>, String> {
        let three = self.three(name, "kind", "GroupVersionKind")?;
        Ok(three.map(|[group, version, kind]| GroupVersionKind { group, version, kind }))
    }

    fn resource(&mut self, name: &str) -> Result<Option<GroupVersionResource>, String> {
        let three = self.three(name, "resource", "GroupVersionResource")?;
        Ok(three.map(|[group, version, resource]| GroupVersionResource {
            group,
            version,
            resource,
        }))
    }
}

fn read_request(values: Map<String, Value>) -> Result<AdmissionRequest, String> {
    let mut fields = Fields {
        owner: "AdmissionRequest",
        path: "",
        values,
    };
    Ok(AdmissionRequest {
        uid: fields.text("uid", "types.UID")?,
        kind: fields.kind("kind")?.unwrap_or_default(),
        resource: fields.resource("resource")?.unwrap_or_default(),
        sub_resource: fields.text("subResource", "string")?,
        request_kind: fields.kind("requestKind")?,
        request_resource: fields.resource("requestResource")?,
        request_sub_resource: fields.text("requestSubResource", "string")?,
        name: fields.text("name", "string")?,
        namespace: fields.text("namespace", "string")?,
        operation: Operation::from(fields.text("operation", "v1.Operation")?.as_str()),
        user_info: match fields.object("userInfo", "v1.UserInfo")? {
            None => UserInfo::default(),
            Some(values) => read_user(values)?,
        },
        object: fields.any("object"),
        old_object: fields.any("oldObject"),
        dry_run: fields.truth("dryRun")?,
        options: fields.any("options"),
    })
}

fn read_user(values: Map<String, Value>) -> Result<UserInfo, String> {
    let mut fields = Fields {
        owner: "UserInfo",
        path: "userInfo.",
        values,
    };
    let (username, uid) = (fields.text("username", "string")?, fields.text("uid", "string")?);
    let groups = fields.any("groups");
    let mut extra = BTreeMap::new();
    for (key, values) in fields.object("extra", "map[string]v1.ExtraValue")?.unwrap_or_default() {
        let texts = texts(values).map_err(|other| fields.mismatch(&other, "extra", "v1.ExtraValue"))?;
        extra.insert(key, texts);
    }
    Ok(UserInfo {
        username,
        uid,
        groups: texts(groups).map_err(|other| fields.mismatch(&other, "groups", "[]string"))?,
        extra,
    })
}

/// A list of texts; nulls are empty. The value that does not fit is the error.
fn texts(value: Value) -> Result<Vec<String>, Value> {
    let items = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items,
        other => return Err(other),
    };
    let text = |item| match item {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text),
        other => Err(other),
    };
    items.into_iter().map(text).collect()
}

/// An answer to a review: called as the review was, with its uid. Without one, the answer to something that was none.
pub(super) fn write(meta: Option<&TypeMeta>, uid: &str, response: &AdmissionResponse) -> Vec<u8> {
    let mut review = Writer::object();
    if let Some(meta) = meta {
        review.text("kind", &meta.kind);
        review.text("apiVersion", &meta.api_version);
    }
    review.raw("response", &response_bytes(uid, response));
    let mut bytes = review.end();
    bytes.push(b'\n');
    bytes
}

fn response_bytes(uid: &str, response: &AdmissionResponse) -> Vec<u8> {
    let mut out = Writer::object();
    out.always("uid", uid);
    out.raw("allowed", if response.allowed { b"true" } else { b"false" });
    out.raw("status", &status_bytes(&response.status));
    if !response.patch.is_empty() {
        out.always("patch", &STANDARD.encode(patch::to_bytes(&response.patch)));
        out.always("patchType", "JSONPatch");
    }
    if !response.audit_annotations.is_empty() {
        out.value("auditAnnotations", &serde_json::json!(response.audit_annotations));
    }
    if !response.warnings.is_empty() {
        out.value("warnings", &serde_json::json!(response.warnings));
    }
    out.end()
}

fn status_bytes(status: &Status) -> Vec<u8> {
    let mut out = Writer::object();
    let metadata = status
        .metadata
        .as_ref()
        .and_then(|metadata| serde_json::to_value(metadata).ok());
    out.value("metadata", &metadata.unwrap_or_else(|| Value::Object(Map::new())));
    out.text(
        "status",
        match status.status {
            Some(StatusSummary::Success) => "Success",
            Some(StatusSummary::Failure) => "Failure",
            None => "",
        },
    );
    out.text("message", &status.message);
    out.text("reason", &status.reason);
    if let Some(details) = &status.details {
        let mut inner = Writer::object();
        inner.text("name", &details.name);
        inner.text("group", &details.group);
        inner.text("kind", &details.kind);
        inner.text("uid", &details.uid);
        let causes: Vec<Vec<u8>> = details
            .causes
            .iter()
            .map(|cause| {
                let mut out = Writer::object();
                out.text("reason", &cause.reason);
                out.text("message", &cause.message);
                out.text("field", &cause.field);
                out.end()
            })
            .collect();
        if !causes.is_empty() {
            inner.raw("causes", &[b"[".as_slice(), &causes.join(&b','), b"]"].concat());
        }
        if details.retry_after_seconds != 0 {
            inner.value("retryAfterSeconds", &details.retry_after_seconds.into());
        }
        out.raw("details", &inner.end());
    }
    // Go's server sends 200 for a missing code, whatever the other fields are.
    out.value("code", &if status.code == 0 { 200 } else { status.code }.into());
    out.end()
}

/// Writes an object field by field, in Go's order.
struct Writer(Vec<u8>);

impl Writer {
    fn object() -> Self {
        Writer(vec![b'{'])
    }

    fn raw(&mut self, name: &str, bytes: &[u8]) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        json::write_string(name, &mut self.0);
        self.0.push(b':');
        self.0.extend_from_slice(bytes);
    }

    fn value(&mut self, name: &str, value: &Value) {
        let mut bytes = Vec::new();
        json::write(value, &mut bytes);
        self.raw(name, &bytes);
    }

    fn always(&mut self, name: &str, text: &str) {
        let mut bytes = Vec::new();
        json::write_string(text, &mut bytes);
        self.raw(name, &bytes);
    }

    /// A text that is left out where it is empty.
    fn text(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.always(name, text);
        }
    }

    fn end(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}
