//! The inside of Go's `resource.Quantity`, as its parser leaves it.

/// The most digits that the quick way takes.
const MOST_DIGITS: i32 = 18;

/// What go-spew prints of a quantity. One beyond the quick way of Go's parser is printed as if it were zero: Go shows the
/// words of a big number there, and no resource of a Pod is that large or that fine.
pub(super) fn print(text: Option<&str>) -> String {
    let inside = text.map_or(QuantityFields::default(), |text| parse(text).unwrap_or_default());
    format!(
        "{{i:(resource.int64Amount){{value:(int64){} scale:(resource.Scale){}}} d:(resource.infDecAmount){{Dec:(*inf.Dec)<nil>}} \
         s:(string){} Format:(resource.Format){}}}",
        inside.value, inside.scale, inside.text, inside.format
    )
}

#[derive(Default)]
struct QuantityFields {
    value: i64,
    scale: i32,
    text: String,
    format: &'static str,
}

fn parse(text: &str) -> Option<QuantityFields> {
    if text == "0" {
        return Some(QuantityFields {
            text: text.to_owned(),
            format: "DecimalSI",
            ..QuantityFields::default()
        });
    }
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = |text: &str| text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = rest.split_at(digits(rest));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    let whole = whole.trim_start_matches('0');
    let (exponent, format) = interpret(suffix)?;
    let count = i32::try_from(whole.len() + fraction.len()).ok()?;
    let (mantissa, mut scale, precision) = if format == "BinarySI" {
        if !fraction.is_empty() {
            return None;
        }
        let precision = 15 - count - exponent * 3 / 10 - 1;
        (1_i64.checked_shl(exponent.unsigned_abs())?, 0, precision)
    } else {
        (1, exponent, MOST_DIGITS - count)
    };
    scale -= i32::try_from(fraction.len()).ok()?;
    if precision < 0 || scale < -9 {
        return None;
    }
    let shifted = if whole.is_empty() && fraction.is_empty() {
        "0".to_owned()
    } else {
        format!("{whole}{fraction}")
    };
    let number: i64 = shifted.parse().ok()?;
    let value = number.checked_mul(mantissa)?;
    let is_canonical = if format == "BinarySI" {
        exponent % 10 == 0 && number & 0x07 != 0
    } else {
        scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0')
    };
    Some(QuantityFields {
        value: if negative { -value } else { value },
        scale,
        text: if is_canonical { text.to_owned() } else { String::new() },
        format,
    })
}

/// The power of ten or two that a suffix stands for.
fn interpret(suffix: &str) -> Option<(i32, &'static str)> {
    let decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    if let Some(place) = decimal.iter().position(|known| *known == suffix) {
        return Some((i32::try_from(place).ok()? * 3 - 9, "DecimalSI"));
    }
    let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if let Some(place) = binary.iter().position(|known| *known == suffix) {
        return Some((i32::try_from(place).ok()? * 10 + 10, "BinarySI"));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((exponent, "DecimalExponent"))
}
