//! The fields of an answer, read with the type errors of Go's decoder, which reports the first and takes null for absent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::go::value::json_kind;
use serde_json::{Map, Value};

use crate::review::ReviewVersion;

/// The fields of an `AdmissionResponse`, typed.
#[derive(Debug, Default)]
pub(super) struct ResponseFields {
    pub(super) uid: String,
    pub(super) allowed: bool,
    pub(super) status: Value,
    pub(super) patch: Vec<u8>,
    pub(super) patch_type: Option<String>,
    pub(super) audit_annotations: Vec<(String, String)>,
    pub(super) warnings: Vec<String>,
}

/// Reads fields and keeps the first mistake.
pub(super) struct Reader {
    mistake: Option<String>,
}

/// Where a field is: the struct that has it and the path from the root.
#[derive(Clone, Copy)]
struct FieldLocation<'a> {
    owner: &'a str,
    path: &'a str,
}

impl Reader {
    /// The response of a review, if it has one.
    pub(super) fn read(review: &Value, version: ReviewVersion) -> Result<Option<ResponseFields>, String> {
        let mut reader = Reader { mistake: None };
        let at = FieldLocation {
            owner: "AdmissionReview",
            path: "",
        };
        let ty = format!("{}.AdmissionResponse", version.name());
        let answer = reader
            .object(at, review.get("response"), "response", &ty)
            .map(|response| reader.response(response, version));
        match reader.mistake {
            Some(mistake) => Err(mistake),
            None => Ok(answer),
        }
    }

    fn response(&mut self, response: &Map<String, Value>, version: ReviewVersion) -> ResponseFields {
        let at = FieldLocation {
            owner: "AdmissionResponse",
            path: "response.",
        };
        let patch_type = format!("{}.PatchType", version.name());
        let get = |key: &str| response.get(key);
        ResponseFields {
            uid: self.text(at, get("uid"), "uid", "types.UID").unwrap_or_default(),
            allowed: self.flag(at, get("allowed"), "allowed"),
            status: self
                .object(at, get("status"), "status", "v1.Status")
                .map_or(Value::Null, |status| self.status(status)),
            patch: self.bytes(at, get("patch"), "patch"),
            patch_type: self.text(at, get("patchType"), "patchType", &patch_type),
            audit_annotations: self.texts_by_key(at, get("auditAnnotations"), "auditAnnotations"),
            warnings: self.texts(at, get("warnings"), "warnings"),
        }
    }

    fn status(&mut self, status: &Map<String, Value>) -> Value {
        let at = FieldLocation {
            owner: "Status",
            path: "response.status.",
        };
        let mut kept = Map::new();
        for (key, ty) in [
            ("status", "string"),
            ("message", "string"),
            ("reason", "v1.StatusReason"),
        ] {
            self.keep_text(at, status, key, ty, &mut kept);
        }
        if let Some(code) = self.integer(at, status.get("code"), "code") {
            kept.insert("code".into(), code.into());
        }
        if let Some(metadata) = self.object(at, status.get("metadata"), "metadata", "v1.ListMeta") {
            let at = FieldLocation {
                owner: "ListMeta",
                path: "response.status.metadata.",
            };
            let mut list = Map::new();
            for key in ["selfLink", "resourceVersion", "continue"] {
                self.keep_text(at, metadata, key, "string", &mut list);
            }
            if let Some(Value::Number(count)) = metadata.get("remainingItemCount") {
                list.insert("remainingItemCount".into(), Value::Number(count.clone()));
            }
            kept.insert("metadata".into(), Value::Object(list));
        }
        if let Some(details) = self.object(at, status.get("details"), "details", "v1.StatusDetails") {
            let details = self.details(details);
            kept.insert("details".into(), details);
        }
        Value::Object(kept)
    }

    fn details(&mut self, details: &Map<String, Value>) -> Value {
        let at = FieldLocation {
            owner: "StatusDetails",
            path: "response.status.details.",
        };
        let mut kept = Map::new();
        for (key, ty) in [
            ("name", "string"),
            ("group", "string"),
            ("kind", "string"),
            ("uid", "types.UID"),
        ] {
            self.keep_text(at, details, key, ty, &mut kept);
        }
        if let Some(seconds) = self.integer(at, details.get("retryAfterSeconds"), "retryAfterSeconds") {
            kept.insert("retryAfterSeconds".into(), seconds.into());
        }
        let listed = self.list(at, details.get("causes"), "causes", "[]v1.StatusCause");
        let causes: Vec<Value> = listed.iter().map(|cause| self.cause(at, cause)).collect();
        if !causes.is_empty() {
            kept.insert("causes".into(), causes.into());
        }
        Value::Object(kept)
    }

    fn cause(&mut self, list: FieldLocation<'_>, cause: &Value) -> Value {
        let at = FieldLocation {
            owner: "StatusCause",
            path: "response.status.details.causes.",
        };
        let mut kept = Map::new();
        if let Some(cause) = self.object(list, Some(cause), "causes", "v1.StatusCause") {
            for (key, ty) in [("reason", "v1.CauseType"), ("message", "string"), ("field", "string")] {
                self.keep_text(at, cause, key, ty, &mut kept);
            }
        }
        Value::Object(kept)
    }

    fn keep_text(
        &mut self,
        at: FieldLocation<'_>,
        from: &Map<String, Value>,
        key: &str,
        ty: &str,
        kept: &mut Map<String, Value>,
    ) {
        if let Some(text) = self.text(at, from.get(key), key, ty).filter(|text| !text.is_empty()) {
            kept.insert(key.into(), text.into());
        }
    }

    fn object<'v>(
        &mut self,
        at: FieldLocation<'_>,
        value: Option<&'v Value>,
        key: &str,
        ty: &str,
    ) -> Option<&'v Map<String, Value>> {
        match value? {
            Value::Null => None,
            Value::Object(fields) => Some(fields),
            other => {
                self.wrong(at, other, key, ty);
                None
            }
        }
    }

    fn list<'v>(&mut self, at: FieldLocation<'_>, value: Option<&'v Value>, key: &str, ty: &str) -> &'v [Value] {
        match value {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.wrong(at, other, key, ty);
                &[]
            }
        }
    }

    fn text(&mut self, at: FieldLocation<'_>, value: Option<&Value>, key: &str, ty: &str) -> Option<String> {
        match value? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => {
                self.wrong(at, other, key, ty);
                None
            }
        }
    }

    fn texts(&mut self, at: FieldLocation<'_>, value: Option<&Value>, key: &str) -> Vec<String> {
        let items = self.list(at, value, key, "[]string");
        items
            .iter()
            .map(|item| self.text(at, Some(item), key, "string").unwrap_or_default())
            .collect()
    }

    fn texts_by_key(&mut self, at: FieldLocation<'_>, value: Option<&Value>, key: &str) -> Vec<(String, String)> {
        let entries = self.object(at, value, key, "map[string]string");
        entries
            .into_iter()
            .flatten()
            .map(|(name, item)| {
                (
                    name.clone(),
                    self.text(at, Some(item), key, "string").unwrap_or_default(),
                )
            })
            .collect()
    }

    fn flag(&mut self, at: FieldLocation<'_>, value: Option<&Value>, key: &str) -> bool {
        match value {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.wrong(at, other, key, "bool");
                false
            }
        }
    }

    fn integer(&mut self, at: FieldLocation<'_>, value: Option<&Value>, key: &str) -> Option<i32> {
        match value? {
            Value::Null => None,
            Value::Number(number) => {
                let fits = number.as_i64().and_then(|number| i32::try_from(number).ok());
                if fits.is_none() {
                    let what = format!("number {number}");
                    self.refuse(at, &what, key, "int32");
                }
                fits
            }
            other => {
                self.wrong(at, other, key, "int32");
                None
            }
        }
    }

    fn bytes(&mut self, at: FieldLocation<'_>, value: Option<&Value>, key: &str) -> Vec<u8> {
        let Some(text) = value.and_then(Value::as_str) else {
            if let Some(other) = value.filter(|value| !value.is_null()) {
                self.wrong(at, other, key, "[]uint8");
            }
            return Vec::new();
        };
        decode_base64(text).unwrap_or_else(|position| {
            let mistake = format!("illegal base64 data at input byte {position}");
            self.mistake.get_or_insert(mistake);
            Vec::new()
        })
    }

    fn wrong(&mut self, at: FieldLocation<'_>, value: &Value, key: &str, ty: &str) {
        self.refuse(at, json_kind(value), key, ty);
    }

    fn refuse(&mut self, at: FieldLocation<'_>, what: &str, key: &str, ty: &str) {
        let FieldLocation { owner, path } = at;
        let mistake = format!("json: cannot unmarshal {what} into Go struct field {owner}.{path}{key} of type {ty}");
        self.mistake.get_or_insert(mistake);
    }
}

/// Go's decoder skips line ends; the error is where it stops.
fn decode_base64(text: &str) -> Result<Vec<u8>, usize> {
    let lines: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    STANDARD.decode(&lines).map_err(|_| {
        let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        let digits = lines.iter().take_while(|byte| is_digit(byte)).count();
        match lines.get(digits) {
            // Go reports a text that ends too early at the beginning of its last group of four characters.
            None => digits - digits % 4,
            Some(b'=') if digits % 4 >= 2 => {
                let padding = 4 - digits % 4;
                let given = lines[digits..].iter().take_while(|byte| **byte == b'=').count();
                digits + padding.min(given)
            }
            Some(_) => digits,
        }
    })
}
