//! Numbers as the files of an installation have them.

use serde_json::Value;

/// Up to here every whole number has a float of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Makes integers of whole floats (`1.0`, as `schemars` writes the bounds of a float): YAML writes both alike, so that an object
/// is the same before it is written and after it was read.
pub(super) fn make_integers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number
                .as_f64()
                .filter(|number| number.fract() == 0.0 && number.abs() <= EXACT);
            if let Some(whole) = whole {
                *value = Value::from(whole as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_integers),
        Value::Object(members) => members.values_mut().for_each(make_integers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_floats_become_integers_wherever_they_are() {
        let mut schema = json!({ "minimum": 1.0, "enum": [0.5, -2.0], "maximum": 1e300, "default": { "a": 3 } });
        make_integers(&mut schema);
        assert_eq!(
            schema.to_string(),
            json!({ "minimum": 1, "enum": [0.5, -2], "maximum": 1e300, "default": { "a": 3 } }).to_string()
        );
    }
}
