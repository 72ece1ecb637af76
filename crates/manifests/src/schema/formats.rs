//! Formats that an API server knows: Rust's integers become `int32` or `int64` with bounds, and unknown formats are left out.

use serde_json::{Map, Value, json};

use super::combine;

/// Formats that `schemars` writes of itself and that an API server warns of; none of them restricts anything there.
const UNKNOWN: [&str; 3] = ["partial-date-time", "partial-time", "zoned-date-time"];

/// Replaces the format by one that the API server knows. Bounds express the width of an integer.
pub(super) fn rewrite(schema: &mut Map<String, Value>) {
    let Some(format) = schema.get("format").and_then(Value::as_str) else {
        return;
    };
    let is_text = schema.get("type").and_then(Value::as_str) == Some("string");
    let is_numeric = ["int", "uint", "float", "double"]
        .iter()
        .any(|start| format.starts_with(start));
    if UNKNOWN.contains(&format) || (is_text && is_numeric) {
        schema.remove("format");
        return;
    }
    // An address of either kind.
    if format == "ip" {
        schema.remove("format");
        let either = json!([{ "format": "ipv4" }, { "format": "ipv6" }]);
        combine::merge(schema, Map::from_iter([("anyOf".to_owned(), either)]));
        return;
    }
    let (known, bounds) = match format {
        "int8" => ("int32", (Some(-128), Some(127))),
        "int16" => ("int32", (Some(-32_768), Some(32_767))),
        "uint8" => ("int32", (Some(0), Some(255))),
        "uint16" => ("int32", (Some(0), Some(65_535))),
        "uint32" => ("int64", (Some(0), Some(i64::from(u32::MAX)))),
        // An API server reads 64 bits with a sign, whatever a program could hold beyond.
        "uint" | "uint64" | "uint128" => ("int64", (Some(0), None)),
        "int" | "int128" => ("int64", (None, None)),
        _ => return,
    };
    schema.insert("format".into(), known.into());
    let (least, most) = bounds;
    tighten(schema, "minimum", least, |given, least| given < least);
    tighten(schema, "maximum", most, |given, most| given > most);
}

fn tighten(schema: &mut Map<String, Value>, key: &str, bound: Option<i64>, wider: impl Fn(f64, f64) -> bool) {
    let Some(bound) = bound else { return };
    #[expect(clippy::cast_precision_loss, reason = "bounds of 32 bits and less are exact")]
    let is_wider = |given: f64| wider(given, bound as f64);
    if schema.get(key).and_then(Value::as_f64).is_none_or(is_wider) {
        schema.insert(key.into(), bound.into());
    }
}
