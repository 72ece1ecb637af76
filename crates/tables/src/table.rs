//! A Table as text: what a get, a list, a write or a watch event answers to a client that asked for one (H7).

use jiff::Timestamp;
use kubewright_apimachinery::go::quote;
use kubewright_codec::json;
use kubewright_schema::{self as schema, Types};
use serde_json::Value;

use crate::printer::Printer;
use crate::read::text;
use crate::row::{PrintError, Row};

/// The version of `meta.k8s.io` that a client asked for. Both look the same but for their name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableVersion {
    /// `v=v1`
    V1,
    /// `v=v1beta1`
    V1beta1,
}

impl TableVersion {
    fn name(self) -> &'static str {
        match self {
            TableVersion::V1 => "v1",
            TableVersion::V1beta1 => "v1beta1",
        }
    }
}

/// How much of its object a row carries: the parameter `includeObject`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// Nothing.
    None,
    /// The metadata, as `PartialObjectMetadata`.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

/// A value of `includeObject` that does not exist; its text is the message of the 400 answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', 'Object', 'None', or empty", quote(.0))]
pub struct InvalidInclude(pub String);

impl IncludeObject {
    /// Reads the parameter; empty is what a request without it says.
    pub fn parse(value: &str) -> Result<Self, InvalidInclude> {
        match value {
            "" | "Metadata" => Ok(IncludeObject::Metadata),
            "Object" => Ok(IncludeObject::Object),
            "None" => Ok(IncludeObject::None),
            other => Err(InvalidInclude(other.to_owned())),
        }
    }
}

/// The metadata of a list, which its Table repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListMeta<'a> {
    /// The list's revision, or the object's own where there is no list.
    pub resource_version: &'a str,
    /// The token of the next page; empty on the last one.
    pub continue_token: &'a str,
    /// How many objects follow, where that is known.
    pub remaining_item_count: Option<u64>,
}

/// One client's wish for Tables of one resource.
#[derive(Clone, Debug)]
pub struct Table {
    /// What makes the rows.
    pub printer: Printer,
    /// The version in the `Accept` header.
    pub version: TableVersion,
    /// What rows carry besides their cells.
    pub include: IncludeObject,
}

impl Table {
    /// Writes a list. The objects are whole: with kind, apiVersion and resourceVersion, in the version of the path.
    pub fn write_list(
        &self,
        out: &mut Vec<u8>,
        meta: &ListMeta<'_>,
        objects: impl Iterator<Item = Value>,
        now: Timestamp,
    ) -> Result<(), PrintError> {
        self.head(out, meta, true);
        let mut rows = Rows {
            table: self,
            now,
            any: false,
        };
        if self.printer.sorts() {
            let mut objects: Vec<Value> = objects.collect();
            self.printer.order(&mut objects);
            objects.iter().try_for_each(|object| rows.write(out, object))?;
        } else {
            for object in objects {
                rows.write(out, &object)?;
            }
        }
        rows.end(out);
        Ok(())
    }

    /// Writes the Table of one object. A watch names the columns in its first event only; after it `columnDefinitions`
    /// is null.
    pub fn write_object(
        &self,
        out: &mut Vec<u8>,
        object: &Value,
        with_columns: bool,
        now: Timestamp,
    ) -> Result<(), PrintError> {
        let meta = ListMeta {
            resource_version: text(&object["metadata"]["resourceVersion"]),
            ..ListMeta::default()
        };
        self.head(out, &meta, with_columns);
        let mut rows = Rows {
            table: self,
            now,
            any: false,
        };
        rows.write(out, object)?;
        rows.end(out);
        Ok(())
    }

    /// Everything before the rows.
    fn head(&self, out: &mut Vec<u8>, meta: &ListMeta<'_>, with_columns: bool) {
        out.extend_from_slice(br#"{"kind":"Table","apiVersion":"meta.k8s.io/"#);
        out.extend_from_slice(self.version.name().as_bytes());
        out.extend_from_slice(br#"","metadata":{"#);
        let mut separator: &[u8] = b"";
        let mut field = |out: &mut Vec<u8>, name: &[u8]| {
            out.extend_from_slice(separator);
            out.extend_from_slice(name);
            separator = b",";
        };
        if !meta.resource_version.is_empty() {
            field(out, br#""resourceVersion":"#);
            json::write_string(meta.resource_version, out);
        }
        if !meta.continue_token.is_empty() {
            field(out, br#""continue":"#);
            json::write_string(meta.continue_token, out);
        }
        if let Some(remaining) = meta.remaining_item_count {
            field(out, br#""remainingItemCount":"#);
            out.extend_from_slice(remaining.to_string().as_bytes());
        }
        out.extend_from_slice(br#"},"columnDefinitions":"#);
        if with_columns {
            for (at, column) in self.printer.columns().iter().enumerate() {
                out.push(if at == 0 { b'[' } else { b',' });
                column.write(out);
            }
            out.push(b']');
        } else {
            out.extend_from_slice(b"null");
        }
        out.extend_from_slice(br#","rows":"#);
    }

    fn row(&self, out: &mut Vec<u8>, row: &Row, object: &Value) {
        out.extend_from_slice(br#"{"cells":["#);
        for (at, cell) in row.cells.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            json::write(cell, out);
        }
        out.push(b']');
        for (at, condition) in row.conditions.iter().enumerate() {
            out.extend_from_slice(if at == 0 { br#","conditions":["# } else { b"," });
            out.extend_from_slice(br#"{"type":"#);
            json::write_string(condition.kind, out);
            out.extend_from_slice(br#","status":"True","reason":"#);
            json::write_string(condition.reason, out);
            out.extend_from_slice(br#","message":"#);
            json::write_string(condition.message, out);
            out.push(b'}');
        }
        if !row.conditions.is_empty() {
            out.push(b']');
        }
        out.extend_from_slice(br#","object":"#);
        self.object(out, object);
        out.push(b'}');
    }

    fn object(&self, out: &mut Vec<u8>, object: &Value) {
        let metadata = &object["metadata"];
        // The bookmark that ends the initial events must be told apart from others (V7).
        let ends_initial_events = || text(&metadata["annotations"]["k8s.io/initial-events-end"]) == "true";
        match self.include {
            IncludeObject::Object => schema::write_object_json(Types::builtin(), object, out),
            IncludeObject::None if !ends_initial_events() => out.extend_from_slice(b"null"),
            IncludeObject::None | IncludeObject::Metadata => {
                out.extend_from_slice(br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/"#);
                out.extend_from_slice(self.version.name().as_bytes());
                out.extend_from_slice(br#"","metadata":"#);
                match metadata {
                    Value::Null => out.extend_from_slice(b"{}"),
                    metadata if !metadata["annotations"][TEMPLATE_GENERATION].is_null() => {
                        write_metadata(&without_template_generation(metadata), out);
                    }
                    metadata => write_metadata(metadata, out),
                }
                out.push(b'}');
            }
        }
    }
}

/// Metadata alone has the order of its type, also where the object has none.
fn write_metadata(metadata: &Value, out: &mut Vec<u8>) {
    match Types::builtin().named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta") {
        Some(ty) => schema::write_json(ty, metadata, out),
        None => json::write(metadata, out),
    }
}

/// The annotation that conversion gives every `DaemonSet` of `apps/v1`, and that is not part of its metadata.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn without_template_generation(metadata: &Value) -> Value {
    let mut metadata = metadata.clone();
    let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
    if let Some(annotations) = annotations {
        annotations.remove(TEMPLATE_GENERATION);
        if annotations.is_empty()
            && let Some(metadata) = metadata.as_object_mut()
        {
            metadata.remove("annotations");
        }
    }
    metadata
}

/// The rows of a Table on their way out.
struct Rows<'a> {
    table: &'a Table,
    now: Timestamp,
    any: bool,
}

impl Rows<'_> {
    fn write(&mut self, out: &mut Vec<u8>, object: &Value) -> Result<(), PrintError> {
        let row = self.table.printer.row(object, self.now)?;
        out.push(if self.any { b',' } else { b'[' });
        self.any = true;
        self.table.row(out, &row, object);
        Ok(())
    }

    /// Upstream's default printer leaves an empty list of rows out.
    fn end(self, out: &mut Vec<u8>) {
        let end: &[u8] = match (self.any, self.table.printer.is_default()) {
            (true, _) => b"]}\n",
            (false, false) => b"[]}\n",
            (false, true) => b"null}\n",
        };
        out.extend_from_slice(end);
    }
}
