//! Reading a list of operations.

use kubewright_apimachinery::go::value::json_kind;
use serde_json::{Map, Value};

use crate::patch_error::PatchError;

/// How many operations the patch of a client may have.
pub const MAX_OPERATIONS: usize = 10_000;

/// A JSON patch that was read; apply it with [`JsonPatch::apply`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonPatch {
    pub(super) operations: Vec<Operation>,
    unknown_fields: Vec<String>,
}

/// One operation. Missing fields are reported when it is applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Operation {
    pub(super) op: Option<String>,
    pub(super) path: Option<String>,
    pub(super) from: Option<String>,
    pub(super) value: Option<Value>,
}

impl JsonPatch {
    /// Reads a patch. `checked` says whether its fields are validated (`fieldValidation` is not `Ignore`): upstream
    /// then reads it as typed operations first and words its errors accordingly.
    pub fn decode(patch: Value, checked: bool) -> Result<Self, PatchError> {
        Self::decode_up_to(MAX_OPERATIONS, patch, checked)
    }

    /// Reads the patch of an admission webhook, which may have any number of operations; its fields are not validated.
    pub fn decode_of_webhook(patch: Value) -> Result<Self, PatchError> {
        Self::decode_up_to(usize::MAX, patch, false)
    }

    fn decode_up_to(limit: usize, patch: Value, checked: bool) -> Result<Self, PatchError> {
        let items = match patch {
            Value::Array(items) => items,
            // To Go, null is an empty list.
            Value::Null => Vec::new(),
            patch => {
                let list = if checked {
                    "[]handlers.jsonPatchOp"
                } else {
                    "jsonpatch.Patch"
                };
                return Err(cannot_unmarshal(&patch, &format!("Go value of type {list}"), checked));
            }
        };
        if checked {
            items.iter().try_for_each(check)?;
        }
        let mut decoded = Self::default();
        let too_many = items.len() > limit;
        let count = items.len();
        for (index, item) in items.into_iter().enumerate() {
            let fields = match item {
                Value::Object(fields) => fields,
                Value::Null => Map::new(),
                item => return Err(cannot_unmarshal(&item, "Go value of type jsonpatch.Operation", false)),
            };
            if !too_many {
                decoded.push(index, fields);
            }
        }
        if too_many {
            return Err(PatchError::TooLarge(format!(
                "The allowed maximum operations in a JSON patch is {limit}, got {count}"
            )));
        }
        Ok(decoded)
    }

    /// The paths of fields that operations do not have (`[0].foo`). Upstream's strict complaint about one reads
    /// `json patch unknown field "[0].foo"`.
    pub fn unknown_fields(&self) -> &[String] {
        &self.unknown_fields
    }

    fn push(&mut self, index: usize, fields: Map<String, Value>) {
        let mut operation = Operation::default();
        for (name, value) in fields {
            match name.as_str() {
                "op" => operation.op = text(value),
                "path" => operation.path = text(value),
                "from" => operation.from = text(value),
                "value" => operation.value = Some(value),
                _ => self.unknown_fields.push(format!("[{index}].{name}")),
            }
        }
        self.operations.push(operation);
    }
}

fn text(value: Value) -> Option<String> {
    if let Value::String(text) = value {
        Some(text)
    } else {
        None
    }
}

/// What reading an operation as a struct finds wrong with it.
fn check(item: &Value) -> Result<(), PatchError> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Ok(()),
        item => return Err(cannot_unmarshal(item, "Go value of type handlers.jsonPatchOp", true)),
    };
    for name in ["op", "path", "from"] {
        match fields.get(name) {
            None | Some(Value::Null | Value::String(_)) => {}
            Some(value) => {
                let place = format!("Go struct field jsonPatchOp.{name} of type string");
                return Err(cannot_unmarshal(value, &place, true));
            }
        }
    }
    Ok(())
}

fn cannot_unmarshal(value: &Value, place: &str, checked: bool) -> PatchError {
    let prefix = if checked { "error decoding patch: " } else { "" };
    PatchError::Malformed(format!(
        "{prefix}json: cannot unmarshal {} into {place}",
        json_kind(value)
    ))
}
