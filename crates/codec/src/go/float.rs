//! Floats as Go prints them: the shortest digits that read back as the same number.

use std::io::Write as _;

/// Appends a float as `encoding/json` prints it: positional, scientific from `1e21` up and below `1e-6`.
pub(crate) fn write_json(number: f64, out: &mut Vec<u8>) {
    let magnitude = number.abs();
    // Writing to a vector cannot fail.
    let _ = if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let scientific = format!("{number:e}");
        // Rust writes `1e21` and `1e-7` where Go writes `1e+21` and `1e-7`.
        match scientific.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => write!(out, "{digits}e+{exponent}"),
            _ => out.write_all(scientific.as_bytes()),
        }
    } else {
        write!(out, "{number}")
    };
}

/// A float as Go's `'g'` format with the shortest precision prints it: scientific from `1e6` up and below `1e-4`, with
/// at least two digits of exponent.
pub fn general(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    scientific_or_positional(number, &format!("{number:e}"))
}

/// The same for a number rounded to 32 bits first, as `sigs.k8s.io/yaml` prints map keys.
pub fn general_32(number: f64) -> String {
    let number = number as f32;
    if number.is_finite() {
        // The digits are those of the 32-bit number; the wider one only chooses the form.
        scientific_or_positional(f64::from(number), &format!("{number:e}"))
    } else {
        general(f64::from(number))
    }
}

fn scientific_or_positional(number: f64, scientific: &str) -> String {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number != 0.0 && !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    positional(digits, exponent)
}

/// `digits` (as in `-1.25`) moved by `exponent` places.
fn positional(digits: &str, exponent: i32) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn json(number: f64) -> String {
        let mut out = Vec::new();
        write_json(number, &mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn json_floats_turn_scientific_where_go_turns() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (-2.5, "-2.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (0.000_001, "0.000001"),
            (0.000_000_9, "9e-7"),
            (-1.25e-10, "-1.25e-10"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(json(number), text);
        }
    }

    #[test]
    fn general_floats_turn_scientific_where_go_turns() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (123_456.0, "123456"),
            (123_456.5, "123456.5"),
            (1_234_567.0, "1.234567e+06"),
            (1e20, "1e+20"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.25e-05"),
            (-1e100, "-1e+100"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(general(number), text);
        }
        assert_eq!(general_32(0.1), "0.1");
        assert_eq!(general_32(16_777_217.0), "1.6777216e+07");
    }
}
