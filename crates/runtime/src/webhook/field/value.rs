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
        BadValue(general(number, &format!("{number:e}")))
    }
}

impl From<f32> for BadValue {
    fn from(number: f32) -> Self {
        // The digits are those of the 32-bit number.
        BadValue(general(f64::from(number), &format!("{number:e}")))
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

/// A float as Go's `%v` prints it: scientific from a million up and below a ten thousandth, with two digits of exponent.
fn general(number: f64, scientific: &str) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number != 0.0 && !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    plain(digits, exponent)
}

/// `digits` (as in `-1.25`) moved by `exponent` places.
fn plain(digits: &str, exponent: i32) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let bare: String = digits.chars().filter(char::is_ascii_digit).collect();
    let point = exponent + 1;
    if point <= 0 {
        return format!("{sign}0.{}{bare}", "0".repeat(point.unsigned_abs() as usize));
    }
    let point = point as usize;
    if bare.len() <= point {
        return format!("{sign}{bare}{}", "0".repeat(point - bare.len()));
    }
    format!("{sign}{}.{}", &bare[..point], &bare[point..])
}
