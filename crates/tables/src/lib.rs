//! Server-side printing: objects as rows of a `meta.k8s.io` Table, as the real API server prints them (H7, C13, U1).
//! Pure: values in, rows out. [`Printer`] makes the rows of a resource, [`Table`] writes them as a client asked.
//!
//! ```
//! use kubewright_tables::{Printer, custom::Columns, human_duration, jsonpath::JsonPath};
//! use serde_json::json;
//!
//! let now = "2026-01-02T00:00:00Z".parse().unwrap();
//! let printer = Printer::builtin("", "configmaps", "").unwrap();
//! let titles: Vec<&str> = printer.columns().iter().map(|column| &*column.name).collect();
//! assert_eq!(titles, ["Name", "Data", "Age"]);
//! let object = json!({
//!     "metadata": { "name": "app", "creationTimestamp": "2026-01-01T00:00:00Z" },
//!     "data": { "colour": "blue" },
//! });
//! assert_eq!(printer.row(&object, now).unwrap().cells, ["app".into(), json!(1), "24h".into()]);
//!
//! // Columns of a custom resource, as its definition says.
//! let columns = Columns::new(&json!([{ "name": "Colour", "type": "string", "jsonPath": ".data.colour" }]));
//! assert_eq!(columns.row(&object, now).cells, ["app", "blue"]);
//!
//! let path = JsonPath::parse("{.data.colour}").unwrap();
//! assert_eq!(path.first(&object).unwrap().print(), "blue");
//! assert_eq!(human_duration(90_000_000_000), "90s");
//! ```

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
