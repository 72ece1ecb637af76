//! One printed object.

use serde_json::Value;

/// A cell: a string, a number, a boolean, or null where there is nothing to show.
pub type Cell = Value;

/// An object as a row of its resource's columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// One cell per column.
    pub cells: Vec<Cell>,
    /// What holds for the whole row; only pods say so.
    pub conditions: &'static [RowCondition],
}

impl From<Vec<Cell>> for Row {
    fn from(cells: Vec<Cell>) -> Self {
        Row { cells, conditions: &[] }
    }
}

/// Something that holds for a whole row (`metav1.TableRowCondition`, always with status `True`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCondition {
    /// The only type in use is `Completed`.
    pub kind: &'static str,
    /// One word.
    pub reason: &'static str,
    /// A sentence.
    pub message: &'static str,
}

/// Why an object cannot be printed. Upstream answers such a request with an internal error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrintError {
    /// The owner's apiVersion is no group and version.
    #[error("unexpected GroupVersion string: {0}")]
    OwnerVersion(String),
}
