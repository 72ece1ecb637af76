//! Server-side printing: objects as rows of a `meta.k8s.io` Table, as the real API server prints them (H7, C13, U1).
//! Pure: values in, rows out. [`Printer`] makes the rows of a resource, [`Table`] writes them as a client asked.

mod age;
mod builtin;
mod column;
pub mod custom;
mod facts;
pub mod jsonpath;
mod printer;
mod read;
mod row;
mod selector;
mod table;

pub use age::human_duration;
pub use builtin::{Builtin, is_convertible};
pub use column::Column;
pub use printer::Printer;
pub use row::{Cell, PrintError, Row, RowCondition};
pub use table::{IncludeObject, InvalidInclude, ListMeta, Table, TableVersion};
