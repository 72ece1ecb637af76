//! How Go holds, converts, compares and prints numbers and JSON values.

pub(super) use kubewright_apimachinery::go::float::general as float;
pub(crate) use kubewright_apimachinery::go::json::to_string as json;
use serde_json::{Number as JsonNumber, Value};

/// A number as the API machinery holds it: an int64 where it is written as one and fits, a float64 otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub(super) fn of(number: &JsonNumber) -> Self {
        match number.as_i64() {
            Some(int) => Number::Int(int),
            None => Number::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    pub(super) fn as_float(self) -> f64 {
        match self {
            Number::Int(int) => int as f64,
            Number::Float(float) => float,
        }
    }
}

/// Go's conversion to int64 on amd64: what does not fit becomes the smallest number.
pub(super) fn to_int(number: f64) -> i64 {
    // The bounds are exact: 2^63 is a float, and nothing between it and the next smaller one is.
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

/// Whether upstream takes a float for an integer: nearly equal is enough, beyond 2^53 nothing is.
pub(super) fn is_integral(number: f64) -> bool {
    const MOST: f64 = 9_007_199_254_740_991.0;
    const NEAR: f64 = 1e-9;
    if !number.is_finite() || number.abs() > MOST {
        return false;
    }
    let whole = number.trunc();
    if number.fract() == 0.0 {
        return true;
    }
    // For the comparison upstream goes through uint64, in which negative numbers are huge.
    let other = if number <= -1.0 {
        18_446_744_073_709_551_616.0 + whole
    } else {
        whole
    };
    if other == 0.0 {
        return false;
    }
    (number - other).abs() / (number.abs() + other.abs()) < NEAR
}

/// `reflect.DeepEqual`: an integer and a float are never equal.
#[expect(clippy::float_cmp, reason = "equal is what is asked")]
pub(super) fn deep_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (Number::of(left), Number::of(right)) {
            (Number::Int(left), Number::Int(right)) => left == right,
            (Number::Float(left), Number::Float(right)) => left == right,
            _ => false,
        },
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| deep_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|((left_name, left), (right_name, right))| left_name == right_name && deep_equal(left, right))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_is_an_integer_when_upstream_cannot_tell_it_from_one() {
        for number in [0.0, 1.0, -3.0, 2e9 + 0.5, 9_007_199_254_740_991.0] {
            assert!(is_integral(number), "{number}");
        }
        for number in [0.5, -0.5, 1.5, -2.5, 1e16, f64::NAN, f64::INFINITY] {
            assert!(!is_integral(number), "{number}");
        }
    }

    #[test]
    fn what_does_not_fit_an_int64_becomes_its_smallest() {
        assert_eq!(to_int(1e30), i64::MIN);
        assert_eq!(to_int(-1e30), i64::MIN);
        assert_eq!(to_int(1.9), 1);
        assert_eq!(to_int(-1.9), -1);
    }
}
