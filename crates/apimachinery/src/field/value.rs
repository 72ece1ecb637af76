//! Values as field errors show them.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Number, Value};

use crate::go::float::{general, general_32};
use crate::go::{json, quote};

/// A value as a field error shows it: texts as Go's `%q`, numbers as `%v`, everything else as `encoding/json` writes it.
///
/// ```
/// use kubewright_apimachinery::field::BadValue;
///
/// assert_eq!(BadValue::from("a \"b\"").to_string(), r#""a \"b\"""#);
/// assert_eq!(BadValue::from(123_456_789.0).to_string(), "1.23456789e+08");
/// assert_eq!(BadValue::from(vec!["a", "b"]).to_string(), r#"["a","b"]"#);
/// assert_eq!(BadValue::verbatim("{Name:a}").to_string(), "{Name:a}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue(String);

impl BadValue {
    /// A value as JSON.
    pub fn json(value: &(impl Serialize + ?Sized)) -> Self {
        // What does not serialize cannot be shown.
        BadValue(json::to_string(&serde_json::to_value(value).unwrap_or(Value::Null)))
    }

    /// A text that stands for a value as it is, such as an internal structure of Kubernetes.
    pub fn verbatim(text: impl Into<String>) -> Self {
        BadValue(text.into())
    }

    /// The value as it is shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! printed {
    ($($kind:ty)*) => {$(
        impl From<$kind> for BadValue {
            fn from(value: $kind) -> Self {
                BadValue(value.to_string())
            }
        }
    )*};
}

printed!(bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl From<f64> for BadValue {
    fn from(number: f64) -> Self {
        BadValue(general(number))
    }
}

impl From<f32> for BadValue {
    fn from(number: f32) -> Self {
        BadValue(general_32(number))
    }
}

impl From<&str> for BadValue {
    fn from(text: &str) -> Self {
        BadValue(quote(text))
    }
}

impl From<String> for BadValue {
    fn from(text: String) -> Self {
        BadValue(quote(&text))
    }
}

impl From<&String> for BadValue {
    fn from(text: &String) -> Self {
        BadValue(quote(text))
    }
}

impl From<Cow<'_, str>> for BadValue {
    fn from(text: Cow<'_, str>) -> Self {
        BadValue(quote(&text))
    }
}

impl From<&Value> for BadValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::String(text) => text.into(),
            Value::Number(number) => number.into(),
            value => BadValue(json::to_string(value)),
        }
    }
}

impl From<Value> for BadValue {
    fn from(value: Value) -> Self {
        BadValue::from(&value)
    }
}

impl From<&Number> for BadValue {
    fn from(number: &Number) -> Self {
        match number.as_f64() {
            Some(number_64) if number.is_f64() => number_64.into(),
            _ => BadValue(number.to_string()),
        }
    }
}

impl From<Number> for BadValue {
    fn from(number: Number) -> Self {
        BadValue::from(&number)
    }
}

impl From<Map<String, Value>> for BadValue {
    fn from(object: Map<String, Value>) -> Self {
        Value::Object(object).into()
    }
}

impl<T: Into<BadValue>> From<Option<T>> for BadValue {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| BadValue("null".to_owned()), Into::into)
    }
}

impl<T: Serialize> From<Vec<T>> for BadValue {
    fn from(values: Vec<T>) -> Self {
        BadValue::json(&values)
    }
}

impl<T: Serialize> From<&[T]> for BadValue {
    fn from(values: &[T]) -> Self {
        BadValue::json(values)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_print_as_go_prints_them() {
        for (value, text) in [
            (json!("a\u{200b}b"), r#""a\u200bb""#),
            (json!(null), "null"),
            (json!(true), "true"),
            (json!(7), "7"),
            (json!(1e6), "1e+06"),
            (json!([1e6, "<"]), r#"[1000000,"\u003c"]"#),
            (json!({"b": 1, "a": 2.0}), r#"{"a":2,"b":1}"#),
        ] {
            assert_eq!(BadValue::from(value).as_str(), text);
        }
        assert_eq!(BadValue::from(0.1_f32).as_str(), "0.1");
        assert_eq!(BadValue::from(None::<i64>).as_str(), "null");
    }
}
