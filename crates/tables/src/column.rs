//! What a Table says about one of its columns.

use std::borrow::Cow;

use kubewright_codec::json;

/// A column of a Table (`metav1.TableColumnDefinition`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: Cow<'static, str>,
    /// The `OpenAPI` type of the cells: string, integer, number, boolean, or date.
    pub kind: Cow<'static, str>,
    /// An `OpenAPI` format; `name` marks the column that identifies the row.
    pub format: Cow<'static, str>,
    /// What the column means.
    pub description: Cow<'static, str>,
    /// Zero is always shown; what is higher is left out where space is scarce.
    pub priority: i32,
}

impl Column {
    /// Writes the definition as Go writes it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"name":"#);
        json::write_string(&self.name, out);
        out.extend_from_slice(br#","type":"#);
        json::write_string(&self.kind, out);
        out.extend_from_slice(br#","format":"#);
        json::write_string(&self.format, out);
        out.extend_from_slice(br#","description":"#);
        json::write_string(&self.description, out);
        out.extend_from_slice(format!(r#","priority":{}}}"#, self.priority).as_bytes());
    }
}
