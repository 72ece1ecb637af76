//! What an object lacks of the fields that are expected of it.

use serde_json::{Map, Value};

/// The part of an object that expected fields are about: where both are objects, their common fields; lists as they are.
/// It equals `expected` if the object is as expected.
pub(super) fn projection(object: &Value, expected: &Value) -> Value {
    match (object, expected) {
        (Value::Object(fields), Value::Object(wanted)) => {
            let common = wanted.iter().filter_map(|(name, wanted)| {
                let value = fields.get(name)?;
                Some((name.clone(), projection(value, wanted)))
            });
            Value::Object(common.collect::<Map<_, _>>())
        }
        (Value::Array(items), Value::Array(wanted)) => {
            let projected = items.iter().enumerate().map(|(at, item)| match wanted.get(at) {
                Some(wanted) => projection(item, wanted),
                None => item.clone(),
            });
            projected.collect()
        }
        (object, _) => object.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_are_not_expected_do_not_count_and_items_of_lists_do() {
        let object = json!({"a": {"b": 1, "c": 2}, "l": [{"n": 1, "m": 2}, {"n": 3}], "x": 0});
        for (expected, is_met) in [
            (json!({"a": {"b": 1}}), true),
            (json!({"a": {"b": 2}}), false),
            (json!({"a": {"d": 1}}), false),
            (json!({"l": [{"n": 1}, {}]}), true),
            (json!({"l": [{"n": 1}]}), false),
            (json!({}), true),
        ] {
            assert_eq!(projection(&object, &expected) == expected, is_met, "{expected}");
        }
    }
}
