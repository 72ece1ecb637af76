//! Values as Kubernetes prints them in messages.

use kubewright_codec::{json, quote};
use serde::Serialize;
use serde_json::Value;

/// A value that a message shows. Made from numbers, truth values, texts, JSON, and options and lists of those; anything else that
/// serializes goes through [`BadValue::json`].
///
/// ```
/// use kubewright_runtime::webhook::field::BadValue;
///
/// assert_eq!(BadValue::from("a \"b\"").to_string(), r#""a \"b\"""#);
/// assert_eq!(BadValue::from(100).to_string(), "100");
/// assert_eq!(BadValue::from(123_456_789.0).to_string(), "1.23456789e+08");
/// assert_eq!(BadValue::from(vec!["a", "b"]).to_string(), r#"["a","b"]"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue(String);

impl BadValue {
    /// A value as JSON.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::BadValue;
    ///
    /// let ports = std::collections::BTreeMap::from([("http", 80)]);
    /// assert_eq!(BadValue::json(&ports).to_string(), r#"{"http":80}"#);
    /// ```
    pub fn json(value: &(impl Serialize + ?Sized)) -> Self {
        // What does not serialize cannot be shown.
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        let mut text = Vec::new();
        json::write(&value, &mut text);
        BadValue(String::from_utf8_lossy(&text).into_owned())
    }
}

impl std::fmt::Display for BadValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
        BadValue(kubewright_codec::go_float(number))
    }
}

impl From<f32> for BadValue {
    fn from(number: f32) -> Self {
        // The digits are those of the 32-bit number.
        BadValue(kubewright_codec::go_float_32(number.into()))
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

impl From<&Value> for BadValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::String(text) => text.into(),
            Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().into(),
            value => BadValue::json(value),
        }
    }
}

impl From<Value> for BadValue {
    fn from(value: Value) -> Self {
        BadValue::from(&value)
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
