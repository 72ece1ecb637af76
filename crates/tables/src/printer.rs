//! What makes the rows of one resource, built in or custom.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::builtin::Builtin;
use crate::column::Column;
use crate::custom::Columns;
use crate::row::{PrintError, Row};

/// The columns of a resource and the way from an object to its cells. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Printer {
    /// A resource of Kubernetes itself.
    Builtin(&'static Builtin),
    /// A custom resource, by the columns that its definition gives.
    Custom(Arc<Columns>),
}

impl Printer {
    /// The printer of a built-in resource or of one of its subresources (`""` is the resource itself).
    /// `None`: the path does not offer Tables, and the clause of the `Accept` header that asks for one does not count.
    pub fn builtin(group: &str, plural: &str, subresource: &str) -> Option<Self> {
        Builtin::of(group, plural, subresource).map(Printer::Builtin)
    }

    /// The columns, in the order of the cells.
    pub fn columns(&self) -> &[Column] {
        match self {
            Printer::Builtin(builtin) => builtin.columns(),
            Printer::Custom(columns) => columns.columns(),
        }
    }

    /// An object's row. The object may be in any version that the resource is served in.
    pub fn row(&self, object: &Value, now: Timestamp) -> Result<Row, PrintError> {
        match self {
            Printer::Builtin(builtin) => builtin.row(object, now),
            Printer::Custom(columns) => Ok(columns.row(object, now)),
        }
    }

    /// Whether the rows of a list are in another order than its objects.
    pub(crate) fn sorts(&self) -> bool {
        matches!(self, Printer::Builtin(builtin) if builtin.sorts())
    }

    /// Puts a list's objects into the order of its rows.
    pub(crate) fn order(&self, objects: &mut [Value]) {
        if let Printer::Builtin(builtin) = self {
            builtin.order(objects);
        }
    }

    /// Whether this is the printer of what has none of its own.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self, Printer::Builtin(builtin) if builtin.is_default())
    }
}
