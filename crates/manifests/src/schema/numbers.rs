//! Rust's integers in the two widths that Kubernetes knows, with the bounds they have beyond those.

use serde_json::{Map, Value};

/// Gives an integer a format that the API server knows; what its width no longer says, bounds say.
pub(super) fn settle_format(schema: &mut Map<String, Value>) {
    let Some(format) = schema.get("format").and_then(Value::as_str) else {
        return;
    };
    let (known, bounds) = match format {
        "int8" => ("int32", (Some(-128), Some(127))),
        "int16" => ("int32", (Some(-32_768), Some(32_767))),
        "uint8" => ("int32", (Some(0), Some(255))),
        "uint16" => ("int32", (Some(0), Some(65_535))),
        "uint32" => ("int64", (Some(0), Some(i64::from(u32::MAX)))),
        "uint" | "uint64" => ("int64", (Some(0), None)),
        "int" => ("int64", (None, None)),
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
