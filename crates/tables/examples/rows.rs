//! Prints objects as Tables: a JSON document per line in, a Table per line out. For comparing with the real server.
//!
//! `{"group": "apps", "plural": "deployments", "object": {…}, "now": "2026-01-01T00:00:00Z"}`, or `"columns": […]` (the
//! value of `additionalPrinterColumns`) in place of group and plural.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;

use jiff::Timestamp;
use kubewright_tables::{IncludeObject, Printer, Table, TableVersion, custom};
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let text = |field: &str| request[field].as_str().unwrap_or_default();
        let now: Timestamp = text("now").parse()?;
        let printer = if request["columns"].is_array() {
            Printer::Custom(Arc::new(custom::Columns::new(&request["columns"])))
        } else {
            Printer::builtin(text("group"), text("plural"), text("subresource")).ok_or("no such resource")?
        };
        let table = Table {
            printer,
            version: TableVersion::V1,
            include: IncludeObject::None,
        };
        let mut line = Vec::new();
        match table.write_object(&mut line, &request["object"], false, now) {
            Ok(()) => out.write_all(&line)?,
            Err(error) => writeln!(out, "{error}")?,
        }
    }
    Ok(())
}
