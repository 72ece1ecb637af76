//! The values of numbers: decimal, hexadecimal, unsigned and with a fraction.

pub(crate) fn int_literal(text: &str, negative: bool) -> Option<i64> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    let value = i128::from(magnitude) * if negative { -1 } else { 1 };
    i64::try_from(value).ok()
}

pub(crate) fn uint_literal(text: &str) -> Option<u64> {
    let text = text.trim_end_matches(['u', 'U']);
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
    u64::from_str_radix(digits, radix).ok()
}

pub(crate) fn double_literal(text: &str, negative: bool) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(if negative { -value } else { value })
}
