//! Numbers as Go's `strconv` writes them: bucket bounds are labels, and labels are compared as text.

/// The shortest text that reads back as the same number, with an exponent below 1e-4 and from 1e+06 on.
pub(super) fn text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn numbers_read_as_go_writes_them() {
        // Written by strconv.FormatFloat(x, 'g', -1, 64).
        let expected = [
            (0.0, "0"),
            (1.0, "1"),
            (-1.0, "-1"),
            (0.005, "0.005"),
            (1.25, "1.25"),
            (10e-9, "1e-08"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.000_012_5, "1.25e-05"),
            (99_999.5, "99999.5"),
            (999_999.0, "999999"),
            (1_000_000.0, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (16_777_216.0, "1.6777216e+07"),
            (1e100, "1e+100"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ];
        for (number, go) in expected {
            assert_eq!(text(number), go);
        }
    }
}
